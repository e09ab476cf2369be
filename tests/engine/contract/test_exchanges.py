"""docs/algorithms.json, from which the dashboard draws who sends what when, is what the methods do now."""

import itertools
import json

import pytest
from hooke.algorithms.sync_easgd import SyncEASGD
from hooke.catalogue.claims import claimed
from hooke.catalogue.discovery import built_in

from tests.engine.contract import exchanges, traffic

ROUNDING = 2
"""Thousandths of a gradient by which the times of two machines may differ."""


@pytest.fixture(scope="module")
def on_file():
    return json.loads(exchanges.FILE.read_text())


@pytest.fixture(scope="module")
def shown():
    """Return every method's run, or why there is none."""
    found = {}
    for name in built_in("algorithm"):
        try:
            found[name] = exchanges.show(exchanges.case_of(name))
        except ValueError as why:
            found[name] = str(why)
    return found


def flat(value):
    """Return the numbers in nested lists, in order."""
    return [n for each in value for n in flat(each)] if isinstance(value, list) else [value]


def test_the_file_is_current(on_file, shown):
    assert on_file["methods"].keys() == shown.keys(), "run `make algorithms`"
    for name, run in shown.items():
        old = on_file["methods"][name]["drawn"]
        if isinstance(run, str):
            assert old == {"reason": run}
            continue
        new = json.loads(json.dumps(run.drawn))
        assert {key: old[key] for key in ("settings", "rows")} == {key: new[key] for key in ("settings", "rows")}
        for key in ("phases", "messages"):
            assert flat(old[key]) == pytest.approx(flat(new[key]), abs=ROUNDING), f"{name}: run `make algorithms`"


def test_prices_and_bounds_are_current(on_file):
    for name, item in built_in("algorithm").items():
        told = on_file["methods"][name]
        assert told["prices"] == exchanges.prices(name, item.cls), f"{name}: run `make algorithms`"
        assert told["bounds"] == exchanges.bounds(item.cls)


def test_the_drawn_messages_are_those_that_the_cost_model_counts(shown):
    counted = 0
    for name, run in shown.items():
        if isinstance(run, str) or claimed(built_in("algorithm")[name].cls, "exchange") is None:
            continue
        case = exchanges.case_of(name)
        expected = traffic.moved(case, traffic.transfers(case, run.objectives))
        drawn = run.drawn["messages"]
        assert len(drawn) == expected.messages, name
        assert sum(size for *_, size in drawn) == expected.wire, name
        counted += 1
    assert counted > 25


def test_a_link_carries_one_message_at_a_time_and_no_rank_is_in_two_phases(shown):
    for name, run in shown.items():
        if isinstance(run, str):
            continue
        for end in (0, 1):
            links = {}
            for message in run.drawn["messages"]:
                links.setdefault(message[end], []).append(message[2:4])
            for carried in links.values():
                assert all(a[1] <= b[0] + ROUNDING for a, b in itertools.pairwise(sorted(carried))), name
        for row in run.drawn["phases"]:
            assert all(a[2] <= b[1] for a, b in itertools.pairwise(row)), name


def test_prices_of_methods_whose_cost_is_known(on_file):
    def price(name, workers):
        return on_file["methods"][name]["prices"][str(workers)]

    # Sync SGD: an all-reduce per step by halving, 2 log2 P messages of each worker, 2 (P - 1) / P vectors in a row
    for workers, rounds in ((2, 2), (8, 6), (32, 10)):
        told = price("sync-sgd", workers)
        assert (told["latencies"], told["messages"]) == (rounds, rounds * workers)
        assert told["volumes"] == pytest.approx(2 * (workers - 1) / workers, rel=1e-3)
        assert told["wire"] == 2 * (workers - 1)
    # Async SGD: each worker's push and pull
    assert price("async-sgd", 8) | {"behind": 0} == {
        **{"payload": 2, "wire": 16, "messages": 16, "latencies": 2, "volumes": 2, "behind": 0}
    }
    # Stochastic gradient push: all send at once
    assert (
        price("stochastic-gradient-push", 16)["volumes"],
        price("stochastic-gradient-push", 16)["messages"],
    ) == (1, 16)
    assert price("sgd", 1)["messages"] == 0 if on_file["methods"]["sgd"]["prices"] else True


def test_a_method_of_one_worker_says_why_nothing_is_drawn(on_file):
    assert on_file["methods"]["sgd"]["drawn"] == {"reason": "It has one worker, which sends nothing."}


def test_bounds_are_those_of_the_literature(on_file):
    bounds = {name: each["bounds"] for name, each in on_file["methods"].items()}
    # a = alpha = beta / P = lr rho
    assert bounds["sync-easgd"]["8"] == pytest.approx(
        {"alpha": 2 / 9, "beta": 16 / 9, "rho": 2 / 9 / SyncEASGD().lr}, rel=1e-3
    )
    assert {each["alpha"] for each in bounds["original-easgd"].values()} == {1.0}
    assert bounds["sync-sgd"] is None
