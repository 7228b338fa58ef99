"""``ptoc.validate``: the simulator against two oracles, plain numpy and numpy in PTO's order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ptoc.arrays import ArraySpec, copy_with_strides
from ptoc.comparing import UNORDERED, Mismatch, canonical_bits, first_mismatch, pattern, ulp_distance
from ptoc.errors import ArgumentError, kind_of
from ptoc.kernel import KERNEL_FIRST, Call, Kernel, jit
from ptoc.launch import address_of, check_arguments, run

if TYPE_CHECKING:
    from ptoc.program import Program
    from ptoc.runtime import Finding, Machine

Array = npt.NDArray[Any]


MANY_ULP = 256
"""A distance from plain numpy that wants a word."""

MANY_ULP_EXPLAINED = "docs/numerics.md#float-matrix-products"


@dataclass(frozen=True)
class Comparison:
    """One array of a kernel's outcome: a result or an argument that was assigned into.

    ``mismatch`` is the first element whose bits differ between the simulator and PTO's order, ``mismatches`` their
    number and ``where`` their places in words; ``max_ulp`` the largest distance of finite elements between the
    simulator and plain numpy; ``outside`` the number of elements farther from plain numpy than the policy allows.
    ``worst`` is the mismatch of the largest distance, ``wrote`` says which PE and bundle stored the first one.
    """

    name: str
    elements: int
    mismatch: Mismatch | None
    mismatches: int
    where: str | None
    max_ulp: int
    outside: int
    first_outside: Mismatch | None
    worst: Mismatch | None = None
    wrote: str | None = None

    @property
    def ok(self) -> bool:
        return self.mismatch is None and not self.outside

    def __str__(self) -> str:
        lines = []
        if self.mismatch is None:
            lines.append(f"{self.name}: {self.elements} elements, bits equal to numpy in PTO order")
        else:
            lines.append(
                f"{self.name}: {self.mismatches} of {self.elements} elements differ from numpy in PTO order"
                + (f", {self.where}" if self.where else "")
            )
            lines.append(f"  first at {_pair(self.mismatch, 'simulator', 'PTO order')}")
            if self.worst is not None and self.worst != self.mismatch:
                lines.append(f"  worst at {_pair(self.worst, 'simulator', 'PTO order')}")
        if self.first_outside is None:
            lines.append(f"  plain numpy within {self.max_ulp} ulp")
        else:
            lines.append(f"  {self.outside} elements are farther from plain numpy than rounding explains")
            lines.append(f"  first at {_pair(self.first_outside, 'simulator', 'plain numpy')}")
        if self.wrote is not None:
            lines.append(f"  the first was stored by {self.wrote}")
        return "\n".join(lines)


def _pair(mismatch: Mismatch, left: str, right: str) -> str:
    distance = "not comparable" if mismatch.ulp == UNORDERED else f"{mismatch.ulp} ulp"
    index = ", ".join(map(str, mismatch.index))
    return f"[{index}]: {left} {mismatch.left_bits:#x}, {right} {mismatch.right_bits:#x} ({distance})"


@dataclass(frozen=True)
class Report:
    """The outcome of ``validate``, one comparison per result and per argument that was assigned into.

    ``ok``: the simulator equals numpy in PTO's order bit for bit (NaNs canonicalised), plain numpy is within the
    accuracy policy of ``docs/numerics.md``, and no finding of the simulator's ``watch`` is harmful
    (``docs/simulator.md``).
    """

    kernel: str
    comparisons: tuple[Comparison, ...] = field(default_factory=tuple)
    watch: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        return all(c.ok for c in self.comparisons) and not self.harmful

    @property
    def harmful(self) -> tuple[Finding, ...]:
        """What the watch found that no correct program does."""
        return tuple(finding for finding in self.watch if finding.harmful)

    @property
    def max_ulp(self) -> int:
        """The largest distance between the simulator and plain numpy, in ulp of the results' dtypes."""
        return max((c.max_ulp for c in self.comparisons), default=0)

    @property
    def first_mismatch(self) -> Mismatch | None:
        """The first element whose bits differ between the simulator and PTO's order."""
        return next((c.mismatch for c in self.comparisons if c.mismatch is not None), None)

    @property
    def verdict(self) -> str:
        """One line."""
        if self.ok:
            why = f", which rounding explains ({MANY_ULP_EXPLAINED})" if self.max_ulp > MANY_ULP else ""
            return f"{self.kernel}: bits equal to numpy in PTO order; plain numpy within {self.max_ulp} ulp{why}"
        bad = [c.name for c in self.comparisons if not c.ok]
        if not bad:
            return f"{self.kernel}: WRONG, {self.harmful[0].kind}"
        return f"{self.kernel}: WRONG in {', '.join(bad)}"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.comparisons), *map(str, self.harmful), self.verdict])


def validate(kernel: Any, *args: Any, **kwargs: Any) -> Report:
    """Run a kernel three ways on copies of its arguments and compare.

    ``kernel`` is a ``ptoc.jit`` kernel or a plain function. The arguments are left alone. Errors of compiling and
    faults of the program are raised as by a call.
    """
    if not isinstance(kernel, Kernel):
        if not callable(kernel):
            raise ArgumentError(f"validate takes a kernel, not {kind_of(kernel)}", rule="arguments", hint=KERNEL_FIRST)
        kernel = jit(kernel)
    call = kernel.bind(args, kwargs)
    arrays, names = call.arrays, call.names
    specs = call.specs()
    plain_arrays = [copy_with_strides(a) for a in arrays]
    if any(spec.size == 0 for spec in specs):
        Call(kernel, arrays, names, call.positional).apply(*plain_arrays)
        return Report(kernel.name)
    program = kernel.program_for(*args, **kwargs)
    check_arguments(specs, program.kinds, names, arrays, program.highest)
    with np.errstate(all="ignore"):
        plain = call.apply(*plain_arrays)

    from ptoc.oracle import interpret
    from ptoc.passes.arguments import INOUT

    simulated_arrays = [copy_with_strides(a) for a in arrays]
    machine, simulated = run(program, simulated_arrays, kernel.target.cores, watch=True)
    expected = interpret(program, arrays)
    results = list(plain) if isinstance(plain, tuple | list) else [] if plain is None else [plain]
    comparisons = []
    for n, (place, result) in enumerate(zip(program.results.places, results)):
        if program.kinds[place] != INOUT:
            name = "result" if len(results) == 1 else f"result {n}"
            comparison = _compare(name, simulated[place], expected[place], np.asarray(result))
            comparisons.append(_with_writer(comparison, machine, program, place))
    for n, name in enumerate(names):
        if program.kinds[n] == INOUT:
            comparison = _compare(name, simulated[n], expected[n], plain_arrays[n])
            comparisons.append(_with_writer(comparison, machine, program, n))
    return Report(kernel.name, tuple(comparisons), machine.findings)


def _with_writer(comparison: Comparison, machine: Machine, program: Program, n: int) -> Comparison:
    """The comparison of launch array ``n`` with who stored its first bad element."""
    first = comparison.mismatch or comparison.first_outside
    if first is None:
        return comparison
    wrote = machine.wrote(address_of(program, n, first.index))
    return replace(comparison, wrote="nobody" if wrote is None else str(wrote))


@np.errstate(all="ignore")
def _compare(name: str, simulated: Array, expected: Any, plain: Array) -> Comparison:
    wrong = canonical_bits(simulated) != canonical_bits(expected.data)
    if plain.dtype != simulated.dtype or plain.shape != simulated.shape:
        raise ArgumentError(
            f"numpy gives {name} as {_form(plain)}, ptoc as {_form(simulated)}; this is a fault of ptoc",
            hint="please report this kernel",
        )
    distance = ulp_distance(simulated, plain)
    beyond = outside(simulated, plain, expected.bound)
    comparable = distance[distance != UNORDERED]
    return Comparison(
        name,
        simulated.size,
        first_mismatch(simulated, expected.data),
        int(wrong.sum()),
        pattern(wrong) if wrong.any() else None,
        int(comparable.max()) if comparable.size else 0,
        int(beyond.sum()),
        _first(simulated, plain, beyond),
        _worst(simulated, expected.data, wrong),
    )


def outside(simulated: Array, plain: Array, bound: npt.NDArray[np.float64] | None) -> npt.NDArray[np.bool_]:
    """Elements farther from plain numpy than the policy allows: any difference without a bound, else beyond it."""
    differ = ~((simulated == plain) | ((simulated != simulated) & (plain != plain)))
    if bound is None or not differ.any():
        return differ
    distance = np.abs(simulated.astype(np.float64) - plain.astype(np.float64))
    within: npt.NDArray[np.bool_] = (distance <= bound) | np.isposinf(bound)
    return differ & ~within


def _first(simulated: Array, plain: Array, outside: npt.NDArray[np.bool_]) -> Mismatch | None:
    if not outside.any():
        return None
    index = tuple(int(i) for i in np.argwhere(outside)[0])
    bits = [int(canonical_bits(x)[index]) for x in (simulated, plain)]
    return Mismatch(index, bits[0], bits[1], int(ulp_distance(simulated, plain)[index]))


def _worst(simulated: Array, expected: Array, wrong: npt.NDArray[np.bool_]) -> Mismatch | None:
    """The wrong element with the largest distance."""
    if not wrong.any():
        return None
    distance = np.where(wrong, ulp_distance(simulated, expected), 0)
    at = np.unravel_index(np.argmax(distance), distance.shape)
    return _first(simulated, expected, _only(wrong.shape, at))


def _only(shape: tuple[int, ...], index: Any) -> npt.NDArray[np.bool_]:
    mask = np.zeros(shape, bool)
    mask[index] = True
    return mask


def _form(array: Array) -> str:
    return str(ArraySpec(array.shape, array.dtype, array.strides)) if array.ndim else f"a scalar {array.dtype}"
