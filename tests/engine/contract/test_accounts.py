"""What is counted: samples, exchanges, bytes, messages, seconds of each phase, staleness."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hooke.spec.events import STEP_COLUMNS
from hooke.spec.journal import records, unpack
from hooke.trace.phases import PHASES

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, NETWORK, WORLDS, Case, play_virtual

LAYER_COUNT = 4
QUIET = (("compute_jitter", 0.0),)
MEMORY = 100e9
"""Bytes per second of the virtual cluster's memory, by default."""


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


def weight_bytes(case):
    return 4 * case.objective.size


def exchanges(steps, period):
    """P21: a worker exchanges at its steps 0, tau, 2 tau, ..."""
    return (steps - 1) // period + 1


def total(reports, what):
    return sum(report.done[what] for report in reports)


@pytest.mark.parametrize(("case", "world"), suite.worlds(), ids=ids)
def test_the_budget_is_spent_to_the_sample(played, case, world):
    reports = played(suite.straight(case), world)
    assert sum(len(r.picked) for r in reports) * BATCH == case.budget
    assert {report.done["reason"] for report in reports} == {"budget"}
    deciding = reports[-1] if suite.served(case) else reports[0]
    assert deciding.done["samples"] == case.budget
    assert [samples for samples, _ in deciding.scores][-1] == case.budget
    for report in reports[: case.workers]:
        assert report.done["step"] == len(report.picked)
        assert {len(batch) for batch in report.picked} == {BATCH}


@pytest.mark.parametrize("extra", [-3 * BATCH + 1, 1, BATCH, 2 * BATCH + 1])
@pytest.mark.parametrize("case", suite.defaults((1, 2, 5)), ids=ids)
def test_a_budget_that_does_not_divide_is_rounded_up(played, case, extra):
    """Methods that step together to whole rounds of all workers, the others to whole batches."""
    reports = played(replace(case, extra=extra), "virtual")
    unit = BATCH * case.workers if case.kind.coordination == "synchronous" else BATCH
    expected = math.ceil((case.budget + extra) / unit) * unit
    assert sum(len(r.picked) for r in reports) * BATCH == expected
    assert (reports[-1] if suite.served(case) else reports[0]).done["samples"] == expected


@pytest.mark.parametrize("case", suite.family((2, 4)), ids=ids)
def test_a_budget_of_one_sample_is_one_step_each(played, case):
    reports = played(replace(case, steps=1, extra=1 - case.workers * BATCH), "virtual")
    assert [len(r.picked) for r in reports[: case.workers]] == [1] * case.workers


@pytest.mark.property("P23")
@pytest.mark.parametrize(
    ("case", "world"), [(case, world) for world in WORLDS for case in suite.restarted(world)], ids=ids
)
def test_a_restart_spends_no_sample_twice(played, case, world):
    reports = played(suite.TWINS["halted and restarted"](case), world)
    assert sum(len(r.picked) for r in reports) * BATCH == case.budget
    deciding = reports[-1] if suite.served(case) else reports[0]
    assert deciding.done["samples"] == case.budget
    scored = [samples for samples, _ in deciding.scores]
    assert scored == sorted(set(scored))


@pytest.mark.parametrize("case", suite.family((2, 4)), ids=ids)
def test_evaluations_keep_their_cadence(played, case):
    """At 0, after each `every` samples or as soon as the method can, and at the end."""
    reports = played(case, "virtual")
    deciding = reports[-1] if suite.served(case) else reports[0]
    scored = [samples for samples, _ in deciding.scores]
    assert scored[0] == 0
    assert scored[-1] == case.budget
    grain = BATCH * case.workers * case.values.get("period", 1)
    for before, after in zip(scored, scored[1:], strict=False):
        assert 0 < after - before <= case.every + grain


def one_all_reduce(case):
    """Return whether it all-reduces one vector of all weights per exchange, and sends nothing else."""
    other = ("chip-easgd", "powersgd", "post-local-sgd")
    return case.kind.coordination == "synchronous" and not case.kind.servers and case.algorithm not in other


def meetings(case, steps):
    """P21: return how often a worker exchanges; averaging methods do so after a step, after every period-th."""
    period = case.values.get("period", 1)
    if suite.spring(case) or "period" not in case.values:
        return exchanges(steps, period)
    return steps // period


@pytest.mark.property("P19", "P21")
@pytest.mark.parametrize(("case", "world"), [pair for pair in suite.worlds() if suite.served(pair[0])], ids=ids)
def test_traffic_of_methods_with_a_server(played, case, world):
    """Per exchange one vector up and one down, each one message; nothing else travels.

    A push of gradients belongs to the exchange before: the first request brings nothing, the last words do.
    """
    reports = played(suite.straight(case), world)
    count = sum(exchanges(len(r.picked), case.values.get("period", 1)) for r in reports[: case.workers])
    pushes = 0 if suite.spring(case) else case.workers
    assert len(reports[-1].served) == count + pushes
    assert total(reports, "payload") == 2 * weight_bytes(case) * count
    assert total(reports, "wire") == 2 * weight_bytes(case) * count
    assert total(reports, "messages") == 2 * count


@pytest.mark.property("P19", "P21")
@pytest.mark.parametrize(("case", "world"), [pair for pair in suite.worlds() if one_all_reduce(pair[0])], ids=ids)
def test_traffic_of_one_all_reduce_per_exchange(played, case, world):
    """The tree moves 2 (P - 1) |W| in as many messages."""
    reports = played(suite.straight(case), world)
    count = meetings(case, len(reports[0].picked))
    moved = 2 * (case.workers - 1) * count
    assert total(reports, "wire") == moved * weight_bytes(case)
    assert total(reports, "messages") == moved
    asked = weight_bytes(case) * count if case.workers > 1 else 0
    assert [report.done["payload"] for report in reports] == [asked] * case.workers


@pytest.mark.property("P19", "P21")
@pytest.mark.parametrize(
    ("case", "world"), [pair for pair in suite.worlds() if pair[0].algorithm == "sync-easgd1"], ids=ids
)
def test_traffic_of_a_center_on_the_host(played, case, world):
    """Two trees of P - 1 messages, and one message each between worker 0 and the host: 2 P |W|."""
    reports = played(suite.straight(case), world)
    moved = 2 * case.workers * meetings(case, len(reports[0].picked))
    assert total(reports, "wire") == moved * weight_bytes(case)
    assert total(reports, "messages") == moved


@pytest.mark.property("P19", of=("chip-easgd",), workers=4)
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_traffic_of_chips(played, parts):
    """Inside: gradients every step, and the sum comes in by a broadcast. Between: only one part of each chip."""
    case = Case("chip-easgd", (("parts", parts), ("period", 3)), 4)
    reports = played(case, "virtual")
    chips, steps, count = 4 // parts, len(reports[0].picked), exchanges(len(reports[0].picked), 3)
    inside = chips * (2 * (parts - 1) * steps + (parts - 1) * count)
    assert total(reports, "messages") == inside + 2 * (chips - 1) * count
    assert total(reports, "wire") == total(reports, "messages") * weight_bytes(case)


@pytest.mark.property("P19", of=("powersgd",), workers=2)
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_traffic_of_thin_matrices(played, rank):
    """Of the 37 weights of a layout 20 are a 4 x 5 matrix: 4 r rows' part and 17 whole ones, then 5 r."""
    case = Case("powersgd", (("rank", rank),), 2)
    reports = played(case, "virtual")
    steps = len(reports[0].picked)
    assert total(reports, "wire") == 2 * steps * 4 * (4 * rank + 17 + 5 * rank)
    assert total(reports, "messages") == 2 * steps * 2


@pytest.mark.property("P19", "P21")
@pytest.mark.parametrize(("case", "world"), [pair for pair in suite.worlds() if suite.free(pair[0])], ids=ids)
def test_traffic_of_methods_without_a_lock(played, case, world):
    """Per exchange one vector read and one added. Under MPI plain stores in shared memory send no message."""
    reports = played(suite.straight(case), world)
    asked = 2 * weight_bytes(case) * exchanges(sum(len(r.picked) for r in reports), 1)
    if case.values["period"] == 1:
        assert total(reports, "payload") == asked
    else:
        assert total(reports, "payload") < asked
    if world == "virtual":
        assert total(reports, "wire") == total(reports, "payload")
        assert total(reports, "messages") * weight_bytes(case) == total(reports, "wire")


@pytest.mark.property("P19", "P21", of=("post-local-sgd",), workers=2)
def test_traffic_after_the_switch(played):
    """Post-local SGD: every step until t0, every H-th after it."""
    case = Case("post-local-sgd", (("switch", 5), ("period", 3)), 2)
    reports = played(case, "virtual")
    assert total(reports, "messages") == 2 * (5 + (len(reports[0].picked) - 5) // 3)


@pytest.mark.property("P19")
@pytest.mark.parametrize("case", [c for c in suite.family((2, 4)) if one_all_reduce(c) and c.workers > 1], ids=ids)
def test_traffic_of_halving(played, case):
    """Bandwidth-optimal: 2 (P - 1) / P |W| per rank, in 2 log2 P messages."""
    reports = played(replace(case, collective="halving"), "virtual")
    count = meetings(case, len(reports[0].picked))
    assert total(reports, "wire") == 2 * (case.workers - 1) * weight_bytes(case) * count
    assert {report.done["messages"] for report in reports} == {2 * int(math.log2(case.workers)) * count}
    most = max(report.done["wire"] for report in reports)
    assert most < 2 * (case.workers - 1) / case.workers * weight_bytes(case) * count * 1.1


@pytest.mark.property("P18")
@pytest.mark.parametrize(
    "case", [c for c in suite.family((2, 4)) if c.kind.deterministic and c.algorithm != "powersgd"], ids=ids
)
def test_packing_changes_the_number_of_messages_alone(played, case):
    """One message per layer instead of one."""
    one, layers = played(case, "virtual"), played(replace(case, packing="per-layer"), "virtual")
    assert total(layers, "messages") == LAYER_COUNT * total(one, "messages")
    assert total(layers, "wire") == total(one, "wire")
    assert total(layers, "payload") == total(one, "payload")


@pytest.mark.property("P20")
@pytest.mark.parametrize(("case", "world"), suite.worlds(), ids=ids)
def test_phases_sum_to_the_wall(played, case, world):
    """Exactly in virtual time."""
    for report in played(suite.straight(case), world):
        done = report.done
        assert set(done["phases"]) == set(map(str, PHASES))
        assert all(seconds >= -1e-12 for seconds in done["phases"].values())
        accuracy = 1e-9 if world == "virtual" else 0.01
        assert sum(done["phases"].values()) == pytest.approx(done["wall"], rel=accuracy)
        assert done["clock"] == pytest.approx(done["wall"] - done["phases"]["evaluate"], rel=accuracy)
        assert done["wall"] > 0


@pytest.mark.parametrize("case", [*suite.family((2,)), *suite.defaults((4,))], ids=ids)
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
        for name in ("payload", "wire", "messages"):  # a push behind the last step is in its row
            assert sum(columns[name]) == report.done[name]
        for phase in PHASES:
            assert sum(columns[phase]) == pytest.approx(report.done["phases"][phase], rel=1e-5, abs=1e-9)
        assert sum(columns["hidden"]) == pytest.approx(report.done["hidden"], rel=1e-5, abs=1e-9)
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
    worker = weight_bytes(case) * case.method.vector_accesses(server=False) / MEMORY
    server = weight_bytes(case) * case.method.vector_accesses(server=True) / MEMORY
    return compute, message, worker, server


@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.property("P19")
@pytest.mark.parametrize(
    "case", [c for c in suite.family((2, 4)) if one_all_reduce(c) and not c.values.get("pipelined")], ids=ids
)
def test_time_of_synchronous_methods(played, case, slow_network):
    """Compute + transfer + update, and max(compute, transfer) + update where they overlap."""
    network = (*QUIET, ("latency", 1e-3)) if slow_network else QUIET
    reports = played(replace(case, network=network, every=10**6), "virtual")
    compute, message, update, _ = prices(case)
    message += dict(network).get("latency", NETWORK["latency"]) - NETWORK["latency"]
    transfer = 2 * math.log2(case.workers) * message
    assert (transfer > compute) == (slow_network and case.workers > 1)
    meeting = max(compute, transfer) if case.values.get("overlap") else compute + transfer
    steps = len(reports[0].picked)
    count = meetings(case, steps)
    expected = count * meeting + (steps - count) * compute + steps * update
    for report in reports:
        assert report.done["clock"] == pytest.approx(expected, rel=1e-3)
        exposed = count * (meeting - compute)
        assert report.done["phases"]["communicate"] == pytest.approx(exposed, rel=1e-3, abs=1e-9)
        hidden = count * min(compute, transfer) if case.values.get("overlap") else 0
        assert report.done["hidden"] == pytest.approx(hidden, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.property("P19")
@pytest.mark.parametrize("case", [c for c in suite.family((2, 4)) if c.values.get("pipelined")], ids=ids)
def test_time_of_a_pipeline(played, case, slow_network):
    """The larger of all compute and update, and of all transfers end to end, which the last step waits for."""
    network = (*QUIET, ("latency", 1e-3)) if slow_network else QUIET
    reports = played(replace(case, network=network, every=10**6), "virtual")
    compute, message, update, _ = prices(case)
    message += dict(network).get("latency", NETWORK["latency"]) - NETWORK["latency"]
    transfer = 2 * math.log2(case.workers) * message
    steps = len(reports[0].picked)
    count = meetings(case, steps)
    own = steps * (compute + update)
    assert (transfer > compute + update) == slow_network
    # A transfer begins when it is posted and the one before has ended; the end waits for the last of them.
    ended = 0.0
    for number in range(count):
        ended = max(ended, number * case.values["period"] * (compute + update)) + transfer
    for report in reports:
        assert report.done["clock"] == pytest.approx(max(own, ended), rel=1e-3)
        exposed = report.done["clock"] - own
        assert report.done["phases"]["communicate"] == pytest.approx(exposed, rel=1e-3, abs=1e-9)


@pytest.mark.property("P19")
@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.parametrize("case", [c for c in suite.family((1, 2, 4, 8)) if suite.free(c)], ids=ids)
def test_time_of_methods_without_a_lock(played, case, slow_network):
    """Nobody is nearer to the center than another, and its link carries P vectors per round, each way.

    With overlap max(compute, read + addition) per exchange, else their sum; a saturated link is the limit.
    """
    network = (*QUIET, ("latency", 2e-3)) if slow_network else QUIET
    case = replace(case, network=network, every=10**6, steps=120)
    reports = played(case, "virtual")
    compute, message, update, _ = prices(case)
    message += dict(network).get("latency", NETWORK["latency"]) - NETWORK["latency"]
    period, behind = case.values["period"], bool(case.values.get("overlap"))
    steps = [len(report.picked) for report in reports]
    assert max(steps) - min(steps) <= period
    exchange = 2 * message + 3 * weight_bytes(case) / MEMORY
    own = max(compute, exchange) if behind else compute + exchange
    alone = own + (period - 1) * compute + period * update
    saturated = case.workers * message
    round_ = max(alone, saturated)
    assert reports[0].done["clock"] == pytest.approx(120 / period * round_, rel=0.08, abs=case.workers * message)
    assert reports[0].done["clock"] >= 120 / period * alone * 0.999
    hidden = total(reports, "hidden")
    assert hidden > 0 if behind else hidden == 0


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


@pytest.mark.property("P12")
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("name", [c.algorithm for c in suite.one_slow() if suite.served(c)])
def test_staleness_of_equal_workers_is_one_less_than_their_number(tmp_path, name, workers):
    """Between two exchanges of a worker all others exchange once. The first pushes are fresher: those of Async SGD
    were all pulled before there was any update, so that the k-th has missed k."""
    period = (("period", 1),)
    case = Case(name, period, workers, steps=30, journal=True, network=QUIET)
    play_virtual(case, tmp_path)
    blocks = [r for r in records(tmp_path / f"journal.{workers}.jsonl") if r.kind == "steps"]
    measured = [value for block in blocks for value in unpack("staleness", block.columns["staleness"])]
    assert all(math.isnan(value) for value in measured[:workers])
    fresh = [] if suite.spring(case) else list(range(workers))
    assert measured[workers : workers + len(fresh)] == fresh
    assert set(measured[workers + len(fresh) :]) == {workers - 1}
