"""The map over networks: clocks in closed form are those of the engine, and each cell has its own choice."""

from dataclasses import replace

import pytest
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import workload
from hooke.loop.train import run_spec_virtual

from benchmarks.regimes import __main__ as command
from benchmarks.regimes import learnt, store
from benchmarks.regimes.clocks import STEPS, Link, clocks
from benchmarks.regimes.learnt import SOURCES, Learnt, Source
from benchmarks.regimes.networks import (
    EQUAL,
    LINKS,
    SPREADS,
    cells,
    computed,
    constants,
    document,
    elements,
    judged,
    sources,
)
from benchmarks.regimes.networks_page import answer, balance, section
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import Entry
from benchmarks.tuned.publishing import published

SETTINGS = [
    ("sync-sgd", {}),
    ("sync-sgd", {"accumulation": 2}),
    ("pipe-sgd", {}),
    ("pipe-sgd", {"accumulation": 3, "delay": 0}),
    ("pipe-sgd", {"delay": 2}),
    ("delayed-gradient-averaging", {"accumulation": 2}),
    ("local-sgd", {"period": 5}),
    ("slowmo", {"period": 3}),
    ("post-local-sgd", {"period": 4, "switch": 5}),
    ("overlap-local-sgd", {"period": 4}),
    ("elastic-slowmo", {"period": 4, "delay": 0}),
    ("elastic-slowmo", {"period": 5, "delay": 3}),
    ("sync-easgd", {"period": 3}),
    ("sync-easgd", {"period": 3, "overlap": True}),
    ("sync-easgd", {"period": 2, "pipelined": True}),
    ("sync-easgd", {"period": 1, "pipelined": True}),
]


def virtual_run(method, parameters, workers, collective):
    task = replace(TASKS["mnist"], collective=collective)
    made = Entry(method, method).document(task, replace(AT["virtual"], hosts=workers), parameters, 960, 1)
    return made | {"workload": {"name": "digits-mlp"}, "target": None, "evaluation": {"every": 300}}


@pytest.mark.parametrize(("workers", "collective"), [(4, "halving"), (3, "tree")])
@pytest.mark.parametrize(("method", "parameters"), SETTINGS)
def test_clocks_in_closed_form_are_those_of_the_run(method, parameters, workers, collective):
    """Of the last two evaluations, one of them between exchanges, on a slow link and with unequal gradients."""
    made = virtual_run(method, {"lr": 0.05, "momentum": 0.5} | parameters, workers, collective)
    size = workload("digits-mlp")().memory_sizes().weights
    spreads = [constants(SPREADS[0], workers), constants(SPREADS[1], workers)]
    links = [Link(10e-6, 0.8e-9), Link(50e-6, 80e-9)]
    found = clocks(made, size, links, spreads)
    assert found.shape == (2, 2, 2)
    link = {"latency": links[1].latency, "seconds_per_byte": links[1].seconds_per_byte}
    whole = run_spec_virtual(validate_run(made | {"virtual": {**made["virtual"], **spreads[1], **link}}))
    told = [each.clock for each in whole[0].evaluations]
    assert found[:, 1, 1] == pytest.approx([told[-1], told[-2]], rel=1e-12)


def test_all_methods_with_a_closed_form_are_compared_with_runs():
    assert {method for method, _ in SETTINGS} == STEPS.keys()


@pytest.mark.parametrize("spread", SPREADS[3:])
def test_stragglers_and_a_slow_worker_are_those_of_the_engine(spread):
    made = virtual_run("slowmo", {"period": 3}, 4, "halving")
    size = workload("digits-mlp")().memory_sizes().weights
    network = made["virtual"]
    link = Link(network["latency"], network["seconds_per_byte"])
    found = clocks(made, size, [link], [constants(spread, 4)])
    whole = run_spec_virtual(validate_run(made | {"virtual": {**network, **constants(spread, 4)}}))
    assert found[0, 0, 0] == pytest.approx(whole[0].evaluations[-1].clock, rel=1e-12)


def test_published_times_of_lenet_are_found_again():
    """By tree at 1 Gb/s, of all proposals without transfers behind steps, whose rule has changed since."""
    source = SOURCES[0]
    known = store.read(learnt.PROPOSALS / "fashion-8-workers.jsonl")
    compared = 0
    for run, record in known.items():
        if not run.timed or record["parameters"].get("delay") or record["parameters"].get("pipelined"):
            continue
        trajectory = known[replace(run, link=None, jitter=None)]
        about = run.method, run.trial, run.seed, record["parameters"], trajectory["met"], True, False
        if trajectory["met"] is not None:
            made = document(source, Learnt(*about), "tree")
            link = [Link(made["virtual"]["latency"], made["virtual"]["seconds_per_byte"])]
            found = clocks(made, elements(source), link, [constants(EQUAL, source.workers)])
            assert found[:, 0, 0] == pytest.approx([record["seconds"], record["seconds_before"]], rel=1e-9)
            compared += 1
    assert compared == 14


def test_a_method_without_a_closed_form_is_refused():
    made = virtual_run("streaming-diloco", {}, 4, "halving")
    with pytest.raises(ValueError, match="streaming-diloco has no closed form"):
        clocks(made, 100, [*LINKS.values()], [{}])
    with pytest.raises(ValueError, match="of tree and halving"):
        clocks(virtual_run("slowmo", {}, 4, "ring"), 100, [*LINKS.values()], [{}])


def test_the_published_clocks_are_those_of_the_published_trials():
    tuned, records = published(command.RESULTS), command.read_lines(command.NETWORKS)
    source = SOURCES[0]
    found = learnt.trials(source, tuned).tried["slowmo"]
    again = list(computed(source, learnt.Trials({"slowmo": found})))
    own = [each for each in records if (each["source"], each["entry"]) == (source.name, "slowmo")]
    assert again == [each for each in own if each["tuning"]]
    assert len(again) == len(found) == 16


def record(entry, trial, seconds, seed=None, met=True):
    """Return a record with the same clocks at all spreads; `seconds`: by link."""
    times = [list(seconds)] * len(SPREADS)
    about = {"source": "fashion-8", "entry": entry, "trial": trial, "seed": 7 if seed is None else seed}
    found = about | {"tuning": seed is None, "met": met, "diverged": not met, "samples": 100}
    return found | ({"seconds": times, "before": [[0.99 * each for each in row] for row in times]} if met else {})


def test_each_cell_has_its_own_choice_among_the_same_trials():
    falling, flat = (30, 10, 9, 3, 2, 1), (20, 12, 11, 6, 5, 4)
    records = [record("slowmo", 1, falling), record("slowmo", 2, flat), record("slowmo", 3, flat, met=False)]
    records += [record("elastic-slowmo", 4, (15, 20, 20, 20, 20, 20))]
    records += [record("slowmo", 2, flat, seed) for seed in range(3)]
    records += [record("elastic-slowmo", 4, [1.01**seed * 10] * 6, seed) for seed in range(3)]
    found = cells(Source("fashion", 8, "8-hosts", True), records)
    first, second = found[0], found[1]
    assert (first.other.trial, second.other.trial) == (2, 1), "the faster one on each link"
    assert first.verdict is not None
    assert first.ratio == pytest.approx(20 / 10.1)
    assert second.verdict is None, "trial 1 has no reported seeds"
    assert second.ratio == 10 / 20, "of the tuning seed"
    assert judged(found).keys() == {n for n, cell in enumerate(found) if cell.link == first.link}
    assert balance(found[:2]) == (1, 0, 1)


def test_the_page_says_what_it_rests_on():
    records = command.read_lines(command.NETWORKS)
    told = answer(records)
    numbers = sum(len(cells(source, records)) for source in sources(records))
    assert f"of {numbers} simulated conditions" in told
    assert told.startswith("**Elastic averaging ")
    text = "\n".join(section(records, command.beside_hosts()))
    assert text.count("### ") == len(sources(records)) + 1
    assert "All times are **simulated**" in text
    assert section([], []) == []
    assert command.NETWORKS.with_name("networks.svg").stat().st_size < 40_000


def test_ties_are_told_as_ties():
    """By hand: twice as fast on three networks, half as fast on the other three, whatever the spread of speeds."""
    records = [record("slowmo", 1, (20,) * 6), record("elastic-slowmo", 4, (10, 10, 10, 40, 40, 40))]
    told = answer(records)
    assert told.startswith("**Elastic averaging wins as often as it loses: ")
    most, least = told.partition("by network ")[2].partition(";")[0].split(", least ")
    spreads, links = len(SPREADS), list(LINKS)
    for said, names, ahead in ((most, links[:3], spreads), (least, links[3:], 0)):
        assert said.count(" of ") == 3
        assert all(f"{name} ({ahead} of {spreads})" in said for name in names)
    assert "by spread of speeds equally often" in told
    assert "by workers" not in told, "there is one number"
