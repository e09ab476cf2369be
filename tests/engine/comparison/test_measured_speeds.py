"""Virtual clusters with the measured speeds of a run, against speeds that are known, and as documents."""

import json

import numpy as np
import pytest
from hooke.catalogue.expand import resolve
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.cli.group import app
from hooke.comparison.measured_speeds import Work, calibrated, cluster_like, error_of
from hooke.errors import ArgumentError
from hooke.loop.train import run_spec_virtual
from hooke.spec.devices import DeviceGroup
from hooke.spec.specification import canonical
from typer.testing import CliRunner

BATCH, SAMPLE = 8, 1e-3
KINDS = [{"kind": "hogwild-cpu", "threads": 4, "sub_batches": 6}, {"kind": "cpu", "count": 2, "speed": 0.25}]
METHOD = {"name": "weighted-sync-sgd", "parameters": {"lr": 0.05, "sizes": [4, 1, 1]}}
COMMON = {"workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}}, "batch": BATCH}
COMMON |= {"budget": {"samples": 480}, "evaluation": {"every": 480}}


def spec(**changes):
    """Return a run on three workers, the first of which has threads, in virtual time: its speeds are exact."""
    network = {"compute_seconds_per_sample": SAMPLE, "compute_jitter": 0, "memory_bandwidth": 1e15}
    virtual = {"world": "virtual", "virtual": network | {"devices": KINDS}}
    return validate_run(COMMON | {"algorithm": METHOD, "workers": 3} | virtual | changes)


def of_experiment(cluster, **virtual):
    """Return the run of an experiment on this cluster."""
    found = validate_experiment(
        COMMON
        | {
            "name": "like",
            "variants": [{"name": "a", "algorithm": METHOD["name"], "parameters": METHOD["parameters"]}],
            "baseline": "a",
            "clusters": [cluster | {"virtual": cluster["virtual"] | virtual}],
        }
    )
    return resolve(found, found.variants[0], found.clusters[0], found.clusters[0].workers[0], found.first_seed)


def test_a_simulated_run_on_the_cluster_takes_the_seconds_of_the_one_that_was_measured():
    run = spec()
    done = [each.done for each in run_spec_virtual(run)]
    work = [Work(each.step * BATCH * n, each.phases["compute"]) for each, n in zip(done, (4, 1, 1), strict=True)]
    cluster = cluster_like(work, [run.group(i) for i in range(3)], BATCH, "run_1", "lab")
    assert cluster["workers"] == [KINDS[0], *[{"kind": "cpu", "speed": 0.25}] * 2]
    assert cluster["virtual"]["compute_seconds_per_sample"] == SAMPLE
    again = of_experiment(cluster, compute_jitter=0, memory_bandwidth=1e15)
    assert again.virtual.compute_source == "measured: the workers of run_1, batch 8"
    twin = [each.done.phases["compute"] for each in run_spec_virtual(again)]
    assert twin == pytest.approx([each.phases["compute"] for each in done])


def test_the_command_reads_the_journals_of_a_folder(tmp_path):
    """Speeds are those of the journals, whatever the specification asked for; other constants of a calibration."""
    run_spec_virtual(spec(), tmp_path)
    asked = [{"kind": "cpu", "threads": 2}, {"kind": "cpu", "speed": 0.5}, {"kind": "cuda"}]
    (tmp_path / "spec.json").write_text(canonical(spec(world="mpi", virtual=None, groups=asked)))
    ended = CliRunner().invoke(app, ["runs", "cluster", str(tmp_path), "--like", "lab", "--json"])
    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.stdout)
    assert found["workers"] == [{"kind": "cpu"}, *[{"kind": "cpu", "speed": 0.0625}] * 2]
    assert found["virtual"].pop("compute_source").startswith("measured: the workers of the run in ")
    contained = {"compute_seconds_per_step": 0, "compute_seconds_after_exchange": 0, "jitter_between_ranks": 0}
    assert found["virtual"] == {"like": "lab", "compute_seconds_per_sample": SAMPLE / 4, **contained}
    ended = CliRunner().invoke(app, ["runs", "cluster", str(tmp_path)])
    assert ended.stdout.startswith("- name: measured-speeds\n")


def test_a_simulated_run_and_one_without_steps_have_none(tmp_path):
    (tmp_path / "spec.json").write_text(canonical(spec()))
    ended = CliRunner().invoke(app, ["runs", "cluster", str(tmp_path)])
    assert (ended.exit_code, "is simulated" in ended.output) == (1, True)
    with pytest.raises(ArgumentError, match="no speed of worker 1 of run_1 is known"):
        cluster_like([Work(8, 1.0), None], [None] * 2, BATCH, "run_1", "lab")
    with pytest.raises(ArgumentError, match="257 workers: at most 256"):
        cluster_like([Work(8, 1.0)] * 257, [None] * 257, BATCH, "run_1", "lab")


def test_what_is_given_replaces_the_calibration():
    cluster = cluster_like([Work(100, 2.0, 0.01), Work(100, 8.0, 0.034)], [None] * 2, 10, "run_1", "lab")
    assert cluster["virtual"]["compute_source"].endswith("batch 10, standard errors of speeds up to 3.4%")
    assert calibrated(cluster, "lab")["virtual"]["compute_seconds_per_sample"] == 0.02
    assert "like" not in cluster["virtual"]


@pytest.mark.parametrize(
    ("threads", "parts", "batch", "factor"),
    [(4, 4, 8, 4), (4, 6, 8, 4), (3, 4, 10, 2.5), (8, 8, 9, 4.5), (8, 2, 8, 2)],
)
def test_threads_are_as_fast_as_the_busiest_allows(threads, parts, batch, factor):
    """By hand: of 10 items in parts of 3, 3, 2, 2 on 3 threads the one that is free first computes 2 and 2."""
    group = DeviceGroup(kind="hogwild-cpu", threads=threads, sub_batches=parts)
    assert group.at_once(batch) == factor
    assert DeviceGroup(kind="cpu", threads=threads).at_once(batch) == 1


def test_the_error_is_that_of_a_mean_also_of_steps_that_are_alike_for_a_while():
    """Against repetition: 300 workers, whose steps share a factor for 10 steps each."""
    random = np.random.default_rng(5)
    factors = np.repeat(random.lognormal(0, 0.3, (300, 60)), 10, axis=1) * random.lognormal(0, 0.1, (300, 600))
    errors = [error_of(each.tolist()) for each in factors]
    assert np.median(errors) == pytest.approx(factors.mean(axis=1).std() / factors.mean(), rel=0.15)
    assert error_of([1.0] * 40) == 0
    assert error_of([1.0, 2.0, 3.0]) is None
