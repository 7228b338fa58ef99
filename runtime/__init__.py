"""The simulator: it takes bytes, decodes them and does exactly what the instruction set says.

Nothing here knows of the compiler. ``Machine`` is the way in: map memory, load an image, set registers, run,
and look at tiles, flags, counters and the fault.
"""

from ptoc.runtime.errors import SimulatorDiagnostic, SimulatorError, UnsupportedOperation
from ptoc.runtime.findings import Finding
from ptoc.runtime.machine import Machine
from ptoc.runtime.memory import Memory, Rectangle, Region, Window
from ptoc.runtime.outcome import FaultReport, Outcome
from ptoc.runtime.sanitizers import Result, Watch
from ptoc.runtime.trace import Trace

__all__ = [
    "FaultReport",
    "Finding",
    "Machine",
    "Memory",
    "Outcome",
    "Rectangle",
    "Region",
    "Result",
    "SimulatorDiagnostic",
    "SimulatorError",
    "Trace",
    "UnsupportedOperation",
    "Watch",
    "Window",
]
