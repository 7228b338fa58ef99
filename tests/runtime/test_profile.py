"""Profiles: shares of time, and nothing left behind."""

from __future__ import annotations

import signal

import pytest

from ptoc.isa.encoding import make
from ptoc.runtime import Machine
from ptoc.runtime.profile import KINDS, Profile


def test_time_is_shared_out_and_the_alarm_is_given_back() -> None:
    machine = Machine()
    machine.load(make("J", simm22=0).to_bytes())
    before = signal.getsignal(signal.SIGALRM)
    with Profile() as profile:
        while len(profile.seconds) < 1:
            machine.run(10_000)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    shares = profile.shares()
    assert tuple(shares) == KINDS
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["kernels"] == shares["GM moves"] == 0
    assert [line.split()[0] for line in str(profile).splitlines()] == ["percent", "-", "all"]


def test_an_empty_profile_has_a_table_too() -> None:
    assert str(Profile()).splitlines()[-1].split() == ["all", *["0.0"] * (len(KINDS) + 1)]
