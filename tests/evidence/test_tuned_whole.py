"""The simulated table with almost all methods of the catalogue: who is in it, who is not, what it counts."""

import re
from pathlib import Path

import pytest
from hooke.catalogue.discovery import built_in

from benchmarks.tuned.entries import ACCUMULATING
from benchmarks.tuned.page import page, sections
from benchmarks.tuned.publishing import INDEX, PAGE
from benchmarks.tuned.whole import anchor, counted, entered, is_whole, largest_table
from tests.evidence.test_tuned_field import run

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
WITHOUT = ("chip-easgd", "sgd")
AT = {"task": "digits-halving", "place": "slow-8", "effort": "6 trials by successive halving"}
TIMES = {"slowmo": 0.1, "sync-easgd": 0.2, "sync-sgd": 1.0, "original-easgd": 40.0, "co2": None}


def records(names):
    """Return three seeds of every method: all take as long as Sync SGD but for those of TIMES."""
    seconds = {name: TIMES.get(name, TIMES["sync-sgd"]) for name in names}
    return [
        run(name, seed, of and of * (1 + seed / 1000), train_seconds=50.0, **AT)
        for name, of in seconds.items()
        for seed in range(3)
    ]


@pytest.fixture(scope="module")
def everything():
    (table,) = sections(records(name for name in built_in("algorithm") if name not in WITHOUT))
    return table


def test_a_table_of_all_methods_says_who_is_not_in_it(everything):
    _, found = everything
    number = len(built_in("algorithm"))
    assert is_whole(found)
    told = f"{number - 2} of the {number} methods of the catalogue were entered; not "
    assert entered(found) == f"{told}chip-easgd, of parts of a chip; sgd, of one worker."
    ((_, fewer),) = sections(records(name for name in built_in("algorithm") if name not in (*WITHOUT, "noloco")))
    assert entered(fewer).endswith("of one worker; noloco.")
    ((_, half),) = sections(records(list(built_in("algorithm"))[::2]))
    assert not is_whole(half)


def test_it_counts_verdicts_over_sync_sgd_and_misses(everything):
    _, found = everything
    others = len(found) - 1
    told = f", of {others} others: 2 faster, 2 slower, {others - 4} neither; 1 met the target with no seed."
    assert counted(found).endswith(told)


def test_the_index_names_the_first_and_links_the_table(everything):
    (told,), (_, found) = largest_table([everything]), everything
    assert "The fastest: slowmo 0.1 s, sync-easgd 0.2 s, " in told
    assert "8 workers on a virtual cluster of 100 Mb/s" in told
    assert "The fastest elastic one, over the fastest other: slower: sync-easgd" in told
    assert list(largest_table([])) == []
    heading = next(line for line in page(records(found)).splitlines() if line.startswith("## "))
    assert f"(tuned.md#{anchor(heading.removeprefix('## '))})" in told


def test_the_table_with_most_methods_is_not_that_with_most_entries():
    few = ["slowmo", "sync-easgd", "sync-sgd", *(entry.name for entry in ACCUMULATING)]
    elsewhere = [record | {"place": "slow-4"} for record in records(["slowmo", "sync-easgd", "sync-sgd", "co2"])]
    (told,) = largest_table(sections(records(few) + elsewhere))
    assert "): 4 of the " in told


def test_anchors_are_those_of_github():
    title = "Fashion-MNIST, LeNet, early to 85.0%: 8 workers on a virtual cluster of 1 Gb/s (simulated)"
    assert anchor(title) == "fashion-mnist-lenet-early-to-850-8-workers-on-a-virtual-cluster-of-1-gbs-simulated"


def test_the_published_table_has_the_methods_that_the_index_counts():
    text, index = (RESULTS / PAGE).read_text(), (RESULTS / INDEX).read_text()
    told = re.search(r"\[simulated\]\(tuned\.md#([\w-]+)\): (\d+) of the (\d+) methods;", index)
    parts = {anchor(part.partition("\n")[0]): part for part in text.split("\n## ")[1:]}
    names = [line.split("|")[1].strip() for line in parts[told[1]].splitlines() if line.startswith("| ")][1:]
    assert int(told[2]) == len(names) == len(set(names))
    assert int(told[3]) == len(built_in("algorithm"))
    sizes = [part.count("\n| ") for name, part in parts.items() if name.endswith("simulated")]
    assert max(sizes) == len(names) + 1, "no simulated table has more"
