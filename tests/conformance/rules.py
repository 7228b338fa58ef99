"""All rules that the simulator checks."""

from __future__ import annotations

from conformance.rules_commands import COMMANDS
from conformance.rules_matrix import MATRIX
from conformance.rules_transfers import TRANSFERS

RULES = (*COMMANDS, *TRANSFERS, *MATRIX)
