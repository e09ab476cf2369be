"""A narrow wire: messages that do not continue earlier ones, such as those of PowerSGD, keep no residual."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hooke.comm.virtual.communicator import run_virtual
from hooke.spec.specification import RunSpec

from tests.engine.comm.wire_cases import rounded, tree_sum
from tests.engine.contract import suite
from tests.engine.contract.cases import Case, _report, objective_of, play_virtual, train, watched
from tests.engine.contract.expected import SHAPES, center_of, observed, recorded
from tests.engine.contract.test_bitwise import assert_same_bits
from tests.engine.reference import descent
from tests.engine.reference.descent import Momentum
from tests.engine.reference.methods.descent import first_basis

STEPS = 4
"""Few: a power iteration grows a difference in the last bit about tenfold in four steps."""


def play(case, wire, feedback=True):
    """Return (reports, names of the residuals that a rank keeps) of a virtual run on this wire."""
    spec = case.spec("virtual")
    communication = spec.communication.model_copy(update={"wire": wire, "error_feedback": feedback})
    narrow = spec.model_copy(update={"communication": communication})
    kept = []

    class Rounded(Case):
        def spec(self, world, samples=None) -> RunSpec:
            return narrow

    this = Rounded(case.algorithm, case.parameters, case.workers, case.steps)

    def main(comm):
        objective = objective_of(comm, this, "virtual")
        outcome = train(comm, this, "virtual", None, objective, first=True)
        names = objective.seen_by.comm.residuals
        kept.append([name for name in names if name != "broadcast.params"])  # of the first weights, once
        return _report(outcome, objective, None)

    with watched():
        return run_virtual(case.workers, narrow.virtual, main), kept


def by_the_equations(case, reports, wire):
    """In float64, but each message rounded as the wire rounds it."""

    def total(messages):
        flat = [np.concatenate([part.ravel() for part in parts]).astype(np.float32) for parts in messages]
        added = tree_sum(flat, wire).astype(np.float64)
        stops = np.cumsum([part.size for part in messages[0]])
        return [
            added[stop - part.size : stop].reshape(part.shape)
            for part, stop in zip(messages[0], stops, strict=True)
        ]

    step = Momentum(case.values["lr"])
    gradient, start = recorded(case, reports), rounded(case.objective.start(case.seed), wire).astype(np.float64)
    basis = first_basis(observed(case, reports))
    return descent.powersgd(start, gradient, step, case.steps, case.workers, SHAPES, basis, total)


@pytest.mark.property("equations", of=("powersgd",), workers=3)
@pytest.mark.parametrize("wire", ["bf16", "fp16"])
@pytest.mark.parametrize("workers", [2, 3])
def test_error_feedback_of_the_wire_adds_nothing_to_projections(workers, wire):
    case = Case("powersgd", (("rank", 2),), workers, steps=STEPS)
    reports, kept = play(case, wire)
    assert kept == [[]] * workers, "no residual of one message is there to join the next"
    without, _ = play(case, wire, feedback=False)
    for one, two in zip(reports, without, strict=True):
        assert one.weights.tobytes() == two.weights.tobytes()
    end = by_the_equations(case, reports, wire)
    ulp = {"bf16": 2.0**-8, "fp16": 2.0**-11}[wire]
    one_tie = case.values["lr"] * ulp * 2  # of a gradient below 2: float32 and float64 may break one differently
    np.testing.assert_allclose(center_of(reports), end, atol=one_tie)


def test_a_method_whose_messages_are_no_sequence_keeps_no_residual():
    """SPARTA's elements are others each time."""
    _, kept = play(Case("sparta", (("period", 2),), 2, steps=STEPS), "bf16")
    assert kept == [[]] * 2


def test_a_residual_belongs_to_a_fragment():
    """Fragments are sent in turn: their names do not depend on which one a resumed run sends first."""
    _, kept = play(Case("streaming-diloco", (("period", 4), ("fragments", 2)), 2, steps=STEPS), "bf16")
    assert sorted(kept[0]) == sorted(kept[1]) == ["allreduce.delta.0-25", "allreduce.delta.25-37"]


@dataclass(frozen=True)
class Narrow(Case):
    """A case in bf16, with error feedback."""

    def spec(self, world, samples=None) -> RunSpec:
        spec = super().spec(world, samples)
        return spec.model_copy(update={"communication": spec.communication.model_copy(update={"wire": "bf16"})})


@pytest.mark.parametrize("halt", [5, 7, 8])
@pytest.mark.parametrize(
    "name",
    [
        "post-local-sgd",
        "co2",
        "elastic-slowmo",
        "pipe-sgd",
        "delayed-gradient-averaging",
        "streaming-diloco",
        "sparta",
        "noloco",
        "stochastic-gradient-push",
    ],
)
def test_residuals_are_those_of_the_same_messages_after_a_restart(tmp_path, name, halt):
    """Whatever is sent first then: weights instead of gradients, a fragment, a message to another worker."""
    case = Narrow(name, tuple(suite.base(name).items()), 4)
    straight = play_virtual(case, tmp_path)
    assert_same_bits(play_virtual(replace(case, halt=4 * halt), tmp_path), straight)


def test_a_method_whose_messages_continue_keeps_its_residual():
    _, kept = play(Case("sync-sgd", (), 2, steps=STEPS), "bf16")
    assert kept == [["allreduce.gradient"]] * 2
