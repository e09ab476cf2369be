"""Experiments that have ended, with points and output, and what a server answers about them."""

import io
import json
import zipfile
from collections.abc import Iterator
from hashlib import sha256

from tests.api.hands import SPEC, Service, Supervisor, done, lines, scored, start, steps
from tests.api.test_ingest import rank

HOSTILE = "<img src=x onerror=alert(1)>"
TWO = {
    "variants": [
        {"name": "sync", "algorithm": "sync-easgd"},
        {"name": HOSTILE, "algorithm": "sync-sgd"},
    ],
    "baseline": "sync",
    "clusters": [{"name": "local", "workers": [2], "seeds": 3}],
}
"""Changes that leave runs of two ranks."""


def measured(service: Service, spec: dict = TWO, **changes) -> dict:
    """Run an experiment to its end: one variant needs about half the time of the other."""
    made = service.submit(**spec | changes)
    runs = {run["id"]: run for run in service.runs(experiment=made["id"])}
    for number, supervisor in enumerate(_supervisors(service, len(runs)), 1):
        run = runs[supervisor.id]
        seconds = (1.0 if run["variant"] == "sync" else 2.1) * (1 + number / 50)
        clock = [seconds * share for share in (0.25, 0.5, 0.75, 1.0)]
        ranks = []
        for worker in range(run["workers"] + run["servers"]):
            told = [
                start(hardware={"cpu": "x", "cores": 4}),
                steps(1, clock=clock, wall=clock, staleness=[0, 1, 1, 2]),
            ]
            if worker == 0:
                times = [{"clock": seconds * share, "wall": seconds * share} for share in (0.5, 0.99, 1.0)]
                told.append(scored(2, 4000, 0.7, **times[0]))
                told.append(scored(3, 7900, 0.89, **times[1]))
                told.append(scored(4, 8000, 0.92, reached=True, **times[2]))
            told.append(done(len(told) + 3, reason="target", samples=8000, clock=seconds, wall=seconds + 0.5))
            ranks.append(rank(worker, *(_numbered(told))))
        supervisor.tell("starting", "running")
        supervisor.send(*ranks, logs=lines(0, 3))
        supervisor.report("succeeded")
    view = service.get(f"/experiments/{made['id']}")
    assert view["state"] == "succeeded", view["runs"]
    return view


def _supervisors(service: Service, count: int) -> Iterator[Supervisor]:
    """Yield a supervisor for each of so many runs, which may be sent several at a time."""
    while count:
        before = len(service.line.launched)
        service.scheduler.look()
        sent = [order for _, orders in service.line.launched[before:] for order in orders]
        assert sent, "nothing was sent"
        yield from (Supervisor(service, order) for order in sent)
        count -= len(sent)


def _numbered(records: list) -> list:
    """Number records without gaps."""
    return [record.model_copy(update={"seq": seq}) for seq, record in enumerate(records)]


def exported(service: Service, experiment: str, **query) -> bytes:
    answer = service.client.get(f"/experiments/{experiment}/bundle", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    return answer.content


def imported(service: Service, bundle: bytes, status: int = 201) -> dict:
    answer = service.client.post("/experiments/import", content=bundle)
    assert answer.status_code == status, answer.text
    return answer.json()


def parts_of(bundle: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def made_of(parts: dict[str, bytes], mend: bool = True) -> bytes:
    """Return a bundle of these parts; `mend`: with the checksums that they have."""
    if mend:
        manifest = json.loads(parts["manifest.json"])
        manifest["parts"] = [
            {"name": name, "bytes": len(text), "sha256": sha256(text).hexdigest()}
            for name, text in parts.items()
            if name != "manifest.json"
        ]
        parts = parts | {"manifest.json": json.dumps(manifest).encode()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def answers(service: Service, experiment: str) -> dict:
    """Return what is shown of an experiment, without what is of this server: ids, owner, times of arrival."""
    runs = service.runs(experiment=experiment)
    bands = service.get(f"/experiments/{experiment}/bands", metric=["validation_accuracy", "train_loss"])
    ids = {run["id"]: run["number"] for run in runs}
    told = {
        "comparison": service.get(f"/experiments/{experiment}/comparison"),
        "bands": {name: value for name, value in bands.items() if name not in ("version", "position")},
        "runs": [_without(run, "id", "experiment_id", "experiment_number", "host") for run in runs],
        "points": service.client.get(f"/experiments/{experiment}/points.csv").text,
        "details": [
            _without(service.run(run["id"]), "id", "experiment_id", "experiment_number", "host", "checkpoints")
            for run in runs
        ],
        "output": [service.get(f"/runs/{run['id']}/logs")["lines"] for run in runs],
    }
    text = json.dumps(told, sort_keys=True)
    for run, number in ids.items():
        text = text.replace(run, f"run {number}")
    found = json.loads(text.replace(experiment, "this"))
    found["output"] = [[_without(line, "position") for line in each] for each in found["output"]]
    return found


def _without(told: dict, *names: str) -> dict:
    return {name: value for name, value in told.items() if name not in names}


__all__ = ["HOSTILE", "SPEC", "TWO", "answers", "exported", "imported", "made_of", "measured", "parts_of"]
