"""The comparison of output layers: the same effort for all, and a page that follows from records alone."""

import json

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.slide import region as module
from benchmarks.slide.conditions import CLEARED, DWTA, FULL, LAYERS, PROBLEMS, RANDOM, SIZES, SLIDE, Size
from benchmarks.slide.page import page
from benchmarks.slide.publishing import publish, read
from benchmarks.slide.region import MAPPED, cells, document, steps
from benchmarks.slide.region import table as region
from benchmarks.slide.rounds import Rounds, all_rounds, following
from tests.evidence.compared import FINNA, records, result

FIRST = SIZES["first"]


def test_every_layer_has_the_same_effort():
    rounds = [Rounds(FINNA, FIRST, layer, 2) for layer in LAYERS.values()]
    efforts = {(len(each.settings), tuple(each.search.rungs), tuple(each.search.seeds)) for each in rounds}
    assert len(efforts) == 1
    (trials, rungs, seeds), *_ = efforts
    assert (trials, [rung.trials for rung in rungs]) == (8, [8, 4])
    assert not set(seeds) & set(range(FIRST.seeds)), "tuning seeds are in no result"


@pytest.mark.parametrize("layer", LAYERS)
def test_runs_are_valid_and_differ_in_settings_alone(layer):
    rounds = Rounds(FINNA, FIRST, LAYERS[layer], 2)
    spec = validate_run(rounds.reported(2, 1).document)
    assert spec.workload.parameters == FINNA.parameters, "what is learned is the same for all"
    assert spec.workload_parameters["output"] == LAYERS[layer].given["output"]
    assert spec.budget.samples == FIRST.samples and spec.seed == 1
    validate_run(document(10_000, 128, layer, 2))


def test_trials_come_first_and_their_best_is_reported():
    size = Size("test", (FINNA.name,), 3, 1000, 2)
    rounds, results, played = all_rounds(PROBLEMS, size, 1), {}, []
    while play := following(rounds, results, set()):
        results[play.key] = result(5.0 if play.trial == 2 else 9.0)
        played.append(play)
    reported = [play for play in played if play.rung is None]
    assert len(played) == len(LAYERS) * (3 + 2) and played[-len(reported) :] == reported
    assert {(play.trial, play.seed) for play in reported} == {(2, 0), (2, 1)}
    assert len({play.key for play in played}) == len(played)


def test_the_first_sentence_says_whether_hashing_pays():
    quick = page(records({SLIDE: 10.0, "full": 40.0, "random-active": 20.0}))
    assert "hashing pays (faster: slide 2.0x" in quick.split("\n\n")[2]
    both = page(records({SLIDE: 30.0, DWTA: 10.0, "full": 40.0, "random-active": 20.0}))
    assert "hashing pays (faster: slide, dwta 2.0x" in both and "verdict over slide, dwta" in both
    slow = page(records({SLIDE: 30.0, "full": 40.0, "random-active": 20.0}))
    sentence = slow.split("\n\n")[2]
    assert sentence.startswith("On Finna/YSO English")
    assert "hashing does not pay (slower: slide 1.5x as long" in sentence
    assert "Over the full layer in float32, hashing pays (faster: slide 1.3x" in sentence
    assert "| random-active | lr 0.123 (edge) |" in slow and "1.7% of the train clock" in slow


def test_three_sentences_and_a_list():
    """Labels, batch and cores first; then goals, and that the paper's card was not there."""
    rates = [
        {"labels": 10_000, "batch": 32, "layer": name, "samples_per_second": 9.0} for name in (SLIDE, FULL, RANDOM)
    ]
    runs = records({SLIDE: 10.0, "full": 40.0, "random-active": 20.0, "sampled, uniform": 15.0, "in-batch": 5.0})
    paragraph, listed = page(runs, rates).split("\n\n")[2:4]
    assert paragraph.startswith("On Finna/YSO English, 21,025 labels, real records, batches of 128 and 2 cores, ")
    assert paragraph.count(". ") == 2 and paragraph.endswith(".")
    assert "hashing does not pay (slower: slide 2.0x as long" in paragraph
    assert "over the best other layer, in-batch. Over the full layer in float32, hashing pays" in paragraph
    assert "(faster: slide 4.0x" in paragraph and "in seconds (without tables: random-active 2.0x (" in paragraph
    lines = listed.splitlines()
    assert all(line.startswith("- ") for line in lines)
    assert "over `random-active` of the same size, hashing gains nothing (same: slide 1.0x" in lines[0]
    assert "10 times as fast as `full`: missed (slide 4.0x" in lines[1] and "aim of 20 times: missed;" in lines[1]
    assert "; as fast as `sampled, uniform`: reached (slide 1.5x" in lines[1]
    assert lines[1].endswith("aim of 1.5 times: not shown."), "a part of the interval is below it"
    assert "Neither has been measured here" in lines[2] and "a V100" in lines[2]
    assert "Goals" not in page(records({SLIDE: 10.0, "full": 40.0}, busy=0.4))


def test_tables_that_added_nothing_are_told():
    """The labels of a batch and the uniform share can leave them no room; newer records count what they gave."""
    runs = records({SLIDE: 30.0, "full": 40.0})
    said = "tables added nothing, or nearly so, to the sets of `slide`**"

    def told(**further):
        changed = json.loads(json.dumps(runs))
        for each in changed:
            for scored in each["result"]["evaluations"]:
                scored["further"] |= further
        return page(changed)

    assert said not in page(runs)
    assert said in told(active_labels=1090.0) and "were 1,090 in a step" in told(active_labels=1090.0)
    assert said in told(retrieved_labels=0.2) and said not in told(retrieved_labels=120.0, active_labels=1090.0)
    assert "120 labels of a step came from tables alone" in told(retrieved_labels=120.0)


def test_no_times_from_a_machine_that_others_used():
    told = page(records({SLIDE: 30.0, "full": 40.0}, busy=0.4))
    assert "samples to the target, by seed" in told and "48,000, 48,000, 48,000" in told
    assert "used up to 40% of the processors" in told
    assert "30.0" not in told


def test_a_missed_target_is_a_bound_and_nothing_measured_is_said():
    runs = records({SLIDE: 30.0}) + records({"full": 300.0}, missed=True)
    assert "hashing pays (at least: slide at least" in page(runs)
    assert "has not been measured" in page([])


def test_published_records_replace_those_of_their_problem(tmp_path):
    publish(records({SLIDE: 30.0, "full": 40.0}), [], tmp_path)
    path = publish(records({SLIDE: 10.0, "full": 40.0}), [], tmp_path)
    assert len(read(tmp_path / "slide" / "runs.jsonl")) == 6
    assert "hashing pays" in path.read_text()


def test_the_planted_problem_is_beside_the_real_one_by_the_same_rules():
    """Same effort and spaces; on the page each has its section, and one table has the ratios of both."""
    real, planted = (Rounds(PROBLEMS[name], FIRST, LAYERS[SLIDE], 2) for name in FIRST.problems)
    assert (real.settings, real.search.rungs, real.search.seeds) == (
        planted.settings,
        planted.search.rungs,
        planted.search.seeds,
    )
    runs = records({SLIDE: 30.0, "full": 40.0})
    generated = [{**each, "problem": "planted", "target": 0.45} for each in records({SLIDE: 10.0, "full": 5.0})]
    told = page(runs + generated)
    assert told.index("## Finna/YSO English") < told.index("## planted problem, 21,025 labels")
    assert "every label has 16 features of its own" in told
    sentence = told.split("\n\n")[2]
    assert sentence.startswith("On Finna/YSO English") and "; on the planted problem hashing" in sentence
    table = told[told.index("## The problems beside each other") :]
    assert "| full | 2. slower: full 1.3x as long" in table and "| 1. faster: full 2.0x" in table
    assert "| slide | 1. baseline | 2. baseline |" in table
    assert "beside each other" not in page(runs)


def test_problems_follow_one_another():
    size = Size("test", FIRST.problems, 2, 1000, 1)
    rounds, results, order = all_rounds(PROBLEMS, size, 1), {}, []
    while play := following(rounds, results, set()):
        results[play.key] = result(5.0)
        order.append(play.problem.name)
    assert order == sorted(order) and set(order) == set(FIRST.problems)


def test_the_map_says_that_it_has_rates_only():
    found = [{"labels": 10_000, "batch": 32, "layer": name, "samples_per_second": 1234.5} for name in LAYERS]
    found[1]["busy"] = 0.5
    told = region(found)
    assert "Rates only" in told and "| 10,000 | 32 | 1,234 | ~1,234 |" in told
    assert "Planted problems:" in told and "Finna" not in told
    real = [{**each, "problem": FINNA.name, "labels": 21_025} for each in found]
    assert "real records:\n\n| labels" in region(found + real) and "| 21,025 | 32 |" in region(found + real)
    assert len(list(cells())) == 5 * 4 * len(MAPPED)
    assert list(cells(problem=FINNA.name)) == [c for c in cells(problem=FINNA.name) if c[0] == FINNA.labels]
    assert len(list(cells(coarse=True))) == 3 * 3 * len(MAPPED)


def test_the_map_in_words_counts_cells():
    rates = {
        (10_000, 32): (100, 400, 300, 200),
        (10_000, 256): (100, 300, 50, 600),
        (670_091, 32): (None, 100, 50, 60),
    }
    found = [
        {"labels": labels, "batch": batch, "layer": layer, "samples_per_second": rate}
        for (labels, batch), all_of in rates.items()
        for layer, rate in zip((FULL, RANDOM, SLIDE, "slide, dwta"), all_of, strict=True)
        if rate is not None
    ]
    told = module.finding(found)
    assert "from 10,000 to 670,091 planted labels and batches of 32 to 256" in told
    assert (
        "than full in 2 of 2 cells (3 to 6 times) and than random-active in 1 of 3 cells (0.6 to 2 times)" in told
    )
    assert module.finding([*found, {**found[0], "problem": FINNA.name, "labels": 5}]) == told
    slow = [{**each, "samples_per_second": 1.7 if each["layer"] == FULL else 300} for each in found]
    assert "(180 to 180 times)" in module.finding(slow)


def test_cells_of_the_map_are_runs_that_the_product_takes():
    for cell in cells(coarse=True):
        spec = validate_run(document(*cell, threads=2))
        assert spec.budget.samples == steps(*cell) * cell[1]
    assert steps(670_091, 256, "full") < steps(670_091, 256, SLIDE)
    spec = validate_run(document(21_025, 32, SLIDE, 2, FINNA.name))
    assert spec.workload.parameters == {"data": FINNA.name, "validation_items": 32, "test_items": 32}


def test_a_cell_with_a_rate_is_not_measured_again(tmp_path, monkeypatch):
    """And one that failed is; one that does not fit into memory is left out."""
    for layer, found in (("full", {"samples_per_second": 1.0}), ("in-batch", {"state": "failed_infra"})):
        (tmp_path / "map").mkdir(exist_ok=True)
        text = json.dumps({"labels": 10_000, "batch": 32, "layer": layer, **found})
        (tmp_path / "map" / f"10000-32-{layer}.json").write_text(text)
    asked = []
    monkeypatch.setattr(module, "memory", lambda labels, batch, layer: 0 if batch == 32 else 1 << 60)
    monkeypatch.setattr(module, "command", lambda document, *_, **__: asked.append(document) or {"state": "lost"})
    monkeypatch.setattr(module, "busy", lambda: 0.0)
    assert module.run(tmp_path, 2, 1.0, coarse=True) == len(asked) == 3 * len(MAPPED) - 1
    assert {"output": "in-batch"} in [document["workload_settings"] for document in asked]


def test_records_of_a_commit_with_a_fault_say_so():
    """In the section of the comparison and in the map; those of other commits do not."""
    (known,) = CLEARED
    runs = records({SLIDE: 30.0, "full": 40.0})
    cell = {"labels": 10_000, "batch": 32, "layer": FULL, "samples_per_second": 1.0, "commit": known}
    said = "cleared the whole gradient"
    assert said not in page(runs) and said in page([{**each, "commit": known} for each in runs])
    assert "At this commit every step" in region([cell]) and said not in region([{**cell, "commit": "0"}])
    mixed = region([{**cell, "batch": 256}, *({**cell, "layer": name, "commit": "0"} for name in LAYERS)])
    assert "**planted, 10,000 labels, batch 256: every step also cleared the whole gradient**" in mixed


def test_the_map_names_its_machine_and_where_it_ends():
    machine = {"cpu": "x", "cores": 2, "generation": None, "bf16": "emulated"}
    cell = {"labels": 670_091, "batch": 32, "layer": FULL, "samples_per_second": 1.0, "hardware": machine}
    assert "\n\nx, 2 cores. Samples/s" in region([cell]) and "Above 670,091 labels nothing has" in region([cell])
    assert "Above" not in region([{**cell, "labels": 1_000_000}])
