"""The rule of the clock at evaluations: whom it concerns, what is marked, what is run and published again."""

import inspect
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.discovery import built_in

from benchmarks.tuned import running
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import Entry, entries, entry_of
from benchmarks.tuned.missing import lacks, missing_entries
from benchmarks.tuned.overview import overview
from benchmarks.tuned.page import page
from benchmarks.tuned.publishing import publish, published
from benchmarks.tuned.records import collect
from benchmarks.tuned.rounds import Rounds
from benchmarks.tuned.rows import rows
from benchmarks.tuned.rules import OVERLAPPED, RULE, STAR, WORDS, outdated, overlaps
from benchmarks.tuned.store import Store
from tests.evidence.test_tuned import carried_out, result

TASK, PLACE = TASKS["fashion-early"], AT["virtual"]
DECISION = "decision 96"
PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "results"


def test_the_rule_concerns_the_methods_that_complete_transfers_at_an_evaluation():
    """Synchronous ones whose loop is told how: with their parameters, in the catalogue."""
    methods = {name: algorithm(name) for name in built_in("algorithm")}
    synchronous = {name: kind for name, kind in methods.items() if kind.coordination == "synchronous"}
    assert OVERLAPPED.keys() == {
        name for name, kind in synchronous.items() if "flush=" in inspect.getsource(kind.run)
    }
    for name, parameter in OVERLAPPED.items():
        assert parameter is None or parameter in methods[name].model_fields
    assert overlaps("co2", {})
    assert overlaps("elastic-slowmo", {"delay": 2})
    assert not overlaps("elastic-slowmo", {"delay": 0})
    assert not overlaps("slowmo", {"delay": 2})
    assert not overlaps("PyTorch DDP", {})


def measured(store, name, task=TASK, place=PLACE, seeds=3, seconds=10.0):
    """Carry out all of an entry and keep it."""
    rounds = Rounds(task, place, entry_of(name), 6, seeds)
    results, plays = carried_out(rounds, lambda play: seconds + play.trial + play.seed / 10)
    more = {"wall_seconds": 1.0, "samples": 60.0, "processor_seconds": seconds}
    for play in plays:
        store.keep(play, more | results[play.key], 3.0)
    return plays


def earlier(records):
    """Return records as they were before they said by which rule they were timed."""
    return [{name: value for name, value in record.items() if name != "rule"} for record in records]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_what_was_timed_by_an_earlier_rule_is_marked_until_it_is_timed_again(store):
    for name in ("co2", "slowmo", "sync-sgd"):
        measured(store, name)
    new = collect(store.stored().values())
    assert {record["rule"] for record in new} == {RULE}
    assert not any(map(outdated, new))
    assert WORDS not in page(new)
    old = page(earlier(new))
    assert [line.split(" | ")[0] for line in old.splitlines() if line.startswith("| ") and WORDS in line] == [
        f"| co2 ({WORDS})"
    ]
    assert f"*{WORDS}*: timed before [{DECISION}]" in old
    assert {row.outdated for name, row in rows(earlier(new)).items() if name != "co2"} == {False}


def test_the_published_tables_say_which_elastic_entries_waited():
    records = published(PUBLISHED)
    marked = [line for line in page(records).splitlines() if line.startswith("| ") and f"({WORDS}) |" in line]
    concerned = {
        (record["hardware"]["cpu"], record["task"], record["place"], record["entry"])
        for record in records
        if record.get("rule", 1) < RULE
        and (record["entry"] in ("co2", "overlap-local-sgd", "sync-easgd") or record["parameters"].get("delay"))
    }
    assert len(marked) == len(concerned)
    assert (STAR in overview(records)) == any(at[2] != "virtual" for at in concerned)


def test_a_rerun_does_not_take_results_of_an_earlier_rule(store, monkeypatch):
    """Only where it matters: a method without overlap has the same results by both."""
    for name, again in (("co2", True), ("slowmo", False)):
        rounds = Rounds(TASK, PLACE, entry_of(name), 6)
        keys = [play.key for play in rounds.missing({})]
        with monkeypatch.context() as patch:
            patch.setattr("benchmarks.tuned.rounds.RULE", RULE + 1)
            later = [play.key for play in Rounds(TASK, PLACE, entry_of(name), 6).missing({})]
            assert len(keys) == len(later) == 6
        assert (not set(keys) & set(later)) == again


def test_entries_without_a_result_by_the_present_rule_are_missing_the_cheapest_first(store):
    for name, seconds in (("co2", 30.0), ("slowmo", 20.0), ("sync-sgd", 10.0), ("easgd", 5.0)):
        measured(store, name, seconds=seconds)
    records = collect(store.stored().values())
    by_name = {name: [record for record in records if record["entry"] == name] for name in ("co2", "slowmo")}
    public = [*earlier(by_name["co2"]), *by_name["slowmo"]]
    found = [entry.name for entry in missing_entries(TASK, PLACE, public, records)]
    assert found[:3] == ["easgd", "sync-sgd", "co2"]
    rest = [entry.name for entry in entries(PLACE) if entry.name not in ("co2", "slowmo", "easgd", "sync-sgd")]
    assert found[3:] == rest
    assert "slowmo" in [entry.name for entry in missing_entries(TASK, AT["virtual-4"], public, [])]


def test_partial_entries_are_not_published(store, tmp_path, capsys):
    results = tmp_path / "results"
    results.mkdir()
    measured(store, "slowmo")
    plays = measured(store, "co2")
    whole = collect(store.stored().values())
    publish(whole, results)
    before = published(results)
    assert len(before) == len(whole)
    trials = [record for record in whole if record["rung"] is not None]
    tried = [record for record in trials if record["entry"] == "co2"]
    assert lacks(tried, []) == "6 runs of trials, and none of a chosen setting"
    partial = [record | {"unix": 2e9} for record in whole if record["entry"] == "co2" and record["seed"] != 1]
    publish(partial, results)
    assert published(results) == before
    said = capsys.readouterr().out
    assert "left out: fashion-early, virtual, co2: no result of the chosen setting with seed 1" in said
    again = [record | {"time_to_target": 1.5} for record in whole if record["entry"] == "co2"]
    assert "1.5, 1.5, 1.5" in publish([*earlier(partial), *again], results).read_text()
    assert Counter(record["entry"] for record in published(results))["co2"] == len(plays)


def test_an_entry_by_an_earlier_rule_may_be_replaced_by_one_with_fewer_seeds(store):
    measured(store, "co2", seeds=5)
    five = collect(store.stored().values())
    three = [record for record in five if record["seed"] not in (3, 4)]
    assert lacks(three, five) == "no result of the chosen setting with seed 3, 4"
    assert lacks(three, earlier(five)) == ""


def test_simulated_entries_are_carried_out_one_after_the_other(store, monkeypatch):
    """Each is complete before the next one begins; a later call goes on; a failure says why."""
    order = []

    def ended(_, play, *__):
        order.append(play.entry.name)
        if len(order) == 4:
            return {"state": "failed_infra", "why": "ended by the limit of this benchmark"}
        return result(10.0 + play.trial) | {"processor_seconds": 1.0}

    monkeypatch.setattr(running, "run_within", ended)
    monkeypatch.setattr(running, "faults", lambda *_: [])
    rounds = [Rounds(TASK, PLACE, Entry(name, name), 2, 2) for name in ("slowmo", "local-sgd")]
    assert running.run_in_turn(rounds, store, 0.0) == 0
    assert running.run_in_turn(rounds, store, 1.0) == 8
    assert order == ["slowmo"] * 4 + ["local-sgd"] * 4
    (failure,) = store.folder.glob("failures/*.json")
    assert json.loads(failure.read_text())["result"]["why"] == "ended by the limit of this benchmark"
    assert "slowmo" in [name for name, row in rows(collect(store.stored().values())).items() if len(row.runs) == 1]
    assert running.run_in_turn(rounds, store, 1.0) == 1, "what failed is tried again"
    assert running.run_in_turn(rounds, store, 1.0) == 0
    assert {len(row.runs) for row in rows(collect(store.stored().values())).values()} == {2}


def test_the_fastest_is_compared_with_original_easgd_by_number_of_workers(store):
    for place in ("virtual-1", "virtual-4"):
        measured(store, "original-easgd", place=AT[place], seconds=100.0)
        measured(store, "slowmo", place=AT[place], seconds=10.0)
    text = page(collect(store.stored().values()))
    lines = [line for line in text.splitlines() if line.startswith("| Fashion-MNIST")]
    where = re.compile(r"(\d+) workers? on a virtual cluster of 1 Gb/s \(simulated\)")
    assert [where.search(line)[1] for line in lines] == ["1", "4"]
    for line in lines:
        assert "| slowmo, the fastest of 1 | 101.0, 101.1, 101.2 |" in line
        assert re.search(r"(faster|at least|not shown): slowmo", line)
    assert text.count("The fastest entry, over original-easgd") == 2


def test_the_settings_of_published_trials_are_still_those_of_the_sequence():
    """So that a table can be continued: trial k of an entry has the setting that it had."""
    records = [r for r in published(PUBLISHED) if AT[r["place"]].world == "virtual" and r["rung"] is not None]
    assert len({record["entry"] for record in records}) >= 11
    for task, place, name in {(record["task"], record["place"], record["entry"]) for record in records}:
        entry = entry_of(name)
        found = entry.settings(TASKS[task].trials, AT[place].hosts)
        for record in (r for r in records if (r["task"], r["place"], r["entry"]) == (task, place, name)):
            had, now = record["parameters"], found[record["trial"] - 1]
            assert {each: had[each] for each in entry.named} == {each: now[each] for each in entry.named}
