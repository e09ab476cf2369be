"""`hooke hardware`: the topology of this machine, and the placement of ranks with its reasons."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hooke.hardware.placement import Placement
    from hooke.hardware.topology import Topology

WIDTH = 80
PRECISION = {
    "tiles": "fp32, bf16 (tiles: AMX)",
    "vectors": "fp32, bf16 (vectors: faster than fp32 on some processors, slower on others)",
    "emulated": "fp32: without instructions for bf16 it is emulated, and many times slower",
}


class By(StrEnum):
    """The unit that is divided first."""

    NUMA = "numa"
    L3 = "l3"
    CORE = "core"


def hardware(
    ranks: Annotated[int, typer.Option(min=0, help="Ranks to place on this machine; 0: one per NUMA node.")] = 0,
    by: Annotated[By, typer.Option(help="Divide NUMA nodes, L3 domains, or just cores.")] = By.NUMA,
    server: Annotated[bool, typer.Option("--server", help="The last rank is a server.")] = False,
    memory: Annotated[float, typer.Option(min=0, help="GiB that each rank needs; 0: do not check.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the topology of this machine, and the cores and memory that ranks would get."""
    from hooke.errors import HookeError
    from hooke.hardware.description import bf16_unit, mpi_library
    from hooke.hardware.exchange import cuda_awareness, cuda_devices, path
    from hooke.hardware.placement import plan
    from hooke.hardware.topology import read

    found = read()
    count = ranks or max(1, len({core.node for core in found.usable})) + server
    try:
        placement = plan(found, count, by.value, round(memory * 2**30) or None, server)
    except HookeError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
    devices = cuda_devices()
    mpi, exchange = mpi_library(), path(len(devices), cuda_awareness())
    if as_json:
        ways = {"bf16": bf16_unit(), "cuda": list(devices), "mpi": mpi, "exchange": exchange}
        print(json.dumps({"topology": _plain(found), "placement": asdict(placement), **ways}, indent=2))
        return
    print(_machine(found))
    print(f"\n{_placement(placement, by, server)}")
    print()
    print(_wrapped("precision", PRECISION[bf16_unit()]))
    print(_wrapped("CUDA", ", ".join(devices) or "no device"))
    print(_wrapped("MPI", mpi or "not installed"))
    print(_wrapped("exchange", exchange))


def _plain(found: Topology) -> dict[str, Any]:
    lists = {"allowed": sorted(found.allowed), "memory_allowed": sorted(found.memory_allowed)}
    return asdict(found) | lists | {"fast": found.fast}


def _machine(found: Topology) -> str:
    from hooke.cli.text import columns
    from hooke.hardware.files import write_list
    from hooke.hardware.memory import gib

    cores, usable = found.cores, found.usable
    depth = max((len(core.cpus) for core in cores), default=1)
    l3 = {core.l3 for core in cores if core.l3}
    built = [
        _many(len(found.sockets), "socket"),
        _many(len(found.nodes), "NUMA node"),
        _many(len(l3), "L3 domain") if l3 else "no L3 cache",
        _many(len(cores), "core") + (f" of {depth} threads" if depth > 1 else ""),
    ]
    mine = f"{_many(len(usable), 'core')} (cpus {write_list(found.allowed)})"
    if found.quota is not None:
        mine += f", limited to the time of {found.quota:g}"
    rows = [("NODE", "CORES", "L3", "MEMORY", "FREE", "CPUS")]
    for node in found.nodes:
        inside = [core for core in cores if core.node == node.number]
        domains = {core.l3 for core in inside if core.l3}
        kind = f"fast: {found.fast[node.number]}" if node.number in found.fast else "memory of unknown speed"
        rows.append(
            (
                str(node.number),
                str(len(inside) or "-"),
                str(len(domains) or "-"),
                gib(node.size),
                gib(node.free),
                write_list(node.cpus) or kind,
            )
        )
    head = [_wrapped("machine", found.model), _wrapped("built of", ", ".join(built)), _wrapped("allowed", mine)]
    if found.memory[0]:
        head.append(_wrapped("memory", _memory(found)))
    return "\n".join([*head, "", columns(rows, "  ")])


def _memory(found: Topology) -> str:
    """Return the memory as reported by `free`, and the part that the nodes' own files do not account for."""
    from hooke.hardware.memory import gib

    size, available = found.memory
    said = f"{gib(size)}, {gib(available)} available"
    missing = size - sum(node.size for node in found.nodes)
    if missing > size // 100:  # a node's file also counts memory reserved by the kernel
        said += f"; the files of the nodes account for {gib(size - missing)}"
    return said


def _placement(placement: Placement, by: By, server: bool) -> str:
    from hooke.cli.text import columns
    from hooke.hardware.files import write_list

    rows = [("RANK", "THREADS", "CPUS", "NODES", "MEMORY OF")]
    last = len(placement.shares) - 1
    for rank, share in enumerate(placement.shares):
        name = f"{rank} server" if server and rank == last else str(rank)
        memory = write_list(share.memory) or "any node"
        rows.append((name, str(share.threads), write_list(share.cpus), write_list(share.nodes), memory))
    if len(rows) > 40:
        rows = [*rows[:20], ("...",) * 5, *rows[-8:]]
    why = [textwrap.fill(said, WIDTH, initial_indent="  - ", subsequent_indent="    ") for said in placement.why]
    title = _wrapped("placement", f"{_many(last + 1, 'rank')} by {by.value}")
    return "\n".join([title, "", columns(rows, "  "), "", *why])


def _wrapped(name: str, value: str) -> str:
    return textwrap.fill(value, WIDTH, initial_indent=f"{name:<11}", subsequent_indent=" " * 11)


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
