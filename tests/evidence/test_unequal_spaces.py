"""The comparison on unequal workers: how spaces scale, which records count, and what its page begins with."""

import json

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.common import records as kept
from benchmarks.unequal import __main__ as command
from benchmarks.unequal import answered, claims, runs
from benchmarks.unequal.conditions import CONDITIONS, TRIALS, TUNING_SEED
from benchmarks.unequal.entries import ADAPTIVE, MERGING, SPLIT, STATIC, SYNC, document, entries, trial
from benchmarks.unequal.page import page
from benchmarks.unequal.runs import Run, run_of
from tests.evidence.test_unequal import COSTS, complete, made, record

ELASTIC = ("Sync EASGD", "Async EASGD", "Heterogeneous EASGD")


def trials(entry, condition):
    return [trial(entry, condition, number) for number in range(TRIALS)]


@pytest.mark.parametrize("entry", [ADAPTIVE, MERGING])
def test_eight_workers_take_as_many_samples_between_exchanges_as_a_pair(entry):
    """The random numbers are the same, and so are the samples of the largest updates of all workers."""
    for two, eight in zip(trials(entry, "ratio-1"), trials(entry, "equal"), strict=True):
        assert 8 * eight["batch"] == 2 * two["batch"]
        assert (eight["largest"], eight["lr"]) == (two["largest"], two["lr"])
        if entry == MERGING:
            assert eight["mega_batch"] * eight["batch"] == two["mega_batch"] * two["batch"]


def test_periods_are_divided_by_the_workers_but_one_step_remains_and_local_sgd_is_not_synchronous():
    for condition, wanted in (("ratio-1", {1, 4, 16}), ("v100-4", {1, 4, 16}), ("equal", {1, 4})):
        assert {each["period"] for each in trials("Heterogeneous EASGD", condition)} == wanted
    assert {each["period"] for each in trials("Local SGD", "equal")} == {2, 4}


def test_elastic_methods_that_are_compared_have_the_same_trials():
    for condition in ("equal", "one-slow"):
        assert trials(ELASTIC[0], condition) == trials(ELASTIC[1], condition) == trials(ELASTIC[2], condition)
    assert trials(ADAPTIVE, "equal") != trials(MERGING, "equal")


def test_published_records_are_of_the_trials_that_are_drawn():
    """So the spaces of a pair are those of its records; a changed draw needs new ones."""
    published = map(json.loads, command.DATA.read_text().splitlines())
    other = {(each["condition"], each["entry"]) for each in published if not runs.drawn(each)}
    assert other == set()


def test_records_of_another_draw_do_not_count(tmp_path, monkeypatch):
    """They are carried out again, and are removed from what is published."""
    monkeypatch.setattr(runs, "carried_out", lambda todo: record(todo[0], 2.0))
    store, data = tmp_path / "store.jsonl", tmp_path / "data.jsonl"
    command.run_all([("digits", "ratio-2")], store, 10)
    lines = kept.read(store, run_of)
    run = Run("digits", "ratio-2", SYNC, 3, TUNING_SEED)
    old = {**lines[run], "settings": {"batch": 5, "lr": 0.1}, "seconds": 1.0}
    kept.write(data, (lines | {run: old}).values())
    assert len(kept.read(data, run_of, runs.drawn)) == len(lines) - 1
    found = kept.publish(tmp_path / "page.md", data, tmp_path / "none", run_of, lambda known: "", runs.drawn)
    assert run not in found and run not in kept.read(data, run_of)
    command.run_all([("digits", "ratio-2")], data, 10)
    assert kept.read(data, run_of)[run]["seconds"] == 2.0


def test_the_page_begins_with_what_was_found():
    text = page(complete("ratio-4"), COSTS)
    order = ("**What only", "## Which method for which workers", "pay?", "## What was asked", "## How it was")
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_the_first_lines_answer_what_was_asked_by_hand():
    """One box, with static sizes three times as fast as the device alone; one cluster, with one method faster."""
    records = complete("v100", seconds=(6, 6.1, 6.2)) | complete("equal") | complete("one-slow")
    records |= made(STATIC, [2, 2.1, 2.2], condition="v100", updates=[30, 70])
    records |= made("Async SGD", [1, 1.1, 1.2], condition="one-slow")
    device, shape, survivors, *_ = answered.first(records, claims.noise(records), {})
    assert (
        "told apart as faster in 1 of 1 cells, as slower in 0. By medians it takes 0.34 to 0.34 times as long"
        in device
    )
    assert "most of the updates in 1 of 1 simulated boxes" in shape
    assert "told apart: faster than static ones in 0 cells, slower in 1." in shape
    assert survivors.endswith("from Sync SGD as faster, of 1 simulated clusters of 8 CPUs: Async SGD in 1.")


def speeds(condition, seconds):
    """Return the speeds of the workers of a cluster at a time of the run, as its specification has them."""
    virtual = validate_run(document("digits", condition, SYNC, trial(SYNC, condition, 0), 1)).virtual
    return [round(virtual.speed(worker, seconds), 6) for worker in range(8)]


def test_speeds_cross_linearly_and_are_as_much_together():
    for seconds, first, second in ((0, 1.0, 0.25), (0.04, 0.625, 0.625), (0.06, 0.4375, 0.8125), (9, 0.25, 1.0)):
        assert speeds("crossing", seconds) == [first] * 4 + [second] * 4


def test_each_worker_in_turn_is_the_slow_one():
    for seconds, slow in ((0, 0), (0.019, 0), (0.02, 1), (0.15, 7), (0.161, 0), (0.181, 1), (0.599, 5)):
        assert speeds("moving", seconds) == [0.25 if worker == slow else 1.0 for worker in range(8)], seconds


def test_changing_clusters_have_the_entries_and_trials_of_others_of_as_many_workers():
    for condition in ("crossing", "moving"):
        assert entries(condition) == entries("one-slow")
        for entry in set(entries(condition)) - {SPLIT}:
            assert trials(entry, condition) == trials(entry, "one-slow")
        assert min(CONDITIONS[condition].speeds) == 1, "relative to the slowest at the beginning"
    moving, still = (trials(SPLIT, condition)[0]["sizes"] for condition in ("moving", "one-slow"))
    assert sorted(moving) == sorted(still)
    assert (min(moving), min(still)) == (moving[0], still[-1]), "as measured at the beginning"
