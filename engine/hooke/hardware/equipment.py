"""What else a cluster's host has: NUMA nodes, NVIDIA devices with driver, network adapters. Reads files only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hooke.hardware.exchange import cuda_awareness, cuda_devices
from hooke.hardware.files import text
from hooke.hardware.topology import read


def equipment(root: Path = Path("/")) -> dict[str, str | int]:
    """Return what the host under `root` has, for the description of a cluster.

    `numa_nodes`: NUMA nodes with cores that this process may use. `gpus`: the NVIDIA devices, empty if there are
    none; with devices also `gpu_driver`, and `mpi_cuda`: whether MPI supports device memory, as far as variables
    tell before MPI is started. `interconnect`: the fastest network adapters.
    """
    devices = cuda_devices(root)
    found: dict[str, str | int] = {
        "numa_nodes": len({core.node for core in read(root).usable}),
        "gpus": _counted(devices),
        "interconnect": interconnect(root),
    }
    if devices:
        aware = cuda_awareness()
        found["gpu_driver"] = driver(root)
        found["mpi_cuda"] = f"{'yes' if aware.cuda else 'not known'}: {aware.why}"
    return found


def _counted(names: tuple[str, ...]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in Counter(names).items())


def driver(root: Path = Path("/")) -> str:
    """Return the version of the NVIDIA driver as the kernel module reports it; empty if unknown.

    /proc/driver/nvidia/version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...".
    """
    for line in text(root / "proc/driver/nvidia/version").splitlines():
        if line.startswith("NVRM version:"):
            return next((word for word in line.split() if word[0].isdigit() and "." in word), "")
    return ""


def interconnect(root: Path = Path("/")) -> str:
    """Return the fastest adapters for messages between hosts, as "2 x InfiniBand 200 Gb/s (4X HDR)".

    InfiniBand and RoCE by /sys/class/infiniband/*/ports/*/{rate,link_layer,state}; without an active port,
    Ethernet by /sys/class/net/*/speed, where a virtual adapter reports none.
    """
    ports = []
    for port in sorted((root / "sys/class/infiniband").glob("*/ports/*")):
        if "ACTIVE" in text(port / "state"):
            kind = "RoCE" if text(port / "link_layer").strip() == "Ethernet" else "InfiniBand"
            ports.append(f"{kind} {text(port / 'rate').strip().replace('Gb/sec', 'Gb/s')}")
    if ports:
        return _counted(tuple(ports))
    speeds = []
    for place in sorted((root / "sys/class/net").glob("*")):
        told = text(place / "speed").strip()
        if place.name != "lo" and told.isdigit() and int(told) > 0 and text(place / "operstate").strip() == "up":
            speeds.append(int(told))
    return f"Ethernet {max(speeds) / 1000:g} Gb/s" if speeds else "Ethernet of unknown speed"
