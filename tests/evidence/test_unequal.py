"""The comparison on unequal workers: its specifications, the choice of trials, and the page, by hand."""

from collections import Counter
from dataclasses import replace

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.unequal import __main__ as command
from benchmarks.unequal import runs
from benchmarks.unequal.conditions import (
    BASELINE,
    CONDITIONS,
    ENTRIES,
    SEEDS,
    TASKS,
    TRIALS,
    TUNING_SEED,
    document,
    split,
    trial,
)
from benchmarks.unequal.page import _shares, median, page
from benchmarks.unequal.runs import Run


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_trial_can_run(entry, condition):
    for number in range(TRIALS):
        spec = validate_run(document("digits", condition, entry, trial(entry, condition, number), 0))
        assert spec.world == "virtual"
        assert spec.sharding == "dispatched"
        assert spec.workers == (1 if ENTRIES[entry].alone else CONDITIONS[condition].workers)


def test_all_have_equally_many_trials_and_no_seed_twice():
    assert TUNING_SEED not in SEEDS
    for entry in ENTRIES:
        drawn = [str(trial(entry, "ratio-4", number)) for number in range(TRIALS)]
        assert len(set(drawn)) == TRIALS
        assert all({"batch", "lr"} <= trial(entry, "v100", number).keys() for number in range(TRIALS))


@pytest.mark.parametrize(("condition", "ratio"), [("ratio-1", 1), ("ratio-2", 2), ("ratio-4", 4), ("ratio-8", 8)])
def test_a_split_is_as_the_speeds_are(condition, ratio):
    found = split(CONDITIONS[condition], 32)
    sizes = found["sizes"]
    assert sizes[0] == sizes[1] == ratio * sizes[2] == ratio * sizes[3]
    assert sum(sizes) % 4 == 0
    assert sum(sizes) * found["batch"] == pytest.approx(4 * 32, rel=0.15)


def test_the_fastest_worker_alone_is_the_fast_one():
    alone = document("digits", "v100", "SGD, fastest worker alone", {"batch": 8, "lr": 0.1}, 0)
    assert alone["virtual"]["devices"] == [{"kind": "v100", "count": 1}]
    assert "speeds" not in document("digits", "ratio-8", "SGD, fastest worker alone", {"batch": 8}, 0)["virtual"]


def record(run, seconds, loss=0.5):
    samples = None if seconds is None else 1000
    return {
        "task": run.task, "condition": run.condition, "entry": run.entry, "trial": run.trial, "seed": run.seed,
        "settings": run.settings, "diverged": False, "seconds": seconds, "samples": samples, "loss": loss,
        "steps": [30, 10], "computing": [0.9, 0.5],
    }  # fmt: skip


def made(entry, seconds, of_trials=None):
    """Return the records of a complete cell: trial 2 is best; its results have these seconds."""
    first = Run("digits", "ratio-4", entry, 0, TUNING_SEED)
    times = of_trials or [5, 4, 1, None]
    found = [record(replace(first, trial=n), each) for n, each in enumerate(times)]
    found += [record(replace(first, trial=2, seed=s), t) for s, t in zip(SEEDS, seconds, strict=True)]
    return {runs._run_of(each): each for each in found}


def test_the_best_trial_is_run_again_with_fresh_seeds():
    records, cell = {}, ("digits", "ratio-4", "Async EASGD")
    todo = runs.missing(records, *cell)
    assert Counter(each.seed for each in todo) == {TUNING_SEED: TRIALS}
    records |= {each: record(each, None if each.trial != 3 else 2.0) for each in todo}
    todo = runs.missing(records, *cell)
    assert [(each.trial, each.seed) for each in todo] == [(3, seed) for seed in SEEDS]
    assert runs.results(records, *cell) is None
    records |= {each: record(each, 1.0) for each in todo}
    assert runs.missing(records, *cell) == []
    assert len(runs.results(records, *cell)) == len(SEEDS)


def test_without_the_target_the_least_loss_is_best():
    run = Run("digits", "k80", "Async SGD", 0, TUNING_SEED)
    records = {replace(run, trial=n): record(replace(run, trial=n), None, 1 / (1 + n % 3)) for n in range(TRIALS)}
    assert runs.best(records, "digits", "k80", "Async SGD") == 2


def test_seeds_that_missed_are_longer_than_all_others():
    def of(*seconds):
        return [{"seconds": each} for each in seconds]

    assert median(of(3, 1, 2, None, None)) == 3
    assert median(of(3, 1, None, None, None)) is None


def test_the_page_has_ratios_of_medians_and_says_that_all_is_simulated():
    records = made(BASELINE, [5, 6, 7]) | made("Adaptive SGD", [1, 3, None])
    assert "### speeds" not in page(records), "entries are missing"
    for entry in ENTRIES:
        records = made(entry, [5, 6, 7]) | records
    text = page(records)
    assert "**Everything on this page is simulated.**" in text
    assert "speeds 1 : 4" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| Adaptive SGD | batch")]
    assert "| 3 (1 to 3) | 1 | 2.00 | 1.0 | 90%, 50% | 75%, 25% |" in row
    assert "| Adaptive SGD | 2.00 |" in text


def test_the_share_of_a_split_step_is_that_of_its_batches():
    record = {"settings": {"sizes": [8, 2]}, "steps": [30, 30]}
    assert _shares("Weighted Sync SGD, by speed", record) == pytest.approx([0.8, 0.2])
    assert _shares("CPU+GPU Hogbatch", record) == [0.5, 0.5]


def test_records_are_kept_and_a_run_goes_on(tmp_path, monkeypatch, capsys):
    carried = []

    def carry(run):
        carried.append(run)
        return record(run, float(len(carried)))

    monkeypatch.setattr(runs, "carried_out", carry)
    path = tmp_path / "records.jsonl"
    for _ in range(2):
        command.run_all(["digits"], ["ratio-2"], path, 10)
    assert len(carried) == len(set(carried)) == len(ENTRIES) * (TRIALS + len(SEEDS))
    assert runs.read(path).keys() == set(carried)
    assert "ratio-2" in capsys.readouterr().out


def test_a_run_yields_its_record():
    found = runs.carried_out(Run("digits", "ratio-4", "SGD, fastest worker alone", 0, 1))
    assert found["seconds"] is None or found["samples"] <= TASKS["digits"].samples
    assert 0 < found["computing"][0] <= 1
