"""Trials that end early, entries with accumulation, and chosen settings in simulated time."""

from dataclasses import replace
from pathlib import Path

import pytest
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.regimes import reported, store
from benchmarks.regimes.__main__ import Proposing, _following
from benchmarks.regimes.bounded import bounded, clock, fastest
from benchmarks.regimes.cells import Cell, proposals
from benchmarks.regimes.conditions import LAB, TASKS
from benchmarks.regimes.learnt import PROPOSALS
from benchmarks.regimes.runs import Run, carried_out
from benchmarks.tuned.chosen import CannotChoose
from benchmarks.tuned.entries import ACCUMULATING, DDP_BF16, entry_of
from benchmarks.tuned.publishing import published

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
TASK = "fashion-halving"


def learnt(cell, trial, met):
    """Let a trial of a cell have met its target after so many samples."""
    run = cell.run(trial, FIRST_TUNING_SEED)
    found = {"diverged": False, "before": met - 3_200, "met": met, "accuracy": 0.9}
    cell.records[run] = {"parameters": cell.settings[trial - 1]} | found


def test_a_trial_ends_with_the_last_evaluation_at_which_it_could_be_the_fastest():
    cell = Cell(TASK, 8, "pipe-sgd", {})
    first, second = (todo for todo in cell.missing((LAB,), 0) if todo[0].trial in (2, 4))
    assert bounded(cell, second) == second, "no trial has met the target yet"
    learnt(cell, 2, 96_000)
    best = clock(cell, cell.settings[1], 96_000)
    run, setting, samples, _ = bounded(cell, second)
    assert (run, setting) == second[:2]
    assert samples % 3_200 == 0
    assert clock(cell, setting, samples) <= best < clock(cell, setting, samples + 3_200)
    learnt(cell, 4, samples)
    assert bounded(cell, first)[2] <= 96_000, "the fastest of all counts"
    reported_run = replace(run, seed=5), setting, 240_000, 0
    assert bounded(cell, reported_run) == reported_run, "it has the whole budget"


def test_the_clock_of_a_bound_is_that_of_the_engine():
    small = Cell("digits", 8, "pipe-sgd", {})
    setting = small.settings[0] | {"accumulation": 2, "lr": 0.1}
    document = small.run(1, FIRST_TUNING_SEED, LAB).document(setting, 3_200)
    whole = run_spec_virtual(validate_run(document))[0].evaluations[-1]
    assert whole.samples == 13 * 2 * 8 * 16, "steps of 256 samples"
    assert clock(small, setting, 3_200) == pytest.approx(whole.clock, rel=1e-12)


def test_a_trial_that_was_ended_says_so():
    run = Run("digits", 2, "sync-sgd", 1, FIRST_TUNING_SEED)
    setting = entry_of("sync-sgd").settings(1, 2)[0] | {"lr": 1e-6}
    assert carried_out((run, setting, 640, 0))["ended"] == 640
    found = carried_out((replace(run, seed=0), setting | {"lr": 0.3, "momentum": 0.5}, TASKS["digits"].samples, 0))
    assert found["met"] is not None
    assert "ended" not in found


def test_the_trials_that_are_asked_for_first_come_first():
    cell = Cell(TASK, 8, "pipe-sgd", {})
    found = _following([cell], Proposing(bound=True, first=(8, 2)), [], 3)
    assert [todo[0].trial for todo in found] == [2, 8, 1]
    assert [todo[0].trial for todo in _following([cell], Proposing(), found, 1)] == [3]


@pytest.mark.parametrize("entry", ACCUMULATING, ids=lambda entry: entry.name)
def test_accumulation_is_one_more_dimension_and_changes_no_other_one(entry):
    """With the choices of DDP; where the batch is searched those that DDP has there."""
    own, more = (entry_of(name).settings(16, 8) for name in (entry.method, entry.name))
    assert {each["accumulation"] for each in own} == {1}
    assert {each["accumulation"] for each in more} == {each["accumulation"] for each in DDP_BF16.settings(16, 8)}
    if entry.method != "sync-easgd":  # of which some points are passed over, because their pull is not stable
        assert [each | {"accumulation": 1} for each in more] == own
    few = entry.on(TASKS["fashion-batch"]).settings(16, 8)
    assert {each["accumulation"] for each in few} == {1, 2}


@pytest.mark.parametrize("name", ["pipe-sgd", "delayed-gradient-averaging"])
def test_late_methods_search_what_ddp_searches_and_the_kind_of_momentum(name):
    own, peer = entry_of(name).settings(16, 8), DDP_BF16.settings(16, 8)
    assert {each["accumulation"] for each in own} == {1, 2, 4, 8}
    assert {each["delay"] for each in own} == {1}
    assert [(each["lr"], each["momentum"]) for each in own] == [(each["lr"], each["momentum"]) for each in peer]
    batched = entry_of(name).on(TASKS["fashion-batch"]).settings(16, 8)
    assert {each["accumulation"] for each in batched} == {1, 2}


def test_the_table_of_the_decision_is_that_of_the_records():
    (page,) = RESULTS.parent.glob("decisions/0126-*.md")
    text, lines = page.read_text(), reported.table(TASK, published(RESULTS)).splitlines()
    assert len(lines) >= 2 + 6
    assert all(line in text for line in lines)


def test_every_trial_that_was_ended_could_not_have_been_chosen():
    """At its next evaluation its clock is beyond that of the fastest of its entry."""
    for workers in (2, 8):
        records = store.read(PROPOSALS / f"{TASK}-{workers}-workers.jsonl")
        for run, record in records.items():
            if "ended" not in record:
                continue
            cell = Cell(TASK, workers, run.method, records)
            assert clock(cell, record["parameters"], record["ended"] + TASKS[TASK].every) > fastest(cell), run


def test_trials_that_were_ended_are_not_proposed_after_the_best():
    """Hosts try the four best: which come after the first is not known where trials were ended."""
    path = PROPOSALS / f"{TASK}-8-workers.jsonl"
    ended = {run.method for run, record in store.read(path).items() if "ended" in record}
    assert ended
    for method in ended:
        with pytest.raises(CannotChoose, match="only the best of them is known"):
            proposals(path, TASK, 8, method)
    assert proposals(PROPOSALS / "fashion-8-workers.jsonl", "fashion", 8, "slowmo")
