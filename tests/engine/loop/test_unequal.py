"""Workers of unequal speed in virtual time: by hand, gradient for gradient."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import workload
from hooke.errors import SpecError
from hooke.loop.compute_time import ComputeTime
from hooke.loop.train import run_spec_virtual
from hooke.spec.devices import DeviceGroup
from hooke.spec.specification import VirtualCluster, canonical

STEP = 16 * 1e-3
PLAIN = {"latency": 0, "seconds_per_byte": 0, "compute_seconds_per_sample": 1e-3, "compute_jitter": 0}


def spec(name="sync-sgd", workers=2, seed=0, **virtual):
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 8, "hidden2": 8}},
            "algorithm": {"name": name, "parameters": {}},
            "workers": workers,
            "seed": seed,
            "world": "virtual",
            "virtual": PLAIN | {"memory_bandwidth": 1e15} | virtual,
            "batch": 16,
            "budget": {"samples": 16 * 60},
            "evaluation": {"every": 16 * 60},
        }
    )


def computed(outcomes):
    return [outcome.done.phases["compute"] for outcome in outcomes]


def test_a_synchronous_step_is_that_of_the_slowest():
    done = [outcome.done for outcome in run_spec_virtual(spec(speeds=[1, 0.25]))]
    assert [each.step for each in done] == [30, 30]
    assert computed(run_spec_virtual(spec(speeds=[1, 0.25]))) == pytest.approx([30 * STEP, 30 * 4 * STEP])
    assert done[0].clock == pytest.approx(30 * 4 * STEP, rel=1e-6)


def test_an_asynchronous_worker_takes_steps_at_its_own_speed():
    steps = [outcome.done.step for outcome in run_spec_virtual(spec("hogwild-sgd", speeds=[1, 0.25]))]
    assert sum(steps) == 60
    assert steps[0] in (47, 48, 49), "four of five"


def test_speeds_begin_again_where_there_are_more_workers():
    taken = computed(run_spec_virtual(spec(workers=4, speeds=[1, 0.5])))
    assert taken == pytest.approx([15 * STEP, 30 * STEP] * 2)


def test_a_sudden_change_holds_until_the_next_one():
    changes = [{"worker": 1, "at": 5 * STEP, "speed": 0.5}, {"worker": 1, "at": 11 * STEP, "speed": 1}]
    assert computed(run_spec_virtual(spec(speed_changes=changes)))[1] == pytest.approx((5 + 3 * 2 + 22) * STEP)


def test_a_drift_is_linear():
    network = VirtualCluster(**PLAIN, speeds=[2], speed_changes=[{"at": 10, "over": 4, "speed": 0.5}])
    found = [network.speed(0, seconds) for seconds in (0, 10, 11, 12, 13, 14, 100)]
    assert found == pytest.approx([2, 2, 1.75, 1.5, 1.25, 1, 1])


def test_the_least_speeds_divide_times_and_lower_ones_are_refused():
    """A speed of 1e-300 was 0 as a change, and a run with one ended with a division by zero."""
    least = {"kind": "cpu", "speed": 1e-9, "changes": [{"at": 1, "speed": 1e-9}]}
    network = VirtualCluster(
        **PLAIN, devices=[least], speeds=[1e-9], speed_changes=[{"at": 2, "over": 2, "speed": 1e-9}]
    )
    assert [network.speed(0, seconds) for seconds in (0, 1, 5)] == pytest.approx([1e-18, 1e-27, 1e-36], rel=1e-12)
    sick = {"kind": "cpu", "speed": 1e-300}
    for virtual in (
        {"speeds": [1e-300]}, {"speed_changes": [{"at": 1, "speed": 1e-300}]}, {"devices": [sick]}
    ):  # fmt: skip
        with pytest.raises(SpecError, match="greater than or equal to 0.000000001"):
            spec(**virtual)


def test_a_group_has_changes_and_stragglers_of_its_own():
    """By hand: the group's speed times its change, and its own chance instead of that of all."""
    changing = {"kind": "cpu", "speed": 0.5, "changes": [{"at": 10, "speed": 0.5}]}
    network = VirtualCluster(
        **PLAIN, devices=[changing, {"kind": "cpu", "straggling": 0.3, "straggling_factor": 4}], straggling=0.1
    )
    assert [network.speed(0, seconds) for seconds in (9, 10)] == [0.5, 0.25]
    assert [network.speed(1, seconds) for seconds in (9, 10)] == [1, 1]
    assert [network.stragglers(worker) for worker in (0, 1)] == [(0.1, 10), (0.3, 4)]
    two = [{"kind": "cpu"}, {"kind": "cpu", "changes": [{"at": 5 * STEP, "speed": 0.5}]}]
    assert computed(run_spec_virtual(spec(devices=two))) == pytest.approx([30 * STEP, (5 + 25 * 2) * STEP])
    plain = {"kind": "cpu", "count": 2}
    assert DeviceGroup(**plain).model_dump(mode="json") == plain, "documents without keep their fingerprint"


WIDE = {"labels": 60, "features": 90, "items": 400, "hidden": 8, "output": "full"}
TRAINED = {"digits-mlp": {"hidden1": 8, "hidden2": 8}, "xmlc-mlp": WIDE}


@pytest.mark.parametrize("name", TRAINED)
def test_kinds_of_another_precision_compute_in_it_and_score_in_that_of_the_run(name):
    """Without an exchange each worker does what it does among workers of its own precision, bit for bit.

    A score was that of no model: each worker scored its share of the items in its own precision.
    """

    def ran(*precisions):
        kinds = [{"kind": "cpu"} | ({"precision": each} if each else {}) for each in precisions]
        document = spec("local-sgd", devices=kinds).model_dump(mode="json", by_alias=True)
        document["algorithm"]["parameters"] = {"period": 100}
        document["workload"] = {"name": name, "parameters": TRAINED[name]}
        return run_spec_virtual(validate_run(document))

    mixed, full, half = ran(None, "bf16"), ran(None, None), ran("bf16", "bf16")
    assert mixed[0].weights.tobytes() == full[0].weights.tobytes()
    assert mixed[1].weights.tobytes() == half[1].weights.tobytes() != full[1].weights.tobytes()
    alone = workload(name)(**TRAINED[name]).build()
    score = alone.evaluate(torch.from_numpy(mixed[0].center), 0, alone.validation_size)
    assert mixed[0].evaluations[-1].loss == pytest.approx(score.loss_sum / score.count, rel=1e-6)


def test_others_keep_their_speed():
    network = VirtualCluster(**PLAIN, speed_changes=[{"worker": 3, "at": 1, "speed": 0.1}])
    assert [network.speed(worker, 2) for worker in (2, 3, 4)] == pytest.approx([1, 0.1, 1])


def test_stragglers_are_as_frequent_as_asked_and_the_same_after_a_restart():
    chosen = spec(straggling=0.1, straggling_factor=20)
    times = ComputeTime(chosen, 1)
    found = np.array([times.seconds() for _ in range(4000)])
    slow = found > 2 * STEP
    assert found[slow] == pytest.approx(20 * STEP)
    assert found[~slow] == pytest.approx(STEP)
    assert abs(slow.mean() - 0.1) < 4 * np.sqrt(0.09 / 4000)
    again = ComputeTime(chosen, 1)
    again.restore({"jitter": again.random.bit_generator.state, "gradients": 1000}, 0)
    assert [again.seconds() for _ in range(50)] == found[1000:1050].tolist()
    other = ComputeTime(chosen, 0)
    assert [other.seconds() for _ in range(100)] != found[:100].tolist()


def test_a_clock_that_was_restored_decides_the_speed():
    times = ComputeTime(spec(speed_changes=[{"at": 7, "speed": 0.5}]), 0)
    assert [times.seconds(now) for now in (6.9, 7, 8)] == pytest.approx([STEP, 2 * STEP, 2 * STEP])


def test_specifications_without_them_keep_their_fingerprint():
    assert not {"speeds", "speed_changes", "straggling", "straggling_factor"} & set(
        VirtualCluster(**PLAIN).model_dump(mode="json")
    )
    assert "speeds" not in canonical(spec())


@pytest.mark.parametrize(
    ("virtual", "place"),
    [
        ({"speeds": [1, 0]}, "/virtual/speeds/1"),
        ({"speed_changes": [{"at": 2, "speed": 1}, {"at": 1, "speed": 1}]}, "/virtual"),
        ({"speed_changes": [{"at": -1, "speed": 1}]}, "/virtual/speed_changes/0/at"),
        ({"straggling": 1.5}, "/virtual/straggling"),
    ],
)
def test_impossible_speeds_are_refused(virtual, place):
    with pytest.raises(SpecError) as refused:
        spec(**virtual)
    assert [fault.pointer for fault in refused.value.faults] == [place]


@pytest.mark.parametrize("limit", [None, 1e6])
def test_a_restart_makes_nobody_wait(tmp_path, limit):
    """Worker 0 straggles in the step after the checkpoint, the others in the third: they meet after the fifth."""
    document = spec("local-sgd", 3, 85, straggling=0.1).model_dump(mode="json", by_alias=True)
    document["algorithm"]["parameters"] = {"period": 5}
    document["budget"] = {"samples": 16 * 3 * 30, "max_seconds": limit}
    chosen = validate_run(document | {"checkpoint": "always", "checkpoint_every": 16 * 3 * 3})
    straight = run_spec_virtual(chosen, tmp_path)
    places = sorted((tmp_path / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert [int(place.name) for place in places] == [16 * 3 * 27, 16 * 3 * 30]
    (places[1] / "complete.json").unlink()
    restarted = run_spec_virtual(chosen, tmp_path, resume=True)
    assert [one.done.clock for one in restarted] == pytest.approx([one.done.clock for one in straight])


def test_nobody_waits_for_worker_0_at_the_start():
    """By hand: one average, after 20 steps; worker 0 takes four times as long until its second step is over.

    Worker 1 does from its third to its fifth step. If it waited for the first step of worker 0, it ended later.
    """
    changes = [
        {"worker": 0, "at": 0, "speed": 0.25},
        {"worker": 1, "at": 1.9 * STEP, "speed": 0.25},
        {"worker": 0, "at": 7.9 * STEP, "speed": 1},
        {"worker": 1, "at": 13.9 * STEP, "speed": 1},
    ]
    document = spec("local-sgd", speed_changes=changes).model_dump(mode="json", by_alias=True)
    document["algorithm"]["parameters"] = {"period": 20}
    document |= {"budget": {"samples": 16 * 2 * 20}, "evaluation": {"every": 16 * 2 * 20}}
    done = [outcome.done for outcome in run_spec_virtual(validate_run(document))]
    assert [each.phases["compute"] / STEP for each in done] == pytest.approx([2 * 4 + 18, 2 + 3 * 4 + 15])
    assert done[1].clock == pytest.approx(29 * STEP, rel=1e-6)


def test_a_time_limit_holds_from_the_first_steps_on():
    """The first decision is of the first step, and followed two exchanges later, not 64 steps later."""
    document = spec().model_dump(mode="json", by_alias=True)
    document["budget"] = {"samples": 16 * 60, "max_seconds": 0.5 * STEP}
    (one, other) = (outcome.done for outcome in run_spec_virtual(validate_run(document)))
    assert (one.reason, one.step, other.step) == ("timed_out", 5, 5)
