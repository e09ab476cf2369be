"""Times without gradients are those of complete runs, by another schedule of all-reduces, too."""

from dataclasses import replace

import pytest

from benchmarks.evidence.running import run_within
from benchmarks.regimes.conditions import TASKS
from benchmarks.tuned import retimed
from benchmarks.tuned.conditions import AT
from benchmarks.tuned.entries import entry_of
from benchmarks.tuned.page import page
from benchmarks.tuned.records import collect
from benchmarks.tuned.rounds import Rounds
from benchmarks.tuned.store import Store

TREE = replace(TASKS["digits"], samples=3_200, every=320, target=0.6, trials=2)
HALVING = replace(TREE, collective="halving")
PLACE = AT["virtual-4"]
SAME = ("time_to_target", "before", "train_seconds", "samples_to_target", "communication_fraction", "wire_bytes")


def measured(entry, task, folder):
    """Carry out an entry in forks; return the records."""
    store, rounds = Store(folder), Rounds(task, PLACE, entry, 2, 1)
    while plays := list(rounds.missing(store.results())):
        for play in plays:
            store.keep(play, run_within(100.0, play, None, store.journal(play), 1), 3.0)
    return collect(store.stored().values())


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
    assert not retimed.can_be_retimed({"entry": "slowmo", "place": "8-hosts"})
