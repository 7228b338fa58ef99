"""A compiled kernel: its IR at three levels, its assembly and bytes, what it costs, and how to run it."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from xdsl.dialects.builtin import MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.ir import Attribute
from xdsl.printer import Printer

from ptoc.arrays import ArraySpec, Placement, check_cores, dense_strides, in_memory, spec_of
from ptoc.backend.statements import Statement
from ptoc.definition import Definition
from ptoc.dialects.attributes import dtype_of, row_stride_bytes
from ptoc.errors import ArgumentError
from ptoc.isa.image import Image, pack

Level = Literal["nd", "tile", "pto"]


@dataclass(frozen=True)
class Results:
    """What a kernel returns: the launch arguments that hold the arrays, and how they are wrapped.

    ``shapes`` are those of stacks of matrices among them, by place: in memory the matrices lie below each other.
    """

    form: str
    places: list[int]
    shapes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def build(self, arrays: Sequence[Any]) -> Any:
        """The kernel's return value from all its launch arrays; numpy's scalars stand for those without dimensions."""
        values = [arrays[place] if arrays[place].ndim else arrays[place][()] for place in self.places]
        if self.form == "none":
            return None
        if self.form == "single":
            return values[0]
        return tuple(values) if self.form == "tuple" else values


def spec_of_type(type_: Attribute) -> ArraySpec:
    """The specification of an array with the shape, the type and the row stride of its memref."""
    import numpy as np
    from xdsl.dialects.builtin import i1

    assert isinstance(type_, MemRefType)
    dtype = np.dtype(bool) if type_.element_type == i1 else dtype_of(type_.element_type).numpy
    strides = dense_strides(type_.get_shape(), dtype.itemsize)
    if isinstance(type_.layout, StridedLayoutAttr):
        strides = (row_stride_bytes(type_), *strides[1:])
    return ArraySpec(type_.get_shape(), dtype, strides)


@dataclass(eq=False)
class Program:
    """A kernel compiled for one set of shapes, strides and dtypes.

    ``specs`` and ``names`` describe the arrays a caller passes; ``launch_specs`` and ``kinds`` all arrays of a launch:
    first the caller's, then results and intermediate arrays. ``places`` says how the caller's get into memory.
    """

    name: str
    specs: tuple[ArraySpec, ...]
    places: tuple[Placement, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    types: tuple[Attribute, ...]
    results: Results
    modules: dict[str, ModuleOp] = field(repr=False)
    statements: list[Statement] = field(repr=False)
    encoded: Image = field(repr=False)
    definition: Definition = field(default=Definition(None), repr=False)
    written: bool = False
    """Whether it was made from IR that a person wrote."""

    @functools.cached_property
    def launch_specs(self) -> tuple[ArraySpec, ...]:
        own = self.types[len(self.specs) :]
        return (*map(ArraySpec.placed, self.specs, self.places), *(spec_of_type(t) for t in own))

    def in_memory(self, arrays: Sequence[Any]) -> list[Any]:
        """A caller's arrays, or views of them, with the shapes that they have in memory."""
        return list(map(in_memory, arrays, self.places))

    def module(self, level: Level) -> ModuleOp:
        """The program's IR at a level; a copy, to be changed freely."""
        if level not in self.modules:
            levels = " and ".join([", ".join([*self.modules][:-1]), [*self.modules][-1]])
            what = f"no IR level is called {level!r}; the levels are {levels}"
            hint = "`asm()` is the text of the instructions, `code()` their bytes"
            raise ArgumentError(what, rule="levels", hint=hint)
        return self.modules[level].clone()

    @property
    def highest(self) -> ModuleOp:
        """The IR at the highest level there is: ``nd``, or ``tile`` where the program was written as that."""
        return next(iter(self.modules.values()))

    def ir(self, level: Level, *, locations: bool = False) -> str:
        """The IR at a level as text, with source locations if asked for."""
        self.module(level)
        out = io.StringIO()
        Printer(out, print_debuginfo=locations).print_op(self.modules[level])
        return out.getvalue() + "\n"

    def asm(self) -> str:
        """Assembly text with sections, labels and source lines: ``assemble(program.asm()) == program.image()``."""
        from ptoc.backend.assembler import print_statements

        return print_statements(self.statements)

    def image(self) -> bytes:
        """The whole program image (ELF)."""
        return pack(self.encoded)

    def code(self) -> bytes:
        """The instructions alone."""
        return self.encoded.code

    @functools.cached_property
    def stats(self) -> Mapping[str, int]:
        """What one run on one core costs, known without running it.

        ``gm_bytes_read`` and ``gm_bytes_written`` count element accesses (masked stores as if every element were
        enabled), ``gm_lower_bound_bytes`` what any program must move, ``macs_useful`` and ``macs_issued``
        multiply-adds of the kernel and of whole CUBE cells, ``bundles`` executed tile bundles, ``code_bytes`` the
        size of the code, ``copied_bytes`` the size of arguments that the launcher has to copy because they lie in
        memory neither row by row nor, where only matmuls need them, column by column, ``peak_local_bytes`` the most
        Local tile bytes on a PE, with any number of cores, and ``peak_shared_bytes`` those of the core.
        """
        from ptoc.statistics import statistics_of

        return statistics_of(self)

    def explain(self) -> str:
        """Why each matmul is laid out as it is: the lower bound, the plans that were weighed, and what decided."""
        from ptoc.explaining import explanation_of

        return explanation_of(self)

    def run(self, *arrays: Any, cores: int = 1) -> Any:
        """Run on arrays of the program's specifications and a machine of ``cores``; returns what the kernel returns.

        The cores share the work, as far as it can be divided; the results do not depend on their number.
        Arguments that the kernel assigns into are updated when the program has halted without a fault.
        ``ArgumentError`` for arrays the program was not compiled for, ``ProgramFault`` for a fault; both leave the
        arrays as they were.
        """
        check_cores(cores)
        if len(arrays) != len(self.specs):
            raise ArgumentError(
                f"{self.name} takes {len(self.specs)} arrays, not {len(arrays)}",
                where=self.definition.name,
                operands=" and ".join(map(str, self.specs)),
                rule="compiled-for",
                hint=f"pass {', '.join(self.names)}",
            )
        for array, wanted, name in zip(arrays, self.specs, self.names):
            try:
                given = spec_of(array, name)
            except ArgumentError as error:
                error.complete(where=self.definition.parameter(name))
                raise
            if given != wanted:
                raise ArgumentError(
                    f"argument {name} is {given}; this program was compiled for {wanted}",
                    where=self.definition.parameter(name),
                    rule="compiled-for",
                    hint="call the kernel itself, which compiles for what it is given",
                )
        from ptoc.launch import launch

        return launch(self, arrays, cores)
