"""Whether the MPI library takes device memory, and which CUDA devices the driver shows; loads no CUDA."""

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
"""Variables that switch device memory on in libraries that leave it off by default (each library's manual)."""
VETOES = {"MPIR_CVAR_ENABLE_GPU": "MPICH", **SWITCHES}
"""Variables whose 0 switches it off."""
_CUDA = 0  # MPIX_GPU_SUPPORT_CUDA of MPICH's mpi.h


@dataclass(frozen=True)
class Awareness:
    """Whether messages may be device memory, and how that is known."""

    cuda: bool
    why: str


def cuda_awareness(environment: Mapping[str, str] | None = None, library: Path | None = None) -> Awareness:
    """Return whether the MPI library takes CUDA pointers.

    A variable set to 0 decides first, then the library's own word (MPIX_Query_cuda_support of Open MPI,
    MPIX_GPU_query_support of MPICH), then a variable that switches support on. `library`: by default the one
    this process has loaded; without one only the variables speak. Call it after MPI is initialised.
    """
    variables = os.environ if environment is None else environment
    for name, whose in VETOES.items():
        if variables.get(name) == "0":
            return Awareness(False, f"{name}=0 switches it off ({whose})")
    loaded = loaded_library() if library is None else library
    answer = None if loaded is None else _ask(loaded)
    if answer is not None:
        return Awareness(answer, f"{loaded.name if loaded else ''} says so itself")
    for name, whose in SWITCHES.items():
        if variables.get(name, "0") not in ("", "0"):
            return Awareness(True, f"{name}={variables[name]} switches it on ({whose})")
    return Awareness(False, "the library does not say that it does" if loaded else "none is loaded that says so")


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
    """Return the models of the NVIDIA devices that the driver shows, in its order; nothing without a driver."""
    found = []
    for place in sorted((root / "proc/driver/nvidia/gpus").glob("*")):
        lines = dict(line.split(":", 1) for line in text(place / "information").splitlines() if ":" in line)
        found.append(lines.get("Model", "unknown model").strip())
    return tuple(found)


def path(devices: int, aware: Awareness) -> str:
    """Return in words how vectors travel between the ranks of a run on this machine."""
    if not devices:
        return "from main memory, as they lie: no CUDA device"
    if aware.cuda:
        reason = f"sums are made on the host, though MPI would take device memory ({aware.why})"
    else:
        reason = f"MPI does not take device memory: {aware.why}"
    return f"through pinned host buffers, because {reason}"
