"""Every way in which a run ends, agreed on by all ranks."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, Case, play_virtual
from tests.engine.contract.test_bitwise import assert_same_bits


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


def deciding(case, reports):
    return reports[-1] if suite.served(case) else reports[0]


@pytest.mark.parametrize(("case", "world"), suite.ends(suite.aiming()), ids=ids)
def test_a_run_ends_at_the_first_evaluation_that_meets_the_target(played, case, world):
    reports = played(case, world)
    assert {report.done["reason"] for report in reports} == {"target"}
    losses = [loss for _, loss in deciding(case, reports).scores]
    met = next(n for n, loss in enumerate(losses) if loss <= case.target)
    assert losses[0] > case.target
    spent = sum(len(report.picked) for report in reports) * BATCH
    assert spent == deciding(case, reports).done["samples"] < case.budget
    samples = [samples for samples, _ in deciding(case, reports).scores]
    # a server's workers finish what they were granted, and one step more: they hear of the end with an answer
    slack = (case.longest + 1) * case.workers * BATCH if suite.served(case) else 0
    assert 0 <= spent - samples[met] <= slack


TIMED = list(dict.fromkeys([*suite.defaults((2,)), *suite.one_of_each(suite.defaults((1, 4)))]))
"""The deciding rank looks at its clock: that of a loop."""


@pytest.mark.parametrize("case", TIMED, ids=ids)
def test_a_run_ends_when_its_time_is_over(played, case):
    """Here in virtual seconds; the deciding rank notices, and all end at the same step."""
    hasty = replace(case, steps=200, seconds=0.02, every=10**6)
    reports = played(hasty, "virtual")
    assert {report.done["reason"] for report in reports} == {"timed_out"}
    assert deciding(hasty, reports).done["samples"] < hasty.budget
    if case.kind.coordination == "synchronous":
        assert len({report.done["step"] for report in reports}) == 1


@pytest.mark.property("P23")
@pytest.mark.parametrize("case", [c for c in suite.defaults((3,)) if c.kind.deterministic], ids=ids)
def test_disjoint_shards_restart_bitwise_too(tmp_path, case):
    own = replace(case, sharding="disjoint", steps=40)
    straight = play_virtual(own, tmp_path)
    assert_same_bits(play_virtual(suite.TWINS["halted and restarted"](own), tmp_path), straight)
    for one, report in enumerate(straight[: case.workers]):
        seen = {item for batch in report.picked for item in batch}
        assert {item % case.workers for item in seen} == {one}


@pytest.mark.parametrize("case", suite.defaults((2,)), ids=ids)
def test_seeds_and_workers_see_different_batches(played, case):
    reports, others = played(case, "virtual"), played(replace(case, seed=case.seed + 1), "virtual")
    streams = [str(r.picked[:6]) for r in (*reports[: case.workers], *others[: case.workers])]
    assert len(set(streams)) == 2 * case.workers
    assert not np.array_equal(reports[0].weights, others[0].weights)
