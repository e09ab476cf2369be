"""A virtual run is cancelled after the steps that have begun, with a checkpoint; a request changes no result."""

import itertools
from types import SimpleNamespace

import pytest
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Place, workload
from hooke.cluster.local_run import resumes_from
from hooke.loop.decisions import POLL_SECONDS, POLL_STEPS, Decision, Polls, Requests, most_steps
from hooke.loop.flag import Flag
from hooke.loop.state import RankOptions
from hooke.loop.train import run_spec_virtual

from tests.engine.loop.setup import BATCH
from tests.engine.workloads.test_mnist_files import write_mnist

WORKERS = 4
JITTER = {"latency": 1e-5, "seconds_per_byte": 1e-8, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0.5}


def spec(algorithm, parameters, steps=2000, name="digits-mlp", workers=WORKERS):
    return validate_run(
        {
            "workload": {"name": name},
            "algorithm": {"name": algorithm, "parameters": parameters},
            "batch": 8,
            "workers": workers,
            "seed": 5,
            "world": "virtual",
            "virtual": JITTER,
            "budget": {"samples": steps * 8},
            "evaluation": {"every": steps * 8},
        }
    )


def played(run, folder, after=None, ask="cancel_requested", resume=False, cores=1):
    """Return outcomes, and the gradients that all workers computed; a signal comes during the one `after`."""
    count, options = itertools.count(1), RankOptions(Flag(), Flag())
    taken = 0

    def make():
        objective = workload(run.workload.name).model_validate({}).build(Place(run.compute, run.seed, 0))
        plain = objective.gradient

        def gradient(batch):
            nonlocal taken
            taken = next(count)
            if taken == after:
                getattr(options, ask).set()
            return plain(batch)

        objective.gradient = gradient
        return objective

    folder.mkdir(exist_ok=True)
    return run_spec_virtual(run, folder, make, resume, options, cores=cores), taken


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("sync-sgd", {}),
        ("local-sgd", {"period": 16}),  # ranks are up to a period apart
        ("async-easgd", {"period": 400}),  # the server grants a whole period at once
        ("hogwild-sgd", {"period": 16}),
    ],
)
def test_a_cancel_is_followed_after_the_steps_that_have_begun(algorithm, parameters, cores, tmp_path):
    run = spec(algorithm, parameters)
    outcomes, taken = played(run, tmp_path / "run", after=40, cores=cores)
    assert {each.done.reason for each in outcomes} == {"cancelled"}
    # each worker may have to take as many steps as the one that was the furthest
    assert taken <= 40 + 16 * WORKERS
    samples = outcomes[-1].done.samples
    assert samples == taken * run.batch
    (kept,) = (tmp_path / "run" / "checkpoints").glob("*/complete.json")
    assert int(kept.parent.name) == samples


@pytest.mark.parametrize(("algorithm", "further"), [("sync-sgd", 1), ("sync-easgd", 1), ("async-easgd", 1)])
def test_eight_workers_of_lenet_stop_with_a_checkpoint_from_which_they_go_on(
    algorithm, further, tmp_path, monkeypatch
):
    """Their polls lay 64 steps apart: told to stop, they were killed before the next one, without a checkpoint."""
    write_mnist(tmp_path / "mnist", train=100, test=10, labels=bytes(i % 10 for i in range(100)))
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    run = spec(algorithm, {}, steps=4000, name="mnist-lenet", workers=8)
    _, taken = played(run, tmp_path / "run", after=20)
    assert taken <= 20 + 8 * (1 + further), "a step that each has begun, and those that one is ahead of another"
    (kept,) = (tmp_path / "run" / "checkpoints").glob("*/complete.json")
    assert int(kept.parent.name) == taken * run.batch
    assert resumes_from(tmp_path / "run", run).startswith(f"resuming at {taken * run.batch} of 32,000 samples")
    _, more = played(run, tmp_path / "run", after=1, resume=True)
    assert 8 <= more + taken % 8 <= 8 * (2 + further), "it went on, and followed at once"


@pytest.mark.parametrize(("algorithm", "parameters"), [("local-sgd", {"period": 16})])
def test_a_request_changes_no_bit(algorithm, parameters, tmp_path):
    run = spec(algorithm, parameters, steps=120)
    whole, _ = played(run, tmp_path / "whole")
    played(run, tmp_path / "run", after=40)
    resumed, _ = played(run, tmp_path / "run", resume=True)
    saved, _ = played(run, tmp_path / "saved", after=40, ask="checkpoint_requested")
    assert any((tmp_path / "saved" / "checkpoints").glob("*/complete.json"))
    for one, other, third in zip(whole, resumed, saved, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes() == third.weights.tobytes()
        assert [other.done.clock, third.done.clock] == pytest.approx([one.done.clock] * 2, rel=1e-9)


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_workers_leave_within_the_period_that_a_server_has_granted(played, world):
    run = played("told within a period", world)
    assert {each.done.reason for each in run.first} == {"cancelled"}, "the server learns of it from them"
    steps = [each.done.step for each in run.first[: run.setup.workers]]
    assert max(steps) == 5, "one that asks after the first has left gets a last step only"
    assert (run.folder / "checkpoints" / str(sum(steps) * BATCH) / "complete.json").exists()


@pytest.mark.parametrize("times", [1, 30])
def test_real_ranks_follow_soon_although_their_steps_become_longer(times):
    """By hand: two polls, at most; of the steps of before, or POLL_STEPS of those of now (10 and 291 s before)."""
    control = SimpleNamespace(ibroadcast=lambda words: SimpleNamespace(wait=lambda: words))
    polls, now, asked, took = Polls(control, True, None), 0.0, None, 1e-3 / times
    for step in itertools.count():
        now += took if now < 2 else took * times * 10
        asked = now if asked is None and now > 2.2 else asked
        decided = Decision.GO_ON if asked is None else Decision.CANCEL
        if polls.poll(step, lambda word=decided: word, now) is Decision.CANCEL:
            break
    assert now - asked <= 2 * max(POLL_SECONDS, POLL_STEPS * took * times * 10) + took * times * 20


def test_a_rank_does_not_wait_for_one_that_it_has_not_met_since():
    assert [most_steps(period) for period in (1, 127, 128, 1000)] == [POLL_STEPS, POLL_STEPS, 258, 2002]


def test_all_ranks_follow_after_the_latest_step_that_any_has_begun():
    together = Requests(3)
    for rank in range(3):
        together.begin(rank, 7)
    assert [together.look(2, step, Decision.GO_ON) for step in (8, 9)] == [Decision.GO_ON] * 2  # it takes its 10th
    assert together.look(0, 8, Decision.CHECKPOINT) is Decision.GO_ON
    assert [together.look(0, step, Decision.GO_ON) for step in (9, 10)] == [Decision.GO_ON, Decision.CHECKPOINT]
    assert [together.look(1, step, Decision.GO_ON) for step in (8, 9, 10)][-1] is Decision.CHECKPOINT
    assert together.look(2, 10, Decision.GO_ON) is Decision.CHECKPOINT
    assert together.look(0, 11, Decision.CANCEL) is Decision.CANCEL, "the next request"
