"""How the tests enter each world."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hooke.comm.base import Comm
from hooke.comm.virtual.communicator import run_virtual
from hooke.spec.specification import VirtualCluster

from tests import warm_ranks

ROOT = Path(__file__).resolve().parents[3]
A, B = 1e-3, 1e-6
"""Latency in seconds, seconds per byte: 1000 float32 take 5 ms."""
NETWORK = VirtualCluster(latency=A, seconds_per_byte=B)
ONE_HOST = VirtualCluster(latency=0.0, seconds_per_byte=0.0)
"""Ranks that share memory."""


def virtual(
    size: int, main: Callable[[Comm], Any], collective: str = "tree", network: VirtualCluster = NETWORK
) -> list[Any]:
    return run_virtual(size, network, main, collective)  # type: ignore[arg-type]  # parametrised by strings


def mpirun(size: int, module: str, *arguments: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    """Run a test program on `size` ranks with the mpirun beside this interpreter."""
    command = [str(Path(sys.executable).parent / "mpirun"), "-n", str(size)]
    command += [sys.executable, "-m", "mpi4py", "-m", module, *arguments]
    environment = os.environ | warm_ranks.environment() | {"UCX_LOG_LEVEL": "error", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


@functools.cache
def answers(program: str) -> dict[int, dict[str, Any]]:
    """Return {ranks: what the program answered}; it asserts what holds for every rank. One mpirun plays all."""
    done = mpirun(5, f"tests.engine.comm.{program}")
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return {int(size): answered for size, answered in found.items()}


def exchange_answers(size: int) -> dict[str, list[Any]]:
    """Return {case: [answer of each rank]} of `exchange_program`."""
    return answers("exchange_program")[size]
