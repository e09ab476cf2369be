"""The paper's categories from results of runs, against sums done by hand."""

import pytest

from benchmarks.breakdown import BESIDE, CATEGORIES, Spread, breakdown, categories, markdown, rows

PHASES = {"data": 1.0, "compute": 6.0, "communicate": 2.0, "update": 0.5, "evaluate": 30.0, "idle": 0.5}


def result(**changes):
    return {
        "schema": "hooke.result/1",
        "algorithm": "sync-easgd",
        "parameters": {"lr": 0.1},
        "workers": 4,
        "servers": 0,
        "simulated": False,
        "oversubscribed": False,
        "phases": PHASES,
        "server_phases": None,
        "hidden_seconds": 3.0,
    } | changes


SERVED = {
    "algorithm": "original-easgd", "servers": 1,
    "server_phases": PHASES | {"update": 1.5, "compute": 0.0},
}  # fmt: skip


def middles(row):
    return {name: spread.middle for name, spread in row.shares.items()}


def test_without_a_server_parameters_go_from_worker_to_worker():
    (row,) = breakdown([result()])
    assert row.seconds == Spread(10.0, 10.0, 10.0)
    assert middles(row) == pytest.approx(
        {
            "device_parameters": 0.2, "host_data": 0.1, "host_parameters": 0.0, "gradient": 0.6,
            "worker_update": 0.05, "other": 0.05, "server_update": 0.0, "hidden": 0.3, "communication": 0.3,
        }
    )  # fmt: skip
    assert row.label == "Sync EASGD, P = 4 (lr 0.1)"


def test_with_a_server_they_go_to_it_and_its_update_lies_beside():
    (row,) = breakdown([result(**SERVED)])
    found = middles(row)
    assert (found["device_parameters"], found["host_parameters"]) == (0.0, pytest.approx(0.2))
    assert found["server_update"] == pytest.approx(0.15)
    assert sum(found[name] for name in CATEGORIES) == pytest.approx(1.0), "what lies beside is not added"


def test_seeds_share_a_line_with_their_spread():
    phases = [PHASES | {"communicate": seconds} for seconds in (2.0, 12.0, 7.0)]
    (row,) = breakdown([result(phases=p) for p in phases] + [result(phases=None)])
    assert (row.runs, row.without) == (3, 1)
    assert row.shares["communication"] == Spread(*(pytest.approx(x) for x in (0.3, 8 / 15, 0.65)))
    assert "3 (1 more without figures)" in markdown([row])
    assert "53.3% [30.0%, 65.0%]" in markdown([row])


def test_labels_keep_methods_and_worlds_apart():
    found = breakdown([result(), result(workers=2), result(**SERVED), result()])
    assert [row.runs for row in found] == [2, 1, 1]
    with pytest.raises(ValueError, match="simulated and measured"):
        breakdown([result(), result(simulated=True)])
    (line,) = breakdown([result(simulated=True, oversubscribed=True)])
    text = markdown([line])
    assert "(simulated) (oversubscribed)" in text
    assert "virtual s" in text
    assert "more ranks than cores" in text


def test_what_a_peer_does_not_know_is_unknown_and_not_nothing():
    peer = result(schema="hooke.peer/1", algorithm="ddp", hidden_seconds=None)
    del peer["server_phases"]
    (row,) = breakdown([peer])
    assert "hidden" not in row.shares
    assert row.label == "ddp, P = 4 (lr 0.1)"
    assert markdown([row]).count("unknown") == 1
    (flat,) = rows([row])
    assert flat["hidden"] is None
    assert flat["gradient_most"] == pytest.approx(0.6)


def test_a_line_without_any_phases():
    (row,) = breakdown([result(phases=None)])
    assert (row.seconds, row.shares, row.runs, row.without) == (None, {}, 0, 1)
    assert markdown([row]).count("unknown") == 1 + len(CATEGORIES) + len(BESIDE) + 1
    assert categories(result(phases=None)) is None
