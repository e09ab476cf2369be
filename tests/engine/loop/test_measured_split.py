"""Batches of a synchronous step, split by speeds that the workers measure before the run."""

import itertools
import json
import os
import subprocess

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.methods.split import by_speed
from hooke.spec.journal import records

from tests.engine.cli.conftest import command

PLAIN = {"latency": 0, "seconds_per_byte": 0, "compute_seconds_per_sample": 1e-3, "compute_jitter": 0}


@pytest.mark.parametrize(
    ("speeds", "mean", "wanted"),
    [
        ((4, 1), 5, [8, 2]),
        ((1, 1), 4, [4, 4]),
        ((100, 1), 4, [7, 1]),  # one at least
        ((5, 3), 2, [3, 1]),  # 2.5 and 1.5: 3 / 5 is less than 2 / 3
        ((10, 1.5, 1.5, 1.5), 4, [13, 1, 1, 1]),  # 1.3; by the nearest whole numbers all wait for 2 / 1.5
        ((100, 1, 1), 2, [4, 1, 1]),
    ],
)
def test_sizes_follow_speeds_and_keep_their_mean(speeds, mean, wanted):
    assert by_speed(speeds, mean) == wanted


def splits(total, workers):
    """Yield all splits with one at least for each."""
    for bars in itertools.combinations(range(1, total), workers - 1):
        yield np.diff([0, *bars, total])


def test_no_other_split_has_a_shorter_step():
    """Against all others; and with many workers, where no batch of the slowest would end earlier elsewhere."""
    random = np.random.default_rng(0)
    for _ in range(40):
        speeds = random.lognormal(sigma=1.5, size=random.integers(1, 5))
        mean = int(random.integers(1, 5))
        sizes = by_speed(speeds.tolist(), mean)
        assert sum(sizes) == mean * len(speeds) and min(sizes) >= 1
        least = min((split / speeds).max() for split in splits(sum(sizes), len(speeds)))
        assert (sizes / speeds).max() == pytest.approx(least)
    for _ in range(100):
        speeds = random.lognormal(sigma=2, size=random.integers(1, 40))
        sizes = by_speed(speeds.tolist(), 500)
        assert sum(sizes) == 500 * len(speeds) and min(sizes) >= 1
        longest = max(range(len(sizes)), key=lambda i: sizes[i] / speeds[i])
        others = [(size + 1) / speed for size, speed in zip(sizes, speeds, strict=True)]
        assert sizes[longest] == 1 or min(others) >= sizes[longest] / speeds[longest], (
            "none could take one from it"
        )


def document(**more):
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp", "parameters": {"hidden1": 8, "hidden2": 8}},
        "algorithm": {"name": "weighted-sync-sgd", "parameters": {"split": "measured", "mean": 5, "lr": 0.1}},
        "workers": 2,
        "batch": 8,
        "sharding": "dispatched",
        "budget": {"samples": 8 * 10 * 20},
        "evaluation": {"every": 8 * 10 * 20},
    } | more


def test_simulated_workers_know_their_speed():
    """By hand: 4 : 1, so that 8 and 2 of 10 batches take the same 64 ms."""
    virtual = PLAIN | {"speeds": [1, 0.25], "memory_bandwidth": 1e15}
    ends = run_spec_virtual(validate_run(document(world="virtual", virtual=virtual)))
    assert [each.done.batches for each in ends] == [8, 2]
    assert [each.done.phases["compute"] for each in ends] == pytest.approx([20 * 64e-3] * 2)
    given = document(world="virtual", virtual=virtual)
    given["algorithm"] = {"name": "weighted-sync-sgd", "parameters": {"sizes": [8, 2], "lr": 0.1}}
    same = run_spec_virtual(validate_run(given))
    assert same[0].weights.tobytes() == ends[0].weights.tobytes()
    assert same[0].done.batches is None


def test_what_a_gradient_takes_after_an_exchange_is_in_the_split():
    """By hand: 8 ms per batch and 16 ms more in a step: 14 and 2 batches take 128 ms, at 1 and at a quarter."""
    virtual = PLAIN | {"speeds": [1, 0.25], "memory_bandwidth": 1e15, "compute_seconds_after_exchange": 16e-3}
    chosen = document(world="virtual", virtual=virtual, budget={"samples": 8 * 16 * 20})
    chosen["algorithm"]["parameters"]["mean"] = 8
    ends = run_spec_virtual(validate_run(chosen))
    assert [each.done.batches for each in ends] == [14, 2]
    computed = [each.done.phases["compute"] for each in ends]
    assert computed == pytest.approx([20 * 128e-3, 20 * 128e-3 - 4 * 16e-3]), "1 had sent nothing before its first"


def test_threads_without_a_sub_batch_do_not_count():
    """By hand: two sub-batches on four threads are twice as fast as one thread, so 4 : 1 to a CPU at a half."""
    kinds = [{"kind": "hogwild-cpu", "threads": 4, "sub_batches": 2}, {"kind": "cpu", "speed": 0.5}]
    virtual = PLAIN | {"devices": kinds, "memory_bandwidth": 1e15}
    ends = run_spec_virtual(validate_run(document(world="virtual", virtual=virtual)))
    assert [each.done.batches for each in ends] == [8, 2]
    assert [each.done.phases["compute"] for each in ends] == pytest.approx([20 * 32e-3] * 2)


def test_a_run_that_goes_on_keeps_the_sizes_of_its_checkpoint(tmp_path):
    virtual = PLAIN | {"speeds": [1, 0.25]}
    chosen = document(world="virtual", virtual=virtual, checkpoint="always", checkpoint_every=8 * 10 * 10)
    straight = run_spec_virtual(validate_run(chosen), tmp_path)
    newest = max((each for each in (tmp_path / "checkpoints").iterdir()), key=lambda place: int(place.name))
    (newest / "complete.json").unlink()
    changed = chosen | {"virtual": virtual | {"speeds": [1, 0.25]}}
    for file in sorted((tmp_path / "checkpoints").glob("*/rank.*.npz")):
        with np.load(file) as had:
            arrays = {name: had[name] for name in had.files}
        meta = json.loads(str(arrays.pop("meta")))
        assert meta["sizes"] == [8, 2]
        np.savez(file, meta=np.array(json.dumps(meta | {"sizes": [7, 3]})), **arrays)
    again = run_spec_virtual(validate_run(changed), tmp_path, resume=True)
    assert [each.done.batches for each in again] == [7, 3], "they are not measured anew"
    assert again[0].done.samples == straight[0].done.samples


def ran(folder):
    """Return the sizes that two real workers have measured, and the speed of the second, slowed to a quarter.

    Gradients take milliseconds: who takes a core for a moment changes few of them.
    """
    chosen = document(groups=[{"kind": "cpu"}, {"kind": "cpu", "speed": 0.25}], batch=64)
    chosen["workload"] = {"name": "digits-mlp", "parameters": {"hidden1": 512, "hidden2": 512}}
    chosen |= {"budget": {"samples": 64 * 10 * 20}, "evaluation": {"every": 64 * 10 * 20}}
    folder.mkdir()
    place = folder / "run.json"
    place.write_text(json.dumps(chosen))
    found = subprocess.run(
        command("run", place, "--run-dir", folder / "out", "--json"),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    ends = [list(records(folder / "out" / f"journal.{worker}.jsonl")) for worker in (0, 1)]
    sizes = [each[-1].batches for each in ends]
    assert ends[0][0].notes["batches of a step"] == f"{sizes[0]}, {sizes[1]} by measured speed"
    return sizes, json.loads(found.stdout)["speeds"][1]


@pytest.mark.usefixtures("warm_ranks")
def test_real_workers_measure_themselves(tmp_path):
    """Before the run as in it: 8 and 2, unless others take a core all the while, which is tried again.

    In the run they take more of the time of the worker that does not sleep; at one speed it were 1.
    """
    seen = []
    for turn in range(5):
        sizes, speed = ran(tmp_path / str(turn))
        assert sum(sizes) == 10
        seen.append((sizes, speed))
        if sizes[0] >= 7 and 0.13 < speed < 0.6:  # by the batches that each has had
            return
    pytest.fail(f"sizes and speed of the slow worker, each time: {seen}")
