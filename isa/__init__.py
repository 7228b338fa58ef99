"""The PTO instruction set as tables: the one place where a fact about the machine stands.

Data types, layouts and CELL geometry, register names, command-word encodings and their text, operation
schemas, faults and the image container live here, with pure functions over them. Assembler, disassembler,
verifiers, compiler and simulator all read these tables; nothing here knows of any of them.
"""

REVISION = "0.58.3+seeds"
"""The revision of the instruction set that these tables describe."""
