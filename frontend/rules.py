"""The rules that errors name: what each says, and the page and heading of ``docs/`` that explain it."""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """A rule in one sentence; ``heading`` stands in ``docs/<page>``."""

    statement: str
    page: str
    heading: str

    @property
    def reference(self) -> str:
        """The heading as a link into the repository."""
        return f"docs/{self.page}#{anchor(self.heading)}"


def anchor(heading: str) -> str:
    """The name that a heading has in links: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def describe_rule(name: str) -> str:
    """A rule as errors show it."""
    rule = RULES.get(name)
    return name if rule is None else f"{name}: {rule.statement} ({rule.reference})"


_KERNELS, _EPILOGUES, _PLANNING, _CLI = "kernels.md", "epilogues.md", "planning.md", "cli.md"
_SURROUND, _JUST_THESE = "What may surround a matmul", "Why just these"

RULES: dict[str, Rule] = {
    # What a kernel is.
    "functions": Rule("a kernel uses what the machine has operations for", _KERNELS, "Functions"),
    "control-flow": Rule("Python sees shapes and dtypes of arrays, never their contents", _KERNELS, "Control flow"),
    "outside-arrays": Rule("arrays come into a kernel as its arguments", _KERNELS, "Arrays from outside"),
    "arguments": Rule("the arguments of a kernel are numpy arrays of PTO's dtypes", _KERNELS, "Arguments"),
    "written-arguments": Rule(
        "what a kernel assigns to is writeable and shares no memory", _KERNELS, "Arguments that are assigned to"
    ),
    "results": Rule("a kernel returns arrays whose shapes are known when it is compiled", _KERNELS, "Results"),
    "shapes": Rule("shapes go together as numpy says", _KERNELS, "Shapes"),
    "broadcasting": Rule("rows repeat, columns do not", _KERNELS, "Shapes"),
    "dtypes": Rule("both sides have one dtype; only astype converts", _KERNELS, "Dtypes"),
    "indexing": Rule("an index is [:] or a mask", _KERNELS, "Indexing"),
    "assignment": Rule("an assignment keeps the shape and dtype of an array", _KERNELS, "Assignment"),
    "masks": Rule("a mask is a comparison or a bool array, and np.where combines them", _KERNELS, "Masks"),
    "comparisons": Rule("TCMP compares elements of one type", _KERNELS, "Masks"),
    "scatter": Rule("enabled displacements name elements of the destination", _KERNELS, "Scatter"),
    "products": Rule("operands and sum are of one of three classes", _KERNELS, "Products"),
    "transposes": Rule("the machine transposes operands of products, and nothing else", _KERNELS, "Transposes"),
    "pickling": Rule("a kernel is pickled by its name, as functions are", _KERNELS, "Pickling"),
    "levels": Rule("a program keeps its IR at the levels that it came through", _CLI, "ptoc compile"),
    "ir": Rule("a module has one function, whose arguments are the arrays of a launch", "ir.md", "Compiling IR"),
    # What surrounds a product.
    "accumulation": Rule("TMATMUL_ACC computes C + A @ B in the accumulator's type, once", _EPILOGUES, _SURROUND),
    "post-processing": Rule("B.FPATR scales, rounds, offsets and clamps the sums of a matmul", _EPILOGUES, _SURROUND),
    "conversions": Rule("PreQuantMode names what sums are converted to, once, at the end", _EPILOGUES, _SURROUND),
    "row-exponents": Rule(
        "CScale divides each row of the float32 matrix C by 2 to the power of a byte", _EPILOGUES, _SURROUND
    ),
    "columns": Rule("parameters of B.FPATR differ by column, not by row", _EPILOGUES, _SURROUND),
    "relu": Rule("ReluMode acts on the accumulator, before it is rounded and offset", _EPILOGUES, _SURROUND),
    "shifts": Rule("PreQuantMode 13 shifts an int32 sum by 1 to 16 places", _EPILOGUES, _SURROUND),
    "maxima": Rule("B.FPATR compares the raw sums of a matmul, row by row", _EPILOGUES, "Maxima"),
    "groups": Rule("GroupNCode names the sizes of groups", _EPILOGUES, "Maxima"),
    "fp19": Rule(
        "scales and slopes are positive numbers of FP19: 8 bits of exponent, 10 of fraction", _EPILOGUES, _JUST_THESE
    ),
    "rounding": Rule("B.FPATR rounds once, then adds the offset, then clamps", _EPILOGUES, _JUST_THESE),
    "clamping": Rule("B.FPATR clamps to the limits of the result's type", _EPILOGUES, _JUST_THESE),
    "offsets": Rule(
        "the product is clamped to one bit more than the result has before the offset is added", _EPILOGUES, _JUST_THESE
    ),
    "packed-rows": Rule(
        "two elements share a byte, and TSTORE steps from row to row by whole bytes", _EPILOGUES, "int4"
    ),
    # How it is laid out.
    "local-pool": Rule("a PE has 256 KiB of Local tiles", _PLANNING, "Products"),
    "shared-pool": Rule("a core has one pool of Shared tiles", _PLANNING, "Products"),
    "rings": Rule("tiles live in rings of sixteen generations", _PLANNING, "Rings"),
    "registers": Rule("addresses and loops live in 24 GPRs", _PLANNING, "Scalar registers"),
    "cores": Rule("a machine has 1 to 1024 cores", _PLANNING, "Cores"),
    # Running.
    "memory-accesses": Rule("a bundle accesses the rows of the array that it was compiled for", "abi.md", "Memory"),
    "compiled-for": Rule("a program takes arrays of the shapes, strides and dtypes it has", "abi.md", "Arrays"),
    "revisions": Rule("an image names the revision of the ISA it is for", "image.md", "Header"),
    "reduction": Rule("what is wrong is reduced, stacks to one matrix", "wrong-numbers.md", "How little it takes"),
    "compiler": Rule("a kernel that the compiler gets wrong is its fault, not yours", "wrong-numbers.md", "Which pass"),
    "simulator": Rule("the simulator does what its page lists", "simulator.md", "The simulator"),
    # Files and options.
    "command-line": Rule("commands take files of the kinds they name", _CLI, "The command line"),
    "kernel-files": Rule("a file has kernels, and inputs() with their arrays", _CLI, "Kernels in files"),
    "ptoc-opt": Rule("ptoc opt takes IR of our and upstream dialects", _CLI, "ptoc opt"),
    "assembly": Rule("ptoc as takes assembly text in UTF-8, ptoc dis and ptoc sim images", _CLI, "ptoc as, ptoc dis"),
    "ptoc-sim": Rule("ptoc sim maps memory, sets registers and runs an image", _CLI, "ptoc sim"),
}
"""Name → rule."""
