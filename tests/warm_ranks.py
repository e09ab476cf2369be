"""Ranks without imports: forks of a process that has imported PyTorch, which takes a second of a processor.

Tests start some hundred ranks. In `environment()` an interpreter that is to run `-m mpi4py -m MODULE ...` becomes
a client as it starts (interpreters/sitecustomize.py): a process of `benchmarks.netlab.warm` forks, and the client
ends as the fork ends. mpirun, guards and supervisors are as ever. A fork has the command line, environment, cores,
folder and descriptors of its client; its parent and its session are others, and its process id is that of the
journal, not that of the record of its guard. Some tests start ranks as users do, so that these are tried, too.

    python -m tests.warm_ranks PATH PARENT ROOM      the process
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from pkgutil import iter_modules

from benchmarks.netlab import warm
from tests.checkout import ROOT, python_path
from tests.waiting import wait_for

INTERPRETERS = Path(__file__).with_name("interpreters")
MODULES = (
    *("torch", "numpy", "scipy.special", "pydantic", "psutil", "hooke.loop.train", "hooke.comm.wrappers.timed"),
    *("hooke.comm.virtual.communicator", "hooke.catalogue.validation", "hooke.objective.loader"),
    *("hooke.objective.scorer", "hooke.objective.task", "hooke.objective.hogwild", "hooke.objective.flat"),
    *("hooke.objective.given", "hooke.objective.models.layers", "hooke.objective.replayed"),
)
PACKAGES = ("hooke.algorithms", "hooke.workloads")
"""All of whose modules a rank imports to find its own."""
WORDS, VARIABLES = 4_096, 16_384
"""Bytes that there are for a command line, and for an environment besides that of the process."""
SHARED = "TESTS_WARM_RANKS"
"""Environment variable with the folder of its socket: what whoever has started it starts uses it, too."""
_started: list[subprocess.Popen[bytes]] = []


def start() -> None:
    """Start the process of which ranks are forks, unless there is one; it ends with this one."""
    if SHARED in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="hooke-warm-")
    own = os.environ | {
        "PYTHONPATH": python_path(),
        "OMP_NUM_THREADS": "1",  # as launchers have it
        "PYTHONUNBUFFERED": "1",
        "ROOM": " " * VARIABLES,
    }
    words = [sys.executable, "-m", "tests.warm_ranks", _socket(folder), str(os.getpid()), " " * WORDS]
    _started.append(subprocess.Popen(words, cwd=ROOT, env=own, stdin=subprocess.DEVNULL))
    os.environ[SHARED] = folder


def _socket(folder: str) -> str:
    return f"{folder}/{os.uname().nodename}"


def environment() -> dict[str, str]:
    """Return variables for whoever starts ranks; the process is there then."""
    start()
    folder = os.environ[SHARED]
    wait_for(Path(_socket(folder)).exists, "the process of which ranks are forks")
    before = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    return {warm.FOLDER: folder, "PYTHONPATH": os.pathsep.join(dict.fromkeys([str(INTERPRETERS), *before]))}


def end() -> None:
    """End the process, if this one has started it."""
    while _started:
        process = _started.pop()
        process.kill()
        process.wait()
        shutil.rmtree(os.environ.pop(SHARED))


def _write(first: int, behind: int, words: Iterable[str]) -> None:
    """Replace what /proc shows of this process between these addresses."""
    data = b"".join(os.fsencode(word) + b"\0" for word in words)
    if len(data) > behind - first:  # nobody would find it: a test that looks for what is left would find nothing
        raise ValueError(f"{len(data)} bytes of a rank's command or environment: WORDS and VARIABLES are too few")
    ctypes.memset(first, 0, behind - first)
    ctypes.memmove(first, data, len(data))


def resemble(words: list[str], variables: dict[str, str]) -> None:
    """Show a command line and an environment in /proc: those that this process was started with are longer."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    places = [int(each) for each in fields[45:49]]  # arg_start, arg_end, env_start, env_end
    _write(places[0], places[1], words)
    _write(places[2], places[3], [f"{name}={value}" for name, value in variables.items()])


def modules() -> list[str]:
    """Return what is imported before the forks."""
    packages = map(importlib.import_module, PACKAGES)
    found = (each for package in packages for each in iter_modules(package.__path__, f"{package.__name__}."))
    return [*MODULES, *(each.name for each in found)]


if __name__ == "__main__":
    asked = warm.serve(sys.argv[1], None, int(sys.argv[2]), modules())
    resemble([sys.executable, *asked["arguments"]], asked["environment"])
    tempfile.tempdir = None  # that of the client's environment, which may name another one
    warm.program(asked)
