"""lit settings for the IR tests: every .mlir file below is a test, driven by its RUN lines."""

# lit puts `config` and `lit_config` into this file's globals.
# ruff: noqa: F821

import os
import sys
from pathlib import Path

import lit.formats

config.name = "ptoc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = lit_config.params["output"]

# `ptoc` and `filecheck` are those of the environment that runs lit.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
