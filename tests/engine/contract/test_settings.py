"""The settings of the step, all of them at once, with every method: the weights that its equations say."""

from dataclasses import replace

import numpy as np
import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.catalogue.validation import validate_run
from hooke.errors import SpecError
from hooke.methods.settings import StepSettings

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, Case
from tests.engine.contract.expected import assert_follows, center_of

COSINE = {"schedule": "cosine", "warmup": 0.25, "final_share": 0.1}
IN_STEPS = {"schedule": "step", "milestones": (0.25, 0.6), "milestone_factor": 0.4, "warmup": 0.1}
SHARED = {"clip_norm": 2.5, "accumulation": 2, "weight_decay": 0.2}
SGD = {"optimizer": "sgd", "momentum": 0.6, "momentum_kind": "nesterov", **SHARED, **COSINE}
ADAM = {"optimizer": "adamw", "momentum": 0.0, "lr": 0.02, **SHARED, **IN_STEPS}


def together(settings):
    """Return one case of every method with them and with equations: on 2 workers, if it may, else on 1."""
    found = []
    for case in suite.claims("reference", [*suite.defaults((2,)), *suite.defaults((1,))]):
        if not issubclass(case.kind, StepSettings):
            continue
        if case.algorithm in [each.algorithm for each in found] or (suite.free(case) and case.workers > 1):
            continue
        own = {"momentum_at": "worker"} if "momentum_at" in case.values and settings is ADAM else {}
        low = {"rank": 4} if "rank" in case.values else {}  # uncut: see `assert_follows`
        split = {"sizes": (1, 3), "accumulation": 1} if "split" in case.values else {}  # sizes instead
        long = replace(case, steps=20, objective=replace(case.objective, kick=2.0))
        known = {name: value for name, value in settings.items() if name in case.values}
        found.append(long.given(known | own | low | split))
    return found


def ids(value):
    return value.algorithm


@pytest.mark.property("equations")
@pytest.mark.parametrize("case", together(SGD), ids=ids)
def test_sgd_with_all_settings_follows_the_equations(played, case):
    assert_follows(case, played(case, "virtual"), 5e-6)


@pytest.mark.property("equations")
@pytest.mark.parametrize("case", together(ADAM), ids=ids)
def test_adam_with_all_settings_follows_the_equations(played, case):
    assert_follows(case, played(case, "virtual"), 5e-6)


def test_every_method_has_the_settings_but_those_that_say_why():
    without = {name for name, kind in catalogue().items() if not issubclass(kind, StepSettings)}
    assert without == {"adaptive-sgd", "hogbatch"}, "their rates follow batches of changing sizes"
    taken = {case.algorithm for case in (*together(SGD), *together(ADAM))}
    assert taken == {case.algorithm for case in suite.claims("reference", suite.defaults((1, 2)))} - without


@pytest.mark.parametrize("name", ["sync-easgd", "async-sgd", "hogwild-sgd", "demo", "onebit-adam"])
def test_every_setting_has_an_effect(played, name):
    """What the tests above compare would differ without any one of them."""
    case = next(each for each in together(SGD) if each.algorithm == name)
    with_all = center_of(played(case, "virtual"))
    off = {"clip_norm": None, "weight_decay": 0.0, "schedule": "constant", "warmup": 0.0, "final_share": 0.5}
    for setting, value in {**off, "accumulation": 1}.items():
        without = center_of(played(case.given({setting: value}), "virtual"))
        assert np.abs(without - with_all).max() > 1e-3, setting


@pytest.mark.property("P23")
@pytest.mark.parametrize("optimizer", ["sgd", "muon"])
def test_a_restart_within_a_schedule_reproduces(played, optimizer):
    """Cancelled by a signal, so that both attempts have the same budget, on which a schedule depends."""
    settings = {"optimizer": optimizer, "momentum": 0.6, "lr": 0.02, **SHARED, **COSINE}
    case = replace(Case("local-sgd", tuple({"period": 3, **settings}.items())), steps=300)
    whole = played(case, "virtual")
    halves = played(replace(case, cancel=8), "virtual")
    assert halves[0].first["reason"] == "cancelled"
    assert 60 < halves[0].first["step"] < 140  # of 150: after the warm-up
    for one, other in zip(whole, halves, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
    assert center_of(whole).tobytes() == center_of(halves).tobytes()


@pytest.mark.parametrize("name", ["sync-sgd", "async-sgd", "hogwild-sgd"])
def test_a_budget_counts_every_gradient_of_a_step(played, name):
    """One loop of each coordination: 3 batches per step, and a budget that is no multiple of them."""
    case = replace(Case(name, (("accumulation", 3),)), steps=13)
    reports = played(case, "virtual")
    drawn = [len(report.picked) for report in reports[:2]]
    steps = -(-13 * 2 // 3)
    assert sum(drawn) == 3 * (steps + steps % 2 if name == "sync-sgd" else steps)
    assert max(report.done["samples"] for report in reports) == sum(drawn) * BATCH
    assert sorted(report.done["step"] for report in reports[:2]) == sorted(count // 3 for count in drawn)


def test_a_step_of_several_gradients_takes_their_time(played):
    """In virtual time, without communication; the arithmetic of adding them takes a little more."""
    one, three = (
        Case("sgd", (("accumulation", k),), workers=1, network=(("compute_jitter", 0.0),)) for k in (1, 3)
    )
    clocks = [played(case, "virtual")[0].done["clock"] for case in (one, three)]
    assert clocks[1] == pytest.approx(clocks[0], rel=1e-3)
    assert clocks[0] >= 12 * BATCH * 1e-4


def document(name, **parameters):
    return {
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": name, "parameters": parameters},
        "budget": {"samples": 1000},
        "evaluation": {"every": 500},
    }


@pytest.mark.parametrize(
    ("name", "parameters", "place", "words"),
    [
        ("async-sgd", {"optimizer": "adamw"}, "momentum_at", "adamw is an optimizer of workers"),
        ("downpour", {"optimizer": "muon", "momentum_at": "master"}, "momentum_at", "or the optimizer sgd"),
        ("sgd", {"milestones": [0.5, 0.2]}, "milestones", "in ascending order"),
        ("sgd", {"milestones": [0.5, 1.2]}, "milestones/1", "less than 1"),
        ("sgd", {"warmup": 1.0}, "warmup", "less than 1"),
        ("sync-sgd", {"clip_norm": 0}, "clip_norm", "greater than 0"),
        ("weighted-sync-sgd", {"accumulation": 2}, "accumulation", "`sizes` are the batches that a step adds up"),
        ("diloco", {"inner": "sgd", "optimizer": "adamw"}, "", "`inner` is now `optimizer`: give the current"),
        ("diloco", {"decay": 2.0}, "weight_decay", "less than or equal to 1"),
    ],
)
def test_what_has_no_meaning_is_refused(name, parameters, place, words):
    with pytest.raises(SpecError) as caught:
        validate_run(document(name, **parameters))
    (fault,) = caught.value.faults
    assert fault.pointer == f"/algorithm/parameters/{place}".rstrip("/")
    assert words in fault.message


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"optimizer": "adamw", "momentum": 0.5, "lr": 0.01}, "momentum has no effect"),
        ({"optimizer": "muon", "lr": 0.01}, "momentum 0.95"),
        ({"optimizer": "adamw"}, "lr = 0.05 is large for adamw"),
        ({"final_share": 0.1}, "it belongs to cosine"),
        ({"milestones": [0.3], "schedule": "cosine"}, "it belongs to step"),
    ],
)
def test_what_has_no_effect_is_told(parameters, words):
    for name in ("local-sgd", "sync-easgd"):
        (told,) = catalogue()[name].model_validate(parameters).warnings(2)
        assert words in told
    assert catalogue()["local-sgd"]().warnings(2) == []


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        ({}, ("adamw", 0.1)),
        ({"inner": "adamw", "decay": 0.05}, ("adamw", 0.05)),
        ({"decay": 0.0}, ("adamw", 0.0)),
        ({"inner": "sgd", "decay": 0.1}, ("sgd", 0.0)),
        ({"inner": "sgd"}, ("sgd", 0.0)),
        ({"optimizer": "sgd", "weight_decay": 0.1}, ("sgd", 0.1)),
        ({"optimizer": "muon"}, ("muon", 0.1)),
    ],
)
def test_documents_with_earlier_names_are_read(earlier, now):
    """In stored runs `decay` stands beside `inner` = sgd, too, and had no effect there."""
    for name in ("diloco", "streaming-diloco", "noloco"):
        assert validate_run(document(name, **earlier)).algorithm.parameters == earlier
        method = catalogue()[name].model_validate(earlier)
        assert (method.optimizer, method.decay()) == now


def test_a_moving_rate_does_not_follow_a_schedule():
    method = catalogue()["async-easgd"].model_validate({"lr": 0.2, "rho": 2.0, **COSINE})
    assert method.rate(4) == 0.4
    assert (
        "moving rate a = 1.2" in catalogue()["sync-easgd"].model_validate({"rho": 24.0, **COSINE}).warnings(2)[0]
    )
