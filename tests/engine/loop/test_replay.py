"""Record and replay (P9): the logged order brings back every bit of an asynchronous run."""

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from hooke.catalogue.algorithm import catalogue, ranks_of
from hooke.comm.virtual.communicator import run_virtual
from hooke.errors import JournalError, LaunchError
from hooke.loop.flag import Flag
from hooke.loop.replay import compare, differences, read_order, recorded, same_run, twin
from hooke.loop.state import RankOptions
from hooke.loop.train import train_rank
from hooke.spec.journal import unpack
from hooke.spec.specification import VirtualCluster

from tests.engine.contract.objective import Behaviour, Quadratic, Quadratics
from tests.engine.loop.methods import known
from tests.engine.loop.setup import Setup, journal, play_virtual

RECORDED = ["one by one", "every third", "pushed", "to the target"]


def replayed(folder, order=None):
    """Replay with the quadratic in place of the specified workload, at speeds that would give another order."""
    spec = twin(recorded(folder))
    spec = spec.model_copy(update={"virtual": VirtualCluster(compute_jitter=1.5, compute_seconds_per_sample=1e-4)})

    def main(comm):
        objective = Quadratic(Quadratics(spread=0.3), comm, Behaviour(), Flag(), True)
        besides = RankOptions(order=order or read_order(folder))
        return train_rank(comm, spec, None, objective, options=besides)

    with known():
        outcomes = run_virtual(ranks_of(spec), spec.virtual, main)
        return outcomes, differences(spec, folder, outcomes[-1].center, [o.weights for o in outcomes[:-1]])


@pytest.mark.property("P9")
@pytest.mark.parametrize("world", ["mpi", "virtual"])
@pytest.mark.parametrize("name", RECORDED)
def test_a_replay_has_every_bit(played, name, world):
    run = played(name, world)
    outcomes, found = replayed(run.folder)
    assert found == []
    for one, other in zip(run.first, outcomes, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
        assert (one.done.step, one.done.reason) == (other.done.step, other.done.reason)
    assert run.first[-1].done.staleness == outcomes[-1].done.staleness
    assert run.first[-1].done.reason == ("target" if name == "to the target" else "budget")


SERVED = [
    name
    for name, kind in catalogue().items()
    if kind.coordination == "parameter-server" and not kind.deterministic
]


@pytest.mark.property("P9", workers=3)
@pytest.mark.parametrize("name", SERVED)
def test_every_method_that_is_served_in_any_order_has_one(name, tmp_path):
    fields = catalogue()[name].model_fields
    period = (("period", 3),) if "period" in fields and name != "mdownpour" else ()
    run = play_virtual(Setup(name, period, steps=61), tmp_path / "run")
    outcomes, found = replayed(tmp_path / "run")
    assert found == []
    assert [o.done.step for o in outcomes] == [reports[0].done.step for reports in run]


@pytest.mark.property("P9", of=("async-easgd",), workers=3, world="mpi")
def test_another_order_gives_other_bits(played):
    """So the comparison can fail."""
    folder = played("one by one", "mpi").folder
    order = read_order(folder)
    swapped = list(order.workers)
    at = next(i for i in range(10, 80) if swapped[i] != swapped[i + 1])
    swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    _, found = replayed(folder, dataclasses.replace(order, workers=tuple(swapped)))
    assert found


@pytest.mark.property("P12")
@pytest.mark.parametrize("world", ["mpi", "virtual"])
@pytest.mark.parametrize("name", RECORDED)
def test_staleness_is_that_of_the_order(played, name, world):
    """Updates of the center since the worker got it; a first request that brings nothing is no update."""
    run = played(name, world)
    order = read_order(run.folder).workers
    got, updates, expected = {}, 0, []
    for worker in order:
        pull = name == "pushed" and worker not in got
        expected.append(updates - got[worker] if worker in got else np.nan)
        updates += not pull
        got[worker] = updates
    columns = {"worker": [], "staleness": []}
    for block in journal(run.folder, 3, "steps"):
        for key in columns:
            columns[key] += unpack(key, block.columns[key]) if key in block.columns else [np.nan] * block.n
    assert tuple(map(int, columns["worker"])) == order
    np.testing.assert_array_equal(columns["staleness"], expected)
    assert run.first[-1].done.staleness == Counter(int(value) for value in expected if value == value)


def test_a_log_that_does_not_fit_is_refused(played):
    folder = played("one by one", "virtual").folder
    order = read_order(folder)
    last = order.workers[-1]
    for workers in (order.workers[:-1], (*order.workers, last)):
        with pytest.raises(JournalError, match="does not fit"):
            replayed(folder, dataclasses.replace(order, workers=workers))


def test_methods_without_an_order_are_refused(played):
    with known(), pytest.raises(LaunchError, match="no order to log"):
        read_order(played("plain", "virtual").folder)
    with known(), pytest.raises(LaunchError, match="take the same steps"):
        read_order(played("on the host", "virtual").folder)


def test_runs_that_cannot_be_replayed_are_refused(played, tmp_path):
    with known(), pytest.raises(LaunchError, match="without worker 1"):
        read_order(played("one leaves", "virtual").folder)
    with known(), pytest.raises(LaunchError, match="began at a checkpoint"):
        read_order(played("served, twice", "virtual").folder)
    stopped = Setup("async-easgd", steps=3000, cancel=(3, 2))
    play_virtual(stopped, tmp_path / "stopped")
    with pytest.raises(LaunchError, match="ended early"):
        read_order(tmp_path / "stopped")
    with pytest.raises(LaunchError, match="holds no run: spec.json"):
        read_order(tmp_path)


@pytest.mark.parametrize("lost", ["the last line", "a block", "the column"])
def test_an_incomplete_journal_is_refused(tmp_path, lost):
    play_virtual(Setup("async-easgd", steps=40, every=10), tmp_path / "run")
    path = tmp_path / "run" / "journal.3.jsonl"
    lines = path.read_text().splitlines()
    blocks = [i for i, line in enumerate(lines) if '"kind":"steps"' in line]
    if lost == "the last line":
        lines.pop()
    elif lost == "a block":
        lines.pop(blocks[1])
    else:
        record = json.loads(lines[blocks[0]])
        del record["columns"]["worker"]
        lines[blocks[0]] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalError, match=r"journal\.3\.jsonl"):
        read_order(tmp_path / "run")


def test_runs_are_told_apart(played, tmp_path):
    spec = recorded(played("one by one", "mpi").folder)
    assert same_run(spec, twin(spec))
    assert not same_run(spec, spec.model_copy(update={"seed": 6}))
    assert compare(spec, played("one by one", "mpi").folder, played("one by one", "mpi").folder) == []
    assert len(compare(spec, played("one by one", "mpi").folder, played("one by one", "virtual").folder)) == 4
    np.savez(tmp_path / "final.0.npz", other=np.zeros(3))
    with pytest.raises(LaunchError, match=r"final\.0\.npz"):
        compare(spec, tmp_path, tmp_path)
