"""What the usual platform does not have: trials, scaling, a timeline, a calibration, twenty variants."""

from __future__ import annotations

import random
from datetime import datetime

import numpy as np
from hooke.spec.files import packed
from hooke_api.comparisons.headlines import Headlines
from hooke_api.models import StoredCalibration
from sqlalchemy import update

from tests.api.hands import Service, Supervisor
from tests.api.timeline.traces import Made
from tests.engine.calibration.documents_for_tests import made as calibration
from tests.look.seeded import BEGUN, METHODS, VIRTUAL, freeze, play, records_of, run_of, submit, succeed

CALIBRATED = BEGUN.replace(hour=11)
WORKERS = (2, 4, 8, 16)
STEPS = 60
"""Of the timeline."""


def fill(service: Service) -> dict[str, str]:
    """Submit experiments and play their runs; return their ids by a short name."""
    source = random.Random(5)
    hardware = {"cpu": "AMD EPYC 9V74", "memory_bytes": 128 << 30}
    service.hello(cores=64, hardware=hardware)
    variants = [{"name": name, "algorithm": algorithm} for name, algorithm, *_ in METHODS]
    baseline = {"baseline": METHODS[2][0]}
    ids = {}
    _calibrate(service)
    ids["tuned"] = submit(
        service,
        **{"name": "Each at its best", "variants": variants[1:4], "tuning": {"trials": 8}},
        **{"clusters": [VIRTUAL], "target": {"value": 0.95}, **baseline},
    )
    play(service, lambda run, row: succeed(run, row, source, _of_trial(row)))
    local = {"name": "local", "workers": list(WORKERS), "seeds": 3}
    ids["scaling"] = submit(
        service, name="From 2 to 16 workers", variants=variants[1:4], clusters=[local], **baseline
    )
    play(service, lambda run, row: succeed(run, row, source, (2 / row["workers"]) ** _slope(row)))
    one = {"name": "local", "workers": [4], "seeds": 1}
    ids["traced"] = submit(
        service, name="A straggler", variants=variants[2:3], clusters=[one], trace=True, **baseline
    )
    play(service, lambda run, row: _traced(run, row, source))
    ids["twenty"] = submit(
        service,
        name="Twenty settings",
        variants=[variants[2], *({"name": f"Local SGD, period {n}", **_local(n)} for n in range(1, 20))],
        clusters=[one | {"seeds": 3}],
        **baseline,
    )
    service.client.post(f"/experiments/{ids['twenty']}/cancel").raise_for_status()
    Headlines(service.database, service.settings).look()
    with service.database.write() as session:
        ids["traced_run"] = run_of(session, ids["traced"], METHODS[2][0])
        freeze(session)
        session.execute(update(StoredCalibration).values(created_at=CALIBRATED, ended_at=CALIBRATED))
    return ids


def _local(period: int) -> dict[str, object]:
    return {"algorithm": "local-sgd", "parameters": {"period": period}}


def _of_trial(row: dict[str, object]) -> float:
    """Return how many times as long a run takes with its setting."""
    trial = row["trial"]
    return 1 + 0.3 * ((int(str(trial)) * 5) % 8) if trial is not None else 1.0


def _slope(row: dict[str, object]) -> float:
    """Return how well a method scales: speed-up = workers to this power."""
    return {METHODS[1][0]: 0.9, METHODS[2][0]: 0.55, METHODS[3][0]: 0.8}[str(row["variant"])]


def _traced(supervisor: Supervisor, run: dict, source: random.Random) -> None:
    """Let a run end whose third rank computes longer than the others for a while."""
    supervisor.tell("starting", "running", "succeeded")
    draws = np.random.default_rng(source.randrange(2**31))
    ranks = [Made(rank, run["workers"]) for rank in range(run["workers"])]
    for step in range(STEPS):
        for rank, made in enumerate(ranks):
            longer = 5e-3 if rank == 2 and step >= STEPS // 2 else 0.0
            made.spend("data", 4e-4).spend("compute", float(draws.normal(8e-3, 4e-4)) + longer)
        until = max(made.now for made in ranks) + 2e-3
        for made in ranks:
            made.call("all-reduce", until - made.now, size=400_000)
            made.spend("update", 6e-4)
    files = [packed(f"trace.{rank}", 0, made.file()) for rank, made in enumerate(ranks)]
    supervisor.send(*records_of(run, source, 1.0, 1), files=files)


def _calibrate(service: Service) -> None:
    """Measure twice; the second time messages take a quarter longer."""
    for slower, at in ((1.0, CALIBRATED.replace(hour=9)), (1.25, CALIBRATED)):
        order = service.client.post("/clusters/local/calibrations", json={})
        order.raise_for_status()
        service.scheduler.look()
        document = _document(slower, at)
        service.agent.post("/agents/calibration", json={"id": order.json()["id"], "document": document})


def _document(slower: float, at: datetime) -> dict[str, object]:
    return calibration(slower, at=at).model_dump(mode="json", by_alias=True)
