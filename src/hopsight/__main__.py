"""``python -m hopsight``: the command line."""

import sys

from hopsight.cli import main

if __name__ == "__main__":
    sys.exit(main())
