"""Numeric status flags: sticky, OR-ed into the machine when a bundle commits."""

from __future__ import annotations

NV = 1
DZ = 2
OF = 4
UF = 8
NX = 16
OVERFLOW = OF | NX
UNDERFLOW = UF | NX
