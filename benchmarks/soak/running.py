"""One soak: load and faults for a time, then peace, then the count."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis
from kombu.exceptions import OperationalError

from benchmarks.evidence import machine
from benchmarks.evidence.store import ROOT
from benchmarks.soak import counting, reading
from benchmarks.soak.counting import RunFacts, Violation
from benchmarks.soak.drawing import Planned, draw
from benchmarks.soak.faults import KINDS, STRIKES
from benchmarks.soak.installation import Installation, installed
from benchmarks.soak.load import Load
from benchmarks.soak.processes import Watch, living
from benchmarks.soak.striking import HARMLESS, Hit

EVERY = 6.0
"""Mean pause between two faults, s."""
SETTLE_SECONDS = 420.0
"""Longest time from the last fault until everything has come to its end."""
_AWAY = (httpx.HTTPError, psycopg.Error, redis.RedisError, OperationalError, *HARMLESS)
"""Of a strike that meets what another one has taken away; `OperationalError`: of the broker's client."""
_BEFORE = 30.0
"""Seconds before a run's submission from which faults are told with a violation."""


@dataclass
class Log:
    """What happened, with times since the beginning."""

    folder: Path
    began: float = field(default_factory=time.time)
    faults: list[dict[str, Any]] = field(default_factory=list)
    ended: float = 0.0
    """When the last fault was over, s since 1970."""

    def say(self, text: str) -> None:
        """Print a line and keep it."""
        line = f"{time.time() - self.began:7.1f} s  {text}"
        print(line, flush=True)
        with (self.folder / "soak.log").open("a") as file:
            file.write(line + "\n")

    def note(self, planned: Planned, hit: Hit | None, error: str = "") -> None:
        """Keep a fault; one without a target counts apart."""
        self.faults.append(
            {
                "at": round(time.time() - self.began, 2),
                "unix": time.time(),
                "fault": planned.fault,
                "seconds": planned.seconds,
                "hit": hit is not None and hit.sure,
                "target": hit.target if hit else error or "no target",
                "runs": hit.runs if hit else [],
            }
        )
        length = f" for {planned.seconds:g} s" if planned.seconds else ""
        self.say(f"{planned.fault}{length}: {self.faults[-1]['target']}")

    def about(self, run: RunFacts) -> list[str]:
        """Return the faults during a run's life that hit its processes, or a part that all runs need."""
        until = run.finished or time.time()
        return [
            f"{f['at']:.1f} s {f['fault']} ({f['seconds']:g} s): {f['target']}"
            for f in self.faults
            if (f["hit"] or f["runs"])
            and run.created - _BEFORE <= f["unix"] <= until
            and (not f["runs"] or run.id in f["runs"])
        ]


def soak(minutes: float, seed: int, out: Path, every: float = EVERY) -> dict[str, Any]:
    """Run one soak; return its record. `out`: folder for logs, kept if anything was wrong."""
    out.mkdir(parents=True)
    began_with = commit()
    with installed(seed, out) as site:
        log = Log(out)
        hosts = "emulated" if site.lab else "none (no root): two local agents"
        log.say(f"seed {seed}, {minutes:g} min; hosts: {hosts}")
        watch, load = Watch(site.homes.values()), Load(site, seed, log.say)
        watch.start()
        load.start()
        try:
            _inflict(site, draw(seed, 60 * minutes, every, KINDS), log)
        finally:
            load.stop()
        settled = settle(site, log)
        watch.stop()
        conditions = {"minutes": minutes, "every": every, "seed": seed, "settled": settled, "commit": began_with}
        return counted(site, log, load, watch, conditions)


def _inflict(site: Installation, plan: list[Planned], log: Log) -> None:
    """Strike as planned; what a fault has begun is undone after its seconds, and all of it at the end.

    Undoing has threads of its own, because a strike may hang on what another one has stopped.
    """
    began, undoing = time.monotonic(), list[threading.Timer]()
    for what in plan:
        time.sleep(max(0.0, began + what.at - time.monotonic()))
        try:
            hit = STRIKES[what.fault](site, what)
        except _AWAY as error:
            log.note(what, None, f"not possible: {type(error).__name__}")
            continue
        log.note(what, hit)
        if hit is not None and hit.undo is not None:
            undoing.append(threading.Timer(what.seconds, _undone, [hit.undo]))
            undoing[-1].start()
    for timer in undoing:
        timer.join()
    log.ended = time.time()


def _undone(undo: Callable[[], None]) -> None:
    with suppress(OSError, subprocess.SubprocessError):
        undo()


def settle(site: Installation, log: Log) -> float | None:
    """Wait until all runs have ended and nothing of them is left; return the seconds, None if they did not."""
    log.say("faults have ended")
    began = time.monotonic()
    calm = 0
    while time.monotonic() - began < SETTLE_SECONDS:
        try:
            calm = calm + 1 if _calm(site) else 0
        except _AWAY:
            calm = 0
        if calm > 2:
            log.say(f"settled after {time.monotonic() - began:.0f} s")
            return round(time.monotonic() - began, 1)
        time.sleep(1)
    log.say("not settled")
    return None


def _calm(site: Installation) -> bool:
    final = "('succeeded', 'failed_user', 'failed_infra', 'cancelled', 'timed_out')"
    (count,) = site.query(f"SELECT count(*) FROM runs WHERE state NOT IN {final}")[0]
    return count == 0 and not any(reading.orders_left(site).values()) and not list(living(site.homes.values()))


def counted(site: Installation, log: Log, load: Load, watch: Watch, conditions: dict[str, Any]) -> dict[str, Any]:
    """Count everything; return the record."""
    cancelled = {run for f in log.faults if f["fault"].startswith("cancel") for run in f["runs"]}
    runs = reading.read_runs(site, cancelled)
    known = {run.id: run for run in runs}
    found = counting.violations(runs)
    told = {v.run for v in found if v.kind == counting.TWICE}
    for run, names in watch.twice.items():
        if run not in told:
            found.append(Violation(counting.TWICE, run, 0, f"seen alive at once: {', '.join(sorted(names))}"))
    found += [Violation(counting.LEFT, ",".join(p.runs[:1]), 0, str(p)) for p in living(site.homes.values())]
    for name, count in reading.orders_left(site).items():
        found += [Violation(counting.ORDERS, "", 0, f"{count} in {name}")] if count else []
    found += _experiments(site, load)
    for violation in found:
        log.say(f"VIOLATION {violation.kind}: {violation.run} attempt {violation.attempt}: {violation.text}")
    _keep(site, found, log.folder)
    return {
        "schema": "hooke.soak/1",
        **conditions,
        "unix": log.began,
        "hardware": machine.hardware(),
        "hosts": site.lab.hosts if site.lab else 0,
        "root": os.geteuid() == 0,
        "seconds_of_faults": round(log.ended - log.began, 1),
        "experiments": len(load.submitted),
        "runs": dict(counting.Counter(run.state for run in runs)),
        "attempts": sum(run.attempt for run in runs),
        "followed": reading.attempts_by_cause(site),
        "steps": sum(len(r.steps) for run in runs for r in run.stored.values()),
        "evaluations": sum(len(r.evaluations) for run in runs for r in run.stored.values()),
        "starts": {service.name: service.starts for service in site.services},
        "faults": dict(sorted(counting.Counter(f["fault"] for f in log.faults if f["hit"]).items())),
        "without_target": dict(sorted(counting.Counter(f["fault"] for f in log.faults if not f["hit"]).items())),
        "hit_runs": len({run for f in log.faults for run in f["runs"]} & known.keys()),
        "violations": [asdict(v) | {"faults": _about(log, known.get(v.run))} for v in found],
        "log": log.faults,
    }


def commit() -> str:
    """Return the commit that runs, with a + if files of the product or of the soak differ from it."""
    said = subprocess.run(
        ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() or "unknown"


def _about(log: Log, run: RunFacts | None) -> list[str]:
    return log.about(run) if run is not None else []


def _experiments(site: Installation, load: Load) -> list[Violation]:
    """Compare the experiments that the API promised with those that it has."""
    has = counting.Counter(str(row[0]) for row in site.query("SELECT name FROM experiments"))
    wanted = counting.Counter(dict.fromkeys(load.submitted, 1))
    has.pop(load.unanswered, None)
    texts = [f"{name}: {n} missing" for name, n in (wanted - has).items()]
    texts += [f"{name}: {n} too many" for name, n in (has - wanted).items()]
    texts += [f"refused: {text}" for text in load.refused]
    return [Violation(counting.EXPERIMENTS, "", 0, text) for text in texts]


def _keep(site: Installation, found: list[Violation], folder: Path) -> None:
    """Copy what clusters hold of the runs with violations."""
    for run in {v.run for v in found if v.run}:
        for home in site.homes.values():
            for place in [home / "runs" / run, *home.glob(f"jobs/*{run}*")]:
                if place.exists():
                    shutil.copytree(place, folder / run / place.parent.name / place.name, dirs_exist_ok=True)
        rows = site.query("SELECT * FROM transitions WHERE run_id = %s ORDER BY id", run)
        (folder / run).mkdir(exist_ok=True)
        (folder / run / "transitions.txt").write_text("\n".join(map(str, rows)) + "\n")
