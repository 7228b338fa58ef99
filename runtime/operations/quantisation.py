"""TQUANT and TDEQUANT: FP32 numbers as integers of eight bits by a multiplier and a zero point, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptoc.isa import dtypes
from ptoc.isa.dtypes import FP32, S8, U8, DType
from ptoc.runtime.numerics.affine import dequantise, quantise
from ptoc.runtime.operations.common import require
from ptoc.runtime.operations.generation import signed
from ptoc.runtime.operations.shaped import Extent, Given, Operation, Outcome

_ZERO_POINTS = {S8: (-128, 127), U8: (0, 255)}


class _Affine(Operation):
    """Either direction; ``results`` are the types that B.DATR may say."""

    early = True
    results: frozenset[DType]

    def result(self, given: Given) -> DType:
        """The type that B.DATR says."""
        attributes = given.bundle.attributes
        found = None if attributes is None else dtypes.BY_CODE.get(attributes.dtype_code)
        require(found in self.results, f"{given.bundle.operation} makes no {found} of {given.dtype}")
        assert found is not None
        return found

    def integer(self, given: Given) -> DType:
        """The type that has the zero point."""
        raise NotImplementedError

    def parameters(self, given: Given) -> tuple[float, int]:
        """Multiplier and zero point; without B.IOR they change nothing."""
        if given.bundle.registers is None:
            return 1.0, 0
        return float(np.uint32(given.scalars[0] & 0xFFFF_FFFF).view(np.float32)), signed(given.scalars[1])

    def check(self, given: Given) -> None:
        self.result(given)
        multiplier, zero = self.parameters(given)
        require(0 < multiplier < float("inf"), f"the multiplier {multiplier} is not finite and positive")
        low, high = _ZERO_POINTS[self.integer(given)]
        require(low <= zero <= high, f"the zero point {zero} is no {self.integer(given)}")

    def check_sources(self, given: Given) -> None:
        d = given.tiles[0].descriptor
        stated = ((given.rows, given.cols), given.wide)
        require((d.valid_shape, d.cols) == stated, "the dimensions are not those of the source")

    def extents(self, given: Given) -> Sequence[Extent]:
        return (Extent(self.result(given), given.rows, given.cols, given.wide),)

    def check_results(self, given: Given) -> None:
        rows = given.tiles[0].descriptor.rows
        require(given.results[0].rows == rows, f"the result does not have the {rows} physical rows of the source")


class Quantisation(_Affine):
    """TQUANT."""

    results = frozenset((S8, U8))

    def integer(self, given: Given) -> DType:
        return self.result(given)

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        datr = given.bundle.datr
        parameters = self.parameters(given)
        bits, flags = quantise(self.result(given), given.bits(0), *parameters, datr.rounding, datr.saturate)
        return (Outcome(bits),), flags


class Dequantisation(_Affine):
    """TDEQUANT."""

    results = frozenset((FP32,))

    def integer(self, given: Given) -> DType:
        return given.dtype

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        bits, flags = dequantise(given.dtype, given.bits(0), *self.parameters(given), given.bundle.datr.rounding)
        return (Outcome(bits),), flags


OPERATIONS: dict[str, Operation] = {"TQUANT": Quantisation(), "TDEQUANT": Dequantisation()}
