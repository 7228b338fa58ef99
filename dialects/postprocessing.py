"""``#nd.post``: what happens to a finished sum of a matmul, in the order of the machine.

The sum is multiplied by ``scale``, or by ``slope`` where it is negative, then rounded, offset, and clamped or
converted. The attribute says what is done; which PreQuantMode does it follows from the types, the words from its
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ptoc.isa import dtypes, postprocess
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import PreQuantMode, ReluMode, Rounding

COLUMNS = "columns"
"""A parameter that a tile of words holds, one for each column."""

Scale = float | tuple[float, ...] | str
Whole = int | tuple[int, ...]


@dataclass(frozen=True)
class Post:
    """``slope`` is that of leaky ReLU, ``shift`` replaces the scale by a shift to the right.

    Each parameter is one number, or a tuple of one per column; where the words of the columns stand in a tile, scale,
    shift and slope are ``COLUMNS``, and the offset is part of the word. ``scale`` ``None`` means that no word is given:
    the sums are taken as they are. ``hif8``: the result is one of HiF8, which arrays hold as unsigned bytes.
    """

    relu: bool = False
    slope: Scale | None = None
    scale: Scale | None = None
    offset: Whole = 0
    shift: Whole | str = 0
    rounding: Rounding = Rounding.DEFAULT
    saturate: bool = False
    hif8: bool = False

    @property
    def parameter(self) -> str:
        """Where the quantization word comes from, as ``PreQuantMode.parameter`` says it."""
        if any(isinstance(each, tuple | str) for each in (self.scale, self.offset, self.shift)):
            return "vector"
        return "scalar" if self.shift or self.scale is not None else ""

    @property
    def relu_mode(self) -> ReluMode:
        if isinstance(self.slope, tuple | str):
            return ReluMode.PRELU
        if self.slope is not None:
            return ReluMode.LRELU
        return ReluMode.RELU if self.relu else ReluMode.NONE

    @property
    def from_tiles(self) -> Post:
        """The same with what differs from column to column in tiles."""
        slope = COLUMNS if self.relu_mode == ReluMode.PRELU else self.slope
        if self.parameter != "vector":
            return replace(self, slope=slope)
        if self.shift:
            return replace(self, slope=slope, shift=COLUMNS)
        return replace(self, slope=slope, scale=COLUMNS, offset=0)

    def mode(self, accumulator: DType, result: DType) -> PreQuantMode:
        """The PreQuantMode that does this; ``VerifyException`` when none does."""
        if self.hif8 != (result == dtypes.HIF8):
            raise VerifyException("hif8 says what bytes the result is, and of no other")
        mode = postprocess.conversion(accumulator, result, self.parameter, shift=bool(self.shift))
        if mode is None:
            by = f" by {self}" if self != NOTHING else ""
            raise VerifyException(f"B.FPATR does not take {accumulator} to {result}{by}")
        if self.relu and self.slope is not None:
            raise VerifyException("ReLU has one slope")
        if mode.rounding is not None and self.rounding != Rounding.DEFAULT:
            raise VerifyException(f"PreQuantMode {mode.code} has its own rounding")
        if self.saturate and not mode.saturates:
            raise VerifyException(f"PreQuantMode {mode.code} does not saturate")
        try:
            self.quantization(mode)
            self.slopes()
        except ValueError as error:
            raise VerifyException(str(error)) from None
        return mode

    def quantization(self, mode: PreQuantMode) -> tuple[int, ...]:
        """The quantization words: none, one, or one per column; ``ValueError`` for a number that no word holds."""
        if COLUMNS in (self.scale, self.shift):
            return ()
        if self.shift:
            return tuple(postprocess.shift_word(n) for n in _each(self.shift))
        if self.scale is None:
            if self.offset:
                raise ValueError("an offset needs a scale")
            return ()
        scales, offsets = _each(self.scale), _each(self.offset)
        count = max(len(scales), len(offsets))
        pairs = zip(_repeated(scales, count), _repeated(offsets, count), strict=True)
        return tuple(postprocess.scale_word(scale, offset, mode.offset_bits) for scale, offset in pairs)

    def slopes(self) -> tuple[int, ...]:
        """The slope words, as ``quantization`` gives the others."""
        if self.slope is None or self.slope == COLUMNS:
            return ()
        return tuple(postprocess.slope_word(slope) for slope in _each(self.slope))

    def words(self, mode: PreQuantMode) -> tuple[int, ...]:
        """The words that the bundle takes from registers, once what differs by column stands in tiles."""
        return (*self.quantization(mode), *self.slopes())

    def __str__(self) -> str:
        numbers = {"leaky": self.slope, "scale": self.scale, "offset": self.offset or None, "shift": self.shift or None}
        parts = ["relu"] if self.relu else []
        parts += [f"{name} {_text(value)}" for name, value in numbers.items() if value is not None]
        parts += [self.rounding.name.lower()] if self.rounding != Rounding.DEFAULT else []
        return ", ".join(parts + [word for word in ("saturate", "hif8") if getattr(self, word)])


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _repeated(values: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return values * count if len(values) == 1 else values


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(repr, value))}]"
    return value if isinstance(value, str) else repr(value)


_ROUNDINGS = {each.name.lower(): each for each in Rounding if each != Rounding.DEFAULT}


@irdl_attr_definition
class PostAttr(Data[Post]):
    name = "nd.post"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Post:
        fields: dict[str, Any] = {}

        def numbers(one: Callable[[], Any]) -> Any:
            if parser.parse_optional_keyword(COLUMNS):
                return COLUMNS
            several = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, one)
            return one() if several is None else tuple(several)

        def part() -> None:
            word = parser.parse_identifier()
            if word in ("relu", "saturate", "hif8"):
                fields[word] = True
            elif word in ("leaky", "scale"):
                fields["slope" if word == "leaky" else word] = numbers(lambda: float(parser.parse_number()))
            elif word in ("offset", "shift"):
                fields[word] = numbers(parser.parse_integer)
            elif word in _ROUNDINGS:
                fields["rounding"] = _ROUNDINGS[word]
            else:
                parser.raise_error(f"{word} is no post-processing")

        with parser.in_angle_brackets():
            part()
            while parser.parse_optional_punctuation(","):
                part()
        return Post(**fields)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


NOTHING = Post()


def post_attr(post: Post) -> dict[str, PostAttr]:
    """The property that holds a post-processing; none where nothing is done."""
    return {} if post == NOTHING else {"post": PostAttr(post)}
