"""A trial: one installation, one planned fault or a few, and what is counted after it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from benchmarks.soak.counting import WRONG_END
from benchmarks.soak.drawing import Planned
from benchmarks.soak.installation import LOCAL, Installation, installed
from benchmarks.soak.load import BATCH, EVALUATIONS, RETRY, Load
from benchmarks.soak.processes import RANK, Found, Watch, living
from benchmarks.soak.running import Log, commit, counted, settle
from benchmarks.soak.striking import Hit

STEP_SECONDS = 0.05
"""Of a step of the workload `steady`, at least."""
PATIENCE = 180.0
"""Seconds for which a state is waited for."""
_AWAY = (httpx.HTTPError, psycopg.Error)


@dataclass
class Trial:
    """The running installation, and what a scenario tells of it."""

    site: Installation
    log: Log
    load: Load
    scale: float = 1.0
    """Factor of the long times; 1 but for trying a scenario."""
    told: list[str] = field(default_factory=list)
    """What happened, in words."""
    meant: dict[str, str] = field(default_factory=dict)
    """Run -> the final state that it must have, if that is not `succeeded`."""

    def say(self, text: str) -> None:
        """Keep what happened."""
        self.told.append(text)
        self.log.say(text)

    def struck(self, fault: str, seconds: float = 0.0, *runs: str) -> None:
        """Note a fault that has been done."""
        self.log.note(Planned(0.0, fault, seconds, 0.0), Hit(fault, list(runs)))

    def submit(self, seconds: float, where: str = LOCAL, **further: Any) -> str:
        """Submit one run that takes about so many seconds, with checkpoints; return its id."""
        steps = max(EVALUATIONS, round(seconds / STEP_SECONDS / 8) * 8)
        workers = further.pop("workers", 2)
        samples = steps * workers * BATCH
        document = {
            "schema": "hooke.experiment/1",
            "name": f"planned {len(self.load.submitted) + 1}",
            "workload": {"name": "steady"},
            "batch": BATCH,
            "variants": [{"name": "it", "algorithm": "sync-sgd"}],
            "baseline": "it",
            "clusters": [{"name": where, "workers": [workers], "seeds": 1}],
            "budget": {"samples": samples},
            "evaluation": {"every": samples // EVALUATIONS},
            "checkpoint_every": samples // 8,
            "retry": RETRY,
        }
        self.load.submit(document | further)
        if self.load.refused:
            raise SystemExit(f"soak: {self.load.refused[-1]}")
        number = self.load.submitted[document["name"]]
        return str(self.site.query("SELECT id FROM runs WHERE experiment_id = %s", number)[0][0])

    def state(self, run: str) -> tuple[str, int]:
        """Return state and attempt of a run."""
        state, attempt = self.site.query("SELECT state, attempt FROM runs WHERE id = %s", run)[0]
        return str(state), int(attempt)

    def states(self, run: str) -> str:
        """Return the states that a run has had, with the number of the attempt where that changes."""
        rows = self.site.query("SELECT state FROM transitions WHERE run_id = %s ORDER BY id", run)
        return ", ".join(str(row[0]) for row in rows)

    def stored(self, run: str) -> int:
        """Return the number of steps of all ranks that the database holds."""
        return int(self.site.query("SELECT coalesce(sum(n), 0) FROM chunks WHERE run_id = %s", run)[0][0])

    def until(self, what: str, condition: Callable[[], object], patience: float = PATIENCE) -> float:
        """Wait until something holds; return the seconds. Raises TimeoutError, which says what it was."""
        began = time.monotonic()
        while time.monotonic() - began < patience:
            try:
                if condition():
                    return time.monotonic() - began
            except _AWAY:
                pass
            time.sleep(0.2)
        raise TimeoutError(f"waited {patience:g} s in vain for {what}")

    def trains(self, run: str, more: int = 20) -> float:
        """Wait until a run is running and so many further steps are stored; return the seconds."""
        before: list[int] = []

        def further() -> bool:
            if self.state(run)[0] != "running":
                return False
            before.append(self.stored(run))
            return before[-1] >= before[0] + more

        return self.until(f"{run} to train", further)

    def ends(self, run: str, patience: float = PATIENCE) -> float:
        """Wait until a run is in a final state; return the seconds."""
        final = ("succeeded", "failed_user", "failed_infra", "cancelled", "timed_out")
        return self.until(f"the end of {run}", lambda: self.state(run)[0] in final, patience)

    def ranks(self, run: str) -> list[Found]:
        """Return the living ranks of a run, in the order in which they were started."""
        found = [p for p in living(self.site.homes.values()) if p.what == RANK and run in p.runs]
        return sorted(found, key=lambda each: each.pid)

    def order(self, what: str, rank: int, given: bool) -> None:
        """Tell a rank of the workload `steady` to misbehave, or no longer."""
        path = self.site.folder / "orders" / f"{what}.{rank}"
        if given:
            path.touch()
        else:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Scenario:
    """One planned fault."""

    act: Callable[[Trial], None]
    hosts: bool = False
    clocks: bool = False


def run(name: str, scenario: Scenario, out: Path, scale: float) -> dict[str, Any]:
    """Run a scenario; return its record, as of a soak, with `scenario` and `told`. `out`: folder for logs."""
    out.mkdir(parents=True)
    began_with = commit()
    with installed(0, out, scenario.hosts, scenario.clocks) as site:
        log = Log(out)
        trial = Trial(site, log, Load(site, 0, log.say), scale)
        watch = Watch(site.homes.values())
        watch.start()
        failed = ""
        try:
            scenario.act(trial)
        except TimeoutError as error:
            failed = str(error)
            trial.say(f"not reached: {error}")
        log.ended = time.time()
        settled = settle(site, log)
        watch.stop()
        conditions = {"scenario": name, "scale": scale, "settled": settled, "commit": began_with, "failed": failed}
        record = counted(site, log, trial.load, watch, conditions)
        record["violations"] = [v for v in record["violations"] if not _meant(v, trial)]
        record["told"] = trial.told
        return record


def _meant(violation: Mapping[str, Any], trial: Trial) -> bool:
    """Return whether a run ended as the scenario wanted it to."""
    wanted = trial.meant.get(violation["run"])
    return violation["kind"] == WRONG_END and wanted is not None and violation["text"].startswith(f"{wanted} ")


def write(record: Mapping[str, Any], folder: Path) -> Path:
    """Store a record of a scenario; return its place."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['scenario'].replace(' ', '-')}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path
