"""Element functions of the vector operations against exact rationals, every operation in all its types."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from ptoc.isa import dtypes
from ptoc.isa.dtypes import ARITHMETIC_TYPES, FLOAT_TYPES, INTEGER_TYPES
from ptoc.isa.postprocess import Rounding
from ptoc.runtime.memory import carrier
from ptoc.runtime.numerics import arithmetic, elementary
from ptoc.runtime.numerics.arithmetic import together
from ptoc.runtime.numerics.cast import Cast, elements
from ptoc.runtime.numerics.flags import NX
from reference import arithmetic as exact
from reference.conversion_tables import codes, outcomes
from reference.element_cases import element, specials

COUNT = 200
BINARY = {
    "ADD": arithmetic.add,
    "SUB": arithmetic.subtract,
    "MUL": arithmetic.multiply,
    "DIV": arithmetic.divide,
    "REM": arithmetic.remainder,
    "MAX": arithmetic.maximum,
    "MIN": arithmetic.minimum,
    "AND": arithmetic.bitwise_and,
    "OR": arithmetic.bitwise_or,
    "XOR": arithmetic.bitwise_xor,
    "SHL": arithmetic.shift_left,
    "SHR": arithmetic.shift_right,
}
UNARY = {
    "ABS": arithmetic.absolute,
    "NEG": arithmetic.negative,
    "RELU": arithmetic.relu,
    "NOT": arithmetic.invert,
    "EXP": elementary.exp,
    "LOG": elementary.log,
    "RECIP": elementary.reciprocal,
    "SQRT": elementary.square_root,
    "RSQRT": elementary.inverse_root,
}
INTEGER_ONLY = {"AND", "OR", "XOR", "SHL", "SHR", "NOT"}
FLOAT_ONLY = {"EXP", "LOG", "RECIP", "SQRT", "RSQRT"}
SMALL = [t.name for t in dtypes.ALL if t.bits <= 16]
WIDE = [t.name for t in dtypes.ALL if t.bits > 16]


def types_of(operation: str) -> list[str]:
    types = INTEGER_TYPES if operation in INTEGER_ONLY else FLOAT_TYPES if operation in FLOAT_ONLY else ARITHMETIC_TYPES
    return sorted(t.name for t in types)


def stream(*key: object) -> random.Random:
    return random.Random(zlib.crc32(repr(key).encode()))


def bits(name: str, *values: int) -> np.ndarray:
    return np.array([values], carrier(dtypes.BY_NAME[name].bits))


@pytest.mark.parametrize("operation", BINARY)
def test_binary(operation: str) -> None:
    for name in types_of(operation):
        rng = stream(operation, name)
        for _ in range(COUNT):
            a, b = element(rng, name), element(rng, name)
            if operation in ("DIV", "REM") and b == 0 and not dtypes.BY_NAME[name].is_float:
                continue
            up = rng.choice([0, NX])
            got, flags = BINARY[operation](dtypes.BY_NAME[name], bits(name, a), bits(name, b), up)
            want, raised = exact.binary(operation, name, a, b)
            assert (int(got[0, 0]), flags | up) == (want, raised | up), (name, hex(a), hex(b))


@pytest.mark.parametrize("operation", UNARY)
def test_unary(operation: str) -> None:
    for name in types_of(operation):
        rng = stream(operation, name)
        near = 1 if name == "FP64" and operation in ("EXP", "LOG") else 0
        for a in [*specials(name), *(element(rng, name) for _ in range(COUNT))]:
            up = rng.choice([0, NX])
            got, flags = UNARY[operation](dtypes.BY_NAME[name], bits(name, a), up)
            want, raised = exact.unary(operation, name, a)
            assert abs(int(got[0, 0]) - want) <= near and flags | up == raised | up, (name, hex(a))


def test_fused() -> None:
    for name in types_of("FMA"):
        rng = stream("FMA", name)
        for _ in range(COUNT):
            a, b, c = (element(rng, name) for _ in range(3))
            got, flags = arithmetic.fused(dtypes.BY_NAME[name], bits(name, a), bits(name, b), bits(name, c))
            assert (int(got[0, 0]), flags) == exact.fused(name, a, b, c), (name, hex(a), hex(b), hex(c))


@pytest.mark.parametrize("operation", sorted(FLOAT_ONLY))
@pytest.mark.parametrize("name", ["E4M3", "E5M2"])
def test_all_codes_of_eight_bits(operation: str, name: str) -> None:
    for code in codes(name):
        got, flags = UNARY[operation](dtypes.BY_NAME[name], bits(name, code))
        assert (int(got[0, 0]), flags) == exact.unary(operation, name, code), hex(code)


@pytest.mark.slow
@pytest.mark.parametrize("operation", sorted(FLOAT_ONLY))
@pytest.mark.parametrize("name", ["FP16", "BF16"])
def test_all_codes_of_sixteen_bits(operation: str, name: str) -> None:
    found = UNARY[operation](dtypes.BY_NAME[name], np.arange(1 << 16, dtype=np.uint16))[0]
    wrong = [code for code in codes(name) if int(found[code]) != exact.unary(operation, name, code)[0]]
    assert not wrong


def test_exponentials_next_to_midpoints() -> None:
    """Arguments whose exponential lies so near a midpoint of FP32 that the host's last digits do not tell."""
    for x in np.linspace(2.0**-24, 2.0**-20, 200, dtype=np.float32).view(np.uint32):
        got, flags = elementary.exp(dtypes.FP32, bits("FP32", int(x)))
        assert (int(got[0, 0]), flags) == exact.unary("EXP", "FP32", int(x))


# Conversion


def pairs(sources: list[str], results: list[str]) -> Iterator[tuple[str, str]]:
    for source in sources:
        for result in results:
            if Cast(dtypes.BY_NAME[source], dtypes.BY_NAME[result], Rounding.RNE, False).legal:
                yield source, result


def converted(source: str, result: str, mode: int, saturate: bool, values: list[int]) -> tuple[np.ndarray, np.ndarray]:
    how = Cast(dtypes.BY_NAME[source], dtypes.BY_NAME[result], Rounding(mode), saturate)
    return elements(how, np.array(values, carrier(how.source.bits)))


def check_converted(source: str, result: str, mode: int, saturate: bool, values: list[int]) -> None:
    out, flags = converted(source, result, mode, saturate, values)
    for value, got, raised in zip(values, out.tolist(), flags.tolist()):
        want = exact.converted(source, result, value, mode, saturate)
        assert (got, raised) == want, (source, result, mode, saturate, hex(value))


def test_conversions_of_all_pairs() -> None:
    every = [t.name for t in dtypes.ALL]
    for source, result in pairs(every, every):
        rng = stream(source, result)
        for mode in range(8):
            check_converted(source, result, mode, bool(rng.getrandbits(1)), [element(rng, source) for _ in range(12)])


def test_the_conversion_tables_are_those_of_single_elements() -> None:
    for source, result in pairs(SMALL, SMALL):
        rng = stream("tables", source, result)
        for _ in range(2):
            mode, saturate = rng.randrange(8), bool(rng.getrandbits(1))
            out, flags = outcomes(source, result, mode, saturate)
            for place in [rng.randrange(len(codes(source))) for _ in range(6)]:
                want = exact.converted(source, result, codes(source)[place], mode, saturate)
                assert (out[place], flags[place]) == want, (source, result, mode, saturate, codes(source)[place])


def compare_all(source: str, result: str) -> None:
    """Every code in every rounding mode, saturating and not."""
    for mode in range(8):
        for saturate in (False, True):
            out, flags = converted(source, result, mode, saturate, list(codes(source)))
            want, raised = outcomes(source, result, mode, saturate)
            wrong = np.flatnonzero((out != want) | (flags != raised))
            assert not len(wrong), (source, result, mode, saturate, hex(codes(source)[wrong[0]]))


@pytest.mark.parametrize("source", [name for name in SMALL if dtypes.BY_NAME[name].bits <= 8])
def test_every_code_of_eight_bits(source: str) -> None:
    for _, result in pairs([source], SMALL):
        compare_all(source, result)


@pytest.mark.slow
@pytest.mark.parametrize("source", [name for name in SMALL if dtypes.BY_NAME[name].bits == 16])
def test_every_code_of_sixteen_bits(source: str) -> None:
    for _, result in pairs([source], SMALL):
        compare_all(source, result)


@pytest.mark.slow
@pytest.mark.parametrize("source", WIDE)
def test_a_million_wide_elements(source: str) -> None:
    """Random and boundary values to every type: 10^6 of them over all types that have a wide source or result."""
    rng = stream("million", source)
    results = [result for _, result in pairs([source], [t.name for t in dtypes.ALL])]
    for result in results:
        check_converted(source, result, rng.randrange(8), bool(rng.getrandbits(1)), specials(source))
        for _ in range(16):
            values = [element(rng, source) for _ in range(10**6 // (16 * len(results) * len(WIDE)) + 1)]
            check_converted(source, result, rng.randrange(8), bool(rng.getrandbits(1)), values)


def test_flags_of_elements_together() -> None:
    assert together(np.array([[1, 0], [4, 16]], np.uint8)) == 21
