"""The equations can fail: plausible mistakes in methods whose averages are late, partial or of pairs."""

import pytest
from hooke.algorithms.co2 import CO2
from hooke.algorithms.noloco import Noloco
from hooke.algorithms.sparta import Sparta
from hooke.algorithms.stochastic_gradient_push import StochasticGradientPush
from hooke.algorithms.streaming_diloco import StreamingDiloco
from hooke.catalogue import algorithm

from tests.engine.contract.cases import Case, play_virtual
from tests.engine.contract.expected import assert_follows


class AtOnce(CO2):
    """The all-reduce is not late: the next round begins with the average of this one."""

    def run(self, r):
        updates = r.comm.sending("updates")
        begin, center = updates.iallreduce, r.state("center", like=r.params)

        class Added:
            """A pending sum whose mean change has been added already."""

            def __init__(self, x, into):
                begin(x, into).wait()
                center.add_(into, alpha=1 / r.workers)
                into.zero_()

            def wait(self):
                """Return at once."""

        updates.iallreduce, r.comm.sending = Added, lambda content: updates
        super().run(r)


class MixedTheOtherWay(StreamingDiloco):
    """A worker keeps the share that it should give up."""

    def run(self, r):
        StreamingDiloco.run(self.model_copy(update={"mixing": 1 - self.mixing}), r)


class EachItsOwnElements(Sparta):
    """Ranks draw different elements, and average some with others."""

    def run(self, r):
        r.spec = r.spec.model_copy(update={"seed": r.spec.seed + r.rank})
        super().run(r)


class PushedApart(Noloco):
    """The pull has the wrong sign."""

    def run(self, r):
        Noloco.run(self.model_copy(update={"pull": -self.pull}), r)


class Biased(StochasticGradientPush):
    """Gradients are taken at x instead of x / w."""

    def run(self, r):
        gradient = r.gradient
        r.gradient = lambda at=None: gradient()
        super().run(r)


WRONG = [
    (AtOnce, Case("co2", (("period", 3), ("outer_momentum", 0.0)), workers=2)),
    (MixedTheOtherWay, Case("streaming-diloco", (("period", 3), ("mixing", 0.2)), workers=2)),
    (EachItsOwnElements, Case("sparta", (("fraction", 0.3),), workers=2)),
    (PushedApart, Case("noloco", (("period", 3),), workers=3)),
    (Biased, Case("stochastic-gradient-push", (("delay", 1),), workers=3)),
]


@pytest.mark.parametrize(("wrong", "case"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_the_equations_tell_a_wrong_average(monkeypatch, tmp_path, wrong, case):
    assert_follows(case, play_virtual(case, tmp_path))
    known = algorithm.catalogue() | {case.algorithm: wrong}
    monkeypatch.setattr(algorithm, "catalogue", lambda: known)
    with pytest.raises(AssertionError):
        assert_follows(case, play_virtual(case, tmp_path))
