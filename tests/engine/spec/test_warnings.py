"""What is allowed, but said before: no exchange, no pull, a target that guessing meets, made-up time."""

import math

import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.catalogue.expand import expand, experiment_warnings
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.catalogue.warnings import warnings
from hooke.methods.elastic import Elastic

from tests.engine.spec.documents import experiment, run

MEASURED = {"compute_source": "measured on a bench"}
PERIODIC = [
    name
    for name, kind in catalogue().items()
    if "period" in kind.model_fields and not kind.model_validate({"period": 2}).faults(4)
]


def said(**changes):
    spec = validate_run(run(**({"virtual": MEASURED} | changes)))
    return {warning.pointer: warning.message for warning in warnings(spec)}


def test_an_ordinary_run_needs_none():
    assert said() == {}


def test_evaluations_that_cannot_come_as_often_as_asked():
    """A server and lock-free workers count steps when they come: 4 x 3 workers of 32 lie between two exchanges."""
    served = {"name": "easgd", "parameters": {"period": 4}}
    assert "384 samples" in said(algorithm=served, workers=3, evaluation={"every": 383})["/evaluation/every"]
    assert said(algorithm=served, workers=3, evaluation={"every": 384}) == {}
    together = {"name": "local-sgd", "parameters": {"period": 4}}
    assert said(algorithm=together, workers=3, evaluation={"every": 96}) == {}


@pytest.mark.parametrize("name", ["hogwild-sgd", "hogwild-easgd"])
def test_lock_free_workers_that_meet_every_few_steps(name):
    """20 steps of 3 workers of 32 are 1,920 samples; others wait for nobody, or at every step anyway."""
    chosen, budget = {"name": name, "parameters": {"lr": 0.1}}, {"samples": 5000}

    def told(every, **changes):
        found = said(
            **({"algorithm": chosen, "workers": 3, "budget": budget} | changes), evaluation={"every": every}
        )
        return found.get("/evaluation/every", "")

    assert "after about 10 steps of each" in told(960) and "every 1,920 samples or less often" in told(960)
    assert "after about 20 steps of each" in told(1919) and told(1920) == ""
    assert told(960, workers=1) == "" and told(1000, budget={"samples": 1000}) == ""
    for other in ("async-sgd", "sync-sgd", "local-sgd"):
        assert told(960, algorithm={"name": other}) == ""


def test_local_steps_of_uneven_length_that_evaluations_interrupt():
    def told(period, every=960, **network):
        found = said(
            algorithm={"name": "local-sgd", "parameters": {"period": period}},
            virtual=MEASURED | network,
            workers=3,
            budget={"samples": 5000},
            evaluation={"every": every},
        )
        return found.get("/evaluation/every", "")

    assert "workers that take 4 steps between exchanges wait" in told(4, compute_jitter=0.25)
    assert "after about 10 steps of each" in told(4, straggling=0.01)
    for chance in (0, 0.01):  # of a worker's kind, in the place of all
        kinds = [{"kind": "cpu", "count": 2}, {"kind": "cpu", "straggling": chance}]
        assert ("after about 10 steps of each" in told(4, devices=kinds)) == (chance > 0)
    assert told(4) == told(1, compute_jitter=0.25) == told(4, 1920, compute_jitter=0.25) == ""


def test_a_method_that_cannot_go_on_without_a_worker():
    asked = {"on_bad_worker": "drop", "workers": 3}
    assert "cannot continue" in said(algorithm={"name": "original-easgd"}, **asked)["/on_bad_worker"]
    assert said(algorithm={"name": "async-easgd", "parameters": {"beta": 0.5}}, **asked) == {}


@pytest.mark.parametrize("name", PERIODIC)
def test_a_period_longer_than_the_budget(name):
    """1000 samples by 3 workers of 32: 10.4 steps each, rounded up to 11."""
    extra = {"switch": 0} if "switch" in catalogue()[name].model_fields else {}
    workers = 4 if name == "chip-easgd" else 3
    fits = 8 if workers == 4 else 11

    def told(period):
        chosen = {"name": name, "parameters": {"period": period, **extra}}
        return said(algorithm=chosen, workers=workers).get("/algorithm/parameters/period", "")

    assert told(fits) == ""
    assert f"{fits} steps per worker" in told(fits + 1)
    assert "workers exchange nothing before the end" in told(fits + 1)


def test_a_period_says_nothing_to_a_worker_alone_or_before_a_switch():
    chosen = {"name": "local-sgd", "parameters": {"period": 5000}}
    assert said(algorithm=chosen, workers=1) == {}
    chosen = {"name": "post-local-sgd", "parameters": {"period": 5000, "switch": 4}}
    assert said(algorithm=chosen) == {}


@pytest.mark.parametrize("name", [name for name, kind in catalogue().items() if issubclass(kind, Elastic)])
@pytest.mark.parametrize("given", [{"rho": 0.0}, {"alpha": 0.0}, {"beta": 0.0}])
def test_no_elastic_pull(name, given):
    given = {"beta": None, **given} if "beta" not in given else given
    if name == "sma" and "rho" in given:
        given["alpha"] = None
    chosen = {"name": name, "parameters": given}
    told = said(algorithm=chosen, workers=4, budget={"samples": 10**6}, evaluation={"every": 10**5})
    assert "keeps its initial value" in told["/algorithm/parameters"]
    assert "each worker trains alone" in told["/algorithm/parameters"]


@pytest.mark.parametrize(
    ("target", "guessed"),
    [
        ({"value": 0.1}, True),
        ({"value": 0.11}, False),
        ({"metric": "validation_loss", "value": math.log(10) + 0.01}, True),
        ({"metric": "validation_loss", "value": 2.2}, False),
        (None, False),
    ],
)
def test_a_target_that_guessing_meets(target, guessed):
    assert ("/target/value" in said(target=target)) == guessed
    if guessed:
        assert "before the first step" in said(target=target)["/target/value"]


def test_a_task_without_classes_has_no_guess():
    told = said(workload={"name": "text-transformer"}, target={"value": 0.01})
    assert "/target/value" not in told


def test_a_wire_type_that_windows_do_not_have():
    for wire in ("bf16", "top-k"):
        told = said(algorithm={"name": "hogwild-sgd"}, communication={"wire": wire})
        assert f"the wire type {wire} changes nothing" in told["/communication/wire"]
    served = said(algorithm={"name": "easgd"}, communication={"wire": "top-k"})
    assert "changes nothing" not in served["/communication/wire"]


@pytest.mark.parametrize("name", ["demo", "sparseloco"])
def test_a_wire_type_of_a_method_that_encodes_its_messages(name):
    for wire in ("bf16", "int8"):
        told = said(algorithm={"name": name}, communication={"wire": wire}, world="mpi", virtual=None)
        assert f"{name} encodes its messages itself" in told["/communication/wire"]


def test_work_that_simulated_time_leaves_out():
    """Muon's products of matrices, and the encoding of messages."""
    muon = {"name": "sync-sgd", "parameters": {"optimizer": "muon", "momentum": 0.95, "lr": 0.01}}
    assert "orthogonalization" in said(algorithm=muon)["/algorithm/parameters/optimizer"]
    for name, wire in (("sync-sgd", "sign"), ("demo", "fp32")):
        told = said(algorithm={"name": name}, communication={"wire": wire})
        assert "leaves out the encoding" in told["/communication/wire"]
    real = {"world": "mpi", "virtual": None}
    assert not said(algorithm=muon, communication={"wire": "sign"}, **real)


def test_compute_time_that_nobody_measured():
    (message,) = said(virtual={"compute_seconds_per_sample": 1.2e-4}).values()
    assert "120 us per sample, is an assumption" in message
    assert said(virtual=None, world="mpi") == {}


def test_devices_are_assumed_wherever_their_unit_comes_from():
    mixed = [{"kind": "v100"}, {"kind": "cpu"}, {"kind": "cpu-28"}, {"kind": "v100"}]
    told = "; speeds, overheads, links and memory of v100, cpu-28 are assumptions"
    for source in (None, "measured: elsewhere"):
        told_of = said(workers=4, virtual={"devices": mixed, "compute_source": source})
        message = told_of["/virtual/compute_seconds_per_sample"]
        assert message.endswith(told)
        assert ("20 us per sample, is measured: elsewhere" in message) == (source is not None)
    plain = said(virtual={"devices": [{"kind": "cpu", "count": 4}], **MEASURED})
    assert "/virtual/compute_seconds_per_sample" not in plain


def test_an_experiment_says_it_of_the_variant_the_target_and_the_cluster_once():
    spec = validate_experiment(
        experiment(
            variants=[
                {"name": "sync", "algorithm": "sync-easgd", "parameters": {"rho": 0.0}},
                {"name": "rare", "algorithm": "local-sgd", "parameters": {"period": 900}},
            ],
            target={"value": 0.05},
        )
    )
    told = [(each.pointer, each.message) for each in experiment_warnings(spec, expand(spec, {"local": 2}))]
    assert [pointer for pointer, _ in told] == [
        "/variants/0/parameters",
        "/variants/1/parameters",
        "/variants/1/parameters",
        "/target/value",
        "/clusters/1/virtual/compute_seconds_per_sample",
    ]
    assert told[0][1].startswith("with 2, 4 workers: moving rate a = 0")
    assert "about 313 steps per worker" in told[1][1]
