"""The faults: each finds its target, does its harm, and returns how to undo it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import httpx
import psutil
from hooke.cluster.broker import Orders, make_app
from hooke.spec.orders import BrokerOrder

from benchmarks.soak import processes
from benchmarks.soak.drawing import Kind, Planned
from benchmarks.soak.installation import HOSTS, Installation
from benchmarks.soak.proxy import MODES
from benchmarks.soak.services import Service

_PATIENCE = 6.0
"""Seconds for which a fault waits for a target."""
_OLD = 75
"""Age of an old order, s: above the visibility timeout of the broker (60 s)."""


@dataclass
class Hit:
    """What a fault has hit. `runs`: those whose processes it touched; empty: a part that all runs need."""

    target: str
    runs: list[str] = field(default_factory=list)
    undo: Callable[[], None] | None = None
    """What ends it, to be called after the planned seconds."""
    sure: bool = True
    """Whether it has certainly struck; one that may not have is not counted."""


Strike = Callable[[Installation, Planned], Hit | None]
"""Strikes; returns None if there was no target."""
STRIKES: dict[str, Strike] = {}
KINDS: dict[str, Kind] = {}
T = TypeVar("T")


def fault(name: str, weight: int, *seconds: float) -> Callable[[Strike], Strike]:
    """Register a fault under its name, with how often it comes and how long it may last, s."""

    def register(strike: Strike) -> Strike:
        STRIKES[name], KINDS[name] = strike, Kind(weight, seconds or (0.0,))
        return strike

    return register


def _one(planned: Planned, candidates: Sequence[T]) -> T | None:
    return candidates[int(planned.pick * len(candidates))] if candidates else None


def _awaited(find: Callable[[], T | None]) -> T | None:
    until = time.monotonic() + _PATIENCE
    while (found := find()) is None and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _of_attempts(what: str, number: int, site: Installation, planned: Planned) -> Hit | None:
    def find() -> processes.Found | None:
        found = [p for p in processes.living(site.homes.values()) if p.what == what]
        return _one(planned, sorted(found, key=lambda p: p.pid))

    if (target := _awaited(find)) is None:
        return None
    _signal([target.pid], number)
    again = partial(_signal, [target.pid], signal.SIGCONT) if number == signal.SIGSTOP else None
    return Hit(str(target), target.runs, again)


for _what in (processes.RANK, processes.MPIRUN, processes.GUARD, processes.SUPERVISOR):
    _weight = 6 if _what in (processes.RANK, processes.SUPERVISOR) else 4
    fault(f"kill {_what}", _weight)(partial(_of_attempts, _what, signal.SIGKILL))
    fault(f"stop {_what}", 2, 1.0, 5.0, 25.0)(partial(_of_attempts, _what, signal.SIGSTOP))


def _services(site: Installation, part: str) -> list[Service]:
    parts = {"agent": list(site.agents.values()), "API": site.apis, "Redis": [site.redis]}
    return {**parts, "PostgreSQL": [site.postgres]}[part]


def _kill_part(part: str, site: Installation, planned: Planned) -> Hit | None:
    service = _one(planned, [s for s in _services(site, part) if s.pid is not None])
    if service is None or service.pid is None:
        return None
    _signal([service.pid], signal.SIGKILL)
    return Hit(service.name)


def _stop_part(part: str, site: Installation, planned: Planned) -> Hit | None:
    service = _one(planned, [s for s in _services(site, part) if s.pid is not None])
    if service is None:
        return None
    pids = service.pids()
    _signal(pids, signal.SIGSTOP)
    return Hit(service.name, undo=partial(_signal, pids, signal.SIGCONT))


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
    child = _one(planned, site.postgres.pids()[1:])
    if child is None:
        return None
    _signal([child], signal.SIGKILL)
    return Hit(f"postgres, child {child}")


@fault("PostgreSQL restarted", 1)
def _restart(site: Installation, _planned: Planned) -> Hit | None:
    if (pid := site.postgres.pid) is None:
        return None
    _signal([pid], signal.SIGINT)  # fast shutdown; started again as every service
    return Hit("postgres")


@fault("API away", 3, 0.0, 0.0, 5.0, 5.0, 20.0, 60.0)
def _away(site: Installation, planned: Planned) -> Hit | None:
    for api in site.apis:
        api.hold(planned.seconds)
        _signal([api.pid] if api.pid else [], signal.SIGKILL)
    return Hit("both APIs")


@fault("Redis flushed", 2)
def _flush(site: Installation, _planned: Planned) -> Hit | None:
    with site.broker() as client:
        client.flushall()
    return Hit("redis")


def _to_cancel(state: str, attempts: str, site: Installation, planned: Planned) -> str | None:
    query = (
        f"SELECT id FROM runs WHERE state = '{state}' AND NOT cancel_requested AND attempt {attempts} ORDER BY id"
    )
    return _awaited(lambda: _one(planned, [str(row[0]) for row in site.query(query)]))


def _cancel(
    state: str, attempts: str, site: Installation, planned: Planned, checkpoint: bool = False
) -> Hit | None:
    run = _to_cancel(state, attempts, site, planned)
    if run is None:
        return None
    try:
        if checkpoint:
            site.request("POST", f"/runs/{run}/checkpoint")
        answer = site.request("POST", f"/runs/{run}/cancel")
    except httpx.HTTPError as error:
        return Hit(f"{run}, {type(error).__name__}", [run], sure=False)
    return Hit(f"{run}, status {answer.status_code}", [run], sure=answer.is_success)


for _name, _state, _attempts in (
    ("starting", "starting", ">= 1"),
    ("running", "running", ">= 1"),
    ("retrying", "queued", "> 1"),
):
    fault(f"cancel while {_name}", 1)(partial(_cancel, _state, _attempts))
fault("cancel while checkpointing", 1)(partial(_cancel, "running", ">= 1", checkpoint=True))


@fault("cancel as the APIs are killed", 1)
def _cancel_and_kill(site: Installation, planned: Planned) -> Hit | None:
    """Whether the request was heard is known afterwards: the run is cancelled, or goes on."""
    run = _to_cancel("running", ">= 1", site, planned)
    if run is None:
        return None
    asking = threading.Thread(target=_ask, args=(site, run), daemon=True)
    asking.start()
    time.sleep(0.02 * planned.pick)
    _signal([api.pid for api in site.apis if api.pid], signal.SIGKILL)
    asking.join(10.0)
    return Hit(f"{run}, both APIs", [run])


def _ask(site: Installation, run: str) -> None:
    with suppress(httpx.HTTPError):
        site.request("POST", f"/runs/{run}/cancel")


def _again(condition: str, site: Installation, planned: Planned) -> Hit | None:
    """Send an order once more, as the broker may."""
    query = "SELECT id, kind, cluster, agent, extract(epoch FROM made_at), subjects FROM agent_orders"
    rows = site.query(f"{query} WHERE {condition} ORDER BY made_at DESC LIMIT 8")
    row: tuple[Any, ...] | None = _one(planned, rows)
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
    name = _one(planned, sorted(site.proxies))
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
    _signal([pid for service in site.services for pid in service.pids()], signal.SIGKILL)
    left = {p.pid: p for p in [*found, *processes.living(site.homes.values())]}
    _signal(left, signal.SIGKILL)
    runs = [run for p in left.values() for run in p.runs]
    return Hit(f"all services and {len(left)} processes of attempts", runs)


HARMLESS = (psutil.Error, OSError)
"""Errors of a fault whose target has gone meanwhile."""
