"""``#nd.post``: what happens to a finished sum of a matmul, in the order of the machine.

The sum is multiplied by ``scale``, or by ``slope`` where it is negative, then rounded, offset, and clamped or
converted. The attribute says what is done; which PreQuantMode does it follows from the types, the words from its
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ptoc.isa import postprocess
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import PreQuantMode, ReluMode, Rounding


@dataclass(frozen=True)
class Post:
    """Scalar post-processing; ``slope`` is that of leaky ReLU, ``shift`` replaces the scale by a shift to the right.

    ``scale`` ``None`` means that no word is given: the sums are taken as they are.
    """

    relu: bool = False
    slope: float | None = None
    scale: float | None = None
    offset: int = 0
    shift: int = 0
    rounding: Rounding = Rounding.DEFAULT
    saturate: bool = False

    @property
    def parameter(self) -> str:
        """Where the quantization word comes from, as ``PreQuantMode.parameter`` says it."""
        return "scalar" if self.shift or self.scale is not None else ""

    @property
    def relu_mode(self) -> ReluMode:
        if self.slope is not None:
            return ReluMode.LRELU
        return ReluMode.RELU if self.relu else ReluMode.NONE

    def mode(self, accumulator: DType, result: DType) -> PreQuantMode:
        """The PreQuantMode that does this; ``VerifyException`` when none does."""
        mode = postprocess.conversion(accumulator, result, self.parameter, shift=self.shift > 0)
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
            self.words(mode)
        except ValueError as error:
            raise VerifyException(str(error)) from None
        return mode

    def words(self, mode: PreQuantMode) -> tuple[int, ...]:
        """The parameter words that the bundle takes from registers; ``ValueError`` for a number that no word holds."""
        words = []
        if self.shift:
            words.append(postprocess.shift_word(self.shift))
        elif self.scale is not None:
            words.append(postprocess.scale_word(self.scale, self.offset, mode.offset_bits))
        elif self.offset:
            raise ValueError("an offset needs a scale")
        if self.slope is not None:
            words.append(postprocess.slope_word(self.slope))
        return tuple(words)

    def __str__(self) -> str:
        numbers = {"leaky": self.slope, "scale": self.scale, "offset": self.offset or None, "shift": self.shift or None}
        parts = ["relu"] if self.relu else []
        parts += [f"{name} {value!r}" for name, value in numbers.items() if value is not None]
        parts += [self.rounding.name.lower()] if self.rounding != Rounding.DEFAULT else []
        return ", ".join(parts + (["saturate"] if self.saturate else []))


_ROUNDINGS = {each.name.lower(): each for each in Rounding if each != Rounding.DEFAULT}


@irdl_attr_definition
class PostAttr(Data[Post]):
    name = "nd.post"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Post:
        fields: dict[str, Any] = {}

        def part() -> None:
            word = parser.parse_identifier()
            if word in ("relu", "saturate"):
                fields[word] = True
            elif word in ("leaky", "scale"):
                fields["slope" if word == "leaky" else word] = float(parser.parse_number())
            elif word in ("offset", "shift"):
                fields[word] = parser.parse_integer()
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
