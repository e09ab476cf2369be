"""The topology of the machine, read from sysfs: sockets, NUMA nodes, cache domains, cores, hardware threads.

Source of the file formats: the kernel's Documentation/ABI (sysfs-devices-system-cpu, sysfs-devices-node,
sysfs-kernel-mm-memory-tiers) and admin-guide/mm/numaperf.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hooke.hardware.description import cpu_model
from hooke.hardware.files import cpu_quota, cpuset, number, parse_list, status, text

FAST_PACKAGES = (("Xeon Phi", "MCDRAM"), ("Xeon(R) CPU Max", "HBM"), ("Xeon CPU Max", "HBM"))
"""Processors whose memory-only nodes are fast memory in the package, and the name of that memory."""


@dataclass(frozen=True)
class Core:
    """One core and its online hardware threads, in order."""

    cpus: tuple[int, ...]
    socket: int
    node: int
    l3: tuple[int, ...]
    """The cpus that share its L3 cache; empty if there is none."""
    l2: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """One NUMA node; a node without cpus is memory only."""

    number: int
    cpus: tuple[int, ...]
    size: int
    """Bytes."""
    free: int
    """Bytes available: free, or in the file cache, which can be dropped."""
    distances: dict[int, int]
    """Node -> relative distance reported by the firmware; 10 is local."""
    bandwidth: int | None = None
    """Read bandwidth from the nearest processor, MB/s, if reported by the firmware (HMAT)."""
    tier: int | None = None
    """The kernel's memory tier; lower is faster; None before Linux 6.1."""

    @property
    def memory_only(self) -> bool:
        """Whether it has memory but no processor: MCDRAM, HBM, CXL, persistent memory."""
        return not self.cpus and self.size > 0


@dataclass(frozen=True)
class Topology:
    """A machine, and the part that this process may use."""

    model: str
    cores: tuple[Core, ...]
    """All online cores, ordered by node, L3 domain and number."""
    nodes: tuple[Node, ...]
    allowed: frozenset[int]
    """Cpus allowed by affinity and cpuset."""
    memory_allowed: frozenset[int]
    """Nodes on which this process may allocate memory."""
    quota: float | None
    """CPU quota of its control groups in processors; None: unlimited."""
    memory: tuple[int, int] = (0, 0)
    """Total and available bytes of the machine, as reported by `free`; (0, 0) if unknown."""

    @cached_property
    def usable(self) -> tuple[Core, ...]:
        """Return the cores of which this process may use a hardware thread, each with those threads only."""
        found = ((core, tuple(cpu for cpu in core.cpus if cpu in self.allowed)) for core in self.cores)
        return tuple(Core(cpus, core.socket, core.node, core.l3, core.l2) for core, cpus in found if cpus)

    @property
    def sockets(self) -> tuple[int, ...]:
        """Return the numbers of the sockets."""
        return tuple(sorted({core.socket for core in self.cores}))

    def node(self, number: int) -> Node:
        """Return one node by its number."""
        return next(node for node in self.nodes if node.number == number)

    @cached_property
    def fast(self) -> dict[int, str]:
        """Return the memory-only nodes known to be faster than ordinary memory, with the reasons.

        A memory-only node may also be slow (CXL, persistent memory), so evidence is required: bandwidth reported
        by the firmware, otherwise the kernel's memory tiers, otherwise a processor of FAST_PACKAGES.
        """
        ordinary = [node for node in self.nodes if node.cpus]
        return {
            node.number: why
            for node in self.nodes
            if node.memory_only and (why := _why_fast(node, ordinary, self.model))
        }


def _why_fast(node: Node, ordinary: list[Node], model: str) -> str:
    bandwidths = [one.bandwidth for one in ordinary if one.bandwidth]
    if node.bandwidth and bandwidths:
        faster = node.bandwidth > max(bandwidths)
        return f"{node.bandwidth / 1000:.0f} GB/s against {max(bandwidths) / 1000:.0f}" if faster else ""
    tiers = [one.tier for one in ordinary if one.tier is not None]
    if node.tier is not None and tiers and node.tier != min(tiers):
        return f"memory tier {node.tier}, before {min(tiers)}" if node.tier < min(tiers) else ""
    return next((f"{memory} of this processor" for name, memory in FAST_PACKAGES if name in model), "")


def read(root: Path = Path("/")) -> Topology:
    """Read the machine under `root`, and the part that this process may use.

    Without sysfs (hidden by a container) the result is one node with one core per allowed cpu.
    """
    allowed = parse_list(status(root, "Cpus_allowed_list"))
    online = parse_list(text(root / "sys/devices/system/cpu/online")) or allowed
    allowed = allowed & online or online
    if (cpus := cpuset(root, "cpus")) is not None:
        allowed = allowed & cpus or allowed  # a cpuset of another mount does not apply
    whole = _memory(text(root / "proc/meminfo"))
    nodes = _with_all_memory(tuple(_nodes(root, online)), whole)
    there = frozenset(node.number for node in nodes)
    memory = parse_list(status(root, "Mems_allowed_list")) & there or there
    if (mems := cpuset(root, "mems")) is not None:
        memory = memory & mems or memory
    cores = tuple(sorted(_cores(root, online, nodes), key=lambda core: (core.node, core.l3, core.cpus)))
    return Topology(cpu_model(root), cores, nodes, allowed, memory, cpu_quota(root), whole)


def _nodes(root: Path, online: frozenset[int]) -> Iterator[Node]:
    folder = root / "sys/devices/system/node"
    numbers = sorted(parse_list(text(folder / "online")))
    tiers = _tiers(root)
    for one in numbers:
        place = folder / f"node{one}"
        size, free = _memory(text(place / "meminfo"))
        distances = [int(word) for word in text(place / "distance").split()]
        yield Node(
            one,
            tuple(sorted(parse_list(text(place / "cpulist")) & online)),
            size,
            free,
            dict(zip(numbers, distances, strict=False)),
            number(place / "access0/initiators/read_bandwidth"),
            tiers.get(one),
        )
    if not numbers:
        yield Node(0, tuple(sorted(online)), *_memory(text(root / "proc/meminfo")), {0: 10})


def _with_all_memory(nodes: tuple[Node, ...], memory: tuple[int, int]) -> tuple[Node, ...]:
    """Return the nodes; if only one has memory, it is credited with all memory of the machine.

    Memory added to a running virtual machine may be missing in the node's file. With several nodes its location is
    unknown.
    """
    holding = [node for node in nodes if node.size]
    if len(holding) != 1 or not memory[0]:
        return nodes
    return tuple(replace(node, size=memory[0], free=memory[1]) if node.size else node for node in nodes)


def _tiers(root: Path) -> dict[int, int]:
    found = {}
    for place in sorted((root / "sys/devices/virtual/memory_tiering").glob("memory_tier[0-9]*")):
        for one in parse_list(text(place / "nodelist")):
            found[one] = int(place.name.removeprefix("memory_tier"))
    return found


def _memory(meminfo: str) -> tuple[int, int]:
    """Return (total, available) bytes of a meminfo file, of a node or of the machine.

    The machine's file contains an estimate of the available memory; for a node it is free memory plus file cache.
    """
    pairs = re.findall(r"(?:Node \d+ )?(\S+):\s+(\d+)", meminfo)
    kb = {key: int(value) for key, value in pairs}
    files = kb.get("Active(file)", 0) + kb.get("Inactive(file)", 0)
    return 1024 * kb.get("MemTotal", 0), 1024 * kb.get("MemAvailable", kb.get("MemFree", 0) + files)


def _cores(root: Path, online: frozenset[int], nodes: tuple[Node, ...]) -> Iterator[Core]:
    node_of = {cpu: node.number for node in nodes for cpu in node.cpus}
    first = min((node.number for node in nodes if node.cpus), default=0)
    seen: set[int] = set()
    for cpu in sorted(online):
        if cpu in seen:
            continue
        place = root / f"sys/devices/system/cpu/cpu{cpu}"
        listed = text(place / "topology/core_cpus_list") or text(place / "topology/thread_siblings_list")
        cpus = tuple(sorted((parse_list(listed) & online) | {cpu}))
        seen.update(cpus)
        caches = _caches(place)
        socket = number(place / "topology/physical_package_id") or 0
        yield Core(cpus, max(0, socket), node_of.get(cpu, first), caches.get(3, ()), caches.get(2, cpus))


def _caches(place: Path) -> dict[int, tuple[int, ...]]:
    """Return the cpus that share each level's cache of data with one."""
    found = {}
    for index in range(8):
        cache = place / f"cache/index{index}"
        level = number(cache / "level")
        if level is None:
            break
        if text(cache / "type") != "Instruction":
            found[level] = tuple(sorted(parse_list(text(cache / "shared_cpu_list"))))
    return found
