"""Description of the host: processor, usable cores, memory, versions. Reads files; imports no large package."""

from __future__ import annotations

import functools
import importlib.metadata
import math
import os
import platform
import re
import sys
from pathlib import Path
from typing import Literal

from hooke.hardware.affinity import allowed
from hooke.hardware.files import cpu_quota, groups, text

DISTRIBUTIONS = ("hooke", "torch", "numpy", "mpi4py")
"""Python packages whose version may affect results or timings."""
Bf16 = Literal["tiles", "vectors", "emulated"]
"""The unit that a processor uses for bf16 multiplication."""
BF16_FLAGS: dict[str, Bf16] = {"amx_bf16": "tiles", "avx512_bf16": "vectors", "bf16": "vectors"}
"""The kernel's flags for bf16 instructions (x86, ARM), best first."""


def describe() -> tuple[dict[str, str | int | float], dict[str, str]]:
    """Return (hardware, versions) of this host and process.

    Hardware: `host`, `cpu`, `cpu_generation`, `cpu_bf16` (see `bf16_unit`), `cores` (usable, see
    `usable_cores`), `memory_bytes` (usable), `kernel`. Versions: of Python, of what is installed of DISTRIBUTIONS,
    and of the MPI library.
    """
    hardware: dict[str, str | int | float] = {
        "host": platform.node(),
        "cpu": cpu_model(),
        "cpu_generation": cpu_generation(),
        "cpu_bf16": bf16_unit(),
        "cores": usable_cores(),
        "memory_bytes": usable_memory(),
        "kernel": f"{platform.system()} {platform.release()}",
    }
    versions = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        if (version := _installed(name)) is not None:
            versions[name] = version
    if (library := mpi_library()) is not None:
        versions["mpi"] = library
    return hardware, versions


def usable_cores(root: Path = Path("/")) -> int:
    """Return how many cores this process may use: its affinity, limited by the CPU quota of its control groups.

    Quotas are rounded down: 1.5 cores suffice for one rank. `root` is where /proc and /sys are mounted.
    """
    cores = len(allowed())
    quota = cpu_quota(root)
    return max(1, cores if quota is None else min(cores, math.floor(quota)))


def ranks_at_once(threads: int | Literal["group"]) -> int:
    """Return how many ranks of a virtual world may compute at once, with so many intra-op threads each."""
    return 1 if threads == "group" else max(1, usable_cores() // threads)


def usable_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process may use: the machine's, or the limit of its control groups."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [
        int(limit)
        for folder in groups(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (limit := text(folder / name)).isdigit()
    ]
    return min([total, *limits])


def cpu_model(root: Path = Path("/")) -> str:
    """Return the processor's name as reported by the kernel, otherwise its architecture."""
    for line in text(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware") and value.strip():
            return " ".join(value.split())
    return platform.machine()


def cpu_generation(root: Path = Path("/")) -> str:
    """Return family and model of an x86 processor, as in "family 25 model 1"; empty where unknown.

    On virtual machines, processors of different generations often have the same name.
    """
    found = dict(re.findall(r"^(cpu family|model)\s*: (\d+)$", text(root / "proc/cpuinfo"), re.MULTILINE))
    return f"family {found['cpu family']} model {found['model']}" if len(found) == 2 else ""


def bf16_unit(root: Path = Path("/")) -> Bf16:
    """Return the unit that the processor uses for bf16 multiplication.

    `tiles` (AMX) are faster than fp32; `vectors` are faster on some processors and slower on others; without bf16
    instructions PyTorch emulates it, many times slower.
    """
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text(root / "proc/cpuinfo"), re.MULTILINE)
    has = set(flags[1].split()) if flags else set()
    return next((unit for flag, unit in BF16_FLAGS.items() if flag in has), "emulated")


def mpi_library() -> str | None:
    """Return name and version of the MPI library: from the library if it is loaded, otherwise as installed."""
    loaded = sys.modules.get("mpi4py.MPI")
    if loaded is not None:
        said = loaded.Get_library_version()
        found = re.search(r"MPICH Version:\s*(\S+)", said)
        return f"MPICH {found[1]}" if found else said.splitlines()[0].strip("\0 ,")[:80]
    wheel = _installed("mpich")
    return f"MPICH {wheel}" if wheel else None


@functools.cache
def _installed(name: str) -> str | None:
    """Return the version of a package. Reading takes as long as several steps, and every run of a process asks."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
