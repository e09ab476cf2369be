"""An API whose experiments are the same at every start: names, figures and times of everything that is shown."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
from hooke.spec.events import TRAINING_ITEMS, Checkpointed, LogLine, RankRecords
from hooke.spec.files import packed
from hooke_api.app import create_app
from hooke_api.base.settings import Settings
from hooke_api.comparisons.headlines import Headlines
from hooke_api.models import Attempt, Cluster, Event, Experiment, Run, Transition
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tests.api.conftest import serve
from tests.api.databases import make_settings
from tests.api.hands import Service, Supervisor, done, scored, start, steps

DASHBOARD = Settings.model_fields["dashboard"].default
BEGUN = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
"""When the first experiment was submitted; each of the next ones an hour later."""
NOW = BEGUN + timedelta(hours=7)
"""What the clock of the browser says."""
EVALUATIONS, STEPS = 16, 60
ITEMS = 1294
"""Of the training part: an epoch."""
LONG = "Sync EASGD with a name as long as names may be, because somebody wrote all of its settings into it: lr 0.8"

METHODS = (
    # name, algorithm, seconds to the target, bytes, share of communication
    ("Original EASGD", "original-easgd", 40.0, 9e9, 0.45),
    ("Sync EASGD, overlapped", "sync-easgd3", 9.0, 2.2e9, 0.11),
    ("Sync SGD", "sync-sgd", 14.0, 4e9, 0.2),
    ("Local SGD, period 8", "local-sgd", 7.0, 0.6e9, 0.03),
    ("SlowMo", "slowmo", 6.2, 0.3e9, 0.02),
)
BASE = {
    "workload": {"name": "digits-mlp"},
    "baseline": METHODS[0][0],
    "budget": {"samples": 120_000},
    "target": {"value": 0.97},
    "evaluation": {"every": 2000},
}
VIRTUAL = {"name": "ethernet-10g", "computed_on": "local", "workers": [8], "seeds": 3, "virtual": {}}
TRACEBACK = """Diverged: the loss of rank 1 is NaN at step 12 (learning rate 9)
Traceback (most recent call last):
  File "train.py", line 81, in run
    r.check(self.center)
hooke.errors.Diverged: NaN in the center"""
DENIED = "not readable here: permission denied on /sys/class/powercap/intel-rapl:0/energy_uj"


@dataclass
class Platform:
    """A running server, and the experiments that it has, by a short name."""

    url: str
    token: str
    ids: dict[str, str] = field(default_factory=dict)

    def path(self, template: str) -> str:
        """Return an address with the ids of experiments and runs in it, such as `/runs/{failed_run}`."""
        return template.format(**self.ids)


@contextmanager
def platform(
    fill: Callable[[Service], dict[str, str]] | None = None, *, empty: bool = False, database: Path | None = None
) -> Iterator[Platform]:
    """Run a server with the experiments of this module, or with others (`fill`), or without any.

    `database`: a migrated one to begin with; without, the server migrates.
    """
    with tempfile.TemporaryDirectory(prefix="hooke-look-") as folder:
        home = Path(folder)
        if database is not None:
            shutil.copy(database, home / "hooke.db")
        # however old the cluster is: it stays online, and nothing is lost
        settings = make_settings(
            home, f"sqlite:///{home}/hooke.db", dashboard=DASHBOARD, agent_seconds=1e9, log_level="error"
        )
        app = create_app(settings)
        running = serve(app)
        try:
            made = Platform(running.url, settings.token)
            headers = {"authorization": f"Bearer {settings.token}"}
            with httpx.Client(base_url=f"{running.url}/api/v1", headers=headers, timeout=60) as client:
                service = Service(app, settings, running.url, client, running.server.server_state.tasks)
                if not empty:
                    made.ids = (fill or _fill)(service)
                for opened in (service.agent, service.sender, *service.opened):
                    opened.close()
            yield made
        finally:
            running.stop()


def _fill(service: Service) -> dict[str, str]:
    source = random.Random(3)
    hardware = {"cpu": "AMD EPYC 9V74", "memory_bytes": 128 << 30}
    service.hello(cores=64, hardware=hardware)
    service.hello("hpc-infiniband", cores=64, hardware=hardware)
    variants = [{"name": name, "algorithm": algorithm} for name, algorithm, *_ in METHODS]
    local = {"name": "local", "workers": [4], "seeds": 3}
    ids = {}

    ids["full"] = submit(service, name="Who reaches 97% first?", variants=variants, clusters=[local, VIRTUAL])
    play(service, lambda run, row: succeed(run, row, source))
    ids["other"] = submit(
        service,
        **{"name": "The same on the cluster", "variants": variants[:3]},
        clusters=[local | {"name": "hpc-infiniband"}],
    )
    play(service, lambda run, row: succeed(run, row, source, 0.55))
    ids["failed"] = submit(
        service,
        name="A learning rate that is too large",
        variants=[variants[0], variants[2] | {"parameters": {"lr": 9.0}}],
        clusters=[local | {"seeds": 2}],
    )
    play(service, lambda run, row: _fail(run) if _is(row, 2) else succeed(run, row, source))
    ids["long"] = submit(
        service,
        name=f"{LONG} to 8",
        description="A description of some length. " * 6,
        variants=[variants[0], *({"name": f"{LONG} {n}", "algorithm": "sync-easgd"} for n in range(9))],
        clusters=[local | {"seeds": 1}],
    )
    service.client.post(f"/experiments/{ids['long']}/cancel").raise_for_status()
    marks = {
        "starred": True,
        "add_tags": ["paper", "to be repeated on four hosts"],
        "note": "Why rho matters, " * 12,
    }
    service.client.patch(f"/experiments/{ids['full']}", json=marks).raise_for_status()
    ids["running"] = submit(service, name="Four hosts", variants=variants[:3], clusters=[local | {"seeds": 1}])
    play(service, lambda run, row: (_begin if _is(row, 2) else succeed)(run, row, source))

    Headlines(service.database, service.settings).look()
    with service.database.write() as session:
        ids["run"] = run_of(session, ids["full"], "Sync EASGD, overlapped")
        ids["failed_run"] = run_of(session, ids["failed"], "Sync SGD")
        freeze(session)
    return ids


def submit(service: Service, **document: object) -> str:
    answer = service.client.post("/experiments", json=BASE | document)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def play(service: Service, act) -> None:
    """Have the scheduler send what waits, and do something with each order, until nothing waits."""
    before = len(service.line.launched)
    while True:
        service.scheduler.look()
        orders = [order for _, orders in service.line.launched[before:] for order in orders]
        if not orders:
            return
        before = len(service.line.launched)
        rows = {row["id"]: row for row in service.runs(state="dispatched")}
        for order in orders:
            act(Supervisor(service, order), rows[order.run])


def _is(run: dict, method: int) -> bool:
    return run["variant"] == METHODS[method][0]


def records_of(run: dict, source: random.Random, factor: float, part: float):
    """Return the records of the ranks of a run, up to a part of its way to the target."""
    _, _, seconds, wire, blocked = next(each for each in METHODS if each[0] == run["variant"])
    seconds *= factor * (0.4 if run["simulated"] else 1) * source.lognormvariate(0, 0.09)
    workers, ranks = run["workers"], run["workers"] + run["servers"]
    shown, evaluated = round(STEPS * part), round(EVALUATIONS * part)
    at = np.arange(1, shown + 1) * (seconds / STEPS)
    phases = {"data": 0.02, "compute": 0.9 - blocked, "communicate": blocked, "update": 0.05, "evaluate": 0.0}
    told = {name: np.full(shown, share * seconds / STEPS) for name, share in phases.items()}
    wave = 0.6 * told["communicate"] * np.sin(np.arange(shown) * (4 * np.pi / STEPS))
    told |= {"communicate": told["communicate"] + wave, "compute": told["compute"] - wave}
    told["hidden"] = told["compute"] * (0.3 if "overlapped" in run["variant"] else 0)
    columns = told | {
        **{"clock": at, "wall": at * 1.03, "samples": np.arange(1, shown + 1) * 1600},
        **{"loss": 2.3 * np.exp(-4 * at / seconds) + 0.05, "idle": np.full(shown, 0.03 * seconds / STEPS)},
        **{"wire": np.full(shown, wire / ranks / STEPS), "payload": np.full(shown, wire / ranks / STEPS)},
    }
    parts = []
    for rank in range(ranks):
        role = "worker" if rank < workers else "server"
        world = "virtual" if run["simulated"] else "mpi"
        noted = {TRAINING_ITEMS: f"{ITEMS}"} if rank == 0 else {}
        place = {"host": "node1", "hardware": {"cpu": "AMD EPYC 9V74"}, "notes": noted}
        records = [start(0, role=role, ranks=ranks, world=world, **place)]
        records.append(steps(1, shown, workers=workers, **columns))
        if rank == 0:
            records += [_evaluation(2 + n, n, seconds) for n in range(evaluated + 1)]
        if part == 1:
            records.append(_checkpoint(len(records), rank, run["number"]))
            sums = {name: share * seconds for name, share in phases.items()} | {"idle": 0.03 * seconds}
            totals = {"step": shown, "samples": 96_000, "clock": seconds, "wall": 1.03 * seconds, "phases": sums}
            totals |= {"wire": round(wire / ranks), "reason": "target"}
            totals |= {"test_accuracy": 0.964, "test_loss": 0.11} if rank == 0 else {}
            records.append(done(len(records), **totals))
        parts.append(RankRecords(rank=rank, records=records))
    return parts


def _checkpoint(seq: int, rank: int, number: int):
    folder = f"/data/hooke/runs/run_{number:032}/1/checkpoints/96000"
    told = {"step": STEPS, "samples": 96_000, "path": f"{folder}/rank.{rank}.npz"}
    return Checkpointed(seq=seq, bytes=44_800_000 + rank, sha256=64 * "a", **told)


def _evaluation(seq: int, n: int, seconds: float):
    accuracy = 0.971 if n == EVALUATIONS else 0.969 - 0.86 * float(np.exp(-0.4 * n))
    clock = seconds * n / EVALUATIONS
    return scored(seq, 6000 * n, accuracy, clock=clock, wall=1.03 * clock, reached=n == EVALUATIONS)


def succeed(supervisor: Supervisor, run: dict, source: random.Random, factor: float = 1.0) -> None:
    supervisor.tell("starting", "running", "succeeded")
    parts = records_of(run, source, factor, 1)
    supervisor.send(*parts, files=[] if run["simulated"] else [_samples(run, parts[0].records[-1].wall)])


def _samples(run: dict, seconds: float):
    """Return what is sampled of a run: beside one method others compute, one cluster keeps its counters."""
    found = []
    for n in range(9):
        at = round(seconds * n / 8, 3)
        ranks = {f"{rank}": [at * (0.97 - 0.03 * rank), 4e8 + 3e7 * rank] for rank in range(run["workers"])}
        told = {"joules": (140 + 20 * n) * at, "since": at, "own": 0.4 if _is(run, 2) else 0.97}
        told = told if run["cluster"] == "local" else {"no_joules": DENIED}
        sample = {
            "unix": 1.7e9 + at,
            "host": "node1",
            "ranks": ranks,
            "network": [at * 3e6, at * 2e6],
            "last": n == 8,
        }
        found.append(json.dumps(sample | told))
    return packed("system", 0, "".join(f"{line}\n" for line in found).encode())


def _begin(supervisor: Supervisor, run: dict, source: random.Random) -> None:
    supervisor.tell("starting", "running")
    supervisor.send(*records_of(run, source, 1.0, 0.5))


def _fail(supervisor: Supervisor) -> None:
    supervisor.tell("starting", "running")
    supervisor.tell("failed_user", exit_code=5, rank=1, host="node1", why=TRACEBACK)
    said = ["step 11: loss 4.2e31", *TRACEBACK.splitlines()]
    log = [LogLine(seq=n, rank=1, stream="stderr", unix=1.7e9 + n, text=text) for n, text in enumerate(said)]
    supervisor.send(logs=log)


def run_of(session: Session, experiment: str, variant: str) -> str:
    mine = select(Run.id).where(Run.experiment_id == experiment, Run.variant == variant)
    return str(session.scalars(mine.order_by(Run.number)).first())


def freeze(session: Session) -> None:
    """Move everything that is shown to times that are the same at every start."""
    minute = timedelta(minutes=1)
    for experiment in session.scalars(select(Experiment)):
        at = BEGUN + timedelta(hours=experiment.number - 1)
        experiment.created_at = at
        if experiment.finished_at is not None:
            experiment.finished_at = experiment.headlines_at = at + 3 * minute
        runs = session.scalars(select(Run).where(Run.experiment_id == experiment.id)).all()
        for run in runs:
            run.created_at = at
            run.started_at = run.started_at and at + minute
            run.finished_at = run.finished_at and at + 2 * minute
            changes = select(Transition).where(Transition.run_id == run.id).order_by(Transition.id)
            for n, change in enumerate(session.scalars(changes)):
                change.at = at + n * minute / 2
                change.reported_at = change.reported_at and change.at
            mine = update(Attempt).where(Attempt.run_id == run.id)
            session.execute(mine.values(created_at=at, sent_at=at, leased_until=NOW + 99 * minute))
    session.execute(update(Cluster).values(created_at=BEGUN, seen_at=NOW - minute / 4))
    session.execute(update(Event).values(at=BEGUN))
