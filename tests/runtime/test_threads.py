"""Products on several threads: the same bits, whoever else computes, and in forked processes too."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ptoc.isa.dtypes import BY_NAME
from ptoc.runtime import parallel
from ptoc.runtime.errors import SimulatorError
from ptoc.runtime.numerics import kernels, matmul, threads

TYPES = [("FP16", "FP16"), ("BF16", "BF16"), ("S8", "S8")]


def pieces(seed: int, left: str, right: str, rows: tuple[int, ...] = (32, 32, 7, 200)) -> list[matmul.Piece]:
    """Products that are large enough to be shared, with starts of any bits."""
    rng = np.random.default_rng(seed)
    depth, cols = 130, 129
    b = matmul.decode(BY_NAME[right], codes(rng, right, (depth, cols)))
    found = []
    for m in rows:
        a = matmul.decode(BY_NAME[left], codes(rng, left, (m, depth)))
        start = rng.integers(0, 1 << 32, (m, cols), np.uint32)
        found.append(matmul.Piece(a, b, start, np.empty((m, cols), np.uint32)))
    return found


def codes(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> np.ndarray:
    dtype = BY_NAME[name]
    return rng.integers(0, 1 << dtype.bits, shape).astype(f"u{dtype.nbytes}")


def product(seed: int, left: str, right: str) -> bytes:
    work = pieces(seed, left, right)
    assert sum(piece.work for piece in work) > matmul._WORTH_SHARING
    matmul.multiply(BY_NAME[left], BY_NAME[right], work)
    return b"".join(piece.out.tobytes() for piece in work)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul.CHOICE, "loaded", kernels)
    monkeypatch.setattr(matmul.CHOICE, "_decided", True)


def use(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(threads, "_team", threads.Team(size))


@pytest.mark.parametrize(("left", "right"), TYPES)
def test_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, left: str, right: str) -> None:
    use(monkeypatch, 1)
    alone = [product(seed, left, right) for seed in range(5)]
    for size in (2, 3, 8):
        use(monkeypatch, size)
        assert [product(seed, left, right) for seed in range(5)] == alone


def test_users_may_compute_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 2)
    cases = [(seed, *TYPES[seed % 3]) for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        beside = list(pool.map(lambda case: product(*case), cases))
    assert beside == [product(*case) for case in cases]


def test_a_part_is_taken_once() -> None:
    board = kernels.new_board()
    board[kernels._TICKET] = 3 << kernels._PARTS_SHIFT
    assert [kernels.take(board) for _ in range(5)] == [0, 1, 2, -1, -1]


@pytest.mark.parametrize("rows", [1, 4, 7, 201])
@pytest.mark.parametrize("step", [4, 8, 400])
def test_parts_are_the_whole_product(rows: int, step: int) -> None:
    """Without a helper, and of rows that are parts of longer ones."""
    [piece] = pieces(0, "FP16", "FP16", (rows,))
    piece = piece._replace(a=piece.a[:, :100], b=piece.b[:100])
    want = np.empty_like(piece.out)
    kernels.fused(piece.a, piece.b, piece.start, want)
    kernels.share(kernels.new_board(), kernels.FUSED, 0, step, *piece)
    assert np.array_equal(piece.out, want)


def test_only_contiguous_rows_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 2)
    [piece] = pieces(0, "FP16", "FP16", (200,))
    turned = piece._replace(a=np.asfortranarray(piece.a), out=np.empty_like(piece.out))
    for each in (piece, turned):
        matmul.multiply_floats([each], exact=True)
    assert np.array_equal(piece.out, turned.out)


class Meeting:
    """Kernels whose ``share`` and ``serve`` wait for each other, so that two threads have to be at work."""

    def __init__(self) -> None:
        self._both = threading.Barrier(2, timeout=60)
        self.boards: list[object] = []

    def new_board(self) -> object:
        return object()

    def share(self, board: object) -> None:
        self.boards.append(board)
        self._both.wait()

    def serve(self, board: object, patience: int) -> None:
        self.boards.append(board)
        self._both.wait()


def test_helpers_serve_what_is_shared() -> None:
    team, meeting = threads.Team(2), Meeting()
    for _ in range(3):
        assert team.share(meeting)
    assert len(meeting.boards) == 6 and len(set(meeting.boards)) == 1


def test_helpers_assist_one_caller_at_a_time() -> None:
    team, inner = threads.Team(2), Meeting()

    class Outer(Meeting):
        def share(self, board: object) -> None:
            assert not team.share(inner)
            super().share(board)

    assert team.share(Outer())
    assert not inner.boards


def test_without_new_threads_the_caller_does_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    want = product(0, "FP16", "FP16")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    use(monkeypatch, 2)
    assert product(0, "FP16", "FP16") == want


@pytest.mark.skipif(not parallel.available(), reason="this system cannot fork")
def test_a_fork_makes_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 2)
    want = product(0, "FP16", "FP16")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.apply(_helped)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap(product, [(0, "FP16", "FP16")] * 4) == [want] * 4


@pytest.mark.skipif(not parallel.available(), reason="this system cannot fork")
def test_workers_that_run_cores_use_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 2)
    with multiprocessing.get_context("fork").Pool(1, parallel._begin, ([],)) as pool:
        assert pool.apply(_size) == 1
    assert threads.team().size == 2


def _size() -> int:
    return threads.team().size


def _helped() -> bool:
    return threads.team().share(Meeting())


@pytest.mark.parametrize(("setting", "size"), [("1", 1), ("5", 5), ("", min(2, os.cpu_count() or 1))])
def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch, setting: str, size: int) -> None:
    monkeypatch.setenv("PTOC_THREADS", setting)
    assert threads.allowed() == size


@pytest.mark.parametrize("setting", ["0", "-1", "two", "1.5"])
def test_a_setting_without_meaning_is_an_error(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("PTOC_THREADS", setting)
    with pytest.raises(SimulatorError, match="PTOC_THREADS"):
        threads.allowed()


SCRIPT = """
import threading
import numpy as np
from ptoc.runtime.numerics import matmul
matmul._PORTABLE_BUDGET = 0
matmul.CHOICE = matmul.KernelChoice()
x = np.ones((200, 200), np.float32)
total = matmul.accumulate_floats(x, x, None, exact=True).sum()
print(total, [thread.name for thread in threading.enumerate()])
"""


@pytest.mark.parametrize(("setting", "helpers"), [("1", 0), ("3", 2)])
def test_a_process_has_as_many_threads_as_the_setting_says(setting: str, helpers: int) -> None:
    env = {**os.environ, "PTOC_THREADS": setting}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("8e+06") and run.stdout.count("ptoc-helper") == helpers
