"""Times without gradients are those of complete runs, by another schedule of all-reduces, too."""

import re
from dataclasses import replace

import pytest
from hooke.catalogue.discovery import built_in
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual

from benchmarks.evidence.running import run_within
from benchmarks.regimes.conditions import TASKS
from benchmarks.tuned import retimed
from benchmarks.tuned.conditions import AT
from benchmarks.tuned.conditions import TASKS as TASKS_OF_TABLES
from benchmarks.tuned.entries import entry_of
from benchmarks.tuned.page import page
from benchmarks.tuned.records import collect
from benchmarks.tuned.rounds import Rounds
from benchmarks.tuned.store import Store
from tests.evidence.test_tuned_field import run

TREE = replace(TASKS["digits"], samples=3_200, every=320, target=0.6, trials=2)
HALVING = replace(TREE, collective="halving")
PLACE = AT["virtual-4"]
LATER = TASKS_OF_TABLES["fashion-early-halving"]
SAME = ("time_to_target", "before", "train_seconds", "samples_to_target", "communication_fraction", "wire_bytes")


def measured(entry, task, folder):
    """Carry out an entry in forks; return the records."""
    store, rounds = Store(folder), Rounds(task, PLACE, entry, 2, 1)
    while plays := list(rounds.missing(store.results())):
        for play in plays:
            store.keep(play, run_within(100.0, play, None, store.journal(play), 1), 3.0)
    return collect(store.stored().values())


WITHOUT = [name for name, item in built_in("algorithm").items() if item.cls.coordination == "parameter-server"]


@pytest.mark.parametrize("name", WITHOUT)
def test_methods_without_an_all_reduce_do_the_same_with_any_schedule(name):
    """Every evaluation of a complete run, its clock and what all ranks have sent: to the last bit."""
    tree, halving = (evaluated(entry_of(name), task) for task in (TREE, HALVING))
    assert tree == halving
    assert len(tree) > 1
    (record,) = retimed.retime([run(name, 0, 1.0, task="fashion-early", place="virtual")], LATER)
    assert (record["task"], record["taken"], record["time_to_target"]) == (LATER.name, "fashion-early", 1.0)


def evaluated(entry, task):
    """Return the evaluations of a short run with the defaults, and the bytes that each of its ranks has sent."""
    spec = validate_run(entry.document(task, PLACE, {}, 512, 0) | {"evaluation": {"every": 128}, "target": None})
    ranks = run_spec_virtual(spec)
    told = [(each.samples, each.clock, each.accuracy, each.loss) for rank in ranks for each in rank.evaluations]
    return [*told, *(rank.done.wire for rank in ranks)]


def test_a_table_says_whose_runs_it_has_taken_over():
    records = [
        run(name, seed, 1.0 + seed, task="fashion-early", place="virtual", effort="6 trials")
        for name in ("easgd", "async-sgd", "sync-sgd")
        for seed in range(3)
    ]
    found = [record for each in records if each["entry"] != "sync-sgd" for record in retimed.retime([each], LATER)]
    text = page(found + [each | {"task": LATER.name} for each in records if each["entry"] == "sync-sgd"])
    said = re.search(r"have no all-reduce\. So the runs of (.*) are those of the table with a tree\. ", text)
    assert set(said[1].split(", ")) == {"async-sgd", "easgd"}
    assert "Left out are" not in text
    assert "So the runs of" not in page([each | {"task": LATER.name} for each in records])


@pytest.mark.parametrize("name", ["slowmo", "sync-easgd"])
def test_a_tree_s_runs_have_the_times_that_halving_takes(name, tmp_path):
    entry = entry_of(name)
    tree, halving = (measured(entry, task, tmp_path / task.collective) for task in (TREE, HALVING))
    assert {record["time_to_target"] is None for record in tree} == {False}
    found = retimed.retime(tree, HALVING)
    assert not isinstance(found, str), found
    for again, whole, before in zip(found, halving, tree, strict=True):
        assert [again[each] for each in SAME] == pytest.approx([whole[each] for each in SAME], rel=1e-12)
        shorter = again["time_to_target"] < before["time_to_target"]
        assert shorter == (name == "slowmo"), "pipelined Sync EASGD hides either"
    text = page([{**each, "task": "fashion-early-halving"} for each in found])
    assert text.count(f"The times of {len(found)} of them were computed anew, without their gradients") == 1


def test_what_depends_on_a_clock_is_not_retimed():
    record = {"entry": "async-easgd", "place": PLACE.name}
    assert retimed.retime([record], HALVING) == "what it learns depends on the clock"
    told = {"entry": "hogwild-sgd", "place": PLACE.name, "task": "fashion-early"}
    assert retimed.retime([told], LATER) == "what it learns depends on the clock", "its clocks meet"
    other = TASKS_OF_TABLES["fashion-halving"]
    assert retimed.retime([record | {"task": "fashion"}], other) == "what it learns depends on the clock", "seeds"
    assert not retimed.can_be_retimed({"entry": "slowmo", "place": "8-hosts"})
