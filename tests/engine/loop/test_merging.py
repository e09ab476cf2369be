"""Adaptive SGD, Heterogeneous EASGD and Weighted Sync SGD on workers of unequal speed, in virtual time."""

from collections import Counter

import numpy as np
import pytest
from hooke.algorithms.adaptive_sgd import AdaptiveSGD
from hooke.catalogue.validation import validate_run
from hooke.errors import SpecError
from hooke.loop.train import run_spec_virtual
from hooke.methods.merging import Shares
from hooke.methods.sized_merges import SizedMerges
from hooke.methods.sizes import Bounds, Sizes
from hooke.objective.flat import FlatObjective
from hooke.spec.journal import records, unpack

NONE = {"latency": 1e-6, "seconds_per_byte": 0, "compute_seconds_per_sample": 1e-3, "compute_jitter": 0}


def spec(name, workers=2, steps=240, virtual=(), seed=0, **parameters):
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
            "algorithm": {"name": name, "parameters": {"lr": 0.01} | parameters},
            "workers": workers,
            "seed": seed,
            "world": "virtual",
            "virtual": NONE | dict(virtual),
            "batch": 8,
            "budget": {"samples": 8 * steps},
            "evaluation": {"every": 8 * steps},
        }
    )


def center(outcomes):
    return next(outcome.center for outcome in reversed(outcomes) if outcome.center is not None)


@pytest.fixture
def merges(monkeypatch):
    """Return what each merge was made of: (counts of updates, sizes, norms of what was merged)."""
    found = []
    merge = SizedMerges.merge

    def noting(method, c, before, xs, shares):
        found.append((list(shares.updates), list(shares.sizes)))
        merge(method, c, before, xs, shares)

    monkeypatch.setattr(SizedMerges, "merge", noting)
    return found


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_counts_become_equal_under_constant_speeds(merges, ratio):
    """Property 21, where the bounds allow it; sizes are then as the speeds are."""
    chosen = spec("adaptive-sgd", steps=1800, virtual={"speeds": [1, 1 / ratio]}, largest=16, mega_batch=160)
    run_spec_virtual(chosen)
    first, last = merges[0], merges[-2]
    assert first[0][0] >= ratio / 2 * first[0][1], "ten batches of 16 each"
    assert last[0][0] == pytest.approx(last[0][1], abs=2)
    assert last[1][0] / last[1][1] == pytest.approx(ratio, rel=0.3)


def test_equal_workers_keep_their_sizes(merges):
    """Property 20: no drift."""
    run_spec_virtual(spec("adaptive-sgd", workers=3, steps=240, largest=4, mega_batch=48))
    assert len(merges) >= 4
    for counts, sizes in merges[:-1]:
        assert counts == [4, 4, 4]
        assert sizes == [4.0, 4.0, 4.0]


def test_with_equal_workers_and_single_batches_it_is_local_sgd():
    """M = P H, b = 1, no momentum: every worker has H steps between two averages."""
    mine = spec("adaptive-sgd", 3, 90, largest=1, mega_batch=15, center_momentum=0.0)
    other = spec("local-sgd", 3, 90, period=5, momentum=0.0)
    np.testing.assert_allclose(center(run_spec_virtual(mine)), center(run_spec_virtual(other)), atol=2e-6)


def test_weights_are_normalised_and_a_merge_of_equals_is_the_identity():
    """Properties 20, 22 and 25."""
    import torch

    random, method, equal = np.random.default_rng(0), AdaptiveSGD(center_momentum=0.7), torch.tensor([3.25, -8.0])
    for _ in range(200):
        shares = Shares(int(random.integers(1, 9)), 1, 16, 0.5)
        shares.updates = [int(n) for n in random.integers(0, 4, len(shares.updates))]
        if not any(shares.updates):
            continue
        assert sum(shares.weights()) == pytest.approx(1, abs=1e-12)
        c, others = equal.clone(), torch.full((2,), 100.0)
        replicas = [equal if count else others for count in shares.updates]
        method.merge(c, equal.clone(), replicas, shares)
        assert c.tolist() == pytest.approx(equal.tolist(), rel=1e-6), "who has not updated has no part"
    shares = Shares(3, 1, 16, 0.5)
    assert shares.weights() == [1 / 3] * 3
    shares.updates, shares.sizes = [2, 2, 2], [8.0, 4.0, 4.0]
    assert shares.weights() == [0.5, 0.25, 0.25], "by size, where counts are equal"
    shares.updates = [3, 1, 0]
    assert shares.weights() == [0.75, 0.25, 0.0]
    assert shares.perturbed(shares.weights(), 0.1) == pytest.approx([0.825, 0.25, 0.0])


def test_sizes_follow_the_distance_from_the_mean_and_stay_within_bounds():
    """Property 16. That rates are proportional to sizes, 24, is in `test_unequal_simulated.py`."""
    shares = Shares(3, 2, 10, 0.5)
    shares.updates = [1, 4, 7]
    shares.rescale()
    assert shares.sizes == [8.5, 10.0, 10.0]
    assert shares.updates == [0, 0, 0]
    assert [shares.batches(i) for i in range(3)] == [9, 10, 10]
    shares.updates = [0, 60, 60]
    shares.rescale()
    assert shares.sizes == [2.0, 10.0, 10.0]


def test_momentum_of_the_merged_model_goes_on_in_its_direction():
    import torch

    method, shares = AdaptiveSGD(largest=1, center_momentum=0.5), Shares(2, 1, 1, 0.0)
    c, before = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0])
    shares.updates = [3, 1]
    method.merge(c, before, [torch.tensor([2.0, 0.0]), torch.tensor([6.0, 8.0])], shares)
    assert c.tolist() == [0.75 * 2 + 0.25 * 6 + 0.5 * 1, 0.25 * 8 + 0.5 * -2]
    assert before.tolist() == [1.0, 2.0]


def test_equal_workers_make_it_async_easgd_bit_for_bit():
    virtual = {"latency": 1e-5}
    mine = run_spec_virtual(spec("heterogeneous-easgd", 3, virtual=virtual, alpha=0.2, period=4, longest=64))
    other = run_spec_virtual(spec("async-easgd", 3, virtual=virtual, alpha=0.2, period=4))
    assert center(mine).tobytes() == center(other).tobytes()
    for one, two in zip(mine, other, strict=True):
        assert one.weights.tobytes() == two.weights.tobytes()


@pytest.mark.parametrize("ratio", [2, 8])
def test_slow_workers_exchange_as_often_with_shorter_periods(ratio, monkeypatch):
    sizes = []
    updated = Sizes.updated

    def noting(rule, worker, *more):
        updated(rule, worker, *more)
        sizes.append((worker, list(rule.now)))

    monkeypatch.setattr(Sizes, "updated", noting)
    run_spec_virtual(
        spec("heterogeneous-easgd", 2, 1200, {"speeds": [1, 1 / ratio]}, alpha=0.1, period=4, longest=32)
    )
    late = [worker for worker, _ in sizes[len(sizes) // 2 :]]
    counts = Counter(late)
    assert 0.5 <= counts[0] / counts[1] <= 2
    assert np.mean([now[0] / now[1] for _, now in sizes[len(sizes) // 2 :]]) == pytest.approx(ratio, rel=0.6)


def test_counts_that_differ_by_the_margin_are_equal():
    rule = Sizes(Bounds((4,), 1, 16, 2.0), 2, margin=1)
    sizes = []
    for worker in (0, 0, 0, 1, 1, 1, 1, 1):
        rule.updated(worker)
        sizes.append(list(rule.now))
    assert sizes == [[4, 4], [8, 4], [16, 4], [16, 2], [16, 2], [16, 2], [16, 2], [16, 4]]


def test_a_dropped_worker_counts_no_more():
    """Its count stands still: without this no other worker would be behind all others again."""
    rule = Sizes(Bounds((8,), 1, 32, 2.0), 3, margin=1)
    rule.updates, rule.now = [2, 9, 5], [8, 16, 8]
    assert rule.share(2) == 0.75 and rule.share(2, [0]) == pytest.approx(2 / 3)
    rule.updated(2)
    assert rule.now == [8, 16, 8]
    rule.updated(2, [0])
    assert rule.now == [8, 16, 4]
    rule.updated(1, [0, 2])
    assert rule.now == [8, 16, 4], "alone, nobody is ahead"


def test_a_step_is_along_the_mean_of_all_examples_and_as_long_as_all_equal_ones():
    """By hand: unequal batches of unequal workers take the time of one batch on each."""
    mine = spec("weighted-sync-sgd", 2, 60, {"speeds": [2, 1]}, sizes=[4, 2])
    done = [outcome.done for outcome in run_spec_virtual(mine)]
    assert [each.phases["compute"] for each in done] == pytest.approx([10 * 2 * 8e-3] * 2)
    assert [each.step for each in done] == [10, 10]
    assert done[0].samples == 60 * 8


def test_equal_sizes_are_accumulated_sync_sgd():
    mine = spec("weighted-sync-sgd", 2, 60, sizes=[3])
    other = spec("sync-sgd", 2, 60, accumulation=3, momentum=0.0)
    np.testing.assert_allclose(center(run_spec_virtual(mine)), center(run_spec_virtual(other)), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "parameters", "why"),
    [
        ("weighted-sync-sgd", {"sizes": [1, 2]}, "no whole number"),
        ("weighted-sync-sgd", {"sizes": [1, 2, 3]}, "no multiple"),
        ("adaptive-sgd", {"smallest": 9}, "exceeds"),
        ("adaptive-sgd", {"mega_batch": 1}, "not a batch for each"),
    ],
)
def test_what_cannot_run_is_refused(name, parameters, why):
    with pytest.raises(SpecError, match=why):
        spec(name, **parameters)


def resumable(name, workers, steps, folder, **parameters):
    """Run until the budget, forget the last checkpoint, and return the specification to go on with."""
    chosen = spec(name, workers, steps, **parameters).model_copy(
        update={"checkpoint": "always", "checkpoint_every": 8 * (steps // 2)}
    )
    run_spec_virtual(chosen, folder)
    places = sorted((folder / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert len(places) == 2
    (places[1] / "complete.json").unlink()
    return chosen


def test_a_merge_after_a_restart_has_a_batch_of_every_worker(tmp_path, merges):
    """It brings a step from before the restart that is not counted any more: without a batch it would be lost."""
    settings = {"mega_batch": 4, "largest": 4, "center_momentum": 0.0}
    chosen = resumable("adaptive-sgd", 2, 160, tmp_path, **settings)
    assert merges[0][0] == [1, 0], "at the start one update of all four batches, and nothing to lose"
    merges.clear()
    run_spec_virtual(chosen, tmp_path, resume=True)
    assert merges[0][0] == [1, 1]


@pytest.mark.parametrize("virtual", [{"speeds": [1, 0.37, 0.61]}, {"speeds": [1, 0.2], "compute_jitter": 0.2}])
def test_a_run_that_goes_on_is_the_unbroken_one(tmp_path, merges, virtual):
    """Sizes, counts and the batches left go on: bits, steps and virtual times are those of the first attempt."""
    workers = len(virtual["speeds"])
    settings = {"mega_batch": 24, "largest": 6, "scaling": 0.7, "center_momentum": 0.4}
    chosen = spec("adaptive-sgd", workers, 400, virtual, **settings)
    chosen = chosen.model_copy(update={"checkpoint": "always", "checkpoint_every": 8 * 220})
    straight = run_spec_virtual(chosen, tmp_path)
    places = sorted((tmp_path / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert 8 * 220 <= int(places[0].name) < 8 * 260
    for later in places[1:]:
        (later / "complete.json").unlink()
    whole = merges.copy()
    assert len(set(whole[-2][1])) > 1, "the sizes have changed"
    merges.clear()
    resumed = run_spec_virtual(chosen, tmp_path, resume=True)
    assert len(merges) >= 5 and merges == whole[-len(merges) :]
    assert center(resumed).tobytes() == center(straight).tobytes()
    for one, other in zip(straight, resumed, strict=True):
        assert (one.weights.tobytes(), one.done.step) == (other.weights.tobytes(), other.done.step)
        assert other.done.clock == pytest.approx(one.done.clock, rel=1e-9)


def test_the_part_of_a_worker_is_that_of_its_batches_since_the_merge_before_the_latest():
    import torch

    shares = Shares(2, 1, 4, 0.0, 40).kept(state := torch.zeros(40))

    def expected(left):
        return [shares.expected(i, left) for i in range(2)]

    assert expected(40) == [0, 0], "nothing is known before the first update"
    for worker in (0, 1, 0, 0):
        shares.handed(worker, shares.batches(worker))
    assert expected(shares.left) == [4.5, 1.5], "of 24 batches three quarters, and one quarter"
    assert expected(4) == [0.75, 0.25], "of a budget that ends before the merge"
    shares.handed(0, 12, 3)
    assert (shares.left, shares.updates) == (12, [6, 1])
    shares.rescale()
    shares.refill()
    assert expected(28) == [6, 1], "of 28 batches 24 and 4, as before the merge"
    shares.handed(1, 4)
    assert expected(32) == [6, 2], "what was granted since then counts, too"
    assert [shares.part(i, 28) for i in range(2)] == [6, 1], "just after a merge it does not"
    again = Shares(2, 1, 4, 0.0, 40).kept(state.clone())
    assert [again.expected(i, 32) for i in range(2)] == [6, 2], "also after a restart"
    shares.rescale()
    assert expected(8) == [0, 2], "the merge before the latest is as far as it goes back"


@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_updates_that_are_granted_at_once_are_those_that_are_granted_one_by_one(momentum):
    """Of one worker, whose order of batches does not depend on when it asks; with merges in between."""
    settings = {"largest": 2, "mega_batch": 9, "center_momentum": momentum}
    one, other = (spec("adaptive-sgd", 1, 54, **settings, at_once=share) for share in (0.0, 1.0))
    assert center(run_spec_virtual(one)).tobytes() == center(run_spec_virtual(other)).tobytes()


def asked(folder, server):
    """Return the number of requests that a server has answered."""
    blocks = [r.columns["worker"] for r in records(folder / f"journal.{server}.jsonl") if r.kind == "steps"]
    return sum(len(unpack("worker", block)) for block in blocks)


@pytest.mark.parametrize("speeds", [[1, 1, 1], [1, 0.5, 0.25]])
def test_by_default_workers_ask_less_and_none_is_waited_for_longer(tmp_path, speeds):
    """Asks cost nothing here: what a merge waits for is a step of the slowest, as with one update each."""
    asks, clocks = [], []
    for share in ({"at_once": 0.0}, {}):
        settings = {"largest": 1, "mega_batch": 75} | share
        folder = tmp_path / str(len(asks))
        outcomes = run_spec_virtual(spec("adaptive-sgd", 3, 300, {"speeds": speeds}, **settings), folder)
        asks.append(asked(folder, 3))
        clocks.append(outcomes[-1].done.clock)
        assert outcomes[-1].done.samples == 8 * 300
    assert asks[1] < 0.3 * asks[0]
    assert clocks[1] < clocks[0] + 4 * 8e-3 / min(speeds), "four merges"


@pytest.mark.parametrize(("part", "granted"), [(2, [1, 1]), (3, [2, 1]), (4, [3, 1])])
def test_a_short_part_is_granted_but_for_its_last_update_whoever_asks_first(part, granted, monkeypatch):
    """By hand, of four equal workers: after a merge each is granted as much as the others.

    What is left when the last of them asks is a fraction of what the first one found.
    """
    ranges, handed, rescale = [], Shares.handed, Shares.rescale

    def noting(shares, worker, batches, updates=1):
        ranges[-1][worker].append(batches)
        handed(shares, worker, batches, updates)

    def merging(shares):
        ranges.append([[] for _ in range(4)])
        rescale(shares)

    monkeypatch.setattr(Shares, "handed", noting)
    monkeypatch.setattr(Shares, "rescale", merging)
    ranges.append([[] for _ in range(4)])
    run_spec_virtual(spec("adaptive-sgd", 4, 4 * part * 8, largest=1, mega_batch=4 * part))
    assert len(ranges) == 9
    for each in ranges[3:7]:
        assert [worker[0] for worker in each] == [granted[0]] * 4
        assert sorted(each) == [granted] * 4


@pytest.mark.parametrize("speeds", [[1, 1], [1, 0.25]])
def test_ranges_become_shorter_towards_the_end_of_the_budget(speeds, monkeypatch):
    """Which comes long before a merge: at the end nobody computes alone for longer than two updates take.

    No range is longer than 16 updates.
    """
    ranges, handed = [], Shares.handed

    def noting(shares, worker, batches, updates=1):
        ranges.append(batches)
        handed(shares, worker, batches, updates)

    monkeypatch.setattr(Shares, "handed", noting)
    outcomes = run_spec_virtual(spec("adaptive-sgd", 2, 400, {"speeds": speeds}, largest=1, mega_batch=10**5))
    ended = [each.done.phases["compute"] for each in outcomes[:2]]
    assert abs(ended[0] - ended[1]) <= 2 * 8e-3 / min(speeds)
    assert (sum(ranges), max(ranges)) == (400, 16)


def test_sizes_are_kept_exactly():
    import torch

    state = torch.zeros(40)
    shares = Shares(3, 1, 16, 0.7, 100).kept(state)
    for counts in ([5, 2, 1], [4, 1, 3], [1, 3, 7]):
        shares.updates = counts
        shares.rescale()
    shares.handed(1, 9)
    again = Shares(3, 1, 16, 0.7, 100).kept(state.clone())
    assert again.sizes == shares.sizes and any(size != float(torch.tensor(size)) for size in shares.sizes)
    assert (again.updates, again.left, again.without()) == ([0, 1, 0], 91, {0, 2})
    small = Shares(3, 1, 16, 0.7, 100).kept(torch.zeros(12))
    small.handed(0, 2)
    assert (small.left, small.updates) == (98, [1, 0, 0]), "where there is no room nothing is kept"


def test_steps_beyond_the_budget_after_a_restart_are_granted_and_merged(tmp_path):
    """One step is left for three workers: each takes one, and the center is the mean of all of them."""
    chosen = spec("adaptive-sgd", 3, 30, largest=1, mega_batch=6, center_momentum=0.0)
    chosen = chosen.model_copy(update={"checkpoint": "always"})
    run_spec_virtual(chosen, tmp_path)
    longer = chosen.model_copy(update={"budget": chosen.budget.model_copy(update={"samples": 8 * 31})})
    outcomes = run_spec_virtual(longer, tmp_path, resume=True)
    assert outcomes[-1].done.samples == 8 * 33
    weights = [outcome.weights for outcome in outcomes[:3]]
    assert len({each.tobytes() for each in weights}) == 3
    np.testing.assert_allclose(center(outcomes), np.mean(weights, axis=0), atol=1e-6)


def test_the_loss_of_a_step_is_the_mean_of_its_batches(tmp_path, monkeypatch):
    """Of a worker's own ones, as with accumulation; in the journal of each."""
    found = {}
    gradient = FlatObjective.gradient

    def noting(objective, batch):
        loss = gradient(objective, batch)
        found.setdefault(objective._place.rank, []).append(loss)
        return loss

    monkeypatch.setattr(FlatObjective, "gradient", noting)
    run_spec_virtual(spec("weighted-sync-sgd", 2, 24, sizes=[3, 1]), tmp_path)
    for worker, size in ((0, 3), (1, 1)):
        blocks = [r for r in records(tmp_path / f"journal.{worker}.jsonl") if r.kind == "steps"]
        told = [loss for block in blocks for loss in unpack("loss", block.columns["loss"])]
        np.testing.assert_allclose(told, np.reshape(found[worker], (6, size)).mean(1), rtol=1e-6)
