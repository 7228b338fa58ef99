"""``ptoc opt``: xDSL's optimizer driver, with our dialects and passes beside the upstream ones."""

from __future__ import annotations

import argparse
import difflib
import io
import linecache
import os.path
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.frontend.mlir import MLIRFrontend
from xdsl.ir import Attribute
from xdsl.passes import ModulePass, PassPipeline
from xdsl.printer import Printer
from xdsl.utils.arg_spec import parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, PassFailedException
from xdsl.xdsl_opt_main import xDSLOptMain

from ptoc.cli import GOOD, MISUSE
from ptoc.cli.output import STDIO
from ptoc.dialects import DIALECTS
from ptoc.dialects.parsing import LocatingParser, MisplacedIr, place_of_error, verify
from ptoc.errors import InputError, SourceLocation, summary
from ptoc.passes import PASSES
from ptoc.passes.diagnostics import Diagnostic

PROG = "ptoc opt"
PASSES_HINT = "`ptoc passes` lists the passes in their order, and what each takes"
_MARK = re.compile(r"\s*\^+-*")

Between = Callable[[ModulePass | None, ModuleOp, ModulePass | None], None]
"""Called before, between and after the passes: the pass that ran, the module, the pass that comes."""


def main(arguments: Sequence[str]) -> int:
    verify = Attribute.__post_init__
    try:
        return _main(arguments)
    finally:
        # --disable-verify turns off the verification of attributes in the whole process.
        Attribute.__post_init__ = verify  # type: ignore[method-assign]


def _main(arguments: Sequence[str]) -> int:
    try:
        driver = Driver(description=__doc__ or "", args=arguments)
    except (ValueError, ArgSpecParseError) as error:
        print(f"{PROG}: error: {str(error).rstrip()}", file=sys.stderr)
        return MISUSE
    name = driver.get_input_name()
    linecache.checkcache(name)
    try:
        driver.run()
    except ParseError as error:
        where, hint = SourceLocation(*place_of_error(error)), "docs/cli.md shows the IR of a kernel"
        raise InputError(error.msg, where=where, rule="ptoc-opt", hint=hint) from error
    except UnicodeDecodeError as error:
        hint = "`ptoc dis` prints an image as text"
        raise InputError(f"{name} is not text in UTF-8", rule="ptoc-opt", hint=hint) from error
    except DiagnosticException as error:
        if isinstance(error, Rejected) and error.refusal.where is not None:
            error.refusal.message = f"{driver.running}: {error.refusal.message}"
            raise error.refusal from error
        place = error.where if isinstance(error, MisplacedIr) else None
        where = None if place is None else SourceLocation(*place)
        # Before the first pass the line of the file is the operation; behind it only the note shows it.
        lines = [str(error)] if where and not driver.running else _lines("" if where else name, driver.running, error)
        raise InputError("\n".join(lines), where=where, rule="ptoc-opt", hint=PASSES_HINT) from error
    return GOOD


class Driver(xDSLOptMain):
    """``xdsl-opt`` as ``ptoc opt``.

    A universe that an installed package publishes is registered by xDSL; names that it already knows stay as they are.
    """

    version_format = PROG + " built on xDSL {xdsl_version}"
    running = ""
    """The pass at work, or the one whose result is being verified."""

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        for name, load in DIALECTS.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, load)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, load in PASSES.items():
            self.available_passes.setdefault(name, load)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = PROG
        arg_parser.add_argument(
            "--print-ir-after-all",
            action="store_true",
            help="Print the IR after every pass, the last included, to stderr",
        )
        arg_parser.add_argument(
            "--print-ir-diff",
            action="store_true",
            help="Print the lines that every pass takes out of the IR (-) and puts into it (+) to stderr",
        )
        arg_parser.add_argument(
            "--verify-each",
            action="store_true",
            help="Verify the IR after every pass; that is done anyway unless --disable-verify is given",
        )

    def setup_pipeline(self) -> None:
        if self.args.verify_each and self.args.disable_verify:
            raise ValueError("--verify-each and --disable-verify exclude each other")
        for spec in parse_pipeline(self.args.passes):
            if spec.name not in self.available_passes:
                close = difflib.get_close_matches(spec.name, self.available_passes, 1)
                hint = f"did you mean {close[0]}?" if close else "`ptoc passes` lists ours, --help all"
                raise ValueError(f"no pass is called {spec.name}; {hint}")
        super().setup_pipeline()
        self.pipeline = PassPipeline(self.pipeline.passes, self._around(self.pipeline.callback))

    def _around(self, inner: Between | None) -> Between:
        """Print the IR if asked to, do what xDSL does between passes (it verifies), and note the pass that comes."""

        before: list[str] = []

        def between(previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
            if self.args.print_ir_diff:
                after = self._text(module).splitlines()
                if previous is not None:
                    name = previous.name
                    changes = list(difflib.unified_diff(before, after, "before", "after", n=2, lineterm=""))
                    print(f"// {name}:", *(changes or ["// nothing changes"]), sep="\n", file=sys.stderr)
                before[:] = after
            if previous is not None and self.args.print_ir_after_all:
                print(f"// IR after {previous.name}:", file=sys.stderr)
                print(self._text(module), file=sys.stderr)
            if inner is not None:
                if not self.args.disable_verify:
                    verify(module)
                inner(previous, module, following)
            self.running = "" if following is None else following.name

        return between

    def _text(self, module: ModuleOp) -> str:
        out = io.StringIO()
        Printer(out, print_debuginfo=self.args.print_debuginfo).print_op(module)
        return out.getvalue()

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """The input, read as MLIR text when its name does not say otherwise."""
        if self.args.input_file in (None, STDIO):
            return sys.stdin.buffer, "mlir"
        extension = os.path.splitext(self.args.input_file)[1].removeprefix(".")
        return open(self.args.input_file, "rb"), extension if extension in self.available_frontends else "mlir"

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        """MLIR text is read so that every operation knows its line."""
        frontend = parse_spec(self.args.frontend or file_extension)
        if frontend.name != "mlir":
            return super().parse_chunk(chunk, file_extension, start_offset)
        options = MLIRFrontend.from_spec(frontend)
        implicit = not (options.no_implicit_module or self.args.no_implicit_module)
        parser = LocatingParser(self.ctx, chunk.read().decode(), self.get_input_name(), line_offset=start_offset)
        return parser.parse_module(implicit)

    def apply_passes(self, prog: ModuleOp) -> None:
        """Run the pipeline; a pass that stops is a diagnostic like those of xDSL."""
        self.running = ""
        try:
            super().apply_passes(prog)
        except Diagnostic as diagnostic:
            raise Rejected(diagnostic) from diagnostic
        except DiagnosticException:
            raise
        except Exception as error:
            if not self.running:
                raise
            raise PassFailedException(f"this IR is not what the pass takes ({summary(error)})") from error

    def output_resulting_program(self, prog: ModuleOp) -> str:
        return super().output_resulting_program(prog).rstrip("\n") + "\n"


class Rejected(PassFailedException):
    """What a pass of ours refuses, as an error of ours."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        where = None if diagnostic.where is None else SourceLocation(*diagnostic.where[:2], diagnostic.where[2] or None)
        rule, hint = diagnostic.rule or "ptoc-opt", diagnostic.hint or PASSES_HINT
        self.refusal = InputError(diagnostic.message, where=where, rule=rule, hint=hint)
        super().__init__(str(self.refusal))


def _lines(name: str, running: str, error: DiagnosticException) -> Iterator[str]:
    """What is wrong, and the operation it was found in; xDSL's notes show the module with marks below operations."""
    yield ": ".join(each for each in (name, running, str(error)) if each)
    for note in getattr(error, "__notes__", ()):
        yield from (f"    {op.strip()}" for op, mark in pairwise(note.splitlines()) if _MARK.fullmatch(mark))
