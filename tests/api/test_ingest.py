"""Ingest over real HTTP: what is stored, that replay changes nothing, and that faults store nothing."""

import gzip
import math
import random
import threading

import numpy as np
import pytest
from hooke.spec.events import Checkpointed, RankRecords, Steps
from hooke_api.models import Attempt, Checkpoint, Chunk, Event, LogBlock, RankTotals, StoredEvaluation
from hooke_api.storage.blocks import read
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC, Supervisor, done, lines, scored, start, steps
from tests.api.test_experiments import pointers, problem


def rank(number, *records):
    return RankRecords(rank=number, records=list(records))


def series(service, run, number, *names, attempt=1):
    """Return stored columns of a rank in order."""
    with service.database.read() as session:
        chunks = session.scalars(
            select(Chunk)
            .where(Chunk.run_id == run, Chunk.attempt == attempt, Chunk.rank == number)
            .order_by(Chunk.seq)
        ).all()
    parts = [read(c.n, c.header, c.data, names) for c in chunks]
    return [np.concatenate([part[name] for part in parts]).tolist() for name in names]


def everything(service):
    """Return all rows of all tables that ingest writes, but for times of receipt."""
    found = {}
    with service.database.read() as session:
        for model in (Chunk, StoredEvaluation, RankTotals, LogBlock, Checkpoint):
            rows = session.scalars(select(model)).all()
            names = [column.key for column in model.__table__.columns if column.key not in ("id", "position")]
            found[model.__tablename__] = sorted(repr([getattr(row, name) for name in names]) for row in rows)
    return found


@ONE_KIND
def test_steps_are_stored_as_they_were_sent(service):
    supervisor = service.launch()
    answer = supervisor.send(rank(0, start(), steps(1, n=3), steps(2, n=2, first=4)), rank(1, start()))
    assert answer.acknowledged == {0: 2, 1: 0}
    assert (answer.cancel, answer.fenced, answer.logs, answer.reports) == (False, False, -1, 0)
    stepped, loss, staleness = series(service, supervisor.id, 0, "step", "loss", "staleness")
    assert stepped == [1, 2, 3, 4, 5]
    assert loss == pytest.approx([1, 1 / 2, 1 / 3, 1, 1 / 2][:3] + [1 / 4, 1 / 5])
    assert all(map(math.isnan, staleness))
    assert service.count(Chunk) == 1  # blocks of one request become one chunk


@ONE_KIND
def test_a_supervisor_that_goes_on_behind_the_end_of_its_run_is_told_to_end(service):
    """Another run may have its cluster by now; one that only delivers what it wrote is left alone."""
    supervisor = service.launch()
    supervisor.report("starting", "running", "failed_user")
    assert supervisor.send(renew=False).cancel is False
    assert supervisor.send(renew=True).cancel is True
    assert service.run(supervisor.id)["state"] == "failed_user"


def test_a_column_only_some_blocks_have_is_nan_elsewhere(service):
    supervisor = service.launch()
    supervisor.send(rank(0, start(), steps(1, n=2), steps(2, n=2, first=3, staleness=[1.0, 2.0])))
    (staleness,) = series(service, supervisor.id, 0, "staleness")
    assert np.array_equal(staleness, [np.nan, np.nan, 1, 2], equal_nan=True)


def test_replay_changes_nothing(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    ranks = (rank(0, start(), steps(1), scored(2, 256, 0.5), steps(3, first=5)), rank(1, start(), steps(1)))
    first = supervisor.send(*ranks, logs=lines(0, 3))
    before = everything(service), service.run(supervisor.id)
    for _ in range(3):
        assert supervisor.send(*ranks, logs=lines(0, 3)) == first
    assert (everything(service), service.run(supervisor.id)) == before


@ONE_KIND
@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 12), max_size=8), seed=st.integers(0, 2**16))
def test_any_cut_and_repetition_gives_the_same_series(service, cuts, seed):
    """Journals arrive in slices that overlap, repeat and skip ahead; what is stored is the journal."""
    supervisor = service.launch()
    records = [start(), *(steps(seq, n=2, first=2 * seq - 1) for seq in range(1, 12)), done(12)]
    chance = random.Random(seed)
    acknowledged = -1
    for cut in cuts:
        begin = chance.randint(0, cut)
        answer = supervisor.send(rank(0, *records[begin : cut + 1]))
        if begin <= acknowledged + 1:
            acknowledged = max(acknowledged, cut)
        assert answer.acknowledged == {0: acknowledged}
    assert supervisor.send(rank(0, *records[acknowledged + 1 :])).acknowledged == {0: 12}
    assert series(service, supervisor.id, 0, "step") == [list(range(1, 23))]
    service.client.post(f"/runs/{supervisor.id}/cancel")
    supervisor.report("starting", "cancelled")


@ONE_KIND
def test_an_experiment_knows_its_number_of_training_items(service):
    supervisor = service.launch()

    def told():
        return service.get(f"/experiments/{service.run(supervisor.id)['experiment_id']}")["training_items"]

    assert told() is None
    supervisor.send(
        rank(1, start(notes={"training items": "7"})), rank(0, start(notes={"training items": "1294"}))
    )
    assert told() == 1294, "as rank 0 reported it"


@ONE_KIND
@pytest.mark.parametrize("notes", [{}, {"training items": "many"}, {"training items": "0"}])
def test_training_items_in_another_form_are_unknown(service, notes):
    supervisor = service.launch()
    supervisor.send(rank(0, start(notes=notes)))
    assert service.get(f"/experiments/{service.run(supervisor.id)['experiment_id']}")["training_items"] is None


@ONE_KIND
def test_a_gap_is_not_stored_and_not_acknowledged(service):
    supervisor = service.launch()
    assert supervisor.send(rank(0, start(), steps(1), steps(3, first=9))).acknowledged == {0: 1}
    assert supervisor.send(rank(0, steps(3, first=9))).acknowledged == {0: 1}
    assert series(service, supervisor.id, 0, "step") == [[1, 2, 3, 4]]
    assert supervisor.send(rank(0, steps(2, first=5), steps(3, first=9))).acknowledged == {0: 3}
    assert series(service, supervisor.id, 0, "step") == [list(range(1, 13))]
    assert supervisor.send(logs=lines(1, 3)).logs == -1
    assert supervisor.send(logs=lines(0, 1)).logs == 0


def test_totals_are_sums_until_the_rank_says_its_own(service):
    supervisor = service.launch()
    supervisor.send(rank(0, start(), steps(1, n=5)))
    supervisor.send(rank(0, steps(2, n=5, first=6)))
    totals = service.run(supervisor.id)["phases"][0]
    assert (totals["steps"], totals["payload"], totals["wire"], totals["messages"]) == (10, 10_000, 20_000, 30)
    assert totals["compute"] == pytest.approx(0.06)
    assert totals["wall"] == pytest.approx(0.1)
    supervisor.send(rank(0, done(3)))
    totals = service.run(supervisor.id)["phases"][0]
    assert (totals["compute"], totals["wall"], totals["hidden"], totals["steps"]) == (6.0, 10.0, 0.25, 100)
    # the mean over workers of 2 / (10 - 0.5)
    assert service.run(supervisor.id)["communication_fraction"] == pytest.approx(2 / 9.5)


def test_the_phase_in_which_tables_are_built_may_be_missing(service):
    """Of a rank without tables, or of an engine of before it existed: it has spent no time in it."""
    supervisor = service.launch()
    supervisor.send(rank(0, start(), steps(1, n=2)), rank(1, start(), steps(1, n=2, rebuild=[0.5, 0.25])))
    supervisor.send(rank(1, steps(2, n=1, first=3)))
    totals = service.run(supervisor.id)["phases"]
    assert [each["rebuild"] for each in totals] == [0, 0.75]
    assert totals[0]["compute"] == pytest.approx(0.012)
    phases = {"data": 1.0, "compute": 4.0, "communicate": 2.0, "update": 0.5, "evaluate": 0.5, "idle": 0.0}
    supervisor.send(rank(0, done(2)), rank(1, done(3, phases=phases | {"rebuild": 2.0})))
    totals = service.run(supervisor.id)["phases"]
    assert [(each["compute"], each["rebuild"]) for each in totals] == [(6, 0), (4, 2)]
    # exposed communication over the time without evaluations is what it was
    assert service.run(supervisor.id)["communication_fraction"] == pytest.approx(2 / 9.5)


@ONE_KIND
def test_a_server_does_not_count_in_the_communication_fraction(service):
    supervisor = service.launch(variants=SPEC["variants"][1:], baseline="original")
    assert service.run(supervisor.id)["servers"] == 1
    idle = np.full(4, 0.0)
    supervisor.send(
        rank(0, start(), steps(1)),
        rank(1, start(), steps(1)),
        rank(2, start(role="server"), steps(1, communicate=idle, loss=np.full(4, np.nan))),
    )
    assert service.run(supervisor.id)["communication_fraction"] == pytest.approx(0.2)


@ONE_KIND
def test_checkpoints_keep_path_size_and_hash(service):
    supervisor = service.launch()
    record = Checkpointed(seq=1, step=5, samples=320, path="checkpoints/5", bytes=12, sha256="a" * 64)
    supervisor.send(rank(0, start(), record))
    with service.database.read() as session:
        row = session.scalars(select(Checkpoint)).one()
    assert (row.step, row.path, row.bytes) == (5, "checkpoints/5", 12)


def test_events_carry_ids_and_figures(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1), scored(2, 256, 0.5)), logs=lines(0, 1))
    with service.database.read() as session:
        events = session.scalars(select(Event).order_by(Event.position)).all()
    assert [event.position for event in events] == list(range(1, len(events) + 1))
    points = events[-2] if events[-1].kind == "logs" else events[-1]
    assert points.kind == "points"
    assert set(points.data) == {"id", "experiment_id", "samples", "accuracy", "loss", "clock"}
    assert (points.data["samples"], points.data["accuracy"]) == (256, 0.5)
    runs = [event.data["state"] for event in events if event.kind == "run"]
    assert runs == ["dispatched", "starting", "running"]


@ONE_KIND
def test_a_rank_that_does_not_exist_is_refused(service):
    supervisor = service.launch()
    body = supervisor.request(rank(2, start())).model_dump_json().encode()
    assert pointers(supervisor.post(body)) == {"/ranks/0/rank"}
    assert service.count(RankTotals) == 0


def test_output_may_hold_any_character(service):
    supervisor = service.launch()
    odd = lines(0, 1)[0].model_copy(update={"text": "a\0b \x1b[31m ü 💥"})
    supervisor.send(logs=[odd])
    (line,) = service.get(f"/runs/{supervisor.id}/logs")["lines"]
    assert line["text"] == "a\N{REPLACEMENT CHARACTER}b \x1b[31m ü 💥"


def test_bodies_that_cannot_be_read(service):
    supervisor = service.launch()
    problem(supervisor.post(b"{"), 400)
    problem(supervisor.post(b"\x1f\x8b nonsense", content_encoding="gzip"), 400)
    problem(supervisor.post(gzip.compress(b"{}" * 100)[:20], content_encoding="gzip"), 400)
    problem(supervisor.post(b"{}", content_encoding="br"), 400)
    problem(supervisor.post(b"{}"), 422)


@ONE_KIND
def test_a_decompression_bomb_is_refused(service):
    supervisor = service.launch()
    bomb = gzip.compress(b" " * (service.settings.inflated_limit + 1))
    problem(supervisor.post(bomb, content_encoding="gzip"), 413)
    problem(supervisor.post(b" " * (service.settings.ingest_limit + 1)), 413)


@ONE_KIND
def test_tokens(service):
    supervisor = service.launch()
    body = supervisor.request().model_dump_json().encode()
    for token in ("x", service.settings.token, service.settings.agents):
        problem(supervisor.post(body, authorization=f"Bearer {token}"), 401)
    other = supervisor.request().model_copy(update={"run": "run_other"}).model_dump_json().encode()
    problem(supervisor.post(other), 401)
    later = supervisor.request().model_copy(update={"attempt": 2}).model_dump_json().encode()
    problem(supervisor.post(later), 401)
    with service.database.read() as session:
        attempt = session.scalars(select(Attempt)).one()
    assert supervisor.order.token not in repr(vars(attempt))  # only its hash is kept


@ONE_KIND
def test_reports_are_applied_once_and_illegal_ones_refused(service):
    supervisor = service.launch(retry={"attempts": 1})
    assert supervisor.report("starting").reports == 1
    assert supervisor.report("running", "running", "starting").reports == 4
    assert service.run(supervisor.id)["state"] == "running"
    supervisor.report("failed_infra", signal=9, rank=1, host="node7", exit_code=137)
    assert supervisor.report("running", "succeeded").reports == 7
    run = service.run(supervisor.id)
    assert run["state"] == "failed_infra"
    last = run["history"][-1]
    assert (last["signal"], last["rank"], last["host"], last["exit_code"]) == (9, 1, "node7", 137)
    assert [t["state"] for t in run["history"]] == ["queued", "dispatched", "starting", "running", "failed_infra"]


@ONE_KIND
def test_a_scheduler_s_further_reasons_for_waiting_are_in_the_history(service):
    supervisor = service.launch()
    supervisor.report("starting")
    supervisor.report("starting", why="job 7 waits in Slurm's queue: PENDING (Priority)")
    run = service.run(supervisor.id)
    assert run["state"] == "starting"
    assert [t["state"] for t in run["history"]] == ["queued", "dispatched", "starting", "starting"]
    assert run["history"][-1]["why"] == "job 7 waits in Slurm's queue: PENDING (Priority)"


@ONE_KIND
def test_data_after_the_end_is_still_stored(service):
    supervisor = service.launch()
    supervisor.report("starting", "running", "failed_user")
    assert supervisor.send(rank(0, start(), steps(1)), renew=False).acknowledged == {0: 1}
    assert service.run(supervisor.id)["samples"] == 256


def test_32_concurrent_writers_lose_and_double_nothing(service):
    """Every writer sends every request twice, at the same time as all others."""
    blocks, size, count = 5, 50, 32
    workers = {"clusters": [{"name": "local", "workers": [count], "seeds": 1}]}
    supervisor = service.launch(**workers)
    failures = []

    def write(number):
        own = Supervisor(service, supervisor.order)
        try:
            own.send(rank(number, start()))
            for block in range(blocks):
                record = steps(block + 1, n=size, first=block * size + 1, workers=count)
                for _ in range(2):
                    own.send(rank(number, record))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert service.count(Chunk) == count * blocks
    with service.database.read() as session:
        totals = session.scalars(select(RankTotals)).all()
        positions = session.scalars(select(Event.position).order_by(Event.position)).all()
    assert [(row.steps, row.stored, row.messages) for row in totals] == [(250, 5, 750)] * count
    assert positions == list(range(1, len(positions) + 1))
    assert sum(event == "points" for event in _kinds(service)) == count * blocks


def _kinds(service):
    with service.database.read() as session:
        return session.scalars(select(Event.kind)).all()


@ONE_KIND
def test_redis_down_after_the_commit_is_harmless(service):
    """The commit is the promise; the hint after it may be lost."""
    assert service.app.state.bus.answers() is not None  # there is no Redis at all in these tests
    supervisor = service.launch()
    assert supervisor.send(rank(0, start(), steps(1))).acknowledged == {0: 1}


def test_a_crash_between_commit_and_publish_is_harmless(service, monkeypatch):
    supervisor = service.launch()

    def crash(position, wake):
        raise SystemError("killed here")

    monkeypatch.setattr(service.database, "_committed", crash)
    body = supervisor.request(rank(0, start(), steps(1))).model_dump_json().encode()
    problem(supervisor.post(body), 500)
    monkeypatch.undo()
    assert supervisor.send(rank(0, start(), steps(1))).acknowledged == {0: 1}
    assert series(service, supervisor.id, 0, "step") == [[1, 2, 3, 4]]
    assert _kinds(service).count("points") == 1


@ONE_KIND
def test_steps_of_any_rank_need_no_start(service):
    """A rank whose first record was lost to a disk is not stored: seq 0 is missing."""
    supervisor = service.launch()
    assert supervisor.send(rank(1, steps(1))).acknowledged == {1: -1}
    assert service.count(Chunk) == 0


def test_sizes_of_blocks(service):
    supervisor = service.launch()
    big = Steps.model_validate_json(steps(1, n=4096).model_dump_json())
    assert supervisor.send(rank(0, start(), big)).acknowledged == {0: 1}
    assert len(series(service, supervisor.id, 0, "clock")[0]) == 4096
