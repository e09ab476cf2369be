"""The comparison on unequal workers: how spaces scale, which records count, and what its page begins with."""

import json

import pytest

from benchmarks.common import records as kept
from benchmarks.unequal import __main__ as command
from benchmarks.unequal import runs, short
from benchmarks.unequal.conditions import TRIALS, TUNING_SEED
from benchmarks.unequal.entries import ADAPTIVE, FASTEST, MERGING, STATIC, SYNC, trial
from benchmarks.unequal.findings import found_in
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


def test_first_are_those_that_take_less_than_a_third_longer():
    """By hand: 3, 3.9 and 4 seconds; over two tasks the geometric mean; who missed a target is left out."""
    records = complete("ratio-4", seconds=(9, 9, 9)) | made(STATIC, [3, 3, 3]) | made(ADAPTIVE, [3.9, 3.9, 3.9])
    records |= made("Async SGD", [4, 4, 4])
    assert short._close(records, "ratio-4") == [STATIC, ADAPTIVE]
    assert f"| CPUs, speeds 4 : 1 | 1 | **{STATIC}**; {ADAPTIVE} | 3.00 x | 3.00 x |" in page(records, COSTS)
    records |= complete("ratio-4", "w8a", seconds=(9, 9, 9))
    records |= made(STATIC, [12, 12, 12], task="w8a") | made(ADAPTIVE, [None, None, 1], task="w8a")
    tasks, found = short.times(records, "ratio-4")
    assert tasks == 2
    assert found[STATIC] == pytest.approx(6)
    assert found["Async SGD"] == pytest.approx(6)
    assert ADAPTIVE not in found
    assert short.times(records, "ratio-8") == (0, {})


def test_how_often_a_method_is_first_is_of_the_conditions_that_have_it():
    found = {"ratio-4": [STATIC, SYNC], "equal": [SYNC], "one-slow": ["Local SGD"]}
    assert short.often(found) == f"{STATIC} in 1 of 1; {SYNC} in 2 of 3; Local SGD in 1 of 2"


def test_whether_a_slower_worker_pays_is_the_best_of_all_methods_over_the_fastest_alone():
    """By hand: 8 seconds alone and 2 together, 8 and 8, 8 and 16; who runs alone does not count as together."""
    records = complete("ratio-4", seconds=(8, 8, 8)) | made("Async SGD", [2, 2, 2])
    records |= complete("ratio-2", seconds=(8, 8, 8))
    records |= complete("v100", seconds=(16, 16, 16)) | made(FASTEST, [8, 8, 8], condition="v100")
    pairs = found_in(records, "cpus", "box")
    assert [short.together(records, cell) for cell in pairs] == [1, 4, 0.5]
    told = short.paying(records, pairs[:2])
    assert told.startswith("faster by a third or more in 1 of 2, slower by as much in 0, not told apart in the")
    assert "; 2.00 x on geometric average" in told
    assert "to 1.37 x" in told, "the root of 1.5 times 1.25"
    assert "in 0 of 1, slower by as much in 1, " in short.paying(records, pairs[2:])


def test_the_page_begins_with_what_was_found():
    text = page(complete("ratio-4"), COSTS)
    order = ("**Which method for which workers.**", "pay?**", "## What was asked", "## How it was measured")
    places = [text.index(each) for each in order]
    assert places == sorted(places)
