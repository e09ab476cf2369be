"""Placement of the calling rank: finds the ranks of its host, plans with them, applies and reports its share."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooke.hardware import affinity, binding
from hooke.hardware.description import usable_cores
from hooke.hardware.exchange import cuda_awareness, path
from hooke.hardware.files import status, write_list
from hooke.hardware.gpus import DEVICE_ID, device_id
from hooke.hardware.memory import choose
from hooke.hardware.placement import Placement, Share, plan, said
from hooke.hardware.topology import Topology, read

if TYPE_CHECKING:
    from hooke.spec.specification import Compute

COPIES = 12
"""Maximum number of full-size vectors on a rank: weights, gradient, center, momenta, message buffers."""


@dataclass(frozen=True)
class Host:
    """The ranks of this run on one host, from the view of one of them."""

    rank: int
    """Index of this rank among them."""
    ranks: int
    server: bool = False
    """Whether the last one is the server."""
    bound: bool = False
    """Whether the launcher has already assigned them different cpus."""
    threads: tuple[int, ...] = ()
    """Threads of every worker among them; empty: one each."""


@dataclass
class Placed:
    """The result of placing a rank: number of compute `threads`, and notes for the journal."""

    threads: int
    notes: dict[str, str] = field(default_factory=dict)
    topology: Topology | None = None
    placement: Placement | None = None
    bound: str = ""
    """Result of the request for fast memory."""

    def compute(self, asked: Compute) -> Compute:
        """Return the setting with `group` resolved into a number of threads."""
        return asked.model_copy(update={"threads": self.threads})

    def confirm(self, bytes_per_rank: int) -> dict[str, str]:
        """Check that all copies fit, now that the memory need of a rank is known; return all notes.

        If they do not fit, the memory policy is withdrawn and a note says so, because a rank should not have part
        of its data in fast memory, and different parts on different ranks.
        """
        if self.topology is None or self.placement is None or not self.placement.pinned:
            return dict(self.notes)
        chosen = choose(self.topology, [share.nodes for share in self.placement.shares], bytes_per_rank)
        said = " ".join([*([self.bound] if self.bound else []), *chosen.why])
        if self.placement.memory.kind == "fast" and chosen.kind != "fast" and (failed := binding.release()):
            said += f" But {failed}."
        self.notes["memory"] = said
        return dict(self.notes)


def neighbours(world: Any, server: bool, threads: int = 1) -> Host:
    """Return this rank's host. Collective over `world`, an mpi4py communicator.

    `server`: whether the calling rank is a server; `threads`: that it computes with.
    """
    node = world.Split_type(sys.modules["mpi4py.MPI"].COMM_TYPE_SHARED)
    mine = (server, frozenset(os.sched_getaffinity(0)), threads)
    found: list[tuple[bool, frozenset[int], int]] = node.allgather(mine)
    rank, ranks = node.Get_rank(), node.Get_size()
    node.Free()
    served = found[-1][0] and ranks > 1
    of_workers = tuple(count for _, _, count in (found[:-1] if served else found))
    return Host(rank, ranks, served, len({cpus for _, cpus, _ in found}) > 1, of_workers)


def among(compute: Compute, comm: Any, server: bool, threads: int = 1) -> Placed:
    """Place the calling rank among those of its host; collective over `comm`, an `MpiComm` of the whole run.

    `threads`: that it computes with, each of which gets as many cores as a rank with one.
    """
    if compute.placement == "none":
        return place(compute, Host(0, comm.ranks_on_this_host))
    affinity.unpin()
    binding.release()
    return place(compute, neighbours(comm.world, server, threads))


def place(compute: Compute, host: Host, bytes_per_rank: int | None = None, root: Path = Path("/")) -> Placed:
    """Pin the calling process to its share of this host; call it before torch starts threads. See
    `placement.plan`.

    With `placement: none` nothing is pinned, and `threads: group` is an equal share of the usable cores. All ranks
    of the host must have called `neighbours` before the first one is pinned.
    """
    if compute.placement == "none":
        cores = usable_cores(root)
        return Placed(_threads(compute, max(1, cores // host.ranks)))
    if host.bound:
        cpus = os.sched_getaffinity(0)
        why = f"The launcher has already bound this rank to cpus {write_list(cpus)}: not changed."
        return Placed(_threads(compute, min(len(cpus), usable_cores(root))), {"placement": why})
    topology = read(root)
    if host.server and host.ranks < 2:
        host = Host(host.rank, host.ranks, threads=host.threads)
    placement = plan(topology, host.ranks, compute.placement, bytes_per_rank, host.server, host.threads)
    share = placement.shares[host.rank]
    placed = Placed(_threads(compute, share.threads), {}, topology, placement)
    if placement.pinned:
        _go(placed, share, placement)
    reasons = placement.why[: len(placement.why) - len(placement.memory.why)]
    told = "; ".join([said(share), *([placed.notes["placement"]] if "placement" in placed.notes else [])])
    placed.notes["placement"] = f"{told}. {' '.join(reasons)}" if placement.pinned else " ".join(reasons)
    if placed.threads > share.threads and compute.threads != "group":
        placed.notes["placement"] += f" {placed.threads} threads were requested, more than its cores."
    return placed


def _go(placed: Placed, share: Share, placement: Placement) -> None:
    failed = affinity.pin(share.cpus)
    if failed:
        placed.notes["placement"] = f"not pinned: {failed}"
    if placement.memory.kind == "fast":
        how, failed = binding.prefer(share.memory)
        nodes = write_list(share.memory)
        placed.bound = f"Node {nodes}, {how}." if how else f"Not taken from node {nodes}: {failed}."


def _threads(compute: Compute, group: int) -> int:
    return group if compute.threads == "group" else compute.threads


def need(elements: int, root: Path = Path("/")) -> int:
    """Return the bytes needed by a rank with `elements` weights: its present memory, plus COPIES vectors."""
    anonymous = status(root, "RssAnon").split()
    return 1024 * int(anonymous[0] if anonymous else 0) + COPIES * 4 * elements


def notes_of(placed: Placed | None, objective: Any, staged: bool) -> dict[str, str]:
    """Return a rank's notes on placement, memory and how its vectors are exchanged."""
    notes = {} if placed is None else placed.confirm(need(objective.layout[-1].stop))
    if staged:
        notes["exchange"] = path(1, cuda_awareness())
        notes |= {DEVICE_ID: known} if (known := device_id(objective.device)) else {}
    return notes
