"""Faults that no soak draws, because they take long or need an installation of their own: one scenario each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hooke.cluster.broker import Orders, make_app
from hooke.spec.orders import BrokerOrder

from benchmarks.soak.drawing import Planned
from benchmarks.soak.faults import STRIKES
from benchmarks.soak.installation import LEASE_SECONDS, LOCAL, ON_HOSTS
from benchmarks.soak.striking import send
from benchmarks.soak.trial import Scenario, Trial

MEMORY = Path("/sys/fs/cgroup/memory")
"""Control groups of version 1."""
LIMIT_MEGABYTES = 64
HOUR = 3600
OLDER = 75.0
"""Seconds after which the broker (visibility timeout: 60 s) would deliver an order again."""
PATIENCE = 600.0
"""Seconds for which the end of a run is waited for, beyond its own time: others may use the cores."""


def away(seconds: float, trial: Trial) -> None:
    """Both APIs are away; the run goes on meanwhile, and another one ends meanwhile."""
    seconds *= trial.scale
    run = trial.submit(seconds + 60)
    trial.trains(run)
    before = trial.stored(run)
    for api in trial.site.apis:
        api.hold(seconds)
    send([api.pid for api in trial.site.apis if api.pid], signal.SIGKILL)
    trial.struck(f"API away for {seconds:g} s", seconds, run)
    time.sleep(seconds)
    _back(trial)
    heard = trial.until("what was written meanwhile", lambda: trial.stored(run) >= before + 20)
    trial.say(f"{heard:.0f} s after the APIs answered again the supervisor had delivered")
    trial.ends(run, seconds + PATIENCE)
    trial.say(f"the run: {trial.states(run)}, at attempt {trial.state(run)[1]}")


def ends_meanwhile(trial: Trial) -> None:
    """A run ends while the APIs are away, and is delivered when they are back."""
    seconds = 120 * trial.scale
    run = trial.submit(seconds / 4)
    trial.trains(run)
    for api in trial.site.apis:
        api.hold(seconds)
    send([api.pid for api in trial.site.apis if api.pid], signal.SIGKILL)
    trial.struck(f"API away for {seconds:g} s", seconds, run)
    ended = trial.until("the end of the ranks", lambda: not trial.ranks(run), seconds)
    trial.say(f"its ranks ended {seconds - ended:.0f} s before the APIs came back")
    time.sleep(max(0.0, seconds - ended))
    _back(trial)
    trial.say(f"it had ended {trial.ends(run):.0f} s after that: {trial.states(run)}")


def _back(trial: Trial) -> None:
    trial.until("an API", lambda: trial.site.request("GET", "/readyz").status_code == 200)


def clocks(names: tuple[str, ...], what: str, expires: bool, trial: Trial) -> None:
    """Clocks are set an hour ahead, right, an hour behind, right, a day and an hour ahead, and right.

    `expires`: whether a token for a day has expired by this clock.
    """
    assert trial.site.clocks is not None
    pause = LEASE_SECONDS * 1.5 * max(trial.scale, 0.2)
    run = trial.submit(5 * pause + 120)
    trial.trains(run)
    asked = {"label": "for a day", "scope": "read", "days": 1, "machine": True}
    made = trial.site.request("POST", "/tokens", json=asked)
    day = {"authorization": f"Bearer {made.json().get('token', '')}"}
    ahead = 0
    for offset in (1, 0, -1, 0, 25, 0):
        for name in names:
            trial.site.clocks.set(name, offset * HOUR)
        trial.struck(f"the clock of {what} jumps by {offset - ahead:+d} h", 0.0, run)
        ahead = offset
        heard = trial.trains(run)
        statuses = [trial.site.request("GET", "/experiments", headers=each).status_code for each in ({}, day)]
        trial.say(f"further steps {heard:.0f} s later; start-up token and token for a day: {statuses}")
        wanted = [200, 401 if expires and offset == 25 else 200]
        if statuses != wanted:
            raise TimeoutError(f"the tokens are answered with {statuses} instead of {wanted}: {made.text[:200]}")
        time.sleep(pause if offset < 25 else 0)
    other = trial.submit(5)
    for each in (run, other):
        trial.ends(each, PATIENCE)
        trial.say(f"{trial.states(each)}, at attempt {trial.state(each)[1]}")


def broker_gone(trial: Trial) -> None:
    """Redis is gone for minutes: what runs goes on, what is submitted waits."""
    seconds = 180 * trial.scale
    run = trial.submit(seconds / 2)
    trial.trains(run)
    trial.site.redis.hold(seconds)
    send([trial.site.redis.pid] if trial.site.redis.pid else [], signal.SIGKILL)
    trial.struck(f"Redis gone for {seconds:g} s", seconds, run)
    began = time.monotonic()
    other = trial.submit(5)
    trial.trains(run)
    status = trial.site.request("GET", "/readyz")
    trial.say(f"steps are stored meanwhile; readyz: {status.status_code}")
    trial.ends(run, PATIENCE)
    trial.say(f"the run ended {max(0.0, seconds - time.monotonic() + began):.0f} s before Redis came back")
    trial.say(f"what was submitted meanwhile is {trial.state(other)[0]}")
    time.sleep(max(0.0, seconds - time.monotonic() + began))
    trial.say(f"it had ended {trial.ends(other, PATIENCE):.0f} s after Redis came back")
    with trial.site.broker() as client:
        client.flushall()
    trial.struck("Redis flushed")


def late_orders(trial: Trial) -> None:
    """An agent is stopped for longer than the visibility timeout; its order comes three times more, also old."""
    agent = trial.site.agents[LOCAL]
    run = _queued(trial, agent.pids())
    send(agent.pids(), signal.SIGSTOP)
    trial.struck(f"the agent is stopped for {OLDER:g} s, with an order waiting", OLDER)
    time.sleep(OLDER)
    send(agent.pids(), signal.SIGCONT)
    trial.say(f"the run trained {trial.trains(run):.0f} s after the agent went on")
    order, name = trial.site.query(
        "SELECT id, agent FROM agent_orders WHERE kind = 'launch' AND subjects::text LIKE %s "
        "ORDER BY made_at DESC LIMIT 1",
        f"%{run}%",
    )[0]
    app = make_app(f"redis://:{trial.site.secret('redis-password')}@127.0.0.1:{trial.site.redis_port}/0")
    try:
        for text, pause in (("at once", 0.0), ("at once", OLDER), (f"{OLDER:g} s later", 0.0)):
            Orders(app).send(LOCAL, "launch", BrokerOrder(id=order, agent=name, made=time.time() - OLDER))
            trial.struck(f"its order comes again {text}", 0.0, run)
            time.sleep(pause)
    finally:
        app.close()
    trial.ends(run, PATIENCE)
    trial.say(f"the run: {trial.states(run)}, at attempt {trial.state(run)[1]}")


def _queued(trial: Trial, pids: list[int]) -> str:
    """Stop the agent, submit, and return the run once its order lies on the broker; the caller continues it."""
    send(pids, signal.SIGSTOP)
    run = trial.submit(OLDER + 40)
    trial.until("its order", lambda: trial.state(run)[0] == "dispatched")
    return run


def ranks(trial: Trial) -> None:
    """One rank is killed, stopped for good, raises, and gets no more memory: a run each."""
    for what in ("killed", "stopped", "raising", "out of memory"):
        run = trial.submit(60)
        trial.trains(run)
        victim = trial.ranks(run)[-1]
        number = _rank_of(victim.pid)
        with _harm(what, victim.pid, number, trial) as possible:
            if not possible:
                trial.say(f"{what}: NOT TRIED HERE: needs root and control groups of version 1")
            else:
                trial.struck(f"rank {number} {what}", 0.0, run)
                trial.until("what follows", partial(_goes_on, trial, run), PATIENCE)
        if what == "raising":
            trial.meant[run] = "failed_user"
        trial.ends(run, PATIENCE)
        why = trial.site.query(
            "SELECT why FROM transitions WHERE run_id = %s AND state IN ('queued', 'failed_user') "
            "AND source IS NOT NULL ORDER BY id LIMIT 1",
            run,
        )
        trial.say(f"{what}: {trial.states(run)}; reason: {str(why[0][0]).splitlines()[0] if why else 'none'}")


def _goes_on(trial: Trial, run: str) -> bool:
    return trial.state(run) != ("running", 1)


def _rank_of(pid: int) -> int:
    for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        name, _, value = variable.partition(b"=")
        if name == b"HOOKE_RANK":
            return int(value)
    return 0


@contextmanager
def _harm(what: str, pid: int, rank: int, trial: Trial) -> Iterator[bool]:
    """Harm a rank; yield whether that is possible here."""
    if what in ("killed", "stopped"):
        os.kill(pid, signal.SIGKILL if what == "killed" else signal.SIGSTOP)
        yield True
    elif what == "raising":
        trial.order("raise", rank, True)
        yield True
        trial.order("raise", rank, False)
    elif not os.access(MEMORY / "cgroup.procs", os.W_OK):
        yield False
    else:
        group = MEMORY / f"hooke-soak-{os.getpid()}"
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(LIMIT_MEGABYTES << 20))
        (group / "cgroup.procs").write_text(str(pid))
        trial.order("memory", rank, True)
        yield True
        trial.order("memory", rank, False)
        trial.until("the end of the control group's process", lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def cut_off(trial: Trial) -> None:
    """A host is off the network for two minutes, six leases."""
    seconds = 120 * trial.scale
    assert trial.site.lab is not None, "needs emulated hosts"
    run = trial.submit(60, ON_HOSTS, workers=3)
    trial.trains(run)
    link = ["ip", "-n", trial.site.lab.namespace(2), "link", "set", "eth0"]
    subprocess.run([*link, "down"], check=True)
    trial.struck(f"host 2 of 3 cut off for {seconds:g} s", seconds, run)
    time.sleep(seconds)
    trial.say(f"meanwhile: {trial.states(run)}")
    subprocess.run([*link, "up"], check=True)
    trial.say(f"it ended {trial.ends(run, PATIENCE):.0f} s after the host was back: {trial.states(run)}")


def cancels(trial: Trial) -> None:
    """Runs are cancelled while they checkpoint, as both APIs are killed, and after both were away."""
    for name in ("cancel while checkpointing", "cancel as the APIs are killed"):
        run = trial.submit(60)
        trial.trains(run)
        hit = STRIKES[name](trial.site, Planned(0.0, name, 0.0, 0.5))
        if hit is None or hit.runs != [run]:
            raise TimeoutError(f"{name} found no run, or another one: {hit}")
        trial.struck(name, 0.0, run)
        trial.ends(run, PATIENCE)
        trial.say(f"{name}: {trial.states(run)}, at attempt {trial.state(run)[1]}")
    run = trial.submit(60)
    trial.trains(run)
    for api in trial.site.apis:
        api.hold(20.0)
    send([api.pid for api in trial.site.apis if api.pid], signal.SIGKILL)
    time.sleep(20.0)
    _back(trial)
    status = trial.site.request("POST", f"/runs/{run}/cancel").status_code
    trial.struck("cancel as the APIs are back after 20 s", 0.0, run)
    trial.say(f"cancelled {trial.ends(run, PATIENCE):.0f} s after status {status}: {trial.states(run)}")


SCENARIOS = {
    "cancels": Scenario(cancels),
    "ranks": Scenario(ranks),
    "late orders": Scenario(late_orders),
    "Redis gone": Scenario(broker_gone),
    "ends while the API is away": Scenario(ends_meanwhile),
    "clock of the agents": Scenario(
        partial(clocks, ("agent-local", "agent-hosts"), "agents and ranks", False), clocks=True
    ),
    "clock of one API": Scenario(partial(clocks, ("api-1",), "one of two APIs", False), clocks=True),
    "clock of the database": Scenario(partial(clocks, ("postgres",), "PostgreSQL", True), clocks=True),
    "API away for 15 minutes": Scenario(partial(away, 900.0)),
    "host cut off": Scenario(cut_off, hosts=True),
}
