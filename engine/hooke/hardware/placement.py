"""Plans the cores and the memory of each rank of a host, with reasons; applied by `affinity` and `binding`.

Source: You et al., "Scaling deep learning on GPU and Knights Landing clusters" (SC 2017), section 6.2: one chip is
divided into groups, each with its own copy of weights and data, as long as all copies fit in MCDRAM.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hooke.errors import LaunchError
from hooke.hardware.files import write_list
from hooke.hardware.memory import Memory, choose
from hooke.hardware.topology import Core, Topology

By = Literal["core", "l3", "numa"]
Key = Callable[[Core], tuple[int, ...]]


def _node(core: Core) -> tuple[int, ...]:
    return (core.node,)


def _l3(core: Core) -> tuple[int, ...]:
    # An L3 may be reported as wider than a node (sub-NUMA clusters of one die): a domain is within one of each.
    return (core.node, *core.l3)


LEVELS: dict[By, tuple[Key, ...]] = {"core": (), "l3": (_node, _l3), "numa": (_node,)}
"""The units that are divided, outermost first."""


@dataclass(frozen=True)
class Share:
    """The resources of one rank."""

    cpus: tuple[int, ...]
    """Hardware threads on which it may run: one per core, unless ranks outnumber cores."""
    threads: int
    """Number of intra-op threads."""
    nodes: tuple[int, ...]
    """NUMA nodes of its cores."""
    memory: tuple[int, ...]
    """NUMA nodes whose memory it prefers; empty: no preference."""


@dataclass(frozen=True)
class Placement:
    """The shares of all ranks of a host, by local rank, and the reasons in sentences."""

    shares: tuple[Share, ...]
    why: tuple[str, ...]
    memory: Memory
    pinned: bool = True


def plan(
    topology: Topology,
    ranks: int,
    by: By = "numa",
    bytes_per_rank: int | None = None,
    server: bool = False,
    threads: Sequence[int] = (),
) -> Placement:
    """Divide the part of a machine that this process may use among the `ranks` of this host.

    `server`: the last rank is a server; it gets its own core if the workers keep one each, otherwise it shares.
    `threads`: of every worker; each gets the share of a worker with one, and those of a worker are neighbours.
    Empty: one each.
    `bytes_per_rank`: memory need of a rank, to check that all copies fit; None: no check. Raises LaunchError if no
    worker is left to place.
    """
    workers = ranks - 1 if server else ranks
    if workers < 1:
        raise LaunchError(f"{ranks} ranks{' with a server' * server} leave no worker to place; ask for more ranks")
    cores = topology.usable
    why: list[str] = []
    if topology.quota is not None and math.floor(topology.quota) < len(cores):
        return _by_quota(topology, ranks, topology.quota)
    units = sum(threads) if threads else workers
    give = _crowd if units > len(cores) else _divide
    groups = give(cores, units, by, why)
    if units > workers:
        groups = _together(groups, threads)
        why.append(f"Every thread counted as a worker here; {_count(workers, 'worker')} with {units} threads.")
    if server:
        _add_server(groups, cores, threads or (1,) * workers, why)
    nodes = [_nodes(topology, cpus) for cpus in groups]
    memory = choose(topology, nodes, bytes_per_rank)
    shares = [
        Share(cpus, len(cpus), of, given) for cpus, of, given in zip(groups, nodes, memory.nodes, strict=True)
    ]
    if server:  # a server adds one vector after the other: one thread
        shares[-1] = replace(shares[-1], threads=1)
    return Placement(tuple(shares), (*why, *memory.why), memory)


def _together(groups: list[tuple[int, ...]], threads: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the cpus of each worker: those of its threads, which follow one another."""
    ends = list(itertools.accumulate(threads))
    parts = [groups[end - count : end] for end, count in zip(ends, threads, strict=True)]
    return [tuple(dict.fromkeys(cpu for group in part for cpu in group)) for part in parts]


def _by_quota(topology: Topology, ranks: int, quota: float) -> Placement:
    """Pin nothing: the cores are shared with processes that would be pinned to the same ones."""
    cpus = tuple(sorted(topology.allowed))
    threads = max(1, math.floor(quota) // ranks)
    why = (
        f"The control group grants the time of {quota:g} processors on {len(topology.usable)} shared cores: "
        "nothing is pinned, because similar containers would be pinned to the same cores.",
    )
    nodes = _nodes(topology, cpus)
    return Placement(
        (Share(cpus, threads, nodes, ()),) * ranks, why, Memory("none", ((),) * ranks, ()), pinned=False
    )


def _crowd(cores: Sequence[Core], workers: int, by: By, why: list[str]) -> list[tuple[int, ...]]:
    """Assign second hardware threads, then share from the first one on."""
    del by
    deepest = max(len(core.cpus) for core in cores)
    pool = [core.cpus[k] for k in range(deepest) for core in cores if k < len(core.cpus)]
    shared = "their second hardware threads are used" if workers <= len(pool) else "some share a hardware thread"
    why.append(f"{workers} workers outnumber {_count(len(cores), 'core')}: {shared}; times are not meaningful.")
    return [(pool[i % len(pool)],) for i in range(workers)]


def _divide(cores: Sequence[Core], workers: int, by: By, why: list[str]) -> list[tuple[int, ...]]:
    """Return each worker's cpus: parts of one domain if there are enough workers, otherwise equal shares."""
    parts = _split(list(cores), workers, LEVELS[by])
    if by != "core":
        why.append(_borders(cores, parts, by))
    sizes = sorted({len(part) for part in parts})
    if len(sizes) == 1:
        why.append(f"Every worker gets {_count(sizes[0], 'core')}.")
    else:
        domains = _domains(cores, LEVELS[by][0]) if by != "core" else []
        even = sizes[-1] - sizes[0] > 1 and len({len(domain) for domain in domains}) == 1
        hint = f"; a multiple of {len(domains)} workers would" if even else ""
        why.append(f"Workers get {sizes[0]} to {sizes[-1]} cores: {len(cores)} do not divide evenly{hint}.")
    if any(len(core.cpus) > 1 for core in cores):
        why.append("One hardware thread per core: dense arithmetic saturates a core with one.")
    return [tuple(core.cpus[0] for core in part) for part in parts]


def _split(cores: list[Core], n: int, levels: Sequence[Key]) -> list[list[Core]]:
    domains = _domains(cores, levels[0]) if levels else [cores]
    if n < len(domains) or not levels:
        return _cut(cores, n)
    counts = _apportion([len(domain) for domain in domains], n)
    return [part for domain, k in zip(domains, counts, strict=True) for part in _split(domain, k, levels[1:])]


def _domains(cores: Iterable[Core], key: Key) -> list[list[Core]]:
    found: dict[tuple[int, ...], list[Core]] = {}
    for core in cores:
        found.setdefault(key(core), []).append(core)
    return list(found.values())


def _borders(cores: Sequence[Core], parts: list[list[Core]], by: By) -> str:
    """Return a sentence on how the resulting parts are aligned with the domains."""
    one, key = ("NUMA node", _node) if by == "numa" else ("L3 domain", _l3)
    missing = ""
    if by == "l3" and not any(core.l3 for core in cores):
        one, missing = "NUMA node", " (this processor has no L3 cache)"
    domains = _domains(cores, key)
    if all(len(_domains(part, key)) == 1 for part in parts):
        how = "no group spans two"
    elif all(sum(set(domain) <= set(part) for part in parts) for domain in domains):
        how = "each group consists of whole ones"
    elif all(len(_domains(part, _node)) == 1 for part in parts):
        how = "equal shares span several, but not several NUMA nodes"
    else:
        how = "too few groups to fill them evenly, so equal shares span several"
    return f"{_count(len(parts), 'worker')} on {_count(len(domains), one)}{missing}: {how}."


def _cut(cores: list[Core], n: int) -> list[list[Core]]:
    """Return n contiguous parts whose sizes differ by at most one, the larger ones first."""
    size, more = divmod(len(cores), n)
    ends = [i * size + min(i, more) for i in range(n + 1)]
    return [cores[start:stop] for start, stop in zip(ends, ends[1:], strict=False)]


def _apportion(sizes: list[int], groups: int) -> list[int]:
    """Return the number of groups in each domain: one each, then one more where groups are largest.

    No domain gets more groups than cores as long as there are enough cores for all groups.
    """
    counts = [1] * len(sizes)
    for _ in range(groups - len(sizes)):
        counts[max(range(len(sizes)), key=lambda i: (sizes[i] / counts[i], -i))] += 1
    return counts


def _add_server(
    groups: list[tuple[int, ...]], cores: Sequence[Core], threads: Sequence[int], why: list[str]
) -> None:
    spare = [len(cpus) - count for cpus, count in zip(groups, threads, strict=True)]
    siblings = tuple(cpu for core in cores for cpu in core.cpus[1:])
    if max(spare) > 0:
        at = max(i for i, cores_left in enumerate(spare) if cores_left == max(spare))
        groups[at], own = groups[at][:-1], groups[at][-1:]
        why.append(f"The server has core {own[0]} to itself, taken from worker {at}.")
        groups.append(own)
    elif siblings and sum(threads) <= len(cores):
        why.append("No core is left for the server: it runs on the cores' second hardware threads.")
        groups.append(siblings)
    else:
        why.append("No core is left for the server: it may run on any core.")
        groups.append(tuple(cpu for core in cores for cpu in core.cpus))


def _nodes(topology: Topology, cpus: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({core.node for core in topology.usable if set(core.cpus) & set(cpus)}))


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


def said(share: Share) -> str:
    """Return a short description of a share, for the journal."""
    where = f"cpus {write_list(share.cpus)}"
    memory = f", memory of node {write_list(share.memory)} first" if share.memory else ""
    return where + memory
