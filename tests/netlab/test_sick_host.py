"""A host whose workers become slow in mid-run, among emulated ones: by the share of the time that they worked."""

import time

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.cluster import local_run
from hooke.spec.journal import records, unpack

from benchmarks.netlab.starting import AGENT
from tests.netlab.test_hosts import OnHostOne

CHANGE = {"at": 0.4, "speed": 0.2}
RUN = {
    "schema": "hooke.run/1",
    "workload": {"name": "digits-mlp", "parameters": {"hidden1": 256, "hidden2": 128}},
    "algorithm": {"name": "local-sgd", "parameters": {"period": 10}},
    "workers": 2,
    "groups": [{"kind": "cpu"}, {"kind": "cpu", "changes": [CHANGE]}],
    "batch": 64,
    "budget": {"samples": 10**8, "max_seconds": 2.5},
    "evaluation": {"every": 10**7},
}


def columns(folder, rank, *names):
    """Return columns of the steps of a rank."""
    blocks = [each.columns for each in records(folder / f"journal.{rank}.jsonl") if each.kind == "steps"]
    return [np.concatenate([list(unpack(name, each[name])) for each in blocks]) for name in names]


def shares(lab, folder):
    """Return the share of its time that the slowed host worked, by itself and by its steps; None of few steps."""
    spec = validate_run(RUN)
    local_run.prepare(folder, spec)
    launcher = OnHostOne(lab, ("env", f"NETLAB={lab.name}", str(AGENT)))
    run = local_run.start(folder, spec, launcher=launcher)
    while run.poll():
        time.sleep(0.05)
    report = run.finish()
    assert report.state in ("succeeded", "timed_out"), report.why
    assert [run.witness.started[rank].host for rank in (0, 1)] == [f"{lab.name}-1", f"{lab.name}-2"]
    wall, compute = columns(folder, 1, "wall", "compute")
    began = np.concatenate([[0.0], wall[:-1]])  # a step keeps the speed that it begins with, however long it lasts
    compute = compute[began < RUN["budget"]["max_seconds"]]  # it sleeps no more while the ranks agree on the end
    slow = began[: compute.size] >= CHANGE["at"]
    assert run.witness.done[0].slowed_to is None
    worked = compute[~slow].sum() + CHANGE["speed"] * compute[slow].sum()  # computing has the sleeps in it
    enough = min(np.count_nonzero(slow), np.count_nonzero(~slow)) > 10
    return (run.witness.done[1].slowed_to, worked / compute.sum()) if enough else None


def test_a_host_that_becomes_slow_in_mid_run(lab, tmp_path):
    """A machine that stands still for longer than a run's steps disturbs one run, and not each."""
    seen = []
    for turn in range(4):
        seen.append(shares(lab, tmp_path / str(turn)))
        if seen[-1] is not None and seen[-1][0] == pytest.approx(seen[-1][1], rel=0.2):
            return
    pytest.fail(f"the share of its time that it worked, by itself and by its steps, of each run: {seen}")
