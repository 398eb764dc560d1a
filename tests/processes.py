"""Commands in processes of their own: run to the end, or killed at a random moment."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from toys import set_options

COMMAND = [sys.executable, "-c", "import sys; from hopsight.cli import main; sys.exit(main())"]
SMALL = {"n_epochs": 20, "burn_in": 10, "n_units": 16, "mlp_units": 16, "max_pairs": 2000}
HCM = ["--detector", "hcm", *set_options(SMALL)]


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def python(program: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if os.name == "posix" and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests that run in the background
        options.setdefault("preexec_fn", _hear_interrupts)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*COMMAND, *arguments], env=environment, **pipes, **options)  # type: ignore[call-overload]


def finish(*arguments: str) -> float:
    """Run to the end and return the seconds it took."""
    begin = time.perf_counter()
    process = start(*arguments)
    _, error = process.communicate()
    assert process.returncode == 0, error
    return time.perf_counter() - begin


def kill_during(arguments: Sequence[str], seconds: float) -> None:
    process = start(*arguments)
    time.sleep(seconds)
    process.kill()
    process.communicate()


def killed(arguments: Sequence[str], usual: float, times: int, *, earliest: float = 0.2) -> Iterator[int]:
    """Kill a command that usually takes so many seconds at random moments, and yield after each kill."""
    moments = random.Random(0)
    for attempt in range(times):
        kill_during(arguments, moments.uniform(earliest, 1.05) * usual)
        yield attempt
