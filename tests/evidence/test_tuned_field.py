"""What claims of the tuned comparison name: who was entered, who was not, edges, several machines, the figure."""

import re
from collections import Counter
from math import log
from pathlib import Path

import numpy as np
import pytest
from hooke.catalogue.discovery import built_in
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare

from benchmarks.tuned import across, field
from benchmarks.tuned.entries import ACCUMULATING, DDP_BF16, PEER_NAMES, POST_LOCAL, elastic
from benchmarks.tuned.forest import NAME, draw
from benchmarks.tuned.page import page, sections
from benchmarks.tuned.publishing import published
from benchmarks.tuned.rows import elastic_verdict, of_chosen, rows

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
SECONDS = {"slowmo": (10.0, 11.0, 12.0), DDP_BF16.name: (20.0, 22.0, 24.0), POST_LOCAL.name: (15.0, 15.0, 15.0)}


def run(entry, seed, seconds, machine="Processor", **more):
    return {
        "task": "fashion", "place": "8-hosts", "entry": entry, "trial": 1, "rung": None, "seed": seed,
        "effort": "16 trials in virtual time (simulated), and on the hosts the best 2", "parameters": {"lr": 0.1},
        "edges": [],
        "hardware": {"cpu": machine, "cores": 2, "memory_bytes": 2**30, "generation": "", "bf16": None},
        "commit": "0", "unix": 0.0, "machine_ms": 3.0, "diverged": False, "time_to_target": seconds,
        "samples_to_target": 1000, "validation_accuracy": 0.9, "test_accuracy": 0.9, "samples": 1000,
        "train_seconds": seconds, "wall_seconds": 60.0, "communication_fraction": 0.1, "wire_bytes": 1,
        "before": seconds and 0.999 * seconds, "rule": 2,
    } | more  # fmt: skip


def table(seconds=SECONDS, **more):
    return [run(name, seed, s, **more) for name, of in seconds.items() for seed, s in enumerate(of)]


def test_a_claim_names_the_entries_of_its_table():
    methods = len(built_in("algorithm"))
    assert field.methods() == methods
    of = built_in("algorithm").values()
    assert field.elastic_methods() == sum(each.cls.family == "Elastic averaging" for each in of)
    assert field.fastest_of(rows(table())) == f"The only method of the catalogue entered (of {methods})"
    more = table(SECONDS | {"sync-easgd": (30.0, 30.0, 30.0)})
    assert field.fastest_of(rows(more)).startswith("The fastest of the 2 methods of the catalogue entered")
    assert field.elastic_of(rows(more)).startswith("The only elastic method entered (of ")
    text = page(more)
    assert "- The only elastic method entered (of" in text
    assert "In 1 of the 1 that say *slower* sync-easgd was the only one entered." in text


def test_published_claims_are_of_the_methods_in_their_tables():
    """Counted in the tables of the page itself."""
    text = (RESULTS / "tuned.md").read_text()
    for part in text.split("\n## ")[1:]:
        names = [
            line.split("|")[1].strip().removesuffix(" (earlier rule)")
            for line in part.splitlines()
            if line[:2] == "| "
        ]
        ours = {name.removesuffix(", accumulation") for name in names[1:] if name not in PEER_NAMES}
        for told in re.findall(r"The fastest of the (\d+) methods of the catalogue entered", part):
            assert int(told) == len(ours)


def test_a_method_with_two_entries_counts_once():
    more = {each.name: (30.0, 30.0, 30.0) for each in ACCUMULATING}
    assert [each.name for each in ACCUMULATING if elastic(each.name)] == ["sync-easgd, accumulation"]
    found = rows(table(SECONDS | more | {"sync-easgd": (31.0, 31.0, 31.0)}))
    assert field.fastest_of(found).startswith("The fastest of the 3 methods of the catalogue entered")
    assert field.elastic_of(found).startswith("The only elastic method entered (of ")


def test_peers_without_a_result_on_hosts_are_listed():
    told = field.not_measured([rows(table())])
    listed = told.partition("**Not measured on hosts**: ")[2].partition(". ")[0].split("; ")
    assert set(listed) == set(PEER_NAMES) - {DDP_BF16.name, POST_LOCAL.name}
    assert f"{DDP_BF16.name} alone has results" in told
    assert told in page(table())


def test_edges_of_peers_and_how_their_settings_were_chosen_are_told_beside_the_table():
    records = table(parameters={"lr": 0.1, "batch": 64})
    for each in records:
        each["edges"] = ["batch"] if each["entry"] == DDP_BF16.name else []
    told = list(field.notes(records[0]["effort"], rows(records)))
    assert told[0].endswith(f": {DDP_BF16.name}: batch 64.")
    assert told[1] == field.TWINS
    assert list(field.notes("8 trials by successive halving", rows(table()))) == []


def test_ratios_of_two_machines_are_pooled_and_seconds_are_not():
    """By hand: 2.0 on one machine, 2.0 times 1.21 on the other, so 2.2; other settings are left out."""
    slower = {name: of if name == "slowmo" else tuple(1.21 * s for s in of) for name, of in SECONDS.items()}
    records = table() + table(slower, machine="Another")
    (pooled,) = across.over_machines(sections(records)).values()
    found = pooled["slowmo", DDP_BF16.name]
    assert found.ratio == pytest.approx(2.2, rel=0.01)
    assert found.machines == 2
    assert log(found.high / found.low) > 1, "t of one degree of freedom is 12.7"
    (told,) = across.paragraphs(sections(records))
    assert "| slowmo | not shown: 2.2x (" in told
    assert "Another" in told and "Processor" in told
    other = table(slower, machine="Another", parameters={"lr": 0.2})
    assert across.over_machines(sections(table() + other)) == {("fashion", "8-hosts"): {}}
    assert across.over_machines(sections(table())) == {}


def test_the_figure_is_that_of_the_published_records(tmp_path):
    assert draw(sections(published(RESULTS)), tmp_path / NAME)
    drawn = (tmp_path / NAME).read_text()
    assert drawn == (RESULTS / "tuned" / NAME).read_text()
    assert "over kinds of machines" in drawn
    assert "The Python documentation" in drawn
    assert not draw([], tmp_path / "none.svg")


def test_the_fastest_of_many_is_not_called_faster_than_a_single_one_by_chance():
    """All entries are equally fast, noise of 10%, five seeds: a difference is claimed in at most 5% of tables."""
    random, claimed, tables = np.random.default_rng(3), Counter(), 500
    for single, many in ((1, 12), (2, 12)):
        for _ in range(tables):
            times = np.exp(0.1 * random.standard_normal((single + many, 5)))
            sides = (min(part, key=lambda own: np.log(own).mean()) for part in (times[:single], times[single:]))
            one, other = ({seed: Crossing(t, t) for seed, t in enumerate(side.tolist())} for side in sides)
            said = compare(other, one)
            claimed[single, "alone"] += said.claim in ("faster", "slower")
            claimed[single, "corrected"] += of_chosen(said, single, many).claim in ("faster", "slower")
    most = tables * 0.05 + 3 * (tables * 0.05 * 0.95) ** 0.5
    assert claimed[1, "alone"] > most, "that of twelve seemed faster"
    assert max(claimed[1, "corrected"], claimed[2, "corrected"]) <= most


def test_a_verdict_on_the_fastest_elastic_method_counts_how_many_it_was_compared_with():
    seconds = {"sync-easgd": (22.0, 25.2, 24.6), "slowmo": (20.0, 22.0, 23.0)}
    alone = elastic_verdict(rows(table(seconds)))[2]
    assert alone.claim == "slower" and 0.025 < alone.p < 0.05
    slow = {name: (40.0, 41.0, 42.0) for name in ("local-sgd", "co2", "diloco")}
    (first, other, found) = elastic_verdict(rows(table(seconds | slow)))
    assert (first, other, found.claim) == ("sync-easgd", "slowmo", "not shown")
    assert found.p_adjusted == pytest.approx(2 * alone.p)
