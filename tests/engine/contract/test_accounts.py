"""What is counted: samples, exchanges, bytes, messages, seconds of each phase, staleness."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hooke.events import STEP_COLUMNS
from hooke.journal import records, unpack
from hooke.phases import PHASES

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, NETWORK, WORLDS, Case, play_virtual

LAYER_COUNT = 4
QUIET = (("compute_jitter", 0.0),)
MEMORY = 10e9
"""Bytes per second of the virtual cluster's memory, by default."""


def ids(case):
    return case.name


def weight_bytes(case):
    return 4 * case.problem.size


def exchanges(steps, period):
    """P21: a worker exchanges at its steps 0, tau, 2 tau, ..."""
    return (steps - 1) // period + 1


def total(reports, what):
    return sum(report.done[what] for report in reports)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.family((2, 3, 4)), ids=ids)
def test_the_budget_is_spent_to_the_sample(played, case, world):
    reports = played(suite.straight(case), world)
    assert sum(len(r.picked) for r in reports) * BATCH == case.budget
    assert {report.done["reason"] for report in reports} == {"budget"}
    deciding = reports[-1] if case.kind.servers else reports[0]
    assert deciding.done["samples"] == case.budget
    assert [samples for samples, _ in deciding.scores][-1] == case.budget
    for report in reports[: case.workers]:
        assert report.done["step"] == len(report.picked)
        assert {len(batch) for batch in report.picked} == {BATCH}


@pytest.mark.parametrize("extra", [-3 * BATCH + 1, 1, BATCH, 2 * BATCH + 1])
@pytest.mark.parametrize("case", suite.family((1, 2, 4, 5)), ids=ids)
def test_a_budget_that_does_not_divide_is_rounded_up(played, case, extra):
    """Synchronous methods to whole rounds of all workers, methods with a server to whole batches."""
    reports = played(replace(case, extra=extra), "virtual")
    unit = BATCH if case.kind.servers else BATCH * case.workers
    expected = math.ceil((case.budget + extra) / unit) * unit
    assert sum(len(r.picked) for r in reports) * BATCH == expected
    assert (reports[-1] if case.kind.servers else reports[0]).done["samples"] == expected


@pytest.mark.parametrize("case", suite.family((2, 4)), ids=ids)
def test_a_budget_of_one_sample_is_one_step_each(played, case):
    reports = played(replace(case, steps=1, extra=1 - case.workers * BATCH), "virtual")
    assert [len(r.picked) for r in reports[: case.workers]] == [1] * case.workers


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.family((2, 4)), ids=ids)
def test_a_restart_spends_no_sample_twice(played, case, world):
    reports = played(suite.TWINS["halted and restarted"](case), world)
    assert sum(len(r.picked) for r in reports) * BATCH == case.budget
    deciding = reports[-1] if case.kind.servers else reports[0]
    assert deciding.done["samples"] == case.budget
    scored = [samples for samples, _ in deciding.scores]
    assert scored == sorted(set(scored))


@pytest.mark.parametrize("case", suite.family((2, 4)), ids=ids)
def test_evaluations_keep_their_cadence(played, case):
    """At 0, after each `every` samples or as soon as the method can, and at the end."""
    reports = played(case, "virtual")
    deciding = reports[-1] if case.kind.servers else reports[0]
    scored = [samples for samples, _ in deciding.scores]
    assert scored[0] == 0
    assert scored[-1] == case.budget
    grain = BATCH * case.workers * case.values.get("period", 1)
    for before, after in zip(scored, scored[1:], strict=False):
        assert 0 < after - before <= case.every + grain


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", [c for c in suite.family((2, 3, 4)) if c.kind.servers], ids=ids)
def test_traffic_of_methods_with_a_server(played, case, world):
    """P19, P21: per exchange one vector up and one down, each one message; nothing else travels."""
    reports = played(suite.straight(case), world)
    count = sum(exchanges(len(r.picked), case.values.get("period", 1)) for r in reports[: case.workers])
    assert len(reports[-1].served) == count
    assert total(reports, "payload") == 2 * weight_bytes(case) * count
    assert total(reports, "wire") == 2 * weight_bytes(case) * count
    assert total(reports, "messages") == 2 * count


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", [c for c in suite.family((2, 3, 4)) if not c.kind.servers], ids=ids)
def test_traffic_of_one_all_reduce_per_exchange(played, case, world):
    """P19, P21: the tree moves 2 (P - 1) |W| in as many messages."""
    reports = played(suite.straight(case), world)
    count = exchanges(len(reports[0].picked), case.values.get("period", 1))
    moved = 2 * (case.workers - 1) * count
    assert total(reports, "wire") == moved * weight_bytes(case)
    assert total(reports, "messages") == moved
    asked = weight_bytes(case) * count if case.workers > 1 else 0
    assert [report.done["payload"] for report in reports] == [asked] * case.workers


@pytest.mark.parametrize(
    "case", [c for c in suite.family((2, 4)) if not c.kind.servers and c.workers > 1], ids=ids
)
def test_traffic_of_halving(played, case):
    """Bandwidth-optimal: 2 (P - 1) / P |W| per rank, in 2 log2 P messages."""
    reports = played(replace(case, collective="halving"), "virtual")
    count = exchanges(len(reports[0].picked), case.values.get("period", 1))
    assert total(reports, "wire") == 2 * (case.workers - 1) * weight_bytes(case) * count
    assert {report.done["messages"] for report in reports} == {2 * int(math.log2(case.workers)) * count}
    most = max(report.done["wire"] for report in reports)
    assert most < 2 * (case.workers - 1) / case.workers * weight_bytes(case) * count * 1.1


@pytest.mark.parametrize("case", [c for c in suite.family((2, 4)) if c.kind.deterministic], ids=ids)
def test_packing_changes_the_number_of_messages_alone(played, case):
    """P18: one message per layer instead of one."""
    one, layers = played(case, "virtual"), played(replace(case, packing="per-layer"), "virtual")
    assert total(layers, "messages") == LAYER_COUNT * total(one, "messages")
    assert total(layers, "wire") == total(one, "wire")
    assert total(layers, "payload") == total(one, "payload")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.family((2, 3, 4)), ids=ids)
def test_phases_sum_to_the_wall(played, case, world):
    """P20: exactly in virtual time."""
    for report in played(suite.straight(case), world):
        done = report.done
        assert set(done["phases"]) == set(map(str, PHASES))
        assert all(seconds >= -1e-12 for seconds in done["phases"].values())
        accuracy = 1e-9 if world == "virtual" else 0.01
        assert sum(done["phases"].values()) == pytest.approx(done["wall"], rel=accuracy)
        assert done["clock"] == pytest.approx(done["wall"] - done["phases"]["evaluate"], rel=accuracy)
        assert done["wall"] > 0


@pytest.mark.parametrize("case", [*suite.family((2,)), *suite.family((4,))], ids=ids)
def test_rows_of_the_journal_add_up(tmp_path, case):
    reports = play_virtual(replace(case, journal=True), tmp_path)
    for rank, report in enumerate(reports):
        written = list(records(tmp_path / f"journal.{rank}.jsonl"))
        assert [record.seq for record in written] == list(range(len(written)))
        assert written[0].kind == "start"
        assert written[-1].model_dump() == report.done | {"seq": written[-1].seq}
        columns = {name: [] for name in STEP_COLUMNS}
        for block in (record for record in written if record.kind == "steps"):
            for name in columns:
                columns[name] += (
                    unpack(name, block.columns[name]) if name in block.columns else [math.nan] * block.n
                )
        assert columns["step"] == list(range(1, report.done["step"] + 1))
        assert columns["samples"] == sorted(columns["samples"])
        assert columns["clock"] == sorted(columns["clock"])
        for name in ("payload", "wire", "messages"):
            assert sum(columns[name]) == report.done[name]
        for phase in ("data", "compute", "update"):
            assert sum(columns[phase]) == pytest.approx(report.done["phases"][phase], rel=1e-5, abs=1e-9)
        with np.load(tmp_path / f"final.{rank}.npz") as final:
            np.testing.assert_array_equal(final["weights"], report.weights)
            assert ("center" in final.files) == (report is (reports[-1] if case.kind.servers else reports[0]))
        losses = [loss for loss in columns["loss"] if not math.isnan(loss)]
        assert len(losses) == len(report.picked)


# -- seconds of the virtual world, where every price is known ---------------------------------------------


def prices(case):
    """Return seconds per step of: compute, one message of |W|, and the update of a worker and of a server."""
    compute = BATCH * NETWORK["compute_seconds_per_sample"]
    message = NETWORK["latency"] + weight_bytes(case) * NETWORK["seconds_per_byte"]
    worker = weight_bytes(case) * case.kind.passes / MEMORY
    server = weight_bytes(case) * case.kind.server_passes / MEMORY
    return compute, message, worker, server


@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.parametrize("case", [c for c in suite.family((2, 4)) if not c.kind.servers], ids=ids)
def test_time_of_synchronous_methods(played, case, slow_network):
    """P19: compute + transfer + update, and max(compute, transfer) + update where they overlap."""
    network = (*QUIET, ("latency", 1e-3)) if slow_network else QUIET
    reports = played(replace(case, network=network, every=10**6), "virtual")
    compute, message, update, _ = prices(case)
    message += dict(network).get("latency", NETWORK["latency"]) - NETWORK["latency"]
    transfer = 2 * math.log2(case.workers) * message
    assert (transfer > compute) == (slow_network and case.workers > 1)
    meeting = max(compute, transfer) if case.values.get("overlap") else compute + transfer
    steps = len(reports[0].picked)
    meetings = exchanges(steps, case.values.get("period", 1))
    expected = meetings * meeting + (steps - meetings) * compute + steps * update
    for report in reports:
        assert report.done["clock"] == pytest.approx(expected, rel=1e-3)
        exposed = meetings * (meeting - compute)
        assert report.done["phases"]["communicate"] == pytest.approx(exposed, rel=1e-3, abs=1e-9)
        hidden = meetings * min(compute, transfer) if case.values.get("overlap") else 0
        assert report.done["hidden"] == pytest.approx(hidden, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("case", [c for c in suite.family((2, 4)) if c.values.get("mode") == "serial"], ids=ids)
def test_time_of_the_literal_listing(played, case):
    """Nothing overlaps: each turn is center down, gradient, weights up."""
    reports = played(replace(case, network=QUIET, every=10**6), "virtual")
    compute, message, update, server = prices(case)
    turns = len(reports[-1].served)
    assert reports[-1].done["clock"] == pytest.approx(
        turns * (compute + 2 * message + server), rel=0.01, abs=2 * update + server
    )


@pytest.mark.parametrize("case", [c for c in suite.family((4,)) if c.values.get("mode") == "ordered"], ids=ids)
def test_the_one_port_of_the_server_saturates(played, case):
    """Concurrent workers: where messages are dear, the server's own link is the limit, P exchanges per sweep."""
    dear = replace(case, network=(*QUIET, ("latency", 2e-3)), every=10**6, steps=40)
    reports = played(dear, "virtual")
    sweeps = len(reports[-1].served) / case.workers
    assert reports[-1].done["clock"] >= sweeps * case.workers * 2e-3
    literal = replace(dear, parameters=(("mode", "serial"),))
    assert reports[-1].done["clock"] < played(literal, "virtual")[-1].done["clock"]


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("name", [c.algorithm for c in suite.one_slow()])
def test_staleness_of_equal_workers_is_one_less_than_their_number(tmp_path, name, workers):
    """P12: between two exchanges of a worker all others exchange once."""
    case = Case(name, workers=workers, steps=30, journal=True, network=QUIET)
    play_virtual(case, tmp_path)
    blocks = [r for r in records(tmp_path / f"journal.{workers}.jsonl") if r.kind == "steps"]
    measured = [value for block in blocks for value in unpack("staleness", block.columns["staleness"])]
    later = measured[workers:-workers]
    assert all(math.isnan(value) for value in measured[:workers])
    assert set(later) == {workers - 1}
