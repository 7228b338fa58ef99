"""Compare, then scatter the survivors: elements above a threshold go to places that another array names.

The mask is a predicate tile and never travels through memory. The same kernel keeps the survivors in place as well,
and tells where they are.
"""

import numpy as np

import ptoc


@ptoc.jit
def threshold_scatter(x, displacements, kept, scattered):
    mask = x > 0.75
    kept[mask] = x[mask]
    ptoc.scatter(scattered, displacements, x, mask)
    return mask


def inputs():
    rng = np.random.default_rng(1)
    shape = (123, 457)
    x = rng.random(shape, dtype=np.float32)
    # Every element has a place of its own, in random order; those of the others are never used and point nowhere.
    places = 4 * rng.permutation(x.size).astype(np.int32).reshape(shape)
    places[x <= 0.75] = np.iinfo(np.int32).min
    return x, places, np.full(shape, -1, np.float32), np.zeros(x.size, np.float32)


def main():
    arrays = inputs()
    mask = threshold_scatter(*arrays)
    x, _, kept, scattered = arrays
    print(f"{mask.sum()} of {x.size} elements survive; {np.count_nonzero(scattered)} were scattered")
    report = ptoc.validate(threshold_scatter, *inputs())
    print(report.verdict if report.ok else report)
    return 0 if report.ok and (kept[mask] == x[mask]).all() else 1


if __name__ == "__main__":
    raise SystemExit(main())
