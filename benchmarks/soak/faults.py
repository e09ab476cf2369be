"""The faults: each finds its target, does its harm, and returns how to undo it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from typing import Any

import psutil
from hooke.cluster.broker import Orders, make_app
from hooke.spec.orders import BrokerOrder

from benchmarks.soak import (
    cancelling,  # noqa: F401 - registers its faults
    processes,
)
from benchmarks.soak.drawing import Planned
from benchmarks.soak.installation import HOSTS, Installation
from benchmarks.soak.proxy import MODES
from benchmarks.soak.services import Service
from benchmarks.soak.striking import KINDS, STRIKES, Hit, awaited, fault, one, send

__all__ = ["KINDS", "STRIKES"]

_OLD = 75
"""Age of an old order, s: above the visibility timeout of the broker (60 s)."""


def _of_attempts(what: str, number: int, site: Installation, planned: Planned) -> Hit | None:
    def find() -> processes.Found | None:
        found = [p for p in processes.living(site.homes.values()) if p.what == what]
        return one(planned, sorted(found, key=lambda p: p.pid))

    if (target := awaited(find)) is None:
        return None
    send([target.pid], number)
    again = partial(send, [target.pid], signal.SIGCONT) if number == signal.SIGSTOP else None
    return Hit(str(target), target.runs, again)


for _what in (processes.RANK, processes.MPIRUN, processes.GUARD, processes.SUPERVISOR):
    _weight = 6 if _what in (processes.RANK, processes.SUPERVISOR) else 4
    fault(f"kill {_what}", _weight)(partial(_of_attempts, _what, signal.SIGKILL))
    fault(f"stop {_what}", 2, 1.0, 5.0, 25.0)(partial(_of_attempts, _what, signal.SIGSTOP))


@fault("kill proxy of mpirun", 2)
def _proxy_of_mpirun(site: Installation, planned: Planned) -> Hit | None:
    """Its command line names no home: it is found below an mpirun that belongs to one."""

    def find() -> tuple[int, processes.Found] | None:
        started = [p for p in processes.living(site.homes.values()) if p.what == processes.MPIRUN]
        below = [(child, p) for p in started for child in psutil.Process(p.pid).children(recursive=True)]
        return one(planned, [(child.pid, p) for child, p in below if child.name() == "hydra_pmi_proxy"])

    if (found := awaited(find)) is None:
        return None
    send([found[0]], signal.SIGKILL)
    return Hit(f"hydra_pmi_proxy {found[0]} below {found[1]}", found[1].runs)


def _services(site: Installation, part: str) -> list[Service]:
    parts = {"agent": list(site.agents.values()), "API": site.apis, "Redis": [site.redis]}
    return {**parts, "PostgreSQL": [site.postgres]}[part]


def _kill_part(part: str, site: Installation, planned: Planned) -> Hit | None:
    service = one(planned, [s for s in _services(site, part) if s.pid is not None])
    if service is None or service.pid is None:
        return None
    send([service.pid], signal.SIGKILL)
    return Hit(service.name)


def _stop_part(part: str, site: Installation, planned: Planned) -> Hit | None:
    service = one(planned, [s for s in _services(site, part) if s.pid is not None])
    if service is None:
        return None
    pids = service.pids()
    send(pids, signal.SIGSTOP)
    return Hit(service.name, undo=partial(send, pids, signal.SIGCONT))


for _part, _seconds in {
    "agent": (3.0, 10.0, 45.0),
    "API": (2.0, 12.0),
    "Redis": (2.0, 15.0),
    "PostgreSQL": (2.0, 12.0),
}.items():
    fault(f"kill {_part}", 2)(partial(_kill_part, _part))
    fault(f"stop {_part}", 1, *_seconds)(partial(_stop_part, _part))


@fault("kill a backend of PostgreSQL", 1)
def _backend(site: Installation, planned: Planned) -> Hit | None:
    child = one(planned, site.postgres.pids()[1:])
    if child is None:
        return None
    send([child], signal.SIGKILL)
    return Hit(f"postgres, child {child}")


@fault("PostgreSQL restarted", 1)
def _restart(site: Installation, _planned: Planned) -> Hit | None:
    if (pid := site.postgres.pid) is None:
        return None
    send([pid], signal.SIGINT)  # fast shutdown; started again as every service
    return Hit("postgres")


@fault("API away", 3, 0.0, 0.0, 5.0, 5.0, 20.0, 60.0)
def _away(site: Installation, planned: Planned) -> Hit | None:
    for api in site.apis:
        api.hold(planned.seconds)
        send([api.pid] if api.pid else [], signal.SIGKILL)
    return Hit("both APIs")


@fault("Redis away", 1, 20.0, 60.0)
def _broker_away(site: Installation, planned: Planned) -> Hit | None:
    site.redis.hold(planned.seconds)
    send([site.redis.pid] if site.redis.pid else [], signal.SIGKILL)
    return Hit("redis")


@fault("Redis flushed", 2)
def _flush(site: Installation, _planned: Planned) -> Hit | None:
    with site.broker() as client:
        client.flushall()
    return Hit("redis")


def _again(condition: str, site: Installation, planned: Planned) -> Hit | None:
    """Send an order once more, as the broker may."""
    query = "SELECT id, kind, cluster, agent, extract(epoch FROM made_at), subjects FROM agent_orders"
    rows = site.query(f"{query} WHERE {condition} ORDER BY made_at DESC LIMIT 8")
    row: tuple[Any, ...] | None = one(planned, rows)
    if row is None:
        return None
    app = make_app(f"redis://:{site.secret('redis-password')}@127.0.0.1:{site.redis_port}/0")
    try:
        Orders(app).send(row[2], row[1], BrokerOrder(id=row[0], agent=row[3], made=float(row[4])))
    finally:
        app.close()
    runs = [str(name).rpartition(".")[0] for name in row[5]]
    return Hit(f"{row[1]} {row[0]} to {row[2]}", runs)


fault("order delivered twice", 2)(partial(_again, "made_at > now() - interval '20 seconds'"))
fault("old order delivered", 2)(partial(_again, f"made_at < now() - interval '{_OLD} seconds'"))


def _full(names: Sequence[str], site: Installation, planned: Planned) -> Hit | None:
    name = names[int(planned.pick * len(names))]
    disk = site.disks[name]
    return Hit(f"the disk of {name}", undo=disk.free) if disk.fill() else None


fault("agent's disk full", 2, 4.0, 12.0)(partial(_full, ("local", "hosts")))
fault("server's disk full", 1, 3.0, 10.0)(partial(_full, ("server",)))


@fault("host cut off", 2, 3.0, 10.0, 20.0)
def _cut(site: Installation, planned: Planned) -> Hit | None:
    if site.lab is None:
        return None
    host = 1 + int(planned.pick * HOSTS)
    link = ["ip", "-n", site.lab.namespace(host), "link", "set", "eth0"]
    subprocess.run([*link, "down"], check=True)
    return Hit(site.lab.address(host), undo=partial(subprocess.run, [*link, "up"], check=True))  # type: ignore[arg-type]


def _proxy(mode: str, site: Installation, planned: Planned) -> Hit:
    name = one(planned, sorted(site.proxies))
    assert name is not None
    proxy = site.proxies[name]
    proxy.mode = mode

    def end() -> None:
        if proxy.mode == mode:
            proxy.mode = ""

    return Hit(f"the proxy of {name}", undo=end)


for _mode in MODES:
    fault(f"proxy: {_mode}", 1, 2.0, 5.0, 12.0)(partial(_proxy, _mode))


@fault("everything killed", 3)
def power(site: Installation, _planned: Planned) -> Hit:
    """Kill every process at once, as a loss of power does; services start again after a second."""
    for service in site.services:
        service.hold(1.0)
    found = list(processes.living(site.homes.values()))
    send([pid for service in site.services for pid in service.pids()], signal.SIGKILL)
    left = {p.pid: p for p in [*found, *processes.living(site.homes.values())]}
    send(left, signal.SIGKILL)
    runs = [run for p in left.values() for run in p.runs]
    return Hit(f"all services and {len(left)} processes of attempts", runs)
