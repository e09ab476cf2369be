"""mpirun on the hosts of a lab: command line and environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hooke.cluster.launchers import base
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.launchers.local import mpirun
from hooke.hardware.description import usable_cores

from benchmarks.netlab import warm
from benchmarks.netlab.lab import Lab, LabError

AGENT = Path(__file__).with_name("agent.sh")
TRANSPORTS = {
    "ofi": base.BETWEEN_HOSTS,
    "ucx": {
        "MPIR_CVAR_CH4_NETMOD": "ucx",
        "UCX_TLS": "tcp,self",
    },  # not sm: emulated hosts share memory, but must use the network
}
"""MPICH's settings for other hosts, both over TCP. Hooke's launchers use the first one if there is only TCP."""
EVERYWHERE = {
    "UCX_LOG_LEVEL": "error",
    "GLOO_SOCKET_IFNAME": "eth0",  # otherwise it looks up the host's name, which is not in the DNS
    "OMP_NUM_THREADS": "1",
}


def transport() -> str:
    """Return NETLAB_TRANSPORT, otherwise the choice of Hooke's launchers: `ofi` or `environment`."""
    named = os.environ.get("NETLAB_TRANSPORT")
    if named is None:
        return "ofi" if base.transport(os.environ) else "environment"
    if named not in TRANSPORTS:
        raise LabError(f"NETLAB_TRANSPORT is one of {', '.join(TRANSPORTS)}, not {named!r}")
    return named


def command(lab: Lab, ranks: int, program: Sequence[str], hosts: int | None = None) -> list[str]:
    """Return the command line that starts `ranks` ranks of a program, rank i on host i + 1, round-robin.

    mpirun itself runs on host 1: its proxies must reach it over the lab's network.
    """
    used = min(ranks, lab.hosts) if hosts is None else hosts
    if used > lab.hosts:
        raise LabError(f"lab {lab.name!r} has {lab.hosts} hosts, not {used}")
    addresses = ",".join(lab.address(host) for host in range(1, used + 1))
    launching = ["-launcher", "ssh", "-launcher-exec", str(AGENT), "-hosts", addresses, "-n", str(ranks)]
    return lab.inside(1, [mpirun(), *launching, *warm.instead(program)])


def environment(lab: Lab, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of mpirun and of all ranks."""
    return {**inherited, **EVERYWHERE, **TRANSPORTS.get(transport(), {}), "NETLAB": lab.name}


class NetlabLauncher(Launcher):
    """Starts the ranks of a Hooke run on the hosts of a lab; unlike `hosts`, with mpirun on one of them."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def command(self, launch: Launch) -> list[str]:
        """Return mpirun with one guard per rank."""
        if launch.world != "mpi":
            raise LabError("a virtual world needs no hosts: use `hooke run`")
        return command(self.lab, launch.ranks, base.guarded(launch))

    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the common environment of a run, and that of the lab."""
        return environment(self.lab, base.environment(launch, inherited))


def emulation(lab: Lab, ranks: int) -> dict[str, object]:
    """Return the remarks required with every figure measured on a lab."""
    cores = usable_cores()
    return {
        "hosts": min(ranks, lab.hosts),
        "ranks": ranks,
        "cores": cores,
        "rate": lab.rate,
        "transport": transport(),
        "oversubscribed": ranks > cores,
        "note": oversubscription(ranks, cores),
    }


def oversubscription(ranks: int, cores: int) -> str:
    """Return a remark on whether every rank had its own core."""
    where = f"{ranks} emulated host{'s' if ranks > 1 else ''} on {cores} core{'s' if cores > 1 else ''}"
    return f"oversubscribed: {where}" if ranks > cores else f"{where}: a core each"
