"""A run adds at most its arrays, the image and 100 MiB to an idle warm process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20
BUDGET = 100 * MIB

# Copies 64 MiB of FP32 through tiles of 16 KiB, 4096 elements at a time; prints peak growth in bytes.
SCRIPT = """
import sys
import numpy as np
from machine_programs import machine
from ptoc.runtime import Memory

LOOP = '''
    BSTART.TLOAD FP32; B.DIM LB0, 4096; B.IOR a0, a1; B.IOT mask=0001, last, ->T<8>; BSTOP
    BSTART.TSTORE FP32; B.IOR a2, a1; B.IOT T#1, mask=0001, last; BSTOP
    hl.addi a0, 16384, ->a0; hl.addi a2, 16384, ->a2
    addi s0, 1, ->s0
    BSTART.STD COND, .-{size}; setc.ltu s0, s1; BSTOP
'''

def usage(field):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(field))

def build(rows, memory):
    from machine_programs import code
    body = LOOP.split("BSTART.STD")[0]
    text = LOOP.format(size=len(code(body)))
    return machine(text, memory=memory, a0=1 << 30, a1=0, a2=2 << 30, s1=rows)

def run(rows):
    memory = Memory()
    data = np.ones(rows * 4096, np.float32)
    memory.map(1 << 30, data.view(np.uint8), writable=False)
    result = memory.map(2 << 30, len(data) * 4)
    outcome = build(rows, memory).run()
    assert outcome.status == "halted", outcome
    assert (result.data.view(np.float32) == 1).all()

run(2)
open("/proc/self/clear_refs", "w").write("5")
idle = usage("VmRSS")
run(4096)
print(usage("VmHWM") - idle)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is measured through Linux's /proc")
def test_a_run_over_64_mib_stays_within_the_budget() -> None:
    here = str(Path(__file__).parent)
    program = f"import sys; sys.path.insert(0, {here!r})\n{SCRIPT}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 2 * 64 * MIB + BUDGET
