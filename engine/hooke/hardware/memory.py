"""The preferred memory of the ranks of a host: the fastest in which all copies fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hooke.hardware.files import write_list
from hooke.hardware.topology import Topology


@dataclass(frozen=True)
class Memory:
    """The preferred memory nodes of each rank, and the reasons.

    `kind`: fast (needs a memory policy), own (the default of the kernel for pinned ranks), none.
    """

    kind: Literal["fast", "own", "none"]
    nodes: tuple[tuple[int, ...], ...]
    why: tuple[str, ...]


def choose(topology: Topology, near: Sequence[tuple[int, ...]], bytes_per_rank: int | None) -> Memory:
    """Choose memory for ranks whose cores are in the NUMA nodes `near`; the same kind for all ranks.

    Candidates, in this order: the fast memory-only nodes nearest to each rank, the ranks' own nodes, none. The
    first one is chosen in which `bytes_per_rank` of every rank fit on all nodes. All ranks get the same kind,
    because the slowest rank determines the speed. With None for `bytes_per_rank` the size is not checked.
    """
    why: list[str] = []
    for kind, name, nodes in _candidates(topology, near, why):
        lack = _lack(topology, nodes, bytes_per_rank)
        if not lack:
            why.append(f"Memory: {name}{_fits(topology, nodes, bytes_per_rank)}.")
            return Memory(kind, nodes, tuple(why))
        why.append(f"Not in {name}: {lack}.")
    why.append("Memory: left to the kernel.")
    return Memory("none", ((),) * len(near), tuple(why))


def _candidates(
    topology: Topology, near: Sequence[tuple[int, ...]], why: list[str]
) -> Iterator[tuple[Literal["fast", "own"], str, tuple[tuple[int, ...], ...]]]:
    fast = sorted(set(topology.fast) & topology.memory_allowed)
    if fast:
        kinds = sorted({topology.fast[node] for node in fast})
        yield (
            "fast",
            f"the fast memory nearest to each rank, {_named(fast)} ({'; '.join(kinds)})",
            _nearest(topology, near, fast),
        )
    elif topology.fast:
        why.append(f"Fast memory lies in {_named(sorted(topology.fast))}, which this process may not use.")
    unknown = [node.number for node in topology.nodes if node.memory_only and node.number not in topology.fast]
    if unknown:
        why.append(f"Memory-only {_named(unknown)} is not used: it is not known to be fast (CXL is slow).")
    own = [node.number for node in topology.nodes if node.cpus and node.number in topology.memory_allowed]
    if own:
        yield "own", "the nodes of each rank's own cores", _nearest(topology, near, own)


def _nearest(
    topology: Topology, near: Sequence[tuple[int, ...]], targets: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    def target(node: int) -> int:
        distances = topology.node(node).distances
        return min(targets, key=lambda other: (distances.get(other, 255), other))

    return tuple(tuple(sorted({target(node) for node in nodes})) for nodes in near)


def _shares(nodes: Sequence[tuple[int, ...]]) -> dict[int, Fraction]:
    """Return the number of copies on each node; a rank on several nodes is spread evenly over them."""
    shares: dict[int, Fraction] = {}
    for several in nodes:
        for node in several:
            shares[node] = shares.get(node, Fraction(0)) + Fraction(1, len(several))
    return shares


def _lack(topology: Topology, nodes: Sequence[tuple[int, ...]], need: int | None) -> str:
    """Return a message about the first node that is too small, or an empty string."""
    for node, copies in sorted(_shares(nodes).items()):
        free = topology.node(node).free
        if need is not None and copies * need > free:
            return (
                f"node {node} has {gib(free)} free, {_copies(copies)} of {gib(need)} need "
                f"{gib(int(copies * need))}; {int(free // max(1, need))} would fit"
            )
    return ""


def _fits(topology: Topology, nodes: Sequence[tuple[int, ...]], need: int | None) -> str:
    if need is None:
        return "; not checked, because the memory need of a rank is not given"
    fullest = min(_shares(nodes).items(), key=lambda item: (topology.node(item[0]).free - item[1] * need, item[0]))
    node, copies = fullest
    return (
        f"; on node {node}, the fullest, {_copies(copies)} of {gib(need)} fit in "
        f"{gib(topology.node(node).free)} free"
    )


def _copies(count: Fraction) -> str:
    return f"{float(count):.3g} cop{'y' if count == 1 else 'ies'}"


def _named(nodes: Sequence[int]) -> str:
    return f"node{'s' * (len(nodes) > 1)} {write_list(nodes)}"


def gib(count: int) -> str:
    """Return a size in GiB, MiB or KiB, with three significant digits."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 2**10:.3g} KiB"
