"""Which pass turned a kernel into a wrong program: its IR is executed after each of them."""

from __future__ import annotations

import difflib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ptoc.arrays import copy_with_strides
from ptoc.comparing import canonical_bits, pattern
from ptoc.compiler import compile_kernel, trace_kernel
from ptoc.dialects.parsing import source_of
from ptoc.errors import ArgumentError, PtocError, UnsupportedError, kind_of, summary
from ptoc.execution import execute
from ptoc.kernel import KERNEL_FIRST, Call, Kernel, jit
from ptoc.launch import run
from ptoc.oracle import NdFunctions, Value, interpret
from ptoc.passes.arguments import OUTPUT, argument_kinds
from ptoc.passes.check_values import check_values
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.pipeline import STAGES
from ptoc.passes.rewriting import the_function
from ptoc.program import Program, Results
from ptoc.tile_functions import Nonsense
from ptoc.traced_functions import TracedFunctions
from ptoc.tracing import Trace
from ptoc.validation import outside

Array = npt.NDArray[Any]
TRACING = "tracing"
"""Stands for the front end where a pass is named."""
FUSION = "fuse-epilogue"
"""The pass behind which sums have the machine's order."""
MACHINE = "the machine"
"""Stands for what comes behind the last pass: the encoder and the simulator."""

_CONTEXT = 2


@dataclass(frozen=True)
class Bisection:
    """The first step after which a kernel's results change.

    ``guilty`` is the name of a pass, ``TRACING`` or ``MACHINE``, or ``None`` when all steps agree; ``reason`` says in
    one line what is wrong after it. ``before`` and ``after`` are the IR around it as text, empty where there is none.
    """

    kernel: str
    guilty: str | None
    reason: str
    before: str = ""
    after: str = ""

    def marked(self) -> str:
        """The lines of ``before`` that the step took away (-), those of ``after`` that it added (+), some around."""
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), n=_CONTEXT, lineterm="")
        return "\n".join(list(lines)[2:])

    def __str__(self) -> str:
        if self.guilty is None:
            return f"{self.kernel}: {self.reason}"
        head = f"{self.kernel}: wrong after {self.guilty}: {self.reason}"
        return "\n".join([head, f"IR before (-) and after (+) {self.guilty}:", self.marked()]) if self.after else head


@dataclass(frozen=True)
class _Step:
    name: str
    module: ModuleOp | None


def bisect(kernel: Any, *args: Any, **kwargs: Any) -> Bisection:
    """Compile a kernel for arguments and execute its IR after every pass, on copies of them.

    The traced module must agree with plain numpy within the accuracy policy, and so must the fused one, in PTO's order;
    whatever follows must not change a bit. ``kernel`` is a ``ptoc.jit`` kernel or a plain function; errors that are the
    kernel's own are raised as by a call.
    """
    if not isinstance(kernel, Kernel):
        if not callable(kernel):
            raise ArgumentError(f"bisect takes a kernel, not {kind_of(kernel)}", hint=KERNEL_FIRST)
        kernel = jit(kernel)
    call: Call = kernel.bind(args, kwargs)
    specs = call.specs()
    if any(spec.size == 0 for spec in specs):
        return Bisection(kernel.name, None, "arrays without elements run in numpy, without a pass")
    trace, results = trace_kernel(call.apply, kernel.name, specs, call.names, kernel.definition)
    steps = [_Step(TRACING, trace.module)]
    program: Program | None = None
    failure: Exception | None = None
    try:
        program = compile_kernel(
            call.apply,
            kernel.name,
            specs,
            call.names,
            kernel.definition,
            kernel.target.isa,
            lambda name, module: steps.append(_Step(name, module.clone())),
        )
    except Exception as error:
        failure = error
    try:
        _check_steps(call, trace, results, steps)
        if program is None:
            assert failure is not None
            if isinstance(failure, UnsupportedError):
                raise failure
            done = [step.name for step in steps]
            missing = next((name for stage in STAGES.values() for name in stage if name not in done), None)
            if missing is None:
                raise _Wrong(steps[-1], summary(failure))
            raise _Wrong(_Step(missing, None), f"the pass fails: {summary(failure)}")
        _check_machine(kernel, call, program, steps)
    except _Wrong as wrong:
        names = [step.name for step in steps]
        place = names.index(wrong.step.name) if wrong.step.name in names else len(steps)
        before = "" if place == 0 else _text(steps[place - 1].module)
        return Bisection(kernel.name, wrong.step.name, wrong.reason, before, _text(wrong.step.module))
    return Bisection(kernel.name, None, "no step changes the results")


class _Wrong(Exception):
    """A step whose module computes something else."""

    def __init__(self, step: _Step, reason: str) -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason


def _check_steps(call: Call, trace: Trace, results: Results, steps: Sequence[_Step]) -> None:
    """``_Wrong`` for the first step before bundles whose module does not compute what it should."""
    names = _names(call, argument_kinds(the_function(trace.module)))
    plain = _in_numpy(call, results, len(names))
    done = [step.name for step in steps]
    fused = done.index(FUSION) if FUSION in done else len(steps)
    early = [_executed(step, call, trace, results, TracedFunctions) for step in steps[:fused]]
    if fused == len(steps):
        return
    exact = _executed(steps[fused], call, trace, results, NdFunctions)
    for step, values in zip(steps, [*early, exact]):
        for name, value, expected, known in zip(names, values, plain, exact):
            wrong = outside(value.data, expected, known.bound)
            if wrong.any():
                raise _Wrong(step, _difference(name, value.data, expected, wrong, "plain numpy"))
    for step in steps[fused + 1 :]:
        if step.name in STAGES["pto"]:
            return
        for name, value, known in zip(names, _executed(step, call, trace, results, NdFunctions), exact):
            _check_bits(step, name, value.data, known.data)


def _check_machine(kernel: Kernel, call: Call, program: Program, steps: Sequence[_Step]) -> None:
    """``_Wrong`` when the simulator's results are not those of the kernel's ``nd`` module.

    The last pass is guilty if a replay of its instructions finds something wrong with them.
    """
    expected = interpret(program, call.arrays)
    cores = kernel.target.cores
    try:
        _, simulated = run(program, [copy_with_strides(each) for each in call.arrays], cores)
        for name, value, exact in zip(_names(call, program.kinds), simulated, expected):
            _check_bits(steps[-1], name, value, exact.data)
    except (PtocError, _Wrong) as error:
        try:
            check_values(program.modules["nd"], program.modules["pto"], cores=(cores,))
        except WrongProgram as wrong:
            raise _Wrong(steps[-1], summary(wrong)) from None
        reason = error.reason if isinstance(error, _Wrong) else summary(error)
        raise _Wrong(_Step(MACHINE, None), reason) from None


def _names(call: Call, kinds: Sequence[str]) -> list[str]:
    """What to call the launch arrays, as far as they hold arguments or results."""
    results = [n for n, kind in enumerate(kinds) if kind == OUTPUT]
    return [*call.names, *(f"result {n}" if len(results) > 1 else "result" for n in range(len(results)))]


def _in_numpy(call: Call, results: Results, count: int) -> list[Array]:
    """The launch arrays after the function itself ran on copies of the arguments."""
    arrays = [copy_with_strides(each) for each in call.arrays]
    with np.errstate(all="ignore"):
        returned = call.apply(*arrays)
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    launch: list[Array] = [*arrays, *[np.zeros(0)] * (count - len(arrays))]
    for place, value in zip(results.places, values):
        launch[place] = np.asarray(value)
    return launch


def _executed(step: _Step, call: Call, trace: Trace, results: Results, functions: type[NdFunctions]) -> list[Value]:
    assert step.module is not None
    try:
        step.module.verify()
    except VerifyException as error:
        raise _Wrong(step, f"the IR does not verify: {summary(error)}") from None
    try:
        return execute(step.module, call.specs(), trace.places, call.arrays, shapes=results.shapes, functions=functions)
    except Nonsense as error:
        place = source_of(error.op)
        at = "" if place is None else f"{place[0]}:{place[1]}: "
        raise _Wrong(step, f"{at}{error.op.name}: {error}") from None


def _check_bits(step: _Step, name: str, value: Array, expected: Array) -> None:
    wrong = canonical_bits(value) != canonical_bits(expected)
    if wrong.any():
        raise _Wrong(step, _difference(name, value, expected, wrong, "the step before"))


def _difference(name: str, value: Array, expected: Array, wrong: npt.NDArray[np.bool_], other: str) -> str:
    """How many elements differ and where, and the first of them."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    bits = [int(canonical_bits(each)[index]) for each in (value, expected)]
    where = pattern(wrong)
    return (
        f"{int(wrong.sum())} of {value.size} elements of {name} differ from {other}"
        f"{', ' + where if where else ''}; first at [{', '.join(map(str, index))}]: {bits[0]:#x}, not {bits[1]:#x}"
    )


def _text(module: ModuleOp | None) -> str:
    if module is None:
        return ""
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()
