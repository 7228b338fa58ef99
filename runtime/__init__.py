"""The simulator: it takes bytes, decodes them and does exactly what the instruction set says.

Nothing here knows of the compiler. ``Machine`` is the way in: map memory, load an image, set registers, run,
and look at tiles, flags, counters and the fault.
"""

from ptoc.runtime.errors import SimulatorDiagnostic, SimulatorError, UnsupportedOperation
from ptoc.runtime.machine import FaultReport, Machine, Outcome
from ptoc.runtime.memory import Memory, Rectangle, Region, Window

__all__ = [
    "FaultReport",
    "Machine",
    "Memory",
    "Outcome",
    "Rectangle",
    "Region",
    "SimulatorDiagnostic",
    "SimulatorError",
    "UnsupportedOperation",
    "Window",
]
