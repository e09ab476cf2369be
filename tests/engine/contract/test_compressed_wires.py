"""Methods on compressed wires: what is remembered survives a restart, whatever kind of exchange a method has."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hooke.spec.specification import RunSpec

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, play_virtual
from tests.engine.contract.test_bitwise import assert_same_bits

KINDS = {
    "sync-sgd": ("int8", "top-k"),  # an all-reduce of gradients
    "local-sgd": ("sign", "top-k"),  # of weights that the average replaces
    "sync-easgd3": ("int8", "sign"),  # of weights, in the background
    "streaming-diloco": ("top-k",),  # of fragments, by turns
    "chip-easgd": ("int8", "top-k"),  # in parts, and a broadcast
    "noloco": ("int8", "top-k"),  # messages in pairs: weights and an update
    "stochastic-gradient-push": ("top-k",),  # to others at every step
    "original-easgd": ("sign", "top-k"),  # swaps with a server
}


@dataclass(frozen=True)
class Compressed(Case):
    """A case on a compressed wire."""

    wire: str = "int8"

    def spec(self, world, samples=None) -> RunSpec:
        spec = super().spec(world, samples)
        chosen = {"wire": self.wire, "wire_share": 0.2}
        return spec.model_copy(update={"communication": spec.communication.model_copy(update=chosen)})


@pytest.mark.parametrize(("name", "wire"), [(name, wire) for name, wires in KINDS.items() for wire in wires])
def test_a_restart_moves_no_bit_and_training_goes_on(tmp_path, name, wire):
    case = Compressed(name, tuple(suite.base(name).items()), 4, wire=wire)
    straight = play_virtual(case, tmp_path)
    assert_same_bits(play_virtual(replace(case, halt=4 * 7), tmp_path), straight)
    losses = [loss for report in straight for _, loss in report.scores][:: len(straight)]
    assert losses[-1] < 0.95 * losses[0]


@pytest.mark.parametrize("wire", ["int8", "sign", "top-k"])
def test_replicas_that_add_the_same_updates_stay_equal(tmp_path, wire):
    reports = play_virtual(Compressed("sync-sgd", (), 3, wire=wire), tmp_path)
    assert len({report.weights.tobytes() for report in reports}) == 1
    exact = play_virtual(Case("sync-sgd", (), 3), tmp_path)
    assert not np.array_equal(exact[0].weights, reports[0].weights)
    first = exact[0].scores[0][1]
    assert abs(exact[0].scores[-1][1] - reports[0].scores[-1][1]) < 0.1 * first  # the residual comes later


SAME = (
    ("diloco", {}, "streaming-diloco", {"fragments": 1, "delay": 0, "mixing": 0.0}),
    ("slowmo", {}, "elastic-slowmo", {"pull": 1.0, "delay": 0}),
)


@pytest.mark.parametrize(("one", "given", "other", "corner"), SAME, ids=str)
@pytest.mark.parametrize("wire", ["int8", "sign", "top-k"])
def test_methods_that_are_equal_are_so_on_every_wire(tmp_path, one, given, other, corner, wire):
    """They send the same changes: a comparison of the two is one of methods, and not of encodings."""
    common = {"period": 4, "lr": 0.01}
    ends = []
    for name, own in ((one, given), (other, corner)):
        case = Compressed(name, tuple((suite.base(name) | common | own).items()), 3, wire=wire)
        ends.append(play_virtual(case, tmp_path / name)[0].center)
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3 if wire == "int8" else 2e-5)
