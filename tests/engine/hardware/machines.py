"""Expands a machine's description into the files that the kernel would show; see machines/SOURCE.md."""

import functools
import json
import tempfile
from pathlib import Path

from hooke.hardware.files import parse_list, write_list
from hooke.hardware.topology import Topology, read

FOLDER = Path(__file__).parent / "machines"
MACHINES = sorted(path.stem for path in FOLDER.glob("*.json"))


def expand(name: str, root: Path, allowed: str = "", mems: str = "", cgroup: dict[str, str] | None = None) -> Path:
    """Write the tree of a machine; `allowed` cpus and `mems` (all by default), and files of the control group."""
    machine = json.loads((FOLDER / f"{name}.json").read_text())
    cores = sum(len(parse_list(socket)) for socket in machine["sockets"])
    depth = machine["threads_per_core"]

    def threads(of: str) -> frozenset[int]:
        return frozenset(core + cores * k for core in parse_list(of) for k in range(depth))

    def holding(parts: list[str], cpu: int) -> str:
        return next((write_list(threads(part)) for part in parts if cpu in threads(part)), "")

    def put(path: str, said: object) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{said}\n")

    every = write_list(range(cores * depth))
    put("sys/devices/system/cpu/online", every)
    put("proc/cpuinfo", f"processor\t: 0\nmodel name\t: {machine['model']}")
    nodes = write_list(range(len(machine["nodes"])))
    put("proc/self/status", f"Cpus_allowed_list:\t{allowed or every}\nMems_allowed_list:\t{mems or nodes}")
    put("proc/self/cgroup", "0::/job")
    for path, said in (cgroup or {}).items():
        put(f"sys/fs/cgroup/job/{path}", said)
    l2 = [f"{at}-{at + machine['l2_cores'] - 1}" for at in range(0, cores, machine["l2_cores"])]
    for core in range(cores):
        for cpu in sorted(threads(str(core))):
            place = f"sys/devices/system/cpu/cpu{cpu}"
            socket = next(i for i, part in enumerate(machine["sockets"]) if core in parse_list(part))
            put(f"{place}/topology/physical_package_id", socket)
            put(f"{place}/topology/thread_siblings_list", write_list(threads(str(core))))
            caches = [
                (1, "Data", write_list(threads(str(core)))),
                (1, "Instruction", "0"),
                (2, "Unified", holding(l2, cpu)),
            ]
            caches += [(3, "Unified", holding(machine["l3"], cpu))] * bool(machine["l3"])
            for index, (level, kind, shared) in enumerate(caches):
                one = f"caches/{level}-{kind}-{shared}"  # written once, seen by all who share it
                if not (root / one).exists():
                    put(f"{one}/level", level)
                    put(f"{one}/type", kind)
                    put(f"{one}/shared_cpu_list", shared)
                (root / place / "cache").mkdir(exist_ok=True)
                (root / place / f"cache/index{index}").symlink_to(root / one)
    put("sys/devices/system/node/online", nodes)
    for number, node in enumerate(machine["nodes"]):
        place = f"sys/devices/system/node/node{number}"
        put(f"{place}/cpulist", write_list(threads(node["cores"])))
        put(f"{place}/distance", node["distance"])
        # Half of what is free lies in the file cache, as on a machine that has read something.
        cached = node["free_kb"] // 2
        lines = {"MemTotal": node["size_kb"], "MemFree": node["free_kb"] - cached, "Inactive(file)": cached}
        put(f"{place}/meminfo", "\n".join(f"Node {number} {key}:  {kb} kB" for key, kb in lines.items()))
        if "bandwidth" in node:
            put(f"{place}/access0/initiators/read_bandwidth", node["bandwidth"])
    return root


@functools.cache
def machine(name: str) -> Topology:
    """Return what is read from the expanded tree."""
    memory = Path("/dev/shm")  # noqa: S108 - thousands of small files
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        return read(expand(name, Path(folder)))
