"""``python -m ptoc`` is the command ``ptoc``."""

import sys

from ptoc.cli import main

if __name__ == "__main__":
    sys.exit(main())
