"""Ranks that share cores: what is measured of them, in virtual time where it is known, and what is made of it."""

import numpy as np
import pytest
from hooke.algorithms.sync_sgd import SyncSGD
from hooke.calibration.constants import constants
from hooke.calibration.drift import drift, told
from hooke.calibration.fitting import occupied
from hooke.calibration.operations import counts
from hooke.calibration.paths import critical
from hooke.calibration.sharing import StepTimer, per_step
from hooke.catalogue.validation import validate_run
from hooke.comm.virtual.communicator import run_virtual
from hooke.loop.train import run_spec_virtual
from hooke.spec.specification import VirtualCluster, WorkloadChoice

from tests.engine.calibration.documents_for_tests import made

NETWORK = VirtualCluster(latency=1e-3, seconds_per_byte=0)
WORK = 4e-3


def measured(ranks, measure, network=NETWORK):
    """Return what `measure(comm)` returns on rank 0 of a virtual world."""

    def main(comm):
        comm.collective = "tree"
        return measure(comm)

    return run_virtual(ranks, network, main)[0]


def taking(comm):
    return StepTimer(comm, 0.1, lambda: comm.charge(WORK))


def test_a_step_is_a_mean_with_the_time_slices_of_others_in_it():
    """Of eight steps one is interrupted: the median would be the time of a rank with a core for itself."""

    def steps(comm):
        taken = iter([1e-3, 1e-3, *([1e-3] * 8 + [9e-3]) * 8])
        return per_step(comm, lambda: comm.charge(next(taken)), 0.064)

    found = measured(2, steps)
    assert found.shape == (2, 8)
    assert found == pytest.approx(2e-3)


def test_an_operation_is_what_it_adds_to_a_step():
    vector = np.zeros(1000, np.float32)
    found = measured(4, lambda comm: taking(comm).together(lambda: comm.allreduce(vector), 0.1))
    assert found == pytest.approx([4e-3] * len(found), rel=1e-5)  # two messages up the tree, two down


def test_an_operation_is_what_it_adds_to_the_computation_behind_which_it_runs():
    vector = np.zeros(1000, np.float32)

    def both(comm):
        pending = comm.iallreduce(vector)
        comm.charge(WORK / 2)  # of which the messages take 2 ms longer
        pending.wait()

    found = measured(4, lambda comm: taking(comm).behind(lambda: both(comm), lambda: comm.charge(WORK / 2), 0.1))
    assert found == pytest.approx([2e-3] * len(found), rel=1e-5)


def test_memory_is_measured_while_all_ranks_use_it():
    found = measured(4, lambda comm: taking(comm).alone(lambda: comm.charge((1 + comm.rank) * 1e-5), 0.1))
    assert found == pytest.approx([2.5e-5] * len(found), rel=1e-5)


@pytest.mark.parametrize(("ranks", "access"), [(2, 1e-3), (4, 1e-3), (8, 1e-4), (8, 1e-3), (8, 2e-3)])
def test_how_long_an_access_occupies_a_window_follows_from_the_steps_of_all(ranks, access):
    """Eight ranks with 4 ms of work fill a window whose accesses take 2 ms: a step takes 16 ms."""
    own = {"window": {"seconds_per_message": access, "seconds_per_byte": 0}}
    network = VirtualCluster(latency=0, seconds_per_byte=1e-12, operations=own)

    def accesses(comm):
        vector = np.zeros(1, np.float32)
        window = comm.window(vector)
        return taking(comm).of_a_window(lambda: (window.get(vector), window.accumulate(vector)), 2.0)

    found = measured(ranks, accesses, network)
    assert found == pytest.approx([access] * len(found), rel=0.02)
    step = max(WORK + 2 * access, ranks * access)
    assert occupied(WORK, step - WORK, ranks) == pytest.approx(access)


def test_a_step_of_ranks_that_share_cores_is_the_measured_one_and_the_operation():
    """In closed form: no rank waits for another one's jitter, which is in the operation's time."""
    workers, steps, batch = 4, 5, 32
    found = made(oversubscribed=True, workers=workers)
    plain = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.1}},
        "communication": {"collective": "halving"},
        "batch": batch,
        "workers": workers,
        "world": "virtual",
        "budget": {"samples": steps * workers * batch},
        "evaluation": {"every": steps * workers * batch},
    }
    virtual = constants(found, "lab", WorkloadChoice(name="digits-mlp"))
    done = run_spec_virtual(validate_run(plain | {"virtual": virtual}))[0].done
    (rate,) = found.compute
    elements = 50_826
    messages, size = critical("all-reduce", "halving", workers, 4 * elements)
    halving = found.curve("all-reduce", "halving").line
    bandwidth = 3 / found.curve("add").line.beta
    updates = 4 * (elements * SyncSGD().vector_accesses(False) - rate.elements * rate.accesses) / bandwidth
    step = rate.loop.seconds + updates + halving.alpha * messages + halving.beta * size
    assert done.clock / done.step == pytest.approx(step, rel=1e-6)


def test_only_all_ranks_are_measured_and_nothing_is_compared_with_ranks_that_had_cores():
    assert counts(8, oversubscribed=True) == [8]
    assert drift(made(), made(oversubscribed=True, slower=2.0)) == []
    assert "ranks shared cores in this calibration only: times are not compared" in told(
        made(), made(oversubscribed=True)
    )
