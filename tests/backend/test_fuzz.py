"""The fuzzer runs two minutes in the slow tests, and a moment in the others."""

import pytest
from fuzzing import fuzz, images, texts, try_image, try_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SEEDS = (1, 2, 3)


def test_what_is_damaged_is_good() -> None:
    assert all(try_text(text) for text in texts())
    assert all(try_image(image) for image in images())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_moment(seed: int) -> None:
    counts = fuzz(0.5, seed)
    assert counts["images"] and counts["texts"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_hundred_seconds(seed: int) -> None:
    counts = fuzz(100 / len(SEEDS), seed)
    print(counts)
    assert all(counts.values()), counts


lines = st.sampled_from([line for text in texts() for line in text.split("\n")])


@pytest.mark.slow
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lines | st.text(max_size=20), max_size=12))
def test_lines_in_any_order(chosen: list[str]) -> None:
    try_text("\n".join(chosen))


@pytest.mark.slow
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(images()), st.dictionaries(st.integers(0, 4000), st.integers(0, 255), max_size=12))
def test_bytes_in_any_place(image: bytes, changes: dict[int, int]) -> None:
    data = bytearray(image)
    for place, value in changes.items():
        if place < len(data):
            data[place] = value
    try_image(bytes(data))
