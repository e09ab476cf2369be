"""Chunks and evaluations are counted where they are stored: a look at a run in progress does not count them."""

import pytest
from hooke_api.ingest import endpoints
from hooke_api.models import Run
from hooke_api.storage import evaluated
from hooke_api.storage import steps as stored
from hooke_api.storage.database import Database
from sqlalchemy import event

from tests.api.counted import said, true
from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported, measured
from tests.api.hands import scored, start, steps
from tests.api.metrics.delivered import Delivered, add_experiment
from tests.api.objects.compaction import compact
from tests.api.test_ingest import rank
from tests.api.test_scheduler import end_pauses, expire


def counts(service) -> dict[str, tuple[int, int]]:
    """Return how many chunks and evaluations runs have, which is what is stored and what answers follow from."""
    with service.database.read() as session:
        wanted = true(session)
        assert said(session) == wanted
        runs = list(wanted)
        chunks, evaluations = stored.counts(session, runs), evaluated.counts(session, runs)
        assert {run: (chunks.get(run, (0, 0))[0], evaluations[run]) for run in runs} == wanted
        return wanted


def test_every_record_counts_once_in_whatever_order_attempts_deliver(service, monkeypatch):
    old = service.launch()
    old.report("starting", "running")
    first = rank(0, start(), steps(1), scored(2, 256, 0.5))
    for _ in range(2):
        old.send(first, rank(1, start(), steps(1)))
    old.send(rank(0, scored(9, 999, 0.9)))  # behind a gap: not stored
    assert counts(service) == {old.id: (2, 1)}

    expire(service)
    service.prove(old.id, 1, alive=False)
    end_pauses(service)
    new = service.next()
    new.report("starting", "running")
    new.send(rank(0, start(), steps(1, n=1), scored(2, 64, 0.1), scored(3, 64, 0.2)))
    old.send(rank(0, steps(3, first=5), scored(4, 512, 0.6)))  # found on disk afterwards
    assert counts(service) == {old.id: (4, 4)}

    def fails(*_):
        raise RuntimeError("behind the rows, before the end of the transaction")

    with monkeypatch.context() as patched:
        patched.setattr(endpoints, "_store_logs", fails)
        body = new.request(rank(0, steps(4, n=1, first=2), scored(5, 128, 0.3))).model_dump_json().encode()
        assert new.post(body).status_code == 500
    assert counts(service) == {old.id: (4, 4)}


@ONE_KIND
def test_an_import_and_compacted_runs_say_what_they_have(service):
    made = measured(service)
    before = counts(service)
    assert all(chunks and evaluations for chunks, evaluations in before.values())
    imported(service, exported(service, made["id"]))
    both = counts(service)
    assert sorted(both.values()) == sorted([*before.values(), *before.values()])
    compact(service)
    assert counts(service) == both


@pytest.fixture
def instructions(sqlite_template, tmp_path):
    """Return a database, and a function that tells how many instructions SQLite executes for some work."""
    target = tmp_path / "hooke.db"
    target.write_bytes(sqlite_template.read_bytes())
    database, connections, seen = Database(f"sqlite:///{target}"), [], [0]
    event.listen(database.engine, "connect", lambda connection, _: connections.append(connection))

    def one_more() -> int:
        seen[0] += 1
        return 0

    def executed(work) -> int:
        with database.read() as session:
            work(session)  # what is prepared first does not count
            for connection in connections:
                connection.set_progress_handler(one_more, 1)
            seen[0] = 0
            work(session)
            for connection in connections:
                connection.set_progress_handler(None, 1)
            return seen[0]

    yield database, executed
    database.close()


@ONE_KIND
def test_a_look_takes_as_long_for_many_chunks_and_evaluations_as_for_few(instructions):
    database, executed = instructions
    run = Delivered(database, add_experiment(database), "sync-sgd", 1)
    run.write(0, 60, seed=1)

    def look(session):
        assert stored.counts(session, [run.id])[run.id][0] == session.get_one(Run, run.id).chunks
        assert evaluated.counts(session, [run.id])[run.id] > 0

    spent = []
    for n in (2, 58):
        for k in range(n):
            run.deliver(0, 1)
            run.score(8 * (k + 1), 0.5)
        spent.append(executed(look))
    with database.read() as session:
        assert stored.counts(session, [run.id])[run.id][0] == evaluated.counts(session, [run.id])[run.id] == 60
    assert 0 < spent[1] <= spent[0] + 10, spent
