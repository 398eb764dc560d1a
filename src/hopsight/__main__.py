"""``hopsight`` and ``python -m hopsight``: the command line."""

import signal
import sys


def main() -> int:
    """Run the command line; Ctrl-C while its modules are still being imported ends the process without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from hopsight import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
