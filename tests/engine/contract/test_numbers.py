"""P24: a NaN or an overflow of one worker ends the run before it reaches a center, and is named."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hooke.comm.base import Slice
from hooke.comm.touched import Rows, Touched
from hooke.comm.virtual.communicator import run_virtual
from hooke.errors import NumericalError
from hooke.loop.state import RankState
from hooke.spec.journal import records, unpack

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, objective_of, play_virtual, train, watched
from tests.engine.contract.conftest import run_program
from tests.engine.contract.expected import center_of


def ids(case):
    return case.name


def fail_virtually(case, folder=None):
    """Play a case that must fail; return the error's text and the vectors that other ranks were left with."""
    ranks = {}

    def main(comm):
        objective = objective_of(comm, case, "virtual")
        try:
            train(comm, case, "virtual", folder, objective, first=True)
        finally:
            ranks[comm.rank] = objective.seen_by

    with watched(), pytest.raises(NumericalError) as caught:
        run_virtual(case.ranks, case.spec("virtual").virtual, main)
    return str(caught.value), ranks


POISONED = [(case, np.nan) for case in suite.defaults((2, 3))]
POISONED += [(case, -np.inf) for case in suite.one_of_each(suite.defaults((2, 3)))]
"""Which values are bad is one question for all methods."""


@pytest.mark.property("P24")
@pytest.mark.parametrize(("case", "value"), POISONED, ids=lambda value: getattr(value, "name", str(value)))
def test_a_poisoned_gradient_is_named_and_goes_nowhere(case, value):
    victim = case.workers - 1
    text, ranks = fail_virtually(replace(case, poison=(victim, 4, value)))
    assert re.search(rf"\brank {victim}\b", text)
    assert re.search(r"\bstep 4\b", text)
    for rank in ranks.values():
        assert all(np.isfinite(vector.numpy()).all() for vector in rank.states.values())


@pytest.mark.parametrize("case", suite.defaults((2,)), ids=ids)
def test_the_journal_holds_the_steps_before_a_failure(case, tmp_path):
    """They are the ones that somebody will look at."""
    fail_virtually(replace(case, poison=(case.workers - 1, 4, np.nan)), tmp_path)
    blocks = [r for r in records(tmp_path / f"journal.{case.workers - 1}.jsonl") if r.kind == "steps"]
    steps = [step for block in blocks for step in unpack("step", block.columns["step"])]
    assert steps == [1, 2, 3, 4]


@pytest.mark.property("P24")
@pytest.mark.parametrize("case", suite.defaults((2, 3)), ids=ids)
def test_weights_that_overflow_never_reach_a_center(case, tmp_path):
    """The gradient is finite, lr times it is not: the worker's own check comes before the next exchange.

    A step that is divided by the size of its gradient, as AdamW's is, does not overflow, and the run goes on.
    """
    victim = case.workers - 1
    case = case.pulling(0.1) if suite.spring(case) else case
    case = replace(case, poison=(victim, 4, 3e38), parameters=(*case.parameters, ("lr", 10.0)))
    try:
        text, ranks = fail_virtually(case)
    except pytest.fail.Exception:
        reports = play_virtual(case, tmp_path)
        assert all(np.isfinite(report.weights).all() for report in reports)
        assert np.isfinite(center_of(reports)).all()
        return
    if suite.elastic(case):
        assert re.search(rf"\brank {victim}\b", text)
        assert re.search(r"\bstep [45]\b", text)
        assert np.isfinite(ranks[case.ranks - 1].evaluated.numpy()).all()


@pytest.mark.property("P24")
@pytest.mark.parametrize("case", [c for c in suite.defaults((3,)) if c.kind.may_drop], ids=ids)
def test_a_method_that_may_goes_on_without_a_bad_worker(played, case):
    reports = played(replace(case, poison=(1, 4, np.nan), drop=True), "virtual")
    deciding = reports[-1] if suite.served(case) else reports[0]
    assert deciding.done["dropped"] == [1]
    assert deciding.done["reason"] == "budget"
    assert deciding.done["samples"] == case.budget
    assert np.isfinite(center_of(reports)).all()


def test_under_mpi_the_run_ends_and_the_log_names_rank_and_step(tmp_path):
    case = Case("async-easgd", workers=2, poison=(1, 4, float("nan")))
    status, output = run_program(tmp_path, case.ranks, [case])
    assert status != 0
    assert re.search(r"NumericalError: the gradient of rank 1 .* step 4\b", output)


@pytest.mark.parametrize("case", [c for c in suite.family((2,)) if suite.served(c)], ids=ids)
def test_a_server_names_the_worker_and_the_step_of_what_it_receives(case, monkeypatch):
    """Weights that no worker's own check has seen, as if they had been damaged on the way."""
    from hooke.loop.rank import TrainingRank

    check = TrainingRank.check
    monkeypatch.setattr(TrainingRank, "check", lambda self, *a, **k: self.is_server and check(self, *a, **k))
    text, ranks = fail_virtually(replace(case, poison=(1, 4, np.nan)))
    found = re.search(r"the weights of rank 1 .* step (\d+)\b", text)
    assert found
    assert 5 <= int(found[1]) < 5 + case.longest
    assert int(found[1]) % case.longest == 0 or case.kind.period_field is None or case.algorithm in suite.VARYING
    assert np.isfinite(ranks[case.ranks - 1].evaluated.numpy()).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_sum_that_overflows_is_no_bad_value(sparse):
    """Two elements of 2e38 are numbers, and their sum in float32 is not."""
    whole = Touched((Rows(Slice("w", 0, 4, (4, 1)), torch.tensor([1, 2])),)) if sparse else None
    rank = SimpleNamespace(touched=lambda vector: whole, rank=0, t=1)
    large = torch.tensor([0.0, 2e38, 2e38, 0.0])
    RankState.check(rank, large, "the gradient")
    for bad in (torch.nan, torch.inf):
        large[1] = bad
        with pytest.raises(NumericalError, match="the gradient of rank 0 holds NaN or Inf at its step 1"):
            RankState.check(rank, large, "the gradient")
