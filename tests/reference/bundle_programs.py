"""Random programs of a few bundles of one operation, as every family makes and compares them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol

from ptoc.isa import operations
from ptoc.isa.forms import Instruction
from reference.agreement import Case, difference
from reference.builder import Builder

BUNDLES = 5
AREA = 0x1000
"""Bytes of memory for a source; a bundle has three."""


class Drawn(Protocol):
    """A bundle and the loads of its sources."""

    @property
    def loads(self) -> Sequence[Sequence[Instruction]]: ...

    @property
    def operation(self) -> Sequence[Instruction]: ...


def random_program(
    operation: str,
    seed: int,
    draw: Callable[[Builder, str, bytearray, int], Drawn],
    *,
    count: int = BUNDLES,
    filled_from: int | None = None,
    restored: bool = False,
) -> Case:
    """A program with ``count`` bundles of the operation, most of them legal.

    ``draw`` makes one whose sources lie from an address on, and puts their elements into memory. From ``filled_from``
    on that holds random bytes, which sources leave alone. Memory is ``restored`` behind each bundle if asked for.
    """
    rng = random.Random(f"{operation} {seed}")
    build = Builder(rng.getrandbits(32), bytes(1 << 16))
    memory = bytearray(build.memory)
    space = len(memory) if filled_from is None else filled_from
    if filled_from is not None:
        memory[filled_from:] = rng.randbytes(len(memory) - filled_from)
    bundles = [draw(build, operation, memory, n * 3 * AREA % space) for n in range(count)]
    build.memory = bytes(memory)
    build.machine.memory = bytearray(memory)
    spoiled = rng.random() < 0.2
    for bundle in bundles:
        build.mutation = 0
        for load in bundle.loads:
            build.emit(*load)
        build.mutation = 0.5 if spoiled else 0
        build.emit(*bundle.operation)
        if restored:
            build.machine.memory[:] = memory
    return build.case


def agreeing_bundles(program: Callable[[str, int], Case], operation: str, seeds: range) -> int:
    """Run programs of an operation on both simulators; returns how many of its bundles there were."""
    wrong, bundles = {}, 0
    for seed in seeds:
        case = program(operation, seed)
        found = difference(case)
        if found:
            wrong[seed] = found
        started = [operations.operation_of(inst) for inst in case.program if inst.key.startswith("BSTART")]
        bundles += sum(op is not None and op.name == operation for op in started)
    assert not wrong
    return bundles
