"""Objects that are missing, damaged or out of reach: a clear error there, and answers everywhere else."""

import httpx
import pytest
from hooke_api.experiments.purging import Purger
from hooke_api.metrics import thinning
from hooke_api.metrics.thinner import Thinner
from hooke_api.models import Chunk, CompactedRun, Experiment, LooseObject, Run, ThinnedSeries
from hooke_api.storage import compacting, s3
from hooke_api.storage import steps as stored
from hooke_api.storage.database import Database
from hooke_api.storage.objects import ObjectError
from hooke_api.storage.s3 import S3Store, Signer
from sqlalchemy import select, update

from tests.api.conftest import scored, start, steps
from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import measured
from tests.api.objects.bucket import BUCKET, KEY_ID, REGION, SECRET, Bucket
from tests.api.objects.compaction import PAIR, age, chunks, compact, forget, look, objects, series, warnings
from tests.api.test_experiments import problem
from tests.api.test_ingest import rank

SCORES = ("validation_accuracy", "validation_loss")


@pytest.fixture
def compacted(service):
    """Return the id of an experiment, and those of its compacted runs."""
    made = measured(service, PAIR)
    compact(service)
    assert service.count(Chunk) == 0
    return made["id"], [run["id"] for run in service.runs(experiment=made["id"])]


def place(service, run: str):
    with service.database.read() as session:
        key = session.scalars(select(CompactedRun.key).where(CompactedRun.run_id == run)).one()
    return service.settings.home / "objects" / key


@ONE_KIND
def test_a_missing_object_spoils_nothing_but_what_needs_it(service, compacted):
    experiment, runs = compacted
    scores = series(service, runs, SCORES).content
    file = place(service, runs[1])
    content = file.read_bytes()
    file.unlink()
    forget(service)
    told = problem(service.client.post("/series", json={
        "runs": runs, "metrics": ["train_loss"], "axis": "clock", "points": 100,
    }), 500)  # fmt: skip
    assert told["type"] == "/problems/unreadable"
    assert runs[1] in told["detail"] and file.name in told["detail"] and "it is missing" in told["detail"]
    whole = [f"/experiments/{experiment}/{what}" for what in ("points.csv", "points.parquet", "bundle")]
    for address in (*whole, f"/runs/{runs[1]}/workers", f"/runs/{runs[1]}/workers.csv"):
        assert runs[1] in problem(service.client.get(address), 500)["detail"], address
    (warning,) = warnings(service)
    assert warning.startswith("the steps of 1 run cannot be read")
    home = str(service.settings.home)
    open_to_all = str(httpx.get(f"{service.url}/readyz").json()["warnings"])
    assert not any(name in open_to_all for name in (runs[1], file.name, home)), "it needs no credential"
    others = [run for run in runs if run != runs[1]]
    assert series(service, others).status_code == 200
    assert series(service, runs, SCORES).content == scores
    fine = [f"/experiments/{experiment}{what}" for what in ("", "/comparison", "/bands", "/report.html")]
    fine.append(f"/runs/{runs[1]}")
    for address in (*fine, "/runs", "/experiments?filter=accuracy.max > 0.5", "/runs.csv", "/leaderboard"):
        assert service.client.get(address).status_code == 200, address
    file.write_bytes(content)
    assert series(service, runs).status_code == 200
    assert warnings(service) == []


@ONE_KIND
def test_nothing_is_said_of_a_run_that_is_gone(service, compacted):
    experiment, runs = compacted
    place(service, runs[1]).unlink()
    assert series(service, runs).status_code == 500
    look(service)
    assert len(warnings(service)) == 1
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    with service.database.write() as session:
        session.execute(update(Experiment).values(purge_at=Experiment.deleted_at))
    purger = Purger(service.database, service.settings)
    purger.look()
    purger.close()
    look(service)
    assert warnings(service) == []


@ONE_KIND
def test_a_damaged_object_or_that_of_another_run_is_not_shown(service, compacted):
    _, runs = compacted
    file = place(service, runs[0])
    content = file.read_bytes()
    for damaged in (content[:-1], content[:100] + bytes([content[100] ^ 1]) + content[101:], b""):
        file.write_bytes(damaged)
        forget(service)
        told = problem(series(service, runs[:1]), 500)["detail"]
        assert runs[0] in told and "it is damaged" in told
    file.write_bytes(place(service, runs[1]).read_bytes())
    told = problem(series(service, runs[:1]), 500)["detail"]
    assert f"it is the one of run {runs[1]}" in told


@ONE_KIND
def test_evaluations_and_levels_open_no_object(service, monkeypatch):
    monkeypatch.setattr(thinning, "LEVELS", (32, 64))
    monkeypatch.setattr(thinning, "LEAST_STEPS", 64)
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1, 90), scored(2, 640, 0.5), scored(3, 1280, 0.75)))
    supervisor.send(rank(1, start(), steps(1, 90)))
    supervisor.report("starting", "running", "succeeded")
    thinner = Thinner(service.database)
    thinner.look()
    thinner.close()
    forget(service)
    asks = [(("train_loss", "throughput"), axis, 30) for axis in ("clock", "bytes")] + [(SCORES, "step", 5000)]
    before = [series(service, [supervisor.id], *ask).content for ask in asks]
    compact(service)
    (file,) = objects(service)
    file.unlink()
    assert [series(service, [supervisor.id], *ask).content for ask in asks] == before
    assert series(service, [supervisor.id], ("train_loss",), points=500).status_code == 500


@ONE_KIND
def test_a_missing_object_keeps_no_other_run_from_its_levels(service, monkeypatch):
    """More comes from a long run whose object is missing: the thread has to read it, and cannot."""
    monkeypatch.setattr(thinning, "LEVELS", (32, 64))
    monkeypatch.setattr(thinning, "LEAST_STEPS", 64)

    def long():
        supervisor = service.launch()
        supervisor.report("starting", "running")
        supervisor.send(rank(0, start(), steps(1, 90)), rank(1, start(), steps(1, 90)))
        supervisor.report("starting", "running", "failed_user")
        return supervisor

    def levels() -> set[str]:
        with service.database.read() as session:
            return set(session.scalars(select(ThinnedSeries.run_id)))

    thinner = Thinner(service.database)
    first = long()
    compact(service)
    thinner.look()
    assert levels() == {first.id}
    (file,) = objects(service)
    content = file.read_bytes()
    file.unlink()
    first.send(rank(0, steps(2, 20, first=91)))
    second = long()
    thinner.look()
    assert levels() == {first.id, second.id}
    file.write_bytes(content)
    thinner.look()
    assert not thinning.store(service.database, second.id), "it is up to date"
    assert thinner._left.keys() == {first.id}, "not in a hurry"
    thinner._left[first.id] = 0.0
    thinner.look()
    thinner.close()
    assert thinner._left == {} and not thinning.store(service.database, first.id)


def test_objects_of_a_purged_experiment_go_after_its_undo_period(service, compacted):
    experiment, runs = compacted
    files = objects(service)
    assert len(files) == len(runs)
    service.client.delete(f"/experiments/{experiment}").raise_for_status()

    def purge() -> None:
        purger = Purger(service.database, service.settings)
        purger.look()
        purger.close()

    purge()
    look(service)
    service.client.post(f"/experiments/{experiment}/restore").raise_for_status()
    assert series(service, runs).status_code == 200, "restored with all of its points"
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    with service.database.write() as session:
        session.execute(update(Experiment).values(purge_at=Experiment.deleted_at))
    purge()
    assert (service.count(Run), service.count(CompactedRun), service.count(LooseObject)) == (0, 0, len(runs))
    look(service)
    assert all(file.exists() for file in files)
    age(service, 7)
    look(service)
    assert not any(file.exists() for file in files) and service.count(LooseObject) == 0


@ONE_KIND
def test_steps_in_a_bucket_and_a_bucket_that_does_not_answer(service, monkeypatch, tmp_path):
    monkeypatch.setattr(s3, "PAUSES", ())
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1, 50)), rank(1, start(), steps(1, 40)))
    supervisor.report("failed_user")
    wanted = chunks(service, supervisor.id)
    bucket = Bucket()
    try:
        store = S3Store(bucket.url, BUCKET, "lab", Signer(KEY_ID, SECRET, REGION), tmp_path)
        there = Database(service.settings.url, objects=store)
        assert compacting.compact(there, supervisor.id)
        assert [name for name, _ in bucket.requests] == ["PUT", "GET"]
        assert service.count(Chunk) == 0
        with there.read() as session:
            assert list(map(tuple, stored.chunks(session, supervisor.id))) == wanted
    finally:
        bucket.close()
    monkeypatch.setitem(service.database._info, stored.STORE, store)
    told = problem(series(service, [supervisor.id]), 503)
    assert supervisor.id in told["detail"] and "does not answer" in told["detail"]
    with pytest.raises(ObjectError, match="does not answer"):
        compacting.expand(there, supervisor.id)
    there.close()
    alone = Database(service.settings.url)
    monkeypatch.setitem(service.database._info, stored.STORE, None)
    assert "without a store" in problem(series(service, [supervisor.id]), 500)["detail"]
    alone.close()
