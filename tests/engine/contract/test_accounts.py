"""What is counted: samples, exchanges, bytes, messages, seconds of each phase."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hooke.catalogue.claims import Step, claimed
from hooke.spec.events import ABSENT, STEP_COLUMNS
from hooke.spec.journal import records, unpack
from hooke.trace.phases import PHASES

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, WORLDS, Case
from tests.engine.contract.objective import Quadratic
from tests.engine.contract.traffic import moved, transfers

LAYER_COUNT = 4


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


ROUNDED = [(case, 2 * BATCH + 1) for case in suite.defaults((1, 2, 5))]
ROUNDED += [(case, extra) for case in suite.one_of_each(suite.defaults((1, 2, 5))) for extra in (1, BATCH)]
"""A round may belong to a method; that it is rounded up, and not down or to the nearest, is the loops' doing."""


@pytest.mark.parametrize(("case", "extra"), ROUNDED, ids=ids)
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


@pytest.mark.property("P19", "P23")
@pytest.mark.parametrize("case", suite.restarted("virtual"), ids=ids)
def test_a_restart_counts_what_was_sent_and_hidden_before_it(played, case):
    """A checkpoint costs no message: methods that step together send what they send in one attempt."""
    reports = played(suite.TWINS["halted and restarted"](case), "virtual")
    for report in reports:
        for what in ("payload", "wire", "messages", "hidden"):
            assert report.done[what] >= report.first[what]
        assert sum(report.done["staleness"].values()) >= sum(report.first["staleness"].values())
    if case.kind.coordination == "synchronous" and case.kind.deterministic:
        straight = played(suite.straight(case), "virtual")
        for what in ("payload", "wire", "messages"):
            assert total(reports, what) == total(straight, what)


@pytest.mark.parametrize("case", suite.family((2, 4)), ids=ids)
def test_evaluations_keep_their_cadence(played, case):
    """At 0, after each `every` samples or as soon as the method can, and at the end."""
    reports = played(suite.straight(case), "virtual")
    deciding = reports[-1] if suite.served(case) else reports[0]
    scored = [samples for samples, _ in deciding.scores]
    assert scored[0] == 0
    assert scored[-1] == case.budget
    grain = BATCH * case.workers * case.longest
    for before, after in zip(scored, scored[1:], strict=False):
        assert 0 < after - before <= case.every + grain


EXCHANGING = [pair for pair in suite.worlds() if claimed(pair[0].kind, "exchange")]
"""Cases of methods that declare what they exchange."""


@pytest.mark.property("P19", "P21")
@pytest.mark.parametrize(("case", "world"), [pair for pair in EXCHANGING if not suite.free(pair[0])], ids=ids)
def test_traffic_is_what_the_method_declares(played, case, world):
    """Bytes asked for, bytes sent and messages, of all ranks together; nothing else travels."""
    reports = played(suite.straight(case), world)
    expected = moved(case, transfers(case, reports))
    assert (total(reports, "payload"), total(reports, "wire")) == (expected.payload, expected.wire)
    assert total(reports, "messages") == expected.messages


@pytest.mark.property("P21")
@pytest.mark.parametrize(("case", "world"), [pair for pair in EXCHANGING if suite.served(pair[0])], ids=ids)
def test_a_server_serves_each_exchange_once(played, case, world):
    """A push of gradients belongs to the exchange before: the first request brings nothing, the last words do."""
    reports = played(suite.straight(case), world)
    exchanged = len(transfers(case, reports)) // 2
    assert len(reports[-1].served) == exchanged + case.workers * reports[-1].last_words


@pytest.mark.property("P19", "P21")
@pytest.mark.parametrize(("case", "world"), [pair for pair in EXCHANGING if suite.free(pair[0])], ids=ids)
def test_traffic_of_methods_without_a_lock(played, case, world):
    """Under MPI plain stores in shared memory send no message."""
    reports = played(suite.straight(case), world)
    expected = moved(case, transfers(case, reports))
    assert total(reports, "payload") == expected.payload
    if world == "virtual":
        assert (total(reports, "wire"), total(reports, "messages")) == (expected.wire, expected.messages)


@pytest.mark.property("P19", of=("powersgd",), workers=2)
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_traffic_of_thin_matrices(played, rank):
    """Of the 37 weights of a layout 20 are a 4 x 5 matrix: 4 r rows' part and 17 whole ones, then 5 r."""
    case = Case("powersgd", (("rank", rank),), 2)
    reports = played(case, "virtual")
    steps = len(reports[0].picked)
    assert total(reports, "wire") == 2 * steps * 4 * (4 * rank + 17 + 5 * rank)
    assert total(reports, "messages") == 2 * steps * 2


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


@pytest.mark.property("P19", of=("post-local-sgd",), workers=2)
def test_traffic_after_the_switch(played):
    """Post-local SGD: every step until t0, every H-th after it."""
    case = Case("post-local-sgd", (("switch", 5), ("period", 3)), 2)
    reports = played(case, "virtual")
    assert total(reports, "messages") == 2 * (5 + (len(reports[0].picked) - 5) // 3)


SUMS = [
    case
    for case in suite.claims("exchange", suite.family((2, 4)))
    if case.kind.coordination == "synchronous" and not case.kind.servers and case.workers > 1
]


@pytest.mark.property("P19")
@pytest.mark.parametrize("case", [c for c in SUMS if c.parts == 1], ids=ids)
def test_traffic_of_halving(played, case):
    """Bandwidth-optimal: 2 (P - 1) / P |W| per rank and sum, in 2 log2 P messages."""
    case = replace(case, collective="halving")
    reports = played(case, "virtual")
    sums = transfers(case, reports)
    expected = moved(case, sums)
    assert (total(reports, "wire"), total(reports, "messages")) == (expected.wire, expected.messages)
    if {each.operation for each in sums} == {"all-reduce"}:
        asked = 4 * sum(each.elements for each in sums)
        assert max(report.done["wire"] for report in reports) < 2 * (case.workers - 1) / case.workers * asked * 1.1


def whole_vectors(case):
    """Return whether all that travels has the layout of the weights, along which it is packed."""
    layout, exchange = Quadratic.layout_of(case.objective), claimed(case.kind, "exchange")
    steps = [Step(t, case.workers, layout, case.seed) for t in range(case.steps)]
    return {each.elements for step in steps for each in exchange(case.method, step)} <= {case.objective.size}


@pytest.mark.property("P18")
@pytest.mark.parametrize(
    "case",
    [c for c in suite.claims("exchange", suite.family((2, 4))) if c.kind.deterministic and whole_vectors(c)],
    ids=ids,
)
def test_packing_changes_the_number_of_messages_alone(played, case):
    """One message per layer instead of one."""
    one, layers = played(suite.straight(case), "virtual"), played(replace(case, packing="per-layer"), "virtual")
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
def test_rows_of_the_journal_add_up(played, virtual_places, case):
    reports = played(suite.straight(case), "virtual")
    folder = virtual_places[suite.straight(case)]
    for rank, report in enumerate(reports):
        written = list(records(folder / f"journal.{rank}.jsonl"))
        assert [record.seq for record in written] == list(range(len(written)))
        assert written[0].kind == "start"
        assert written[-1].model_dump() == report.done | {"seq": written[-1].seq}
        columns = {name: [] for name in STEP_COLUMNS}
        for block in (record for record in written if record.kind == "steps"):
            for name in columns:
                columns[name] += (
                    unpack(name, block.columns[name]) if name in block.columns else [ABSENT[name]] * block.n
                )
        assert columns["step"] == list(range(1, report.done["step"] + 1))
        assert columns["samples"] == sorted(columns["samples"])
        assert columns["clock"] == sorted(columns["clock"])
        for name in ("payload", "wire", "messages"):  # a push behind the last step is in its row
            assert sum(columns[name]) == report.done[name]
        for phase in PHASES:
            assert sum(columns[phase]) == pytest.approx(report.done["phases"][phase], rel=1e-5, abs=1e-9)
        assert sum(columns["hidden"]) == pytest.approx(report.done["hidden"], rel=1e-5, abs=1e-9)
        with np.load(folder / f"final.{rank}.npz") as final:
            np.testing.assert_array_equal(final["weights"], report.weights)
            assert ("center" in final.files) == (report is (reports[-1] if case.kind.servers else reports[0]))
        losses = [loss for loss in columns["loss"] if not math.isnan(loss)]
        assert len(losses) == len(report.picked)
