"""The 25 data types: codes, widths, classes, numpy equivalents, padding patterns, encoding rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

NumericClass = Literal["floating", "signed", "unsigned"]


@dataclass(frozen=True)
class DType:
    """One element type of a tile.

    ``bits`` is the width of an element, ``must_be_zero`` the bits a valid encoding keeps clear, ``pad_max``
    and ``pad_min`` the patterns of PadValue Max and Min. ``exponent``/``fraction``/``bias`` describe the
    conventional floating formats and are 0 elsewhere. ``numpy_name`` is the numpy or ml_dtypes dtype with
    the same bit patterns, where there is one.
    """

    code: int
    name: str
    bits: int
    numeric_class: NumericClass
    numpy_name: str | None = None
    exponent: int = 0
    fraction: int = 0
    bias: int = 0
    must_be_zero: int = 0
    pad_max: int = 0
    pad_min: int = 0

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return self.code

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DType) and other.code == self.code)

    @property
    def nbytes(self) -> int:
        """Bytes of one memory access: the element, or the byte that holds a packed four-bit element."""
        return max(1, self.bits // 8)

    def bytes_of(self, elements: int) -> int:
        """Bytes that so many adjacent elements lie in."""
        return -(-elements * self.bits // 8)

    @property
    def packed(self) -> bool:
        """Two elements per byte, the even one in the low nibble."""
        return self.bits == 4

    @property
    def is_float(self) -> bool:
        return self.numeric_class == "floating"

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype with the same bit patterns; ``TypeError`` when there is none."""
        import numpy as np

        if self.numpy_name is None:
            raise TypeError(f"{self.name} has no numpy dtype")
        if hasattr(np, self.numpy_name):
            return np.dtype(self.numpy_name)
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.numpy_name))
        return found


def _float(
    code: int, name: str, bits: int, numpy_name: str | None, exponent: int, fraction: int, bias: int,
    pad_max: int | None = None, must_be_zero: int = 0,
) -> DType:  # fmt: skip
    """A floating type; without a ``pad_max`` of its own the pads are literal all-ones and all-zero."""
    if pad_max is None:
        high, low = (1 << bits) - 1, 0
    else:
        high, low = pad_max, pad_max | 1 << (bits - 1)
    return DType(code, name, bits, "floating", numpy_name, exponent, fraction, bias, must_be_zero, high, low)


def _integer(code: int, name: str, bits: int, signed: bool, numpy_name: str) -> DType:
    ones = (1 << bits) - 1
    if bits == 4 or not signed:
        pads = (ones, 0)
    else:
        pads = (ones >> 1, 1 << (bits - 1))
    kind: NumericClass = "signed" if signed else "unsigned"
    return DType(code, name, bits, kind, numpy_name, pad_max=pads[0], pad_min=pads[1])


ALL: tuple[DType, ...] = (
    _float(0, "FP64", 64, "float64", 11, 52, 1023, 0x7FEF_FFFF_FFFF_FFFF),
    _float(1, "FP32", 32, "float32", 8, 23, 127, 0x7F7F_FFFF),
    _float(2, "TF32", 32, None, 8, 10, 127, 0x7F7F_E000, must_be_zero=0x1FFF),
    _float(3, "HF32", 32, None, 8, 11, 127, 0x7F7F_F000, must_be_zero=0x0FFF),
    _float(4, "FP16", 16, "float16", 5, 10, 15, 0x7BFF),
    _float(5, "BF16", 16, "bfloat16", 8, 7, 127, 0x7F7F),
    _float(6, "HiF8", 8, None, 0, 0, 0),
    _float(7, "E4M3", 8, "float8_e4m3fn", 4, 3, 7, 0x7E),
    _float(8, "E5M2", 8, "float8_e5m2", 5, 2, 15, 0x7B),
    _float(9, "E3M2", 8, "float6_e3m2fn", 3, 2, 3, must_be_zero=0xC0),
    _float(10, "E2M3", 8, "float6_e2m3fn", 2, 3, 1, must_be_zero=0xC0),
    _float(11, "E2M1X2", 4, "float4_e2m1fn", 2, 1, 1),
    _float(12, "E1M2X2", 4, None, 1, 2, 1),
    _float(13, "E8M0", 8, "float8_e8m0fnu", 8, 0, 127),
    _float(14, "HiF4X2", 4, None, 1, 2, 1),
    _integer(16, "S64", 64, True, "int64"),
    _integer(17, "S32", 32, True, "int32"),
    _integer(18, "S16", 16, True, "int16"),
    _integer(19, "S8", 8, True, "int8"),
    _integer(20, "S4X2", 4, True, "int4"),
    _integer(24, "U64", 64, False, "uint64"),
    _integer(25, "U32", 32, False, "uint32"),
    _integer(26, "U16", 16, False, "uint16"),
    _integer(27, "U8", 8, False, "uint8"),
    _integer(28, "U4X2", 4, False, "uint4"),
)

BY_CODE: dict[int, DType] = {t.code: t for t in ALL}
BY_NAME: dict[str, DType] = {t.name: t for t in ALL}
NONE_CODE = 31
"""DTYPE_NONE: "keep the block-start type" in B.DATR; not a type."""

FP64, FP32, TF32, HF32 = (BY_NAME[n] for n in ("FP64", "FP32", "TF32", "HF32"))
FP16, BF16, HIF8, E4M3, E5M2 = (BY_NAME[n] for n in ("FP16", "BF16", "HiF8", "E4M3", "E5M2"))
S64, S32, S16, S8, S4X2 = (BY_NAME[n] for n in ("S64", "S32", "S16", "S8", "S4X2"))
U64, U32, U16, U8, U4X2 = (BY_NAME[n] for n in ("U64", "U32", "U16", "U8", "U4X2"))

HIF8_LARGEST = 32768.0
"""The largest finite number of HiF8; magnitudes beyond it overflow before they are rounded."""


def _named(names: str) -> frozenset[DType]:
    return frozenset(BY_NAME[name] for name in names.split())


FLOAT_TYPES = _named("FP64 FP32 TF32 HF32 FP16 BF16 E4M3 E5M2")
INTEGER_TYPES = _named("S64 S32 S16 S8 U64 U32 U16 U8")
ARITHMETIC_TYPES = FLOAT_TYPES | INTEGER_TYPES
"""Types of the vector operations."""

COMPARE_TYPES = ARITHMETIC_TYPES
"""Source types of TCMP."""

CUBE_TYPES = frozenset(ALL) - _named("FP64 S64 U64 HiF4X2")
"""Types that have a CUBE form."""

UNPACKED_TYPES = frozenset(t for t in ALL if not t.packed)

SCATTER_TYPES = UNPACKED_TYPES
"""Data types of MSCATTER_MASK."""

SCATTER_INDEX_TYPES = _named("S32 U32 S64 U64")
"""Byte-displacement types of MSCATTER_MASK."""

MATMUL_TYPES = _named("FP32 TF32 HF32 FP16 BF16 HiF8 E4M3 E5M2 E3M2 E2M3 E2M1X2 E1M2X2 S16 S8 S4X2 U16 U8 U4X2")
"""Types of the matmul operands A and B."""

ACCUMULATORS: dict[NumericClass, DType] = {"floating": FP32, "signed": S32, "unsigned": U32}


def accumulator(a: DType, b: DType) -> DType | None:
    """The accumulator type of a matmul of ``a`` by ``b``; ``None`` when the pair is illegal."""
    if a not in MATMUL_TYPES or b not in MATMUL_TYPES or a.numeric_class != b.numeric_class:
        return None
    return ACCUMULATORS[a.numeric_class]


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The PTO type with the bit patterns of a numpy dtype; ``TypeError`` when there is none."""
    for t in ALL:
        if t.numpy_name is not None and t.numpy_name == dtype.name and dtype.isnative:
            return t
    raise TypeError(f"no PTO data type has the bit patterns of {dtype}")
