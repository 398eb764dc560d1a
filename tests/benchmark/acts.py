"""What the tests of the worker pool run: work that misbehaves on demand."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def act(what):
    """Do what the job says."""
    name, *values = what if isinstance(what, list | tuple) else (what,)
    if name == "sleep":
        time.sleep(values[0])
    elif name == "rest":
        time.sleep(600)
    elif name == "raise":
        raise ValueError("the job\nasked for it")
    elif name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "exit":
        os._exit(3)
    elif name == "allocate":
        block = np.ones(values[0] // 8)
        time.sleep(5)
        return float(block[-1])
    elif name == "mark":  # tells the test which process is running
        Path(values[0]).write_text(str(os.getpid()))
        time.sleep(values[1])
    return os.getpid()
