"""The size of a set is searched, and pairs, pages and stores do not mix searched sizes with one that was given."""

import json

import pytest

from benchmarks.evidence.store import ROOT
from benchmarks.slide.alike import ratios
from benchmarks.slide.alike import table as alike
from benchmarks.slide.conditions import DWTA, FULL, LAYERS, PROBLEMS, RANDOM, SIZED, SIZES, SLIDE, SPACES
from benchmarks.slide.page import page
from benchmarks.slide.publishing import publish, read
from benchmarks.slide.running import Store
from tests.evidence.compared import FINNA, record, records, sized, tried

RESULTS = ROOT / "docs" / "results" / "slide"
SAMPLED = "sampled, uniform", "sampled, log-uniform"


def test_only_slide_searches_tables_and_all_with_a_set_its_size():
    searched = {name: tuple(layer.spaces) for name, layer in LAYERS.items()}
    assert searched[SLIDE] == searched[DWTA] == ("beside", "hashes", "tables", "drawn")
    assert {searched[name] for name in (RANDOM, *SAMPLED)} == {("beside",)}
    assert searched[FULL] == searched["in-batch"] == ()
    assert all(3 <= setting["hashes"] <= 6 for setting in LAYERS[DWTA].trials(16))
    (setting, *_) = LAYERS[SLIDE].trials(6)
    assert setting.keys() >= {"lr", "beside", "hashes", "tables", "drawn"}
    assert setting["weight_decay"] == 0.0


@pytest.mark.parametrize("name", SIZES)
def test_trials_of_one_number_have_one_rate_and_one_size(name):
    count = SIZES[name].trials
    of = {name: layer.trials(count) for name, layer in LAYERS.items()}
    rates = {tuple(setting["lr"] for setting in settings) for settings in of.values()}
    sizes = {tuple(setting["beside"] for setting in of[layer]) for layer in (RANDOM, SLIDE, DWTA, *SAMPLED)}
    assert len(rates) == len(sizes) == 1
    (found,) = sizes
    assert len(set(found)) == count and min(found) < 50 and max(found) > 1000, "small sets and large ones"


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_set_has_the_labels_of_the_batch_and_those_beside(problem):
    """All sets of one trial have one size, and leave tables room for at least nine labels of a mean batch."""
    chosen = {name: LAYERS[name].trials(16) for name in (RANDOM, SLIDE, DWTA, *SAMPLED)}
    for number in range(16):
        sets = {
            name: LAYERS[name].workload_settings(problem, settings[number]) for name, settings in chosen.items()
        }
        negatives = sets["sampled, uniform"]["active"]
        assert sets["sampled, log-uniform"]["active"] == negatives
        totals = {sets[name]["active"] for name in (RANDOM, SLIDE, DWTA)}
        assert totals == {problem.own + negatives}
        for name in (SLIDE, DWTA):
            (total,) = totals
            drawn = int(total * sets[name]["uniform_share"])
            assert 0.29 * negatives - 1 <= drawn <= 0.7 * negatives
            assert total - problem.own - drawn >= 9


def test_labels_of_a_batch_are_those_that_were_measured():
    """The published runs of the layer `in-batch`, which computes these alone."""
    found = [each for each in read(RESULTS / "runs.jsonl") if each["layer"] == "in-batch"]
    for problem in PROBLEMS.values():
        counted = [
            scored["further"]["active_labels"]
            for each in found
            if each["problem"] == problem.name and each["rung"] is None
            for scored in each["result"]["evaluations"][-1:]
        ]
        assert counted and abs(sum(counted) / len(counted) - problem.own) < 5


def test_runs_of_other_spaces_are_not_mixed(tmp_path):
    """Neither in a store nor on a page; what a problem had in other spaces stays until it is measured anew."""
    (tmp_path / "runs").mkdir()
    for key, spaces in (("old", {}), ("new", {"spaces": SPACES})):
        (tmp_path / "runs" / f"{key}.json").write_text(json.dumps(record(SLIDE, 0, 1.0) | spaces))
    assert list(Store(tmp_path).stored()) == ["new"]

    old = [
        {**each, "problem": name, "size": size}
        for each in records({SLIDE: 30.0, FULL: 40.0})
        for name, size in ((FINNA.name, "first"), ("planted", "short"))
    ]
    publish(old, [], tmp_path)
    trials = [{**each, "spaces": SPACES, "rung": 0} for each in old if each["size"] == "short"]
    text = publish([sized(each) for each in old if each["size"] == "first"] + trials, [], tmp_path).read_text()
    real, planted = text[text.index("## Finna") :].split("## planted")
    assert "learning rate from 0.016 to 0.16" in real and "(`beside`, 30 to 3,000" in real
    assert "the other sets have 302 labels" in real and "6 trials are few" in real
    assert "none had more than 100 labels beside" in real
    assert "learning rate from 0.01 to 1;" in planted and "was not searched" in planted
    both = [sized(each) for each in old if each["size"] == "short"]
    text = publish([{**each, "size": "first"} for each in both], [], tmp_path).read_text()
    assert text.count("## planted") == 1 and "was not searched" not in text


def test_sizes_that_no_trial_had_are_told():
    """Of the spaces up to 1,000, of which six trials had 499 at most; later ones have tried more."""
    runs = [sized(each, 499) for each in records({SLIDE: 10.0, FULL: 40.0, "sampled, uniform": 15.0})]
    said = "No trial of `sampled` had more than 499 negatives. With 1,000 log-uniform ones"
    former = [{**each, "spaces": SIZED} for each in runs]
    assert said in page(former) and "(`beside`, 30 to 1,000" in page(former)
    assert "such a full layer the goal of 10 would probably be missed here**" in page(former)
    assert said not in page(runs) and "(`beside`, 30 to 3,000" in page(runs)


def test_trials_of_one_size_are_beside_each_other():
    """A pair says its size; trials of other sizes are no pair."""
    found = [sized(tried(RANDOM, 1, 0.08, 200_000)), sized(tried(SLIDE, 1, 0.08, 150_000))]
    assert ratios(found) == [0.75]
    told = alike(found)
    assert "| learning rate | labels beside those of the batch | random-active | slide |" in told
    assert told.splitlines()[-1].startswith("| 0.08 | 100 | 200,000 | 150,000")
    assert "one learning rate and sets of one size" in told
    others = [found[0], sized(tried(SLIDE, 1, 0.08, 150_000), beside=90)]
    assert ratios(others) == [] and alike(others).splitlines()[-1] == "| 0.08 | 100 | 200,000 | - |"
    reported = [sized(each) for each in records({SLIDE: 10.0, FULL: 40.0, RANDOM: 20.0})]
    first = page([*reported, *found])
    assert "over `random-active`, each with the size that its trials chose, hashing" in first
    assert "With one learning rate and sets of one size for both it took 0.75 to 0.75" in first


def test_trials_at_one_learning_rate_are_beside_each_other():
    found = [
        *(tried(RANDOM, 1, 0.08, None), tried(RANDOM, 1, 0.08, 200_000, rung=1), tried(RANDOM, 2, 0.5, None)),
        *(tried(SLIDE, 1, 0.08, 150_000, retrieved_labels=300.0), tried(SLIDE, 2, 0.5, None)),
    ]
    assert ratios(found) == [0.75]  # of the larger budget
    (row,) = [line for line in alike(found).splitlines() if line.startswith("| 0.")]  # none met the target at 0.5
    assert row == "| 0.08 | 200,000 | 150,000 (300 labels, recall 40%) |"
    assert alike([one for one in found if one["layer"] == RANDOM]) == ""
