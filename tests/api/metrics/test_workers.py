"""What each worker of a run did, by hand and over HTTP."""

import csv
import io

import numpy as np
import pytest
from hooke.spec.events import RankRecords
from hooke.trace.phases import PHASES
from hooke_api.metrics.worker_times import PARTS, kinds_of, over_time_of, samples_of_a_step
from hooke_api.metrics.workers import updates_of

from tests.api.conftest import done, start, steps
from tests.api.databases import ONE_KIND


def rows(**columns):
    return {name: np.array(values, dtype=float) for name, values in columns.items()}


def test_an_update_has_the_steps_since_the_one_before():
    own = rows(wall=[1, 2, 3, 4, 5, 6], joined=[-1] * 6)
    served = rows(wall=[0, 2.5, 2.6, 3.5, 9], worker=[0, 0, 1, 0, 0], staleness=[np.nan, 0, 3, 1, 2])
    found = updates_of(0, own, served)
    assert found.wall.tolist() == [2.5, 3.5, 9]
    assert found.steps.tolist() == [2, 1, 3]
    assert found.staleness.tolist() == [0, 1, 2]
    assert updates_of(1, rows(wall=[2.5], joined=[-1]), served).steps.tolist() == [1]


def test_an_exchange_may_bring_several_updates():
    """The worker's rows say where each begins; the first is the rest of one from before a restart."""
    own = rows(wall=[1, 2, 3, 4, 5, 6], joined=[1, 0, 1, 0, 0, 1])
    found = updates_of(0, own, rows(wall=[0, 6], worker=[0, 0], staleness=[np.nan, np.nan]))
    assert found.wall.tolist() == [3, 4, 6]
    assert found.steps.tolist() == [2, 1, 2]
    assert np.isnan(found.staleness).all()


def test_a_run_that_an_earlier_version_began_keeps_the_updates_until_then():
    """Its server wrote an exchange for each; the first row of the later attempt is the rest of one."""
    own = rows(wall=[1, 2, 3, 4, 5, 6, 7], joined=[-1, -1, -1, 1, 0, 0, 1])
    served = rows(wall=[0, 2, 3, 7], worker=[0, 0, 0, 0], staleness=[np.nan, 1, 2, np.nan])
    found = updates_of(0, own, served)
    assert found.wall.tolist() == [2, 3, 5, 7]
    assert found.steps.tolist() == [2, 1, 1, 2]
    assert found.staleness[:2].tolist() == [1, 2] and np.isnan(found.staleness[2:]).all()


def own_rows(wall, **phases):
    return rows(wall=wall, **({str(phase): [0] * len(wall) for phase in PHASES} | phases))


def test_parts_of_time_by_hand():
    """Four steps: 1 s, 1 s, 2 s of which 1 s is an evaluation, and 4 s of evaluation alone."""
    own = own_rows([1, 2, 4, 8], compute=[0.5, 1, 1, 0], idle=[0.5, 0, 0, 0], evaluate=[0, 0, 1, 4])
    found = over_time_of(own)
    assert found.ends.tolist() == [2, 4, 6, 8]
    np.testing.assert_allclose(found.computing, [0.75, 1, np.nan, np.nan])
    np.testing.assert_allclose(found.steps, [1, 1, np.nan, np.nan])


def test_an_evaluation_after_the_last_step_is_not_taken_from_its_time():
    """It is in the row of the step, whose end is that of the step."""
    found = over_time_of(own_rows([1, 2], compute=[0.5, 0.5], idle=[0.5, 0.5], evaluate=[0, 30]))
    np.testing.assert_allclose(found.computing, [0.5, 0.5])


def test_the_parts_add_up_to_the_whole():
    random = np.random.default_rng(0)
    compute, idle = random.uniform(0.1, 1, 500), random.uniform(0, 1, 500)
    wall = 7 + np.cumsum(compute + idle)  # as of an attempt that goes on from a checkpoint
    found = over_time_of(own_rows(wall, compute=compute, idle=idle))
    assert len(found.ends) == PARTS and found.ends[-1] == pytest.approx(wall[-1])
    seconds = np.diff(found.ends, prepend=7)
    assert (found.computing * seconds).sum() == pytest.approx(compute.sum())
    assert (found.steps * seconds).sum() == pytest.approx(500)
    assert len(over_time_of(own_rows([])).ends) == 0


def test_kinds_are_written_as_in_the_form():
    threads = {"kind": "hogwild-cpu", "threads": 8, "sub_batches": 16}
    slow = {"kind": "cpu", "count": 2, "speed": 0.5, "precision": "bf16"}
    assert kinds_of({"groups": [threads, slow]}, 3) == ["hogwild-cpu:8/16", "cpu@0.5+bf16", "cpu@0.5+bf16"]
    changes = [{"at": 30, "speed": 0.5}, {"at": 60, "over": 60, "speed": 0.8}]
    unsteady = {"kind": "cpu", "changes": changes, "straggling": 0.02, "straggling_factor": 20}
    usual = {"kind": "cpu", "straggling": 0.1}
    assert kinds_of({"groups": [unsteady, usual]}, 2) == ["cpu~30:0.5~60+60:0.8!0.02*20", "cpu!0.1"]
    assert kinds_of({"virtual": {"devices": [{"kind": "v100"}, {"kind": "cpu-28"}]}}, 2) == ["v100", "cpu-28"]
    assert kinds_of({"virtual": None}, 2) == [None, None]


def test_a_step_has_the_samples_of_its_batches():
    def of(name, **parameters):
        spec = {"batch": 16, "algorithm": {"name": name, "parameters": parameters}}
        return samples_of_a_step(spec, 2)

    assert of("weighted-sync-sgd", sizes=[3, 1]) == [48, 16]
    assert of("hogbatch", sizes=[4, 1]) == [16, 16], "a step is one batch of the update"
    assert of("sync-sgd", accumulation=3) == [48, 48]


@pytest.fixture
def served(service):
    """A run of two workers and a server: worker 0 does 4 steps in two updates, worker 1 two in one."""
    variants = [{"name": "sync", "algorithm": "async-sgd"}]
    supervisor = service.launch(variants=variants)
    supervisor.report("starting", "running")

    def ship(rank, *records):
        supervisor.send(RankRecords(rank=rank, records=list(records)))

    phases = {"data": 0, "compute": 6.0, "communicate": 2.0, "update": 1.0, "evaluate": 2.0, "idle": 1.0}
    ship(0, start(), steps(1, 4), done(2, step=4, wall=12.0, phases=phases))
    ship(1, start(), steps(1, 2), done(2, step=2, wall=12.0, phases=phases | {"compute": 2.0, "idle": 5.0}))
    exchanges = {"worker": [0, 1, 0], "staleness": [0, 1, 3], "wall": [0.015, 0.025, 0.045]}
    ship(2, start(role="server"), steps(1, 3, **{k: np.array(v) for k, v in exchanges.items()}))
    return supervisor.id


@ONE_KIND
def test_the_work_of_each_worker(service, served):
    found = service.client.get(f"/runs/{served}/workers").json()["workers"]
    assert [each["worker"] for each in found] == [0, 1]
    assert [each["steps"] for each in found] == [4, 2]
    assert [each["share_of_steps"] for each in found] == pytest.approx([2 / 3, 1 / 3])
    assert [each["computing"] for each in found] == pytest.approx([0.6, 0.2])
    assert [each["speed"] for each in found] == pytest.approx([4 / 6.0, 1])
    assert [each["updates"] for each in found] == [2, 1]
    assert [each["share_of_updates"] for each in found] == pytest.approx([2 / 3, 1 / 3])
    assert [each["staleness"] for each in found] == [1.5, 1]
    assert found[0]["sizes"] == [1, 3]
    assert found[0]["x"] == pytest.approx([0.015, 0.045])
    assert [each["throughput"] for each in found] == pytest.approx([4 * 32 / 10.0, 2 * 32 / 10.0])
    assert found[0]["times"] == pytest.approx([0.01, 0.02, 0.03, 0.04])
    assert found[0]["computing_over_time"] == pytest.approx([0.6] * 4)
    assert found[0]["throughput_over_time"] == pytest.approx([3200.0] * 4)
    assert found[0]["kind"] is None


def test_the_measured_speeds_are_offered_as_a_virtual_cluster(service):
    """By hand: 32 samples a step, 4 steps in 6 s and 2 in 2 s; a worker that has told of no step has no speed."""
    run = service.launch()
    run.report("starting", "running")
    run.send(RankRecords(rank=0, records=[start()]))
    found = service.client.get(f"/runs/{run.id}/workers").json()
    assert found["virtual_cluster"] is None
    assert found["no_virtual_cluster"].startswith(f"no speed of worker 0 of the run {run.id} is known")
    phases = {"data": 0, "communicate": 0.0, "update": 0.0, "evaluate": 0.0, "idle": 0.0}
    for rank, (count, seconds) in enumerate(((4, 6.0), (2, 2.0))):
        first = [start()] if rank else []
        ended = done(2, step=count, wall=12.0, phases=phases | {"compute": seconds})
        run.send(RankRecords(rank=rank, records=[*first, steps(1, count), ended]))
    found = service.client.get(f"/runs/{run.id}/workers").json()
    cluster = found["virtual_cluster"]
    assert cluster["workers"] == [{"kind": "cpu", "speed": 0.6667}, {"kind": "cpu"}]
    assert cluster["virtual"]["compute_seconds_per_sample"] == 1 / 32
    assert cluster["virtual"]["compute_source"].startswith(f"measured: the workers of the run {run.id}, batch 32")
    assert (cluster["computed_on"], found["no_virtual_cluster"]) == ("local", None)


def test_the_work_of_each_kind(service):
    """Two kinds; the second has two workers. Staleness is the mean over the updates of the kind."""
    kinds = [{"kind": "hogwild-cpu", "threads": 2}, {"kind": "cpu", "speed": 0.5, "count": 2}]
    supervisor = service.launch(
        variants=[{"name": "sync", "algorithm": "async-sgd"}],
        clusters=[{"name": "local", "workers": kinds, "seeds": 1}],
    )
    supervisor.report("starting", "running")
    phases = {"data": 0, "compute": 6.0, "communicate": 2.0, "update": 1.0, "evaluate": 2.0, "idle": 1.0}
    for worker, count in enumerate((4, 2, 2)):
        told = [start(), steps(1, count, workers=3), done(2, step=count, wall=12.0, phases=phases)]
        supervisor.send(RankRecords(rank=worker, records=told))
    exchanges = {"worker": [0, 1, 0, 2], "staleness": [0, 1, 3, 6], "wall": [0.015, 0.025, 0.045, 0.05]}
    told = steps(1, 4, workers=3, **{k: np.array(v) for k, v in exchanges.items()})
    supervisor.send(RankRecords(rank=3, records=[start(role="server"), told]))
    found = service.client.get(f"/runs/{supervisor.id}/workers").json()
    assert [each["kind"] for each in found["workers"]] == ["hogwild-cpu:2", "cpu@0.5", "cpu@0.5"]
    threads, slow = found["kinds"]
    assert (threads["kind"], threads["workers"], slow["kind"], slow["workers"]) == (
        "hogwild-cpu:2",
        1,
        "cpu@0.5",
        2,
    )
    assert (threads["share_of_steps"], slow["share_of_steps"]) == (0.5, 0.5)
    assert (threads["updates"], slow["updates"]) == (2, 2)
    assert (threads["staleness"], slow["staleness"]) == (1.5, 3.5)
    assert (threads["computing"], slow["computing"]) == pytest.approx((0.6, 0.6))
    assert (threads["throughput"], slow["throughput"]) == pytest.approx((12.8, 12.8))
    text = service.client.get(f"/runs/{supervisor.id}/workers.csv").text
    assert [row["kind"] for row in csv.DictReader(io.StringIO(text))] == ["hogwild-cpu:2"] * 2 + ["cpu@0.5"] * 2
    tables = {}
    for of, name in (("workers", "work-by-worker"), ("kinds", "work-by-kind")):
        answer = service.client.get(f"/runs/{supervisor.id}/workers.csv", params={"of": of})
        assert f"{name}-{supervisor.id}.csv" in answer.headers["content-disposition"]
        tables[of] = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["worker"], row["kind"], row["updates"], row["steps"]) for row in tables["workers"]] == [
        ("0", "hogwild-cpu:2", "2", "4"),
        ("1", "cpu@0.5", "1", "2"),
        ("2", "cpu@0.5", "1", "2"),
    ]
    assert [float(row["staleness"]) for row in tables["kinds"]] == [1.5, 3.5]
    assert [float(row["share_of_updates"]) for row in tables["kinds"]] == [0.5, 0.5]
    assert [float(row["samples_per_s"]) for row in tables["kinds"]] == pytest.approx([12.8, 12.8])
    assert {row["run"] for rows in tables.values() for row in rows} == {supervisor.id}


@ONE_KIND
def test_what_workers_did_over_time_as_a_table(service, served):
    answer = service.client.get(f"/runs/{served}/workers.csv", params={"of": "time"})
    assert "workers-over-time" in answer.headers["content-disposition"]
    found = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["worker"] for row in found] == ["0"] * 4 + ["1"] * 2
    assert [float(row["until_s"]) for row in found] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.01, 0.02])
    assert [float(row["computing"]) for row in found] == pytest.approx([0.6] * 6)
    assert [float(row["samples_per_s"]) for row in found] == pytest.approx([3200.0] * 6)
    assert service.client.get(f"/runs/{served}/workers.csv", params={"of": "x"}).status_code == 422


@ONE_KIND
def test_workers_without_rows_count_among_the_updates(service):
    """Of many workers only the first and the last write rows; shares are of all updates."""
    supervisor = service.launch(
        variants=[{"name": "sync", "algorithm": "async-sgd"}],
        clusters=[{"name": "local", "workers": [3], "seeds": 1}],
    )
    supervisor.report("starting", "running")
    for worker in range(3):
        rows_of = [steps(1, 4, workers=3)] if worker != 1 else []
        told = [start(), *rows_of, done(1 + len(rows_of), step=4, wall=12.0)]
        supervisor.send(RankRecords(rank=worker, records=told))
    exchanges = {"worker": [0, 1, 2, 0, 1, 1, 2], "staleness": [0] * 7, "wall": [0, 0, 0, 0.02, 0.02, 0.03, 0.04]}
    told = steps(1, 7, workers=3, **{k: np.array(v) for k, v in exchanges.items()})
    supervisor.send(RankRecords(rank=3, records=[start(role="server"), told]))
    found = service.client.get(f"/runs/{supervisor.id}/workers").json()["workers"]
    assert [each["updates"] for each in found] == [1, None, 1]
    assert [each["share_of_updates"] for each in found] == [pytest.approx(1 / 4), None, pytest.approx(1 / 4)]


@ONE_KIND
def test_every_update_as_a_table(service, served):
    answer = service.client.get(f"/runs/{served}/workers.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    found = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["worker"], row["steps"]) for row in found] == [("0", "1"), ("0", "3"), ("1", "2")]
    assert [float(row["staleness"]) for row in found] == [0, 3, 1]


@ONE_KIND
def test_without_a_server_there_are_no_updates(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(RankRecords(rank=0, records=[start(), steps(1, 4)]))
    (worker,) = service.client.get(f"/runs/{supervisor.id}/workers").json()["workers"]
    assert (worker["updates"], worker["sizes"], worker["steps"]) == (None, [], 4)
    assert worker["computing"] == pytest.approx(0.6)
    assert service.client.get("/runs/run_none/workers").status_code == 404
    assert service.client.get("/runs/run_none/workers.csv").status_code == 404
