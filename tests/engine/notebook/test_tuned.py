"""Tuned comparisons in a program: searches, their edges, sweeps, and what a saved comparison tells again."""

import json
import statistics
import time
from dataclasses import replace

import hooke
import numpy as np
import pytest
import torch
from hooke.errors import ArgumentError

from tests.engine.notebook.data import GIVEN, QUICK

OFTEN = QUICK | {"evaluate_every": 80, "samples": 800}
FIXED = {"momentum": 0.0, "momentum_kind": "heavy-ball"}
SLOW = {"low": 0.001, "high": 0.2, "scale": "log"}
"""A space whose upper end is the best rate for moons."""


@pytest.fixture(scope="module")
def found(took):
    methods = {
        "sync-sgd": FIXED | {"search": {"lr": SLOW}},
        "local-sgd": FIXED | {"lr": 0.2, "search": {"period": {"low": 1, "high": 8, "integer": True}}},
    }
    before = time.process_time()
    made = hooke.compare(methods, **GIVEN, **OFTEN | {"seeds": 3}, trials=4, trial_samples=640, target=0.75)
    took.append(time.process_time() - before)
    return made


@pytest.fixture(scope="module")
def took():
    """Processor seconds of the comparison."""
    return []


def test_what_the_runs_cost_is_what_the_process_has_spent(found, took):
    spent = sum(run.core_seconds for run in found.runs)
    assert 0.2 * took[0] < spent < took[0], "the rest plans, and measures the compute time"


def trials_of(found, name):
    return [r for r in found.runs if r.figures.variant == name and r.figures.rung is not None]


def test_searches_are_those_of_the_trials(found):
    """The choice, the share that met the target and the median, from the runs of the trials alone."""
    assert "A claim is about these settings: another search might choose others." in found.verdict
    for name, row in found.searches.iterrows():
        runs = trials_of(found, name)
        times = [run.figures.time_to_target for run in runs]
        met = [each for each in times if each is not None]
        assert row.trials == len(runs) == 4
        assert row.reached == len(met) / 4
        median = statistics.median(each if each is not None else float("inf") for each in times)
        assert row.median_time == pytest.approx(median) or (np.isnan(row.median_time) and median == float("inf"))
        assert {run.spec.budget.samples for run in runs} == {640}
        assert row.samples == sum(run.figures.samples for run in runs)
        assert row.core_hours * 3600 == pytest.approx(sum(run.core_seconds for run in runs))
        best = min((run for run in runs if run.figures.time_to_target), key=lambda run: run.figures.time_to_target)
        assert row.setting.items() <= best.spec.algorithm.parameters.items()
        assert set(row.setting) == ({"lr"} if name == "sync-sgd" else {"period"})


def test_a_choice_at_an_edge_is_said(found):
    """The longest of three steps is the best of so few samples."""
    chosen = {"sgd": FIXED | {"search": {"lr": {"choices": [1e-5, 1e-4, 0.1]}}}}
    few = hooke.compare(chosen, **GIVEN, **OFTEN, trials=3)
    row = few.searches.loc["sgd"]
    assert (row.setting, row.at_edge, row.wider) == ({"lr": 0.1}, {"lr": "high"}, {}), "choices have none"
    said = "Chosen at an edge of the search space: sgd (lr 0.1, high end). A better setting may lie beyond"
    assert said in few.verdict and np.isnan(row.reached)
    edged = replace(found._searches[0], setting={"lr": 0.19}, at_edge={"lr": "high"}, wider={"lr": SLOW})
    assert "sync-sgd (lr 0.19, high end)" in replace(found, _searches=(edged,)).verdict


def test_a_saved_comparison_says_the_same(found, tmp_path):
    again = hooke.load(found.save(tmp_path / "kept"))
    assert again.verdict == found.verdict and again.rows == found.rows
    assert again.searches.equals(found.searches) and again.trials.equals(found.trials)
    assert again.settings == found.settings and again.complete == found.complete
    assert [run.evaluations for run in again.runs] == [run.evaluations for run in found.runs]
    assert [run.spec for run in again.runs] == [run.spec for run in found.runs]
    assert len(again.plot().axes[0].lines) == len(found.plot().axes[0].lines)
    del again  # its folder is the user's
    assert hooke.load(str(tmp_path / "kept")).save(tmp_path / "twice").exists()
    index = tmp_path / "twice/runs/index.json"
    assert json.loads(index.read_text()) == json.loads((tmp_path / "kept/runs/index.json").read_text())


def test_what_was_interrupted_can_be_loaded_too(tmp_path):
    def press(progress):
        if progress.ended == 1 and progress.result is not None:
            raise KeyboardInterrupt

    cut = hooke.compare(["sgd"], **GIVEN, **OFTEN | {"seeds": 3, "progress": press}, target=0.8)
    again = hooke.load(cut.save(tmp_path / "kept"))
    assert again.verdict == cut.verdict and again.interrupted and not again.complete
    assert [run.figures.state for run in again.runs] == [run.figures.state for run in cut.runs]


@pytest.mark.parametrize("damage", ["nothing", "experiment.json", "runs/index.json"])
def test_another_folder_is_not_a_comparison(found, tmp_path, damage):
    if damage != "nothing":
        found.save(tmp_path / "kept")
        (tmp_path / "kept" / damage).write_text("[1]")
    with pytest.raises(ArgumentError, match="`folder`: .*kept is not a comparison that `save` has written: "):
        hooke.load(tmp_path / "kept")


def test_a_comparison_whose_journals_are_gone_is_none(found, tmp_path):
    """Without them its runs would seem to have missed the target."""
    kept = found.save(tmp_path / "kept")
    next(path for path in sorted(kept.glob("runs/*/journal.1.jsonl"))).unlink()
    with pytest.raises(
        ArgumentError, match=r"is not a comparison .*: FileNotFoundError: .* has no journal.1.jsonl"
    ):
        hooke.load(kept)


def test_a_sweep_is_a_method_for_each_value():
    methods = {"local-sgd": {"lr": 0.2, "sweep": {"period": np.array([1, 4])}}, "sgd": {"lr": torch.tensor(0.25)}}
    swept = hooke.compare(methods, **GIVEN, **QUICK | {"samples": 80})
    assert list(swept.settings) == ["local-sgd (period 1)", "local-sgd (period 4)", "sgd"]
    assert swept.specification.baseline == "local-sgd (period 1)"
    assert [each["period"] for each in list(swept.settings.values())[:2]] == [1, 4]
    assert json.loads(swept.specification.model_dump_json())["variants"][2]["parameters"] == {"lr": 0.25}
    for wrong, said in (
        ({"sweep": {"period": [2, 2]}}, r"`methods\['local-sgd'\]\['sweep'\]\['period'\]\['1'\]`: this value is"),
        ({"sweep": {"period": [1, 0]}}, r"`methods\['local-sgd'\]\['sweep'\]\['period'\]\['1'\]`: .* than or equ"),
        ({"sweep": [1, 4]}, r"`methods\['local-sgd'\]\['sweep'\]` maps parameters to the values that are"),
        ({"workload_settings": 3}, r"`methods\['local-sgd'\]\['workload_settings'\]` maps parameters of the work"),
    ):
        with pytest.raises(ArgumentError, match=said):
            hooke.compare({"local-sgd": wrong}, **GIVEN, **QUICK)


def test_a_baseline_without_a_setting_is_told():
    methods = {"wild": FIXED | {"algorithm": "local-sgd", "search": {"lr": {"low": 9.0, "high": 10.0}}}}
    methods |= {"sync-sgd": FIXED | {"lr": 1e-3}}
    quartic = lambda output, labels: (output - 9).pow(4).mean()  # noqa: E731
    told = hooke.compare(methods, **GIVEN, **QUICK, loss=quartic, target=0.9, trials=2).verdict
    assert "no claim: none of the trials of the baseline wild gave a result." in told


def test_optuna_proposes_the_second_half_of_the_trials():
    pytest.importorskip("optuna")
    chosen = {"methods": {"sgd": FIXED | {"search": {"lr": SLOW}}}, "search": "optuna"}
    both = [
        hooke.compare(**chosen | {"search": search}, **GIVEN, **OFTEN, trials=6, target=0.8)
        for search in ("optuna", "quasi-random")
    ]
    rates = [[each["lr"] for each in one.trials["setting"]] for one in both]
    assert rates[0][:3] == rates[1][:3] and rates[0][3:] != rates[1][3:]
    assert [len(set(each)) for each in rates] == [6, 6]
    assert "(model-based search of Optuna, 1 tuning seed)" in both[0].verdict and both[0].complete
