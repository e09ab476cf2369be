"""Numbers and accuracies of evaluations that are kept: those of the rows, without reading these again."""

import pytest
from hooke.spec.states import RunState
from hooke_api.metrics import thinning
from hooke_api.models import RankTotals, Run, StoredEvaluation, ThinnedSeries
from hooke_api.storage import evaluated
from hooke_api.storage.database import Database
from sqlalchemy import delete, select, update

from tests.api.databases import ONE_KIND
from tests.api.metrics.delivered import Delivered, add_experiment, count_record


@pytest.fixture
def run(database):
    """Return a run with three evaluations."""
    made = Delivered(database, add_experiment(database), "sync-sgd", 2)
    for rank in (0, 1):
        made.write(rank, 10, seed=1)
        made.deliver(rank, 10)
    for samples, loss in ((16, 0.5), (32, 0.2), (48, 0.4)):
        made.score(samples, loss)
    return made


def known(database, run: str):
    with database.read() as session:
        return evaluated.counts(session, [run])[run], evaluated.accuracies(session, [run])[run]


def spoil(database) -> None:
    """Change all evaluations without a record: what is read again is another one."""
    with database.write() as session:
        session.execute(update(StoredEvaluation).values(accuracy=7.0))


def another(database) -> Database:
    """Return the same database as another process has it."""
    return Database(database.url)


def change(database, run: str, **values) -> None:
    with database.write() as session:
        session.execute(update(Run).where(Run.id == run).values(**values))


def test_every_record_counts(database, run):
    assert known(database, run.id) == (3, (None, 0.8))
    run.score(64, 0.1)
    assert known(database, run.id) == (4, (None, 0.9))
    change(database, run.id, time_to_target=0.032)
    with database.write() as session:
        met = (StoredEvaluation.run_id == run.id, StoredEvaluation.samples == 32)
        session.execute(update(StoredEvaluation).where(*met).values(reached=True))
        count_record(session, run.id)
    assert known(database, run.id) == (4, (0.8, 0.9))


def test_of_attempts_those_count_that_the_run_goes_on_from(database, run):
    """Attempt 1 came to 0.9 at 64 samples; attempt 2 went on at 48 and came to 0.7 at 64; attempt 3 began anew."""
    run.score(64, 0.1)
    run.again(restored=3)
    run.begin((0, 1))
    run.score(64, 0.3)
    assert known(database, run.id) == (5, (None, 0.8))
    run.again(restored=None)
    run.begin((0, 1))
    change(database, run.id, resume_from=3)
    assert known(database, run.id) == (5, (None, None))
    run.score(16, 0.6)
    assert known(database, run.id) == (6, (None, 0.4))


@ONE_KIND
def test_they_are_read_once(database, run):
    assert known(database, run.id) == (3, (None, 0.8))
    spoil(database)
    assert known(database, run.id) == (3, (None, 0.8))
    with database.read() as session:
        assert evaluated.accuracies(session, ["nobody"]) == {"nobody": (None, None)}


@ONE_KIND
def test_of_ended_runs_another_process_reads_a_row(database, run):
    run.end(RunState.SUCCEEDED)
    assert thinning.store(database, run.id)
    spoil(database)
    other = another(database)
    assert known(other, run.id) == (3, (None, 0.8))
    count = select(RankTotals.stored).where(RankTotals.run_id == run.id, RankTotals.rank == 0)
    with other.read() as session:
        before = session.scalar(count)
    run.score(64, 0.1)
    with other.read() as session:
        assert session.scalar(count) == before + 1
    assert known(other, run.id) == (4, (None, 7.0)), "the row is of other data"
    other.close()


@ONE_KIND
def test_without_the_row_they_are_read(database, run):
    run.end(RunState.SUCCEEDED)
    assert thinning.store(database, run.id)
    with database.write() as session:
        session.execute(delete(ThinnedSeries).where(ThinnedSeries.most == evaluated.MOST))
    spoil(database)
    other = another(database)
    assert known(other, run.id) == (3, (None, 7.0))
    other.close()


@ONE_KIND
def test_what_was_rolled_back_is_not_kept(database, run):
    """A transaction that fails has seen an accuracy of 0.9 under the mark that another record gets afterwards."""

    def fails():
        with database.write() as session:
            place = {"run_id": run.id, "attempt": 1, "rank": 0, "seq": 7, "step": 1, "samples": 64, "clock": 1.0}
            session.add(StoredEvaluation(**place, wall=1.0, loss=0.1, accuracy=0.9, seconds=0.0, reached=False))
            count_record(session, run.id)
            session.flush()
            assert evaluated.accuracies(session, [run.id])[run.id] == (None, 0.9)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    run.score(64, 0.6)
    assert known(database, run.id) == (4, (None, 0.8))
