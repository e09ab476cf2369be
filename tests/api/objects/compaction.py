"""Runs that are compacted, and everything that the API answers about them."""

import re
from datetime import timedelta
from pathlib import Path

from hooke.spec.events import RankRecords
from hooke_api.metrics.compactor import Compactor
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.increments import Increments
from hooke_api.models import CompactedRun, Event, Experiment, LooseObject, Run
from hooke_api.storage import steps as stored
from hooke_api.storage.objects import FOLDER
from sqlalchemy import select

from tests.api.conftest import done, scored, start, steps
from tests.api.exchange.measured import TWO, parts_of

AXES = ("clock", "wall", "samples", "step", "bytes")
METRICS = (
    *("train_loss", "communication_fraction", "throughput", "staleness"),
    *("validation_accuracy", "validation_loss", "test_loss"),
)


PAIR = TWO | {"clusters": [{"name": "local", "workers": [2], "seeds": 1}]}
"""Changes that leave two runs of two ranks."""


def age(service, hours: float = 2.0) -> None:
    """Let time pass: what has happened, happened earlier."""
    past = timedelta(hours=hours)
    with service.database.write() as session:
        for model, names in (
            (Run, ["finished_at"]),
            (Event, ["at"]),
            (LooseObject, ["at"]),
            (Experiment, ["imported_at", "purge_at"]),
        ):
            for row in session.scalars(select(model)):
                for name in names:
                    if (moment := getattr(row, name)) is not None:
                        setattr(row, name, moment - past)


def look(service, **changes) -> None:
    """Let the compactor look once."""
    compactor = Compactor(service.database, service.settings.model_copy(update=changes))
    compactor.ended.set()  # no pauses
    compactor.lives = lambda: True
    compactor.look()
    compactor.close()


def compact(service, **changes) -> None:
    """Compact every run that has ended; nothing of it is in the memory of the API afterwards."""
    age(service)
    look(service, **changes)
    forget(service)


def forget(service) -> None:
    """Leave nothing in the memory of the API."""
    service.app.state.curves = CurveStore(service.app.state.caches)
    service.app.state.increments = Increments(service.app.state.caches)


def objects(service) -> list[Path]:
    """Return the files of the objects that the tables name."""
    with service.database.read() as session:
        keys = [*session.scalars(select(CompactedRun.key)), *session.scalars(select(LooseObject.key))]
    return [path for key in keys if (path := service.settings.home / FOLDER / key).exists()]


def warnings(service) -> list[str]:
    """Return what `readyz` warns of, but for a full disk."""
    return [each for each in service.client.get("/readyz").json()["warnings"] if "GiB" not in each]


def chunks(service, run: str) -> list[tuple]:
    """Return the chunks of a run, wherever they are."""
    with service.database.read() as session:
        return [tuple(each) for each in stored.chunks(session, run)]


def served(service) -> str:
    """A run of two workers and a server, which has ended."""
    supervisor = service.launch(variants=[{"name": "sync", "algorithm": "async-sgd"}])
    supervisor.report("starting", "running")
    for worker in (0, 1):
        records = [
            start(),
            steps(1, 6 - worker),
            steps(2, 3, first=7 - worker),
            done(3, step=9 - worker, wall=12.0),
        ]
        supervisor.send(RankRecords(rank=worker, records=records))
    exchanges = {"worker": [0, 1, 0, 1], "staleness": [0, 1, 3, 2], "wall": [0.015, 0.025, 0.045, 0.05]}
    records = [start(role="server"), steps(1, 4, **exchanges), scored(2, 256, 0.5), done(3, step=4)]
    supervisor.send(RankRecords(rank=2, records=records))
    supervisor.report("succeeded")
    assert service.run(supervisor.id)["state"] == "succeeded"
    return supervisor.id


def series(service, runs, metrics=METRICS, axis: str = "clock", points: int = 300):
    body = {"runs": list(runs), "metrics": list(metrics), "axis": axis, "points": points}
    return service.client.post("/series", json=body)


def everything(service) -> dict[str, bytes | dict[str, bytes]]:
    """Return what every reader that touches points, or figures of runs, answers."""
    experiments = [each["id"] for each in service.get("/experiments")["items"]]
    runs = [each["id"] for each in service.runs()]
    addresses = ["/runs", "/experiments", "/leaderboard", "/runs.csv", "/compare?rows=1", "/compare?rows=1&rows=2"]
    filters = ("test_accuracy.max > 0.5", "accuracy.max > 0.9", "not loss.last < 0.05", "clock.max > 1")
    addresses += [f"/experiments?filter={each}" for each in filters]
    for each in experiments:
        whole = (*("comparison", "metrics", "points.csv", "points.csv?metric=train_loss"), "points.parquet")
        addresses += [f"/experiments/{each}/{what}" for what in (*whole, "report.html")]
        for axis in ("clock", "bytes"):
            addresses.append(f"/experiments/{each}/bands?metric=train_loss&metric=validation_accuracy&axis={axis}")
        addresses.append(f"/experiments/{each}/bands?axis=step")
    for each in runs:
        addresses += [f"/runs/{each}", f"/runs/{each}/workers", f"/runs/{each}/workers.csv"]
    found: dict[str, bytes | dict[str, bytes]] = {}
    for address in addresses:
        answer = service.client.get(address)
        assert answer.status_code == 200, f"{address}: {answer.text[:500]}"
        found[address] = answer.content
        if address.endswith("report.html"):  # it has the time at which it was made
            found[address] = re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", b"", answer.content)
    for each in experiments:
        bundle = parts_of(service.client.get(f"/experiments/{each}/bundle", params={"logs": True}).content)
        del bundle["manifest.json"]  # it has the time, and the checksums of the others
        found[f"bundle of {each}"] = bundle
    for axis, points in zip(AXES, (16, 5000, 16, 5000, 300), strict=True):
        answer = series(service, runs, axis=axis, points=points)
        assert answer.status_code == 200, answer.text
        found[f"series {axis}"] = answer.content
    found["scores"] = series(service, runs, ("validation_accuracy", "validation_loss")).content
    return found


def different(one: dict, other: dict) -> list[str]:
    """Return the addresses whose answers differ."""
    assert one.keys() == other.keys()
    return [address for address in one if one[address] != other[address]]
