"""Between statements, assembly text and program images: assembler, encoder and disassembler."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptoc.backend.assembler import AssemblyError, assemble
    from ptoc.backend.disassembler import disassemble

__all__ = ["AssemblyError", "assemble", "disassemble"]


def __getattr__(name: str) -> object:
    """The public functions, imported when first asked for."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "disassembler" if name == "disassemble" else "assembler"
    return getattr(import_module(f"{__name__}.{module}"), name)
