"""The simulated table with almost all methods of the catalogue: who is in it, who is not, what it counts."""

import re
from pathlib import Path

import pytest
from hooke.catalogue.discovery import built_in

from benchmarks.tuned.entries import ACCUMULATING
from benchmarks.tuned.page import page, sections
from benchmarks.tuned.publishing import INDEX, PAGE
from benchmarks.tuned.whole import anchor, counted, entered, is_whole, largest_tables
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
    (told,), (_, found) = largest_tables([everything]), everything
    assert "; the fastest: slowmo 0.1 s, sync-easgd 0.2 s; " in told
    number = len(built_in("algorithm"))
    assert f"simulated, 8 workers, 100 Mb/s, 6 trials, 3 seeds, {number - 2} of the {number} methods. [" in told
    assert f"over sync-sgd 2 faster, 2 slower, {len(found) - 5} neither; " in told
    assert "the fastest elastic one over the fastest other: slower: sync-easgd" in told
    assert list(largest_tables([])) == []
    heading = next(line for line in page(records(found)).splitlines() if line.startswith("## "))
    assert f"(tuned.md#{anchor(heading.removeprefix('## '))})" in told


def test_of_two_workloads_the_larger_comes_first_and_of_one_the_table_with_most_methods():
    names = [name for name in built_in("algorithm") if name not in WITHOUT]
    early = {"task": "fashion-early", "place": "virtual"}
    larger = [record | early | {"task": "fashion-early-halving"} for record in records(names)]
    fewer = [record | early for record in records(name for name in names if name != "noloco")]
    half = [record | {"place": "slow-4"} for record in records(names[::2])]
    (told,) = largest_tables(sections([*records(names), *half, *fewer, *larger]))
    first, second = re.findall(r"\[([^]]*)\]\(tuned\.md#([\w-]+)\), ([^:]*): over sync-sgd", told)
    assert f"simulated, 8 workers, 6 trials, 3 seeds, {len(names)} of the " in told
    assert (first[0], first[2]) == ("Fashion-MNIST, LeNet, early, 85%", "1 Gb/s")
    assert "all-reduces-by-halving" in first[1]
    assert (second[0], second[2]) == ("Digits 8 x 8, a small perceptron, 94%", "100 Mb/s")
    assert told.count("; the fastest: slowmo 0.1 s, sync-easgd 0.2 s; the fastest elastic one over ") == 1
    assert told.count("; the fastest: slowmo 0.1 s; elastic over other: ") == 1
    assert len(told.split()) <= 100
    (told,) = largest_tables(sections([*records(names), *larger[::4]]))
    assert "Fashion-MNIST" not in told, "a table of a part of the catalogue"


def test_the_table_with_most_methods_is_not_that_with_most_entries():
    few = ["slowmo", "sync-easgd", "sync-sgd", *(entry.name for entry in ACCUMULATING)]
    elsewhere = [record | {"place": "slow-4"} for record in records(["slowmo", "sync-easgd", "sync-sgd", "co2"])]
    (told,) = largest_tables(sections(records(few) + elsewhere))
    assert ", 4 of the " in told


def test_anchors_are_those_of_github():
    title = "Fashion-MNIST, LeNet, early to 85.0%: 8 workers on a virtual cluster of 1 Gb/s (simulated)"
    assert anchor(title) == "fashion-mnist-lenet-early-to-850-8-workers-on-a-virtual-cluster-of-1-gbs-simulated"


def test_the_published_table_has_the_methods_that_the_index_counts():
    text, index = (RESULTS / PAGE).read_text(), (RESULTS / INDEX).read_text()
    (line,) = (line for line in index.splitlines() if line.startswith("**Most methods in one table**"))
    lead, *own = re.split(r"\(tuned\.md#", line)
    told = [(each.partition(")")[0], re.search(r"(\d+) of the (\d+) methods", each + lead)) for each in own]
    shown = [(name, *count.groups()) for name, count in told]
    assert shown
    parts = {anchor(part.partition("\n")[0]): part for part in text.split("\n## ")[1:]}
    extra = {entry.name for entry in ACCUMULATING}
    sizes = {
        name: len({line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")} - extra) - 1
        for name, part in parts.items()
        if name.endswith("simulated")
    }
    for name, number, of in shown:
        assert int(number) == sizes[name]
        assert int(of) == len(built_in("algorithm"))
    assert max(sizes.values()) in [sizes[name] for name, *_ in shown], "no simulated table has more"
