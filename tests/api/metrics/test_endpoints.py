"""Series and bands over HTTP, on both databases, from records that a supervisor sent."""

import csv
import io
import math

import numpy as np
import pytest
from hooke.spec.events import Dropped, RankRecords

from tests.api.conftest import Supervisor, done, scored, start, steps
from tests.api.databases import ONE_KIND

COLUMNS = ("x", "mean", "low", "high", "n")


def ship(supervisor: Supervisor, rank: int, *records) -> None:
    supervisor.send(RankRecords(rank=rank, records=list(records)))


@pytest.fixture
def running(service) -> Supervisor:
    """A running run of two workers: rank 0 has done 8 steps, rank 1 has done 6."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    ship(
        supervisor,
        0,
        start(),
        scored(1, 0, 0.1),
        steps(2, 4),
        scored(3, 256, 0.5),
        steps(4, 4, first=5),
        scored(5, 512, 0.75),
    )
    ship(supervisor, 1, start(), steps(1, 6, loss=np.full(6, 3.0)))
    return supervisor


def series(service, run: str, metric: str, axis: str = "clock", points: int = 500) -> dict:
    answer = service.client.post(
        "/series", json={"runs": [run], "metrics": [metric], "axis": axis, "points": points}
    )
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["axis"] == axis and len(found["series"]) == 1
    return found["series"][0] | {"unit": found["unit"]}


@ONE_KIND
def test_train_loss_is_the_mean_over_workers_as_far_as_all_have_reported(service, running):
    found = series(service, running.id, "train_loss", "step")
    assert found["x"] == [1, 2, 3, 4, 5, 6]
    assert found["y"] == pytest.approx([(1 / s + 3) / 2 for s in range(1, 7)], rel=1e-6)
    assert (found["n"], found["of"], found["run"], found["unit"]) == (6, 6, running.id, "steps per worker")


@ONE_KIND
def test_the_bytes_of_all_ranks_are_a_metric_and_an_axis(service, running):
    found = series(service, running.id, "bytes_sent", "samples")
    assert found["y"] == [4000.0 * s for s in range(1, 7)]
    assert found["y"] == series(service, running.id, "train_loss", "bytes")["x"]
    assert found["x"] == [64.0 * s for s in range(1, 7)]
    experiment = service.run(running.id)["experiment_id"]
    answer = service.get(f"/experiments/{experiment}/bands", metric="bytes_sent", axis="samples")
    [band, *_] = answer["bands"]
    assert dict(zip(band["x"], band["mean"], strict=True))[64.0] == 4000.0


@ONE_KIND
def test_every_axis(service, running):
    for axis, step, unit in (
        ("clock", 0.01, "s"),
        ("wall", 0.01, "s"),
        ("samples", 64, "samples"),
        ("step", 1, "steps per worker"),
        ("bytes", 4000, "bytes"),
    ):
        found = series(service, running.id, "communication_fraction", axis)
        assert found["x"] == pytest.approx([step * s for s in range(1, 7)])
        assert found["y"] == pytest.approx([0.2] * 6, rel=1e-6)
        assert found["unit"] == unit
        assert series(service, running.id, "throughput", axis)["y"] == pytest.approx([6400] * 6)


def test_all_points_as_a_table(service, running):
    """Not downsampled: the six rows that both workers have reported, and the three evaluations."""
    path = f"/experiments/{service.run(running.id)['experiment_id']}/points.csv"
    answer = service.client.get(path)
    assert answer.headers["content-type"].startswith("text/csv")
    rows = [row for row in csv.DictReader(io.StringIO(answer.text)) if row["run"] == running.id]
    losses = [row for row in rows if row["metric"] == "train_loss"]
    expected = [(1 / s + 3) / 2 for s in range(1, 7)]
    assert [float(row["value"]) for row in losses] == pytest.approx(expected, rel=1e-6)
    assert [float(row["samples"]) for row in losses] == [64 * s for s in range(1, 7)]
    assert [float(row["clock_s"]) for row in losses] == pytest.approx([0.01 * s for s in range(1, 7)])
    scores = [row for row in rows if row["metric"] == "validation_accuracy"]
    assert [float(row["value"]) for row in scores] == pytest.approx([0.1, 0.5, 0.75])
    only = service.client.get(path, params={"metric": "staleness"}).text
    assert len(only.splitlines()) == 1, "a head, and no points"
    assert service.client.get("/experiments/exp_none/points.csv").status_code == 404
    mine = service.client.get(path, params={"run": running.id})
    assert list(csv.DictReader(io.StringIO(mine.text))) == rows
    assert mine.headers["content-disposition"] == f'attachment; filename="points-{running.id}.csv"'
    assert service.client.get(path, params={"run": "run_none"}).status_code == 404


@ONE_KIND
def test_a_step_of_several_batches_counts_their_samples(service):
    """Batch 32, two workers, two gradients per step: 128 samples."""
    variant = {"name": "original", "algorithm": "sync-easgd", "parameters": {"accumulation": 2}}
    supervisor = service.launch(variants=[variant], baseline="original")
    supervisor.report("starting", "running")
    for rank in (0, 1):
        ship(supervisor, rank, start(), steps(1, 4, samples=128.0 * np.arange(1, 5)))
    assert series(service, supervisor.id, "train_loss", "step")["x"] == [1, 2, 3, 4]


@ONE_KIND
def test_evaluations_on_every_axis(service, running):
    for axis, expected in (
        ("clock", [0, 0.256, 0.512]),
        ("wall", [0, 256 / 900, 512 / 900]),
        ("samples", [0, 256, 512]),
        ("step", [0, 4, 8]),
        ("bytes", [0, 16_000]),  # rank 1 has not yet said what it sent up to 512 samples
    ):
        found = series(service, running.id, "validation_accuracy", axis)
        assert found["x"] == pytest.approx(expected)
        assert found["y"] == pytest.approx([0.1, 0.5, 0.75][: len(expected)])


@ONE_KIND
def test_new_points_follow_on_the_old_ones(service, running):
    before = series(service, running.id, "train_loss", "step")
    ship(running, 1, steps(2, 4, first=7, loss=np.full(4, 3.0)))
    after = series(service, running.id, "train_loss", "step")
    assert after["x"][:6] == before["x"] and after["y"][:6] == before["y"]
    assert after["x"] == list(range(1, 9))
    assert series(service, running.id, "validation_accuracy", "bytes")["x"] == [0, 16_000, 32_000]


def test_gaps_are_null_and_staleness_has_points_only_where_known(service, running):
    ship(
        running, 1, steps(2, 2, first=7, loss=np.array([math.nan, math.inf]), staleness=np.array([3.0, math.nan]))
    )
    assert series(service, running.id, "train_loss", "step")["y"][6:] == [None, None]
    found = series(service, running.id, "staleness", "step")
    assert (found["x"], found["y"]) == ([7], [3.0])


@ONE_KIND
def test_at_most_so_many_points_and_the_spike_is_among_them(service, running):
    loss = np.ones(3000)
    loss[1234] = 99.0
    ship(running, 0, steps(6, 3000, first=9, loss=loss))
    ship(running, 1, steps(2, 3000, first=7, loss=loss))
    found = series(service, running.id, "train_loss", "step", points=64)
    assert found["n"] == len(found["x"]) == len(found["y"]) <= 64
    assert found["of"] == 3006
    assert found["x"][0] == 1 and found["x"][-1] == 3006
    assert max(found["y"]) == 50.0


@ONE_KIND
@pytest.mark.parametrize(
    ("algorithm", "has_server", "expected"),
    [
        ("sync-sgd", False, [5.5, 11]),
        ("sync-easgd1", True, [5.5, 11]),  # a server, and in lockstep: step s of both
        ("original-easgd", True, [1.5, 3.5]),
        ("hogwild-sgd", False, [1.5, 3.5]),  # no server, and not in lockstep: what was done first
    ],
)
def test_a_row_is_a_round_as_the_pace_says(service, algorithm, has_server, expected):
    """Worker 1 begins its steps when worker 0 has done four: only where all go together do they meet in a row."""
    supervisor = service.launch(variants=[{"name": "one", "algorithm": algorithm}], baseline="one")
    supervisor.report("starting", "running")
    late = {"wall": np.array([0.05, 0.06]), "loss": np.array([10.0, 20.0])}
    ship(supervisor, 0, start(), steps(1, 4, loss=np.array([1.0, 2.0, 3.0, 4.0])))
    ship(supervisor, 1, start(), steps(1, 2, **late))
    if has_server:
        ship(supervisor, 2, start(role="server"), steps(1, 1, loss=np.array([math.nan])))
    assert series(service, supervisor.id, "train_loss", "step")["y"][:2] == pytest.approx(expected)


@ONE_KIND
@pytest.mark.parametrize("bad", [0, 1])
def test_the_live_curve_goes_on_without_a_worker_that_left(service, bad):
    """Worker 0 writes the evaluations of a lock-free method, and goes on doing so when it has left."""
    variants = [{"name": "one", "algorithm": "hogwild-sgd"}]
    supervisor = service.launch(variants=variants, baseline="one", on_bad_worker="drop")
    supervisor.report("starting", "running")
    other = 1 - bad
    late = {"wall": np.arange(1, 9) * 0.01 + 0.001}
    ship(supervisor, other, start(), steps(1, 8, loss=np.full(8, 1.0), **late))
    ship(supervisor, bad, start(), steps(1, 2, loss=np.full(2, 3.0)))
    assert len(series(service, supervisor.id, "train_loss")["x"]) == 1, "it may have more to say"
    ship(supervisor, 0, Dropped(seq=2, worker=bad, step=3, why="NaN or Inf"))
    assert len(series(service, supervisor.id, "train_loss")["x"]) == 1, "its third step is on its way"
    ship(supervisor, bad, steps(2 + (bad == 0), 1, first=3, loss=np.full(1, 3.0)))
    found = series(service, supervisor.id, "train_loss")
    assert found["y"] == [2.0, 2.0, 2.0, 1.0, 1.0]
    assert found["x"] == pytest.approx([0.01, 0.02, 0.03, 0.05, 0.07])
    ship(supervisor, 0, scored(3 + (bad == 0), 256, 0.5))
    assert series(service, supervisor.id, "validation_accuracy", "samples")["x"] == [256]
    ship(supervisor, other, steps(2 + 2 * (other == 0), 2, first=9, loss=np.full(2, 5.0)))
    assert series(service, supervisor.id, "train_loss")["y"][5:] == [3.0]
    assert len(series(service, supervisor.id, "validation_accuracy", "bytes")["x"]) == 1


def test_the_pace_is_what_the_cluster_said_of_it(service):
    """A user's own method of the name `mine` without a server: free on this cluster, so not in lockstep."""
    service.hello(
        algorithms=[{"name": "mine", "coordination": "lock-free", "origin": "file", "schema": {}}], workloads=[]
    )
    supervisor = service.launch(variants=[{"name": "one", "algorithm": "mine"}], baseline="one")
    supervisor.report("starting", "running")
    ship(supervisor, 0, start(), steps(1, 4, loss=np.array([1.0, 2.0, 3.0, 4.0])))
    ship(supervisor, 1, start(), steps(1, 2, wall=np.array([0.05, 0.06]), loss=np.array([10.0, 20.0])))
    assert series(service, supervisor.id, "train_loss", "step")["y"][:2] == pytest.approx([1.5, 3.5])


@ONE_KIND
def test_a_new_attempt_hides_what_it_supersedes(service, running):
    second = Supervisor(service, running.order.model_copy(update={"attempt": 2, "token": "second"}))
    _begin_attempt(service, running.id)
    ship(second, 0, start(restored_step=4), steps(1, 3, first=5, loss=np.full(3, 7.0)), scored(2, 448, 0.9))
    ship(second, 1, start(restored_step=4), steps(1, 3, first=5, loss=np.full(3, 7.0)))
    found = series(service, running.id, "train_loss", "step")
    assert found["x"] == [1, 2, 3, 4, 5, 6, 7]
    assert found["y"] == pytest.approx([(1 / s + 3) / 2 for s in range(1, 5)] + [7, 7, 7], rel=1e-6)
    accuracy = series(service, running.id, "validation_accuracy", "samples")
    assert (accuracy["x"], accuracy["y"]) == ([0, 256, 448], [0.1, 0.5, 0.9])


def _begin_attempt(service, run: str) -> None:
    from hooke_api.base.security import digest
    from hooke_api.models import Attempt, AttemptToken, Run, now

    with service.database.write() as session:
        session.get_one(Run, run).attempt = 2
        session.add(Attempt(run_id=run, number=2, created_at=now()))
        session.add(AttemptToken(token_sha256=digest("second"), run_id=run, attempt=2, created_at=now()))


SYNC = {"variants": [{"name": "sync", "algorithm": "sync-sgd"}], "baseline": "sync"}


def test_bands_over_seeds(service):
    made = service.submit(clusters=[{"name": "local", "workers": [2], "seeds": 3}], **SYNC)
    service.scheduler.look()
    for seed, (order, length) in enumerate(zip(service.line.launched[0][1], (8, 8, 4), strict=True)):
        supervisor = Supervisor(service, order)
        supervisor.report("starting", "running")
        for rank in (0, 1):
            ship(supervisor, rank, start(), steps(1, length, loss=np.full(length, float(seed))))
        if seed < 2:
            ship(supervisor, 0, done(2))
            ship(supervisor, 1, done(2))
            supervisor.report("succeeded")
    query = {"metric": ["train_loss", "validation_accuracy"], "axis": "samples", "points": 64}
    answer = service.get(f"/experiments/{made['id']}/bands", **query)
    assert answer["unit"] == "samples"
    loss, accuracy = answer["bands"]
    place = [loss[name] for name in ("variant", "cluster", "workers", "metric", "simulated")]
    assert place == ["sync", "local", 2, "train_loss", False]
    assert len(loss["runs"]) == 3 and accuracy["runs"] == [] and accuracy["x"] == []
    columns = [loss[name] for name in ("mean", "low", "high", "n")]
    at = dict(zip(loss["x"], zip(*columns, strict=True), strict=True))
    assert set(range(64, 513, 64)) <= set(at)  # every step is a grid point
    mean, low, high, n = at[256]
    assert (mean, n) == (1.0, 3)
    assert (low, high) == pytest.approx((1 - 2.4841377, 1 + 2.4841377), rel=1e-6)  # 4.302653 / sqrt 3
    assert at[320][0] == 0.5 and at[320][3] == 2  # the third seed is not carried on
    assert answer["position"] == _newest(service)


def _newest(service) -> int:
    from hooke_api.models import Event
    from sqlalchemy import func, select

    with service.database.read() as session:
        return session.scalar(select(func.max(Event.position)))


@ONE_KIND
def test_an_experiment_without_points_has_bands_without_points(service):
    made = service.submit()
    answer = service.get(f"/experiments/{made['id']}/bands")
    assert [(b["variant"], b["x"], b["n"]) for b in answer["bands"]] == [("sync", [], []), ("original", [], [])]


@ONE_KIND
def test_bad_queries_point_to_the_field(service):
    loss = ["train_loss"]
    for body, pointer in (
        ({"runs": [], "metrics": loss}, "/runs"),
        ({"runs": ["a"], "metrics": []}, "/metrics"),
        ({"runs": ["a"], "metrics": ["P@3"]}, "/metrics/0"),
        ({"runs": ["a"], "metrics": loss, "axis": "epoch"}, "/axis"),
        ({"runs": ["a"], "metrics": loss, "points": 3}, "/points"),
        ({"runs": ["a\0"], "metrics": loss}, "/runs/0"),
        ({"runs": ["a"] * 500, "metrics": loss, "points": 9000}, ""),
        ({"runs": ["a"], "metrics": loss, "colour": "red"}, "/colour"),
    ):
        answer = service.client.post("/series", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert pointer in {fault["pointer"] for fault in answer.json()["errors"]}


@ONE_KIND
def test_unknown_runs_and_experiments_are_404(service):
    answer = service.client.post("/series", json={"runs": ["run_none"], "metrics": ["train_loss"]})
    assert answer.status_code == 404 and "run_none" in answer.json()["detail"]
    assert service.client.get("/experiments/exp_none/bands").status_code == 404
    assert service.client.get("/experiments/exp_none/comparison").status_code == 404


def merged(old: dict, answer: dict) -> list[list]:
    """Return the columns of every band as a client has them after an increment, from those before it."""
    assert answer["since"] == old["version"]
    changed = {(band["variant"], band["metric"]): band for band in answer["bands"]}
    found = []
    for before in old["bands"]:
        band = changed.get((before["variant"], before["metric"]))
        head, tail = (band["kept_before"], band["kept_after"]) if band else (len(before["x"]), 0)
        own = {name: band[name] if band else [] for name in COLUMNS}
        found.append([before[n][:head] + own[n] + before[n][len(before[n]) - tail :] for n in COLUMNS])
    return found


@ONE_KIND
def test_bands_come_as_increments_to_who_says_what_it_has(service, running):
    address = f"/experiments/{service.run(running.id)['experiment_id']}/bands"
    first = service.get(address, metric=["validation_accuracy", "validation_loss"])
    assert first["since"] is None and first["version"]
    ship(running, 0, scored(6, 768, 0.8))
    grown = service.get(address, metric=["validation_accuracy", "validation_loss"], since=first["version"])
    whole = service.get(address, metric=["validation_accuracy", "validation_loss"])
    assert whole["version"] == grown["version"] != first["version"]
    expected = [[band[name] for name in COLUMNS] for band in whole["bands"]]
    assert merged(first, grown) == expected
    assert sum(len(band["x"]) for band in grown["bands"]) < sum(len(band["x"]) for band in whole["bands"])
    nothing = service.get(address, metric=["validation_accuracy", "validation_loss"], since=whole["version"])
    assert nothing["bands"] == []
    assert merged(whole, nothing) == expected
    forgotten = service.get(address, since="of-another-server")
    assert forgotten["since"] is None and forgotten["bands"][0]["kept_before"] == 0
