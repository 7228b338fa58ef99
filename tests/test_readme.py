"""The README's program prints what the README says it prints."""

import pathlib
import re
import subprocess
import sys

README = pathlib.Path(__file__).parents[1] / "README.md"


def test_the_readme_shows_what_its_program_prints(tmp_path):
    blocks = re.findall(r"```(python|mlir|)\n(.*?)```", README.read_text(), re.DOTALL)
    source = next(text for language, text in blocks if language == "python")
    program = tmp_path / "readme.py"
    program.write_text(source)
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, check=True)
    shown = [text for language, text in blocks if language == "mlir"]
    verdict = next(text for language, text in blocks if not language and "PTO order" in text)
    assert len(shown) == 3
    assert run.stdout == "\n".join([*shown, verdict])
