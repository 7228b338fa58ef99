"""``c + a @ b`` with float16 operands and a float32 accumulator, on sizes that fit no tile.

Prints the kernel's three levels of IR, its bundles, what a run costs, and the verdict of the three oracles.
"""

import inspect

import numpy as np

import ptoc


@ptoc.jit
def matmul_accumulate(a, b, c):
    return c + np.matmul(a, b, dtype=np.float32)


def inputs():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((150, 100)).astype(np.float16)
    b = rng.standard_normal((100, 70)).astype(np.float16)
    c = rng.uniform(64, 128, (150, 70)).astype(np.float32)
    return a, b, c


def main():
    arrays = inputs()
    program = matmul_accumulate.program_for(*arrays)
    print(inspect.getsource(matmul_accumulate.function))
    for level in ("nd", "tile", "pto"):
        print(f"// ---- {level} ----\n{program.ir(level)}")
    print(f"// ---- assembly ----\n{program.asm()}")
    print("// ---- one run ----")
    for name, value in program.stats.items():
        print(f"{name:22}{value:>12,}")
    report = ptoc.validate(matmul_accumulate, *arrays)
    print(f"\n{report}" if not report.ok else f"\n{report.verdict}")
    return 0 if report.ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
