"""Virtual devices: seconds of a batch and of a message, by the profile's constants."""

from types import SimpleNamespace

import numpy as np
import pytest
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.comm.virtual.exchange import VirtualExchange
from hooke.comm.virtual.network import Network
from hooke.errors import SpecError
from hooke.loop.compute_time import ComputeTime
from hooke.loop.train import run_spec_virtual
from hooke.spec.devices import PROFILES
from hooke.spec.specification import VirtualCluster, canonical

PLAIN = {"latency": 1e-6, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0}
DEVICES = [{"kind": "cpu-28"}, {"kind": "v100", "count": 2}]


def spec(name="sync-sgd", **virtual):
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 2, "hidden2": 2}},
            "algorithm": {"name": name, "parameters": {"largest": 8, "sizes": [8], "alpha": 1}}
            if name == "hogbatch"
            else {"name": name},
            "workers": 3,
            "world": "virtual",
            "virtual": PLAIN | {"memory_bandwidth": 1e15, "devices": DEVICES} | virtual,
            "batch": 16,
            "budget": {"samples": 16 * 240},
            "evaluation": {"every": 10**6},
        }
    )


@pytest.mark.parametrize(("worker", "kind"), [(0, "cpu-28"), (1, "v100"), (2, "v100")])
def test_a_gradient_takes_its_overhead_and_its_samples(worker, kind):
    times, profile = ComputeTime(spec(), worker), PROFILES[kind]
    assert times.seconds() == pytest.approx(profile.overhead + 16 * 1e-4 / profile.speed)
    assert times.seconds(joined=True) == pytest.approx(16 * 1e-4 / profile.speed)


def test_speeds_and_overheads_of_the_cluster_add_to_those_of_the_devices():
    times = ComputeTime(spec(speeds=[1, 0.5, 1], compute_seconds_per_step=1e-3), 1)
    assert times.seconds() == pytest.approx((1e-3 + 400e-6 + 16 * 1e-4 / 8) / 0.5)


def test_the_overhead_of_a_large_batch_is_paid_once():
    """Hogbatch with 8 batches per update: throughput grows with the batch."""
    outcomes = run_spec_virtual(spec("hogbatch"))
    for outcome, kind in zip(outcomes[:3], ("cpu-28", "v100", "v100"), strict=True):
        profile, steps = PROFILES[kind], outcome.done.step
        updates = -(-steps // 8)
        expected = updates * profile.overhead + steps * 16 * 1e-4 / profile.speed
        assert outcome.done.phases["compute"] == pytest.approx(expected, abs=2.1 * profile.overhead)


def test_bytes_pass_the_slower_of_both_links():
    network = Network(4, VirtualCluster(**PLAIN, devices=DEVICES), 3)
    cpu, v100 = PROFILES["cpu-28"].seconds_per_byte, PROFILES["v100"].seconds_per_byte
    assert network.price(0, 1, 1000) == pytest.approx(1000 * max(cpu, v100))
    assert network.price(1, 3, 1000) == network.price(3, 2, 1000) == pytest.approx(1000 * v100)
    assert network.price(3, 0, 1000) == pytest.approx(1000 * cpu)
    plain = Network(4, VirtualCluster(**PLAIN), 3)
    assert plain.price(1, 3, 1000) == pytest.approx(1000 * 0.9e-9)


def test_lock_free_workers_have_their_own_links():
    steps = [outcome.done.step for outcome in run_spec_virtual(spec("hogwild-sgd"))]
    assert sum(steps) == 240
    assert steps[1] > steps[0]


def experiment(**cluster):
    return validate_experiment(
        {
            "name": "devices",
            "workload": {"name": "digits-mlp"},
            "variants": [{"name": "a", "algorithm": "sync-sgd"}],
            "baseline": "a",
            "budget": {"samples": 1000},
            "evaluation": {"every": 500},
            "clusters": [{"name": "box", "computed_on": "local", "virtual": PLAIN} | cluster],
        }
    )


def test_workers_may_be_written_as_devices():
    (cluster,) = experiment(workers=DEVICES).clusters
    assert cluster.workers == [3]
    assert [(group.kind, group.count) for group in cluster.virtual.devices] == [("cpu-28", 1), ("v100", 2)]
    (other,) = experiment(workers=[3], virtual=PLAIN | {"devices": DEVICES}).clusters
    assert canonical(other) == canonical(cluster)


@pytest.mark.parametrize(
    ("cluster", "place", "why"),
    [
        ({"workers": [4], "virtual": PLAIN | {"devices": DEVICES}}, "/clusters/0/workers/0", "of 3 workers"),
        ({"workers": [{"kind": "tpu"}]}, "/clusters/0/workers/0/kind", "v100"),
    ],
)
def test_devices_that_do_not_fit_are_refused(cluster, place, why):
    with pytest.raises(SpecError) as refused:
        experiment(**cluster)
    (fault,) = refused.value.faults
    assert fault.pointer == place
    assert why in fault.message


def test_clusters_without_them_keep_their_fingerprint():
    assert "devices" not in VirtualCluster(**PLAIN).model_dump(mode="json")


@pytest.mark.parametrize("links", [{"devices": [{"kind": "h100"}]}, {"host_seconds_per_byte": 5e-9}])
def test_a_background_read_of_a_center_begins_when_it_is_posted(links):
    """Not earlier or later, where the link to the center's host differs from those between workers."""
    begun: list[float] = []
    network = Network(1, VirtualCluster(latency=1e-3, seconds_per_byte=1e-9, **links), 1)
    baton = SimpleNamespace(time=[0.25], at=lambda when, _: begun.append(when))
    group = SimpleNamespace(baton=baton, links=network)
    window = SimpleNamespace(group=group, me=0, place=network.place(), shared=False)
    into = np.zeros(1000, np.float32)
    VirtualExchange(window, into, into, lambda: into, None).begin()
    read, arrived = begun
    assert read == pytest.approx(0.25, abs=1e-12)
    assert arrived == pytest.approx(0.25 + 1e-3 + network.price(0, window.place, 4000))


def test_devices_with_links_share_no_memory():
    free = {"latency": 0, "seconds_per_byte": 0}
    assert VirtualCluster(**free).shares_memory
    assert not VirtualCluster(**free, devices=[{"kind": "v100"}]).shares_memory
