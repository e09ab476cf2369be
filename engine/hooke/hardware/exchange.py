"""Detects CUDA devices, and whether the MPI library supports device memory; does not load CUDA."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hooke.hardware.files import text

SWITCHES = {
    "MPICH_GPU_SUPPORT_ENABLED": "Cray MPICH",
    "MV2_USE_CUDA": "MVAPICH2",
    "I_MPI_OFFLOAD": "Intel MPI",
}
"""Variables that enable device memory in libraries where it is off by default (see each library's manual)."""
VETOES = {"MPIR_CVAR_ENABLE_GPU": "MPICH", **SWITCHES}
"""Variables that disable it if set to 0."""
_CUDA = 0  # MPIX_GPU_SUPPORT_CUDA of MPICH's mpi.h


@dataclass(frozen=True)
class Awareness:
    """Whether messages may be in device memory, and the source of that information."""

    cuda: bool
    why: str


def cuda_awareness(environment: Mapping[str, str] | None = None, library: Path | None = None) -> Awareness:
    """Return whether the MPI library supports CUDA pointers.

    Checked in this order: a variable set to 0; the library's query (MPIX_Query_cuda_support of Open MPI,
    MPIX_GPU_query_support of MPICH); a variable that enables support. `library`: by default the one loaded by this
    process; without one only the variables are checked. Call it after MPI is initialised.
    """
    variables = os.environ if environment is None else environment
    for name, whose in VETOES.items():
        if variables.get(name) == "0":
            return Awareness(False, f"{name}=0 disables it ({whose})")
    loaded = loaded_library() if library is None else library
    answer = None if loaded is None else _ask(loaded)
    if answer is not None:
        return Awareness(answer, f"{loaded.name if loaded else ''} reports it")
    for name, whose in SWITCHES.items():
        if variables.get(name, "0") not in ("", "0"):
            return Awareness(True, f"{name}={variables[name]} enables it ({whose})")
    return Awareness(
        False, "the library does not report support" if loaded else "no library is loaded that reports support"
    )


def loaded_library() -> Path | None:
    """Return the MPI library that this process has loaded, or None."""
    for line in text(Path("/proc/self/maps")).splitlines():
        place = Path(line.split(maxsplit=5)[-1])
        if place.name.startswith(("libmpi.so", "libmpich.so", "libmpi_cray.so")):
            return place
    return None


def _ask(library: Path) -> bool | None:
    try:
        functions = ctypes.CDLL(str(library))
    except OSError:
        return None
    if hasattr(functions, "MPIX_GPU_query_support"):
        supported = ctypes.c_int(0)
        if functions.MPIX_GPU_query_support(_CUDA, ctypes.byref(supported)) == 0:
            return bool(supported.value)
    if hasattr(functions, "MPIX_Query_cuda_support"):
        return bool(functions.MPIX_Query_cuda_support())
    return None


def cuda_devices(root: Path = Path("/")) -> tuple[str, ...]:
    """Return the models of the NVIDIA devices in the driver's order; empty without a driver."""
    found = []
    for place in sorted((root / "proc/driver/nvidia/gpus").glob("*")):
        lines = dict(line.split(":", 1) for line in text(place / "information").splitlines() if ":" in line)
        found.append(lines.get("Model", "unknown model").strip())
    return tuple(found)


def path(devices: int, aware: Awareness) -> str:
    """Return a description of how vectors are exchanged between the ranks of a run on this machine."""
    if not devices:
        return "directly from main memory: no CUDA device"
    if aware.cuda:
        reason = f"sums are computed on the host, although MPI supports device memory ({aware.why})"
    else:
        reason = f"MPI does not support device memory: {aware.why}"
    return f"through pinned host buffers, because {reason}"
