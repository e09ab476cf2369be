"""What fails while runs are compacted: told, tried again, and no harm to other runs or to the disk."""

from contextlib import contextmanager

import pytest
from hooke_api.metrics.compactor import Compactor
from hooke_api.models import Chunk, CompactedRun, LooseObject, now
from hooke_api.storage import compacting
from hooke_api.storage.objects import DamagedObject, FolderStore, ObjectError
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.objects.compaction import age, chunks, forget, look, objects, warnings
from tests.api.objects.test_compacting import ended, put_nothing


@ONE_KIND
def test_a_fault_of_the_store_is_told_and_tried_again(service, monkeypatch):
    supervisor = ended(service)
    age(service)
    compactor = Compactor(service.database, service.settings)
    compactor.ended.set()
    compactor.lives = lambda: True
    with monkeypatch.context() as patched:
        put_nothing(patched)
        compactor.look()
        assert compactor.fault() is None
    (warning,) = warnings(service)
    assert warning.startswith("the steps of 1 run cannot be compacted")
    assert supervisor.id not in warning, "no credential is needed to read it"
    compactor.look()
    assert service.count(CompactedRun) == 0, "not before ten minutes have passed"
    compactor._not_before.clear()
    compactor.look()
    compactor.close()
    assert service.count(CompactedRun) == 1
    assert warnings(service) == []


@ONE_KIND
def test_a_run_that_cannot_be_moved_keeps_no_other_and_leaves_nothing(service, monkeypatch):
    """Whatever fails, and however often: the disk must not fill up with objects that no run has."""
    first, second = ended(service), ended(service)
    recorded = compacting._record

    def record(session, run, *rest):
        if run == first.id:
            raise MemoryError
        return recorded(session, run, *rest)

    monkeypatch.setattr(compacting, "_record", record)
    age(service)
    compactor = Compactor(service.database, service.settings)
    compactor.ended.set()
    compactor.lives = lambda: True
    for _ in range(3):
        compactor._not_before.clear()
        compactor.look()
    compactor.close()
    with service.database.read() as session:
        assert session.scalars(select(CompactedRun.run_id)).all() == [second.id]
    assert len(objects(service)) == 1, "that of the other run"
    assert len(warnings(service)) == 1 and len(chunks(service, first.id)) == 3
    age(service, 7)
    look(service, compact_after=None)
    assert service.count(LooseObject) == 0


@ONE_KIND
def test_an_object_whose_commit_is_in_doubt_is_not_removed(service, monkeypatch):
    """The transaction was committed, and the answer to that got lost."""
    supervisor = ended(service)
    wanted = chunks(service, supervisor.id)
    whole, lost = service.database.write, []

    @contextmanager
    def write():
        with whole() as session:
            yield session
            recorded = session.scalars(select(CompactedRun.run_id)).first() is not None
        if recorded and not lost:
            lost.append(True)
            raise OSError("the connection was closed")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="connection"):
        patched.setattr(service.database, "write", write)
        compacting.compact(service.database, supervisor.id)
    assert (service.count(Chunk), service.count(CompactedRun)) == (0, 1)
    forget(service)
    assert chunks(service, supervisor.id) == wanted


@ONE_KIND
def test_a_compaction_is_seen_to_live_while_its_object_is_on_the_way(service, monkeypatch):
    supervisor = ended(service)
    asked, whole = [], FolderStore.put

    def put(self, key, file, step):
        before = len(asked)
        whole(self, key, file, step)
        assert len(asked) > before

    monkeypatch.setattr(FolderStore, "put", put)
    assert compacting.compact(service.database, supervisor.id, lambda: asked.append(1) is None)


@ONE_KIND
def test_an_object_that_has_to_stay_keeps_no_other(service, monkeypatch):
    """A bucket may refuse to remove one of them."""
    with service.database.write() as session:
        for name in ("ab/run_1.a", "ab/run_1.b", "ab/run_1.c"):
            session.add(LooseObject(key=name, at=now(), discarded=True))
    removed = FolderStore.delete

    def delete(self, key):
        if key.endswith("b"):
            raise ObjectError("it is locked")
        removed(self, key)

    age(service, 7)
    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "delete", delete)
        look(service)
    with service.database.read() as session:
        assert session.scalars(select(LooseObject.key)).all() == ["ab/run_1.b"]
    assert "cannot be removed" in warnings(service)[0] and "locked" not in warnings(service)[0]
    look(service)
    assert service.count(LooseObject) == 0 and warnings(service) == []


@ONE_KIND
def test_a_run_that_cannot_be_compared_stays_as_it_is(service, monkeypatch):
    supervisor = ended(service)
    wanted = chunks(service, supervisor.id)
    real = compacting._tell
    calls = []

    def tell(told, chunk):
        calls.append(chunk)
        real(told, chunk._replace(seq=chunk.seq + (len(calls) == len(wanted) + 1)))

    monkeypatch.setattr(compacting, "_tell", tell)
    with pytest.raises(DamagedObject, match="does not have the steps that it was made of"):
        compacting.compact(service.database, supervisor.id)
    assert chunks(service, supervisor.id) == wanted and service.count(CompactedRun) == 0
