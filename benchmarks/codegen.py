"""What products cost on the machine: traffic over its lower bound, whole cells, code, and what techniques are worth.

Nothing here is timed. The simulator counts traffic where that takes seconds, and has to find what ``Program.stats`` and
the plan say; the largest products have only these two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import ptoc
from benchmarks.harness import Report
from benchmarks.integers import product
from benchmarks.matmul import update
from ptoc.backend.encoder import encode
from ptoc.backend.lowering import statements
from ptoc.dialects import make_context, tile
from ptoc.isa import dtypes
from ptoc.isa.registers import GENERATIONS, PE_COUNT
from ptoc.launch import run
from ptoc.passes import PASSES
from ptoc.passes.pipeline import STAGES
from ptoc.passes.planning.cost import lower_bound
from ptoc.passes.planning.search import ProductPlan, plan_product
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.techniques import Techniques
from ptoc.passes.tile_matmul import TileMatmul

SEED = 6
RANDOM_SHAPES = 40
THIN_SHAPES = 12

CODE_BYTES = 32 * 1024


@dataclass(frozen=True)
class Case:
    """A product of M x N sums of K, of float16 onto a C or of int8, compiled and planned."""

    m: int
    n: int
    k: int
    half: bool
    program: ptoc.Program
    plan: ProductPlan

    @classmethod
    def of(cls, m: int, n: int, k: int, *, half: bool = True) -> Case:
        operand, sums = ("float16", "float32") if half else ("int8", "int32")
        specs = [ptoc.spec((m, k), operand), ptoc.spec((k, n), operand), ptoc.spec((m, n), sums)]
        program = update.compile(*specs) if half else product.compile(*specs[:2])
        return cls(m, n, k, half, program, plan_product(shape_of(m, n, k, half=half)))

    @property
    def what(self) -> str:
        size = f"{self.m}^3" if self.m == self.n == self.k else f"{self.m} x {self.n} x {self.k}"
        return f"{'float16' if self.half else 'int8'} {size}"

    @property
    def utilization(self) -> float:
        """Useful multiply-adds over those that are issued."""
        return self.program.stats["macs_useful"] / self.program.stats["macs_issued"]

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(SEED)
        return [rng.integers(-8, 8, spec.shape).astype(spec.dtype) for spec in self.program.specs]


def shape_of(m: int, n: int, k: int, *, half: bool) -> MatmulShape:
    operand, sums = (dtypes.FP16, dtypes.FP32) if half else (dtypes.S8, dtypes.S32)
    return MatmulShape(m, n, k, operand, operand, sums, half, sums)


@dataclass(frozen=True)
class Work:
    """Bytes to and from memory, bundles, and multiply-adds, issued or useful."""

    traffic: int
    bundles: int
    macs: int

    def __add__(self, other: Work) -> Work:
        return Work(self.traffic + other.traffic, self.bundles + other.bundles, self.macs + other.macs)


def counted(program: ptoc.Program, arrays: Sequence[np.ndarray]) -> Work:
    """What the simulator counts when a program runs; useful multiply-adds."""
    counters = run(program, arrays)[0].counters
    return Work(counters.gm_bytes_read + counters.gm_bytes_written, counters.bundles, counters.macs)


def stated(program: ptoc.Program, macs: str) -> Work:
    """What ``Program.stats`` says."""
    stats = program.stats
    return Work(stats["gm_bytes_read"] + stats["gm_bytes_written"], stats["bundles"], stats[macs])


def flushed(program: ptoc.Program) -> Work:
    """The loads of a byte that nobody uses: sixteen per hand and PE age out old tiles, one replaces a Shared tile."""
    unused = [op for op in program.modules["tile"].walk() if op.results and not op.results[0].uses]
    rings = GENERATIONS * sum(isinstance(op, tile.LoadOp) for op in unused)
    shared = sum(isinstance(op, tile.LoadSharedOp) for op in unused)
    return Work(rings * PE_COUNT + shared, rings + shared, 0)


def planned(plan: ProductPlan, program: ptoc.Program) -> Work:
    """What the plan says, and what makes old tiles give way, of which a plan knows nothing."""
    return Work(plan.cost.traffic, plan.cost.bundles, plan.cost.issued) + flushed(program)


def disagreements(plan: ProductPlan, program: ptoc.Program, arrays: Sequence[np.ndarray] | None) -> Iterator[str]:
    """Where statistics are not what the plan says, or the counters of a run with ``arrays`` what the statistics say."""
    if stated(program, "macs_issued") != planned(plan, program):
        yield f"statistics {stated(program, 'macs_issued')}, plan {planned(plan, program)}"
    if arrays is None:
        return
    try:
        found = counted(program, arrays)
    except ptoc.ProgramFault as fault:
        yield f"not counted, for it faults: {fault.message}"
        return
    again = sum(band.rows * band.columns.overlap for band in plan.bands) * plan.shape.k
    if found != stated(program, "macs_useful") + Work(0, 0, again):
        yield f"counted {found}, {again} multiply-adds a second time, statistics {stated(program, 'macs_useful')}"


class Table:
    """Cases as they are judged, with the worst of them at the end."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.disagreeing = 0
        self.utilization = 1.0
        self.code = 0

    def check(self, case: Case, *, simulate: bool) -> float:
        """Compare a case's three sources and note its figures; its traffic over the lower bound."""
        differences = list(disagreements(case.plan, case.program, case.arrays() if simulate else None))
        for text in differences:
            self.report.note(f"    {case.what}: {text}")
        self.disagreeing += bool(differences)
        code = len(case.program.code())
        self.utilization = min(self.utilization, case.plan.utilization)
        self.code = max(self.code, code)
        traffic = stated(case.program, "macs_issued").traffic
        ratio = traffic / lower_bound(case.plan.shape)
        source = "counted" if simulate and not differences else "planned"
        flush = flushed(case.program).traffic
        source += f", {flush:,} to make old tiles give way" if flush else ""
        cells = f"cells {case.plan.utilization:.3f} of the best, {case.utilization:.3f} of all"
        self.report.note(f"    {case.what:<28} {traffic:>13,} bytes, {source}, {ratio:.3f} x  {cells}  code {code:,}")
        return ratio

    def total(self) -> None:
        """The worst of all cases."""
        what = "all: products whose counters, statistics and plans differ"
        self.report.exactly(what, self.disagreeing, "", at_most=0)
        self.report.exactly("all: multiply-adds of the best cells / issued", self.utilization, "", at_least=0.98)
        self.report.exactly("all: the longest code", self.code, "bytes", at_most=CODE_BYTES)


def measure(report: Report) -> None:
    table = Table(report)
    squares(report, table)
    random_shapes(report, table)
    thin_shapes(report, table)
    table.total()
    whole_cells(report)
    sizes_of_code(report)
    for n in (1024, 1000):
        ablation(report, n)


def squares(report: Report, table: Table) -> None:
    for n, half, simulate, limit in [
        (1024, True, True, 1.3),
        (2048, True, True, 1.3),
        (4096, True, False, 1.3),
        (1024, False, True, None),
        (2048, False, True, 1.25),
    ]:
        case = Case.of(n, n, n, half=half)
        ratio = table.check(case, simulate=simulate)
        report.exactly(f"{case.what}: traffic / lower bound", ratio, "x", at_most=limit)


def random_shapes(report: Report, table: Table) -> None:
    rng = np.random.default_rng(SEED)
    shapes = rng.integers(64, 2049, (RANDOM_SHAPES, 3)).tolist()
    ratios = [table.check(Case.of(*shape, half=n % 2 == 0), simulate=True) for n, shape in enumerate(shapes)]
    report.exactly(f"{RANDOM_SHAPES} random shapes: worst traffic / lower bound", max(ratios), "x", at_most=1.8)


def thin_shapes(report: Report, table: Table) -> None:
    rng = np.random.default_rng(SEED)
    ratios = []
    for n in range(THIN_SHAPES):
        shape = rng.integers(64, 2049, 3)
        shape[n % 3] = rng.integers(1, 17)
        ratios.append(table.check(Case.of(*shape.tolist()), simulate=True))
    report.exactly(f"{THIN_SHAPES} thin shapes: worst traffic / lower bound", max(ratios), "x", at_most=1.1)


def whole_cells(report: Report) -> None:
    """Shapes of whole cells, planned only; plans and code agree on multiply-adds, as the other cases show."""
    rng = np.random.default_rng(SEED)
    shapes = [shape_of(*size, half=True) for size in (16 * rng.integers(8, 129, (RANDOM_SHAPES, 3))).tolist()]
    worst = min(shape.macs / plan_product(shape).cost.issued for shape in shapes)
    what = f"{RANDOM_SHAPES} shapes of multiples of 16: useful / issued"
    report.exactly(what, worst, "", at_least=0.95)


def sizes_of_code(report: Report) -> None:
    small, large = (len(Case.of(n, n, n).program.code()) for n in (256, 8192))
    report.exactly("code of 8192^3 / of 256^3", max(small, large) / min(small, large), "x", at_most=1.1)
    report.note(f"    {large:,} against {small:,} bytes")


@dataclass(frozen=True)
class Switch:
    """Something that is switched off, or on: what plans may do, and the pass that emits such code if there is one."""

    what: str
    techniques: Techniques | None
    emitted_by: TileMatmul | None = None


SWITCHES = (
    Switch("without rotation", Techniques(rotation=False), TileMatmul(rotation=False)),
    Switch("without residency", Techniques(residency=False), TileMatmul(residency=False)),
    Switch("without Shared A", Techniques(shared_a=False)),
    Switch("without Shared B", Techniques(shared_b=False)),
    Switch("without Shared operands", None, TileMatmul(shared=False)),
    Switch("with double-buffering", Techniques(double_buffering=True)),
)


def ablation(report: Report, n: int) -> None:
    """Each switch of a float16 product alone, by the traffic and the bundles that it costs."""
    case = Case.of(n, n, n)
    usual = stated(case.program, "macs_issued")
    report.note(f"    {case.what} as it is: {usual.traffic:,} bytes, {usual.bundles:,} bundles")
    for switch in SWITCHES:
        plan = None if switch.techniques is None else plan_product(case.plan.shape, techniques=switch.techniques)
        program = None if switch.emitted_by is None else variant(case.program, switch.emitted_by)
        if program is not None:
            found, source = counted(program, case.arrays()), "counted"
            if plan is not None and list(disagreements(plan, program, case.arrays())):
                source = "counted, but planned otherwise"
        else:
            assert plan is not None
            found, source = Work(plan.cost.traffic, plan.cost.bundles, plan.cost.issued), "planned, not emitted"
        report.exactly(f"{case.what} {switch.what}: traffic / as it is", found.traffic / usual.traffic, "x")
        bundles = f"{found.bundles:,} bundles ({found.bundles / usual.bundles:.2f} x)"
        report.note(f"    {found.traffic:,} bytes, {bundles}, {source}")


def variant(program: ptoc.Program, tiling: TileMatmul) -> ptoc.Program:
    """The program of the same kernel whose matmul another ``tile-matmul`` has laid out."""
    context, module = make_context(), program.module("nd")
    modules = dict(program.modules)
    for stage in ("tile", "pto"):
        for name in STAGES[stage]:
            (tiling if name == tiling.name else PASSES[name]()()).apply(context, module)
        modules[stage] = module.clone()
    listing = statements(module)
    return replace(program, modules=modules, statements=listing, encoded=encode(listing))
