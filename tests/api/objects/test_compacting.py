"""Compaction over HTTP: the same answers before and after it, whatever comes meanwhile or ends the process."""

import pytest
from hooke.spec.events import RankRecords
from hooke_api.models import Chunk, CompactedRun, LooseObject, Run
from hooke_api.storage import compacting
from hooke_api.storage.objects import FolderStore, ObjectError
from hooke_api.storage.steps import rows
from sqlalchemy import func, select, update

from tests.api.conftest import start, steps
from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported, measured
from tests.api.hands import scored
from tests.api.objects.compaction import (
    PAIR,
    age,
    chunks,
    compact,
    different,
    everything,
    forget,
    look,
    objects,
    series,
    served,
)


def test_every_reader_answers_the_same_bytes_before_and_after(service):
    measured(service, PAIR)
    served(service)
    age(service)
    before = everything(service)
    look(service)
    forget(service)
    assert (service.count(Chunk), service.count(CompactedRun), service.count(LooseObject)) == (0, 3, 0)
    assert different(before, everything(service)) == []


@ONE_KIND
def test_rows_come_back_as_they_were(service):
    supervisor = ended(service)
    told = series(service, [supervisor.id]).content
    with service.database.read() as session:
        before = [tuple(each) for each in rows(session, supervisor.id)]
    assert len(before) == 3
    compact(service)
    assert compacting.expand(service.database, supervisor.id)
    with service.database.read() as session:
        assert [tuple(each) for each in rows(session, supervisor.id)] == before
    assert (service.count(CompactedRun), service.count(LooseObject)) == (0, 1)
    assert series(service, [supervisor.id]).content == told
    assert not compacting.expand(service.database, supervisor.id)


def reported(service):
    """Return a supervisor of a run of two ranks with some steps and evaluations, which goes on."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(
        RankRecords(rank=0, records=[start(), steps(1, 5), scored(2, 128, 0.25), steps(3, 3, first=6)]),
        RankRecords(rank=1, records=[start(), steps(1, 4, staleness=[0, 2, 1, 3])]),
    )
    supervisor.send(RankRecords(rank=1, records=[steps(2, 4, first=5)]))
    return supervisor


def ended(service):
    supervisor = reported(service)
    supervisor.report("starting", "running", "failed_user")
    return supervisor


def late(supervisor) -> None:
    """Deliver more of the same attempt after its end."""
    supervisor.send(RankRecords(rank=0, records=[steps(4, 2, first=9), scored(5, 640, 0.5)]))
    supervisor.send(RankRecords(rank=1, records=[steps(3, 2, first=9)]))


def resumed(supervisor) -> None:
    """Go on in another attempt, from step 6, and end again."""
    service = supervisor.service
    service.client.post(f"/runs/{supervisor.id}/retry").raise_for_status()
    following = service.next()
    assert (following.id, following.order.attempt) == (supervisor.id, 2)
    following.report("starting", "running")
    for rank in (0, 1):
        following.send(RankRecords(rank=rank, records=[start(restored_step=6), steps(1, 3, first=7)]))
    told = series(service, [supervisor.id])  # while it is in progress, and then with a newer chunk
    assert told.status_code == 200
    for rank in (0, 1):
        following.send(RankRecords(rank=rank, records=[steps(2, 4, first=10, wall=[0.2, 0.3, 0.4, 0.5])]))
    answers.append(series(service, [supervisor.id]).text.replace(supervisor.id, "this"))
    following.report("starting", "running", "failed_user")


answers: list[str] = []


@pytest.mark.parametrize("more", [pytest.param(late, marks=ONE_KIND), resumed])
def test_what_comes_after_a_compaction_is_added(service, more):
    """The same reports, with and without compactions between them."""
    answers.clear()
    plain, compacted = ended(service), ended(service)
    more(plain)
    wanted = chunks(service, plain.id)
    with service.database.write() as session:  # the other run alone is compacted
        session.execute(update(Run).where(Run.id == plain.id).values(finished_at=None))
    compact(service)
    assert service.count(CompactedRun) == 1
    (first,) = objects(service)
    more(compacted)
    assert len(set(answers)) <= 1
    told = series(service, [plain.id], points=50).text

    def same() -> bool:
        found = series(service, [compacted.id], points=50).text
        return found.replace(compacted.id, plain.id) == told and chunks(service, compacted.id) == wanted

    with service.database.read() as session:
        left = select(func.count()).where(Chunk.run_id == compacted.id)
        assert session.scalar(left) > 0
        assert same()
    forget(service)
    assert same()
    compact(service)
    with service.database.read() as session:
        assert session.scalar(left) == 0
    assert same()
    assert service.count(CompactedRun) == 1
    assert first.exists() and len(objects(service)) == 2, "a request may read the former one"
    age(service, 7)
    look(service)
    assert not first.exists() and len(objects(service)) == 1 and service.count(LooseObject) == 0
    assert same()


class Killed(BaseException):
    """The process ends here."""


def put_nothing(monkeypatch):
    def put(self, key, file, *_):
        raise ObjectError("the disk is full")

    monkeypatch.setattr(FolderStore, "put", put)


def end_after_put(monkeypatch):
    stored = FolderStore.put

    def put(self, key, file, *_):
        stored(self, key, file)
        raise Killed

    monkeypatch.setattr(FolderStore, "put", put)


def end_before_record(monkeypatch):
    def record(*_):
        raise Killed

    monkeypatch.setattr(compacting, "_record", record)


def end_before_commit(monkeypatch):
    recorded = compacting._record

    def record(*args):
        assert recorded(*args)
        raise Killed

    monkeypatch.setattr(compacting, "_record", record)


def store_something_else(monkeypatch):
    stored = FolderStore.put

    def put(self, key, file, *_):
        stored(self, key, file)
        path = self.folder / key
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    monkeypatch.setattr(FolderStore, "put", put)


@pytest.mark.parametrize(
    "fault",
    [
        end_before_commit,
        *(
            pytest.param(each, marks=ONE_KIND)
            for each in (put_nothing, end_after_put, end_before_record, store_something_else)
        ),
    ],
)
def test_a_compaction_that_ends_early_changes_nothing(service, monkeypatch, fault):
    supervisor = ended(service)
    wanted, before = chunks(service, supervisor.id), service.count(Chunk)
    age(service)
    with monkeypatch.context() as patched, pytest.raises((Killed, ObjectError)):
        fault(patched)
        compacting.compact(service.database, supervisor.id)
    assert (service.count(Chunk), service.count(CompactedRun)) == (before, 0)
    assert chunks(service, supervisor.id) == wanted
    assert service.count(LooseObject) == 1
    left = objects(service)
    look(service, compact_after=None)
    assert objects(service) == left, "another process may still write it"
    age(service, 13)
    look(service, compact_after=None)
    assert objects(service) == [] and not any(path.exists() for path in left) and service.count(LooseObject) == 0
    compact(service)
    assert (service.count(Chunk), service.count(CompactedRun)) == (0, 1)
    assert chunks(service, supervisor.id) == wanted


def deliver(supervisor):
    late(supervisor)


def retry(supervisor):
    supervisor.service.client.post(f"/runs/{supervisor.id}/retry").raise_for_status()


def delete(supervisor):
    experiment = supervisor.service.run(supervisor.id)["experiment_id"]
    supervisor.service.client.delete(f"/experiments/{experiment}").raise_for_status()


def discard(supervisor):
    with supervisor.service.database.write() as session:
        session.execute(update(LooseObject).values(discarded=True))


@pytest.mark.parametrize(
    "meanwhile", [deliver, *(pytest.param(each, marks=ONE_KIND) for each in (retry, delete, discard))]
)
def test_what_happens_meanwhile_wins(service, monkeypatch, meanwhile):
    supervisor = ended(service)
    wanted = chunks(service, supervisor.id)
    stored = FolderStore.put

    def put(self, key, file, *_):
        stored(self, key, file)
        meanwhile(supervisor)

    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "put", put)
        assert not compacting.compact(service.database, supervisor.id)
    assert service.count(CompactedRun) == 0
    found = chunks(service, supervisor.id)
    assert len(found) == len(wanted) + (2 if meanwhile is deliver else 0)
    assert set(map(repr, wanted)) <= set(map(repr, found))
    age(service, 7)
    look(service, compact_after=None)
    assert objects(service) == [] and service.count(LooseObject) == 0


@ONE_KIND
def test_only_runs_that_ended_long_ago_and_are_silent_are_due(service):
    first, second, third = ended(service), ended(service), ended(service)
    running = reported(service)
    after = service.settings.compact_after

    def due() -> set[str]:
        with service.database.read() as session:
            return set(compacting.due(session, after))

    assert due() == set(), "they ended just now"
    age(service)
    assert due() == {first.id, second.id, third.id}
    late(second)
    delete(third)
    assert due() == {first.id}
    look(service, compact_after=None)
    assert service.count(CompactedRun) == 0, "it is switched off"
    look(service)
    assert due() == set() and service.count(CompactedRun) == 1
    assert not compacting.compact(service.database, running.id), "it has not ended"
    age(service)
    assert due() == {second.id}


@ONE_KIND
def test_an_import_is_compacted_unless_its_chunks_are_unusual(service):
    made = measured(service, PAIR)
    view = imported(service, exported(service, made["id"]))
    with service.database.write() as session:
        odd = session.scalars(
            select(Chunk).join(Run, Run.id == Chunk.run_id).where(Run.experiment_id == view["id"])
        ).first()
        odd.data = odd.data + b"\0"
        left = odd.run_id
    look(service)
    assert service.count(CompactedRun) == 0, "it was imported just now"
    age(service)
    points = service.client.get(f"/experiments/{view['id']}/points.csv").content
    look(service)
    forget(service)
    with service.database.read() as session:
        assert set(session.scalars(select(Chunk.run_id))) == {left}
    assert service.count(CompactedRun) == 3
    assert service.client.get(f"/experiments/{view['id']}/points.csv").content == points
