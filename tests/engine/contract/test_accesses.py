"""Declared vector reads and writes, which determine virtual time, against those that PyTorch carries out."""

from collections import Counter

import numpy as np
import pytest
from hooke.loop.rank import TrainingRank
from hooke.methods.descent import Descent
from hooke.trace.phases import Phase
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.engine.contract import suite
from tests.engine.contract.cases import play_virtual

OWN_CHECK = 1
"""Read of the gradient, which the product checks for NaN and Inf."""
INDEXED = ("sparta",)
"""Methods that index vectors: PyTorch does not tell how many elements that touches."""
ONLY_WRITTEN = ("aten::copy_", "aten::zero_", "aten::fill_")


class Counted(TorchDispatchMode):
    """Counts the elements read and written by a rank's operations on vectors while it updates."""

    def __init__(self, rank: TrainingRank) -> None:
        super().__init__()
        self.rank = rank
        self.elements: Counter[int] = Counter()
        """By step."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = [*zip(func._schema.arguments, args, strict=False)]
        given += [(each, kwargs[each.name]) for each in func._schema.arguments if kwargs and each.name in kwargs]
        aliased = [each.alias_info for each, _ in given if each.alias_info is not None]
        if self.rank.ledger.phase is Phase.UPDATE and all(a.is_write for a in aliased):
            for each, value in given:
                if isinstance(value, Tensor) and value.dim():
                    written = each.alias_info is not None
                    read = not written or (each.name == "self" and func._schema.name not in ONLY_WRITTEN)
                    self.elements[self.rank.t] += value.numel() * (written + read)
            if not aliased and isinstance(result, Tensor) and result.dim():
                self.elements[self.rank.t] += result.numel()
        return result


def declared(case):
    """Return whether the class says how many there are; without a declaration, nothing is verified."""
    kinds = case.kind.__mro__
    return any({"accesses", "vector_accesses"} & vars(each).keys() for each in kinds[: kinds.index(Descent)])


CASES = [
    case
    for case in suite.family((2,))
    if not suite.free(case)
    and case.algorithm not in INDEXED
    and issubclass(case.kind, Descent)
    and declared(case)
    and dict(case.parameters).keys() <= {*suite.base(case.algorithm), case.kind.period_field}
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_declared_accesses_are_those_of_the_operations(monkeypatch, tmp_path, case):
    """Mean over whole periods after the first, in which vectors are made.

    A seventh is allowed: some methods copy a vector only in some of their options.
    """
    counts, period = {}, case.values.get(case.kind.period_field, 1)

    def run(self, r):
        with Counted(r) as counted:
            original(self, r)
        per_step = [counted.elements[t] / r.params.numel() - OWN_CHECK for t in range(r.t)]
        counts[r.rank] = np.mean(per_step[period : len(per_step) // period * period])

    original = case.kind.run
    monkeypatch.setattr(case.kind, "run", run)
    play_virtual(case, tmp_path)
    wanted = case.method.vector_accesses(server=False)
    assert counts[0] == pytest.approx(wanted, rel=0.15, abs=0.7)
