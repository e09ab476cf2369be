"""Constants of a virtual cluster from a calibration, and their price in virtual time."""

import numpy as np
import pytest
from hooke.calibration.constants import constants, resolve_experiment, resolve_run, resolved
from hooke.calibration.documents import Duration, load, text
from hooke.calibration.drift import drift, told
from hooke.calibration.operations import counts, pairs
from hooke.calibration.paths import critical
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.comm.virtual.communicator import run_virtual
from hooke.errors import CalibrationError, SpecError
from hooke.loop.train import run_spec_virtual
from hooke.spec.specification import VirtualCluster, WorkloadChoice, fingerprint

from tests.engine.calibration.documents_for_tests import curve, exact, made

DIGITS = WorkloadChoice(name="digits-mlp")
RUN = {
    "schema": "hooke.run/1",
    "workload": {"name": "digits-mlp"},
    "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.1}},
    "workers": 2,
    "world": "virtual",
    "budget": {"samples": 1000},
    "evaluation": {"every": 1000},
}


def test_the_document_survives_its_file(tmp_path):
    made_one = made()
    (tmp_path / "c.json").write_text(text(made_one))
    assert load(tmp_path / "c.json") == made_one
    (tmp_path / "d.json").write_text('{"schema": "hooke.run/1"}')
    with pytest.raises(CalibrationError, match="is not a calibration"):
        load(tmp_path / "d.json")


def test_constants_are_those_measured():
    found = VirtualCluster.model_validate(constants(made(), "lab", DIGITS))
    assert found.message_overhead == pytest.approx(2e-6, rel=0.01)  # of the shortest message of a stream
    assert found.latency + 2 * found.message_overhead == pytest.approx(6e-6)
    assert found.seconds_per_byte == 1e-9
    assert found.addition_seconds_per_byte == 0.5e-9
    assert found.memory_bandwidth == pytest.approx(6e9)
    assert found.operations["halving"].seconds_per_byte == 3e-9
    assert found.compute_seconds_per_sample == 1e-5
    update = 4 * 100_000 * 3 / 6e9
    assert 32 * 1e-5 + found.compute_seconds_per_step + update == pytest.approx(1e-3)  # the step that was measured
    assert (found.compute_jitter, found.jitter_slow, found.jitter_common) == (0.1, 0.05, 0.02)
    assert "lab" in found.source and "2026-11-24" in found.source
    assert found.compute_source


def test_given_constants_win():
    virtual = VirtualCluster(like="lab", latency=1.0, compute_seconds_per_sample=2.0)
    found = resolved(virtual, constants(made(), "lab", DIGITS))
    assert (found.like, found.latency, found.compute_seconds_per_sample) == (None, 1.0, 2.0)
    assert found.compute_source is None
    assert found.seconds_per_byte == 1e-9


def test_a_run_and_an_experiment_are_resolved_once():
    run = validate_run(RUN | {"virtual": {"like": "lab"}})
    found = resolve_run(run, lambda _: made())
    assert found.virtual.like is None
    assert resolve_run(found, lambda _: pytest.fail("resolved twice")) is found
    document = {
        "name": "x",
        "workload": RUN["workload"],
        "variants": [{"name": "a", "algorithm": "sync-sgd"}],
        "baseline": "a",
        "clusters": [
            {"name": "v", "computed_on": "local", "workers": [2], "virtual": {"like": "lab", "latency": 0.5}}
        ],
        "budget": {"samples": 1000},
        "evaluation": {"every": 1000},
    }
    whole = resolve_experiment(validate_experiment(document), lambda _: made())
    assert whole.clusters[0].virtual.latency == 0.5
    assert whole.clusters[0].virtual.operations["tree"].seconds_per_message == 1e-5


@pytest.mark.parametrize(
    ("document", "calibration", "said"),
    [
        (RUN | {"workload": {"name": "mnist-lenet"}}, made(), "--workload mnist-lenet"),
        (RUN, made(curves=[]), "made with one rank"),
    ],
)
def test_what_a_calibration_lacks_is_a_fault(document, calibration, said):
    run = validate_run(document | {"virtual": {"like": "lab"}})
    with pytest.raises(SpecError) as raised:
        resolve_run(run, lambda _: calibration)
    (fault,) = raised.value.faults
    assert fault.pointer == "/virtual/like"
    assert said in fault.message


def test_defaults_keep_the_fingerprint():
    plain = validate_run(RUN | {"virtual": {}})
    assert set(plain.virtual.model_dump()) == {
        "latency", "seconds_per_byte", "host_seconds_per_byte", "compute_seconds_per_sample", "compute_source",
        "compute_jitter", "memory_bandwidth",
    }  # fmt: skip
    assert fingerprint(plain) == fingerprint(validate_run(RUN | {"virtual": {"message_overhead": 0}}))


def seconds_of(network, operation, ranks=2, collective="tree"):
    def main(comm):
        vector = np.zeros(1000, np.float32)
        operation(comm, vector)
        return comm.clock()

    return max(run_virtual(ranks, network, main, collective))


PLAIN = VirtualCluster(latency=1e-6, seconds_per_byte=1e-9)
SIZE = 4000


def test_overheads_copies_and_additions_are_priced():
    network = PLAIN.model_copy(
        update={
            "message_overhead": 1e-6,
            "copy_seconds_per_byte": 2e-9,
            "addition_seconds_per_byte": 5e-9,
        }
    )
    message = 1e-6 + 2e-6 + SIZE * 3e-9
    assert seconds_of(network, lambda comm, x: comm.allreduce(x)) == pytest.approx(2 * message + SIZE * 5e-9)
    assert seconds_of(network, lambda comm, x: comm.broadcast(x)) == pytest.approx(message)
    assert seconds_of(network, lambda comm, x: comm.reduce(x)) == pytest.approx(message + SIZE * 5e-9)


@pytest.mark.parametrize(("collective", "rounds", "path"), [("tree", 4, 4), ("halving", 4, 1.5), ("ring", 6, 1.5)])
def test_an_operation_with_constants_of_its_own_takes_those(collective, rounds, path):
    own = {collective: {"seconds_per_message": 1e-4, "seconds_per_byte": 1e-8}}
    network = VirtualCluster(latency=1e-6, seconds_per_byte=1e-9, operations=own)
    taken = seconds_of(network, lambda comm, x: comm.allreduce(x), 4, collective)
    assert taken == pytest.approx(rounds * 1e-4 + path * SIZE * 1e-8)
    assert (rounds, path * SIZE) == critical("all-reduce", collective, 4, SIZE)
    assert seconds_of(network, lambda comm, x: comm.broadcast(x)) == pytest.approx(1e-6 + SIZE * 1e-9)


def test_windows_and_gathers_have_constants_of_their_own():
    own = {"window": {"seconds_per_message": 1e-4, "seconds_per_byte": 0}, "gather": {"seconds_per_message": 3e-4, "seconds_per_byte": 0}}  # fmt: skip  # noqa: E501
    network = VirtualCluster(latency=1e-6, seconds_per_byte=1e-9, operations=own)

    def read(comm, x):
        window = comm.window(x)
        if comm.rank == 1:
            window.get(x)

    assert seconds_of(network, read) == pytest.approx(1e-4)
    assert seconds_of(network, lambda comm, x: comm.allgather(x)) == pytest.approx(3e-4)
    assert seconds_of(network, lambda comm, x: comm.counter().take()) == pytest.approx(1e-4)
    assert seconds_of(PLAIN, lambda comm, x: comm.counter().take()) == 0


def test_a_read_and_an_addition_of_a_window_take_what_was_measured():
    measured = made(curves=[*made().curves, curve("window add", 1e-5, 4e-9)])
    network = VirtualCluster.model_validate(constants(measured, "lab", DIGITS))

    def access(comm, x):
        window = comm.window(x)
        if comm.rank == 1:
            window.get(x)
            window.accumulate(x)

    read, added = (measured.curve(kind).line for kind in ("window get", "window add"))
    assert seconds_of(network, access) == pytest.approx(read.alpha + added.alpha + SIZE * (read.beta + added.beta))


def test_the_measured_step_is_met_although_the_fitted_gradient_is_longer():
    (rate,) = made().compute
    slow = rate.model_copy(update={"line": exact(0.0, 5e-5)})  # 1.6 ms for 32 samples; the step took 1 ms
    found = VirtualCluster.model_validate(constants(made(compute=[slow]), "lab", DIGITS))
    update = 4 * 100_000 * 3 / 6e9
    assert found.compute_seconds_per_step == pytest.approx(0.0, abs=1e-12)
    assert 32 * found.compute_seconds_per_sample + update == pytest.approx(1e-3)


def test_an_update_takes_the_time_of_the_adamw_step_that_was_measured():
    """26 accesses in 1.3 ms are 50 us each: local steps without momentum have 3, beside their gradients."""
    (rate,) = made().compute
    slow = rate.model_copy(update={"adamw": Duration(seconds=1.3e-3, error=1e-5, samples=3)})
    found = VirtualCluster.model_validate(constants(made(compute=[slow]), "lab", DIGITS))
    assert 4 * slow.elements * found.update_seconds_per_byte == pytest.approx(5e-5)
    computed = 32 * found.compute_seconds_per_sample + found.compute_seconds_per_step
    assert computed + 3 * 5e-5 == pytest.approx(slow.loop.seconds)


@pytest.mark.parametrize(("optimizer", "accesses"), [("sgd", 3), ("adamw", 26)])
def test_virtual_time_charges_the_measured_access(optimizer, accesses):
    free = {"compute_seconds_per_sample": 1e-12, "compute_jitter": 0, "latency": 0, "seconds_per_byte": 0}
    method = {"name": "local-sgd", "parameters": {"lr": 0.01, "period": 10_000, "optimizer": optimizer}}
    plain = RUN | {"algorithm": method, "batch": 50, "virtual": free | {"update_seconds_per_byte": 1e-9}}
    clock = run_spec_virtual(validate_run(plain))[0].done.clock
    assert clock == pytest.approx(10 * accesses * 4 * 50_826 * 1e-9, rel=1e-3)  # 10 steps


def test_an_all_reduce_in_the_background_takes_its_part_of_the_computation():
    own = {"background": {"seconds_per_message": 1e-4, "seconds_per_byte": 1e-8}}
    network = VirtualCluster(latency=1e-6, seconds_per_byte=1e-9, operations=own)

    def behind(comm, x):
        pending = comm.iallreduce(x)
        comm.charge(1.0)
        pending.wait()

    assert seconds_of(network, behind) == pytest.approx(1.0 + 2 * (1e-4 + SIZE * 1e-8))
    assert seconds_of(network, lambda comm, x: comm.allreduce(x)) == pytest.approx(2 * (1e-6 + SIZE * 1e-9))


def test_pairs_are_all_or_a_sample_and_counts_are_powers_of_two_and_all():
    assert pairs(3) == [(0, 1), (0, 2), (1, 2)]
    assert len(set(pairs(8))) == 6 and pairs(8)[0] == (0, 1)
    assert [counts(n) for n in (1, 2, 3, 8)] == [[], [2], [2, 3], [2, 4, 8]]


def test_drift_is_told_beyond_the_uncertainties_only():
    assert drift(made(), made()) == []
    assert drift(made(), made(slower=1.04)) == []
    changes = drift(made(), made(slower=1.5))
    assert {change.what for change in changes} == {"message of 8 bytes", "message of 2,097,152 bytes"}
    assert changes[0].ratio == pytest.approx(1.5)
    assert "1.50 times as long as before" in " ".join(told(made(), made(slower=1.5)))
    assert any("no difference" in line for line in told(made(), made()))
    said = told(made(), made(workers=4, load=3.0, versions={"hooke": "1"}))
    assert any("workers was 2 and is 4" in line for line in said)
    assert any("hooke was 0 and is 1" in line for line in said)
    assert any("load 3.0" in line for line in said)


def test_gradients_of_other_parameters_are_said_to_be_of_others():
    """A wider model takes longer: its time is not known from the usual one, and the result must not say so."""
    wider = WorkloadChoice(name="digits-mlp", parameters={"hidden1": 512})
    found = constants(made(), "lab", wider)
    other = "measured with other parameters of digits-mlp by the calibration of lab"
    assert found["compute_source"].startswith(other)
    usual = WorkloadChoice(name="digits-mlp", parameters={"hidden1": 256})
    assert constants(made(), "lab", usual)["compute_source"].startswith("measured by the calibration of lab")


def test_constants_that_no_cluster_has_are_a_fault():
    slow = made(curves=[*made().curves, curve("background", 11.0, 1e-9, "halving")])
    with pytest.raises(SpecError) as raised:
        resolve_run(validate_run(RUN | {"virtual": {"like": "lab"}}), lambda _: slow)
    (fault,) = raised.value.faults
    assert fault.pointer == "/virtual/like"
    assert "gives constants that a virtual cluster cannot have" in fault.message
    assert "less than or equal to 10" in fault.message
