"""What runs have had by default, further runs of their variant have, whatever the default is by now."""

import pytest
from hooke.algorithms.sync_sgd import SyncSGD
from hooke.catalogue.validation import validate_experiment
from hooke.errors import SpecError
from hooke.tuning.plan import Plan, Tried

from tests.engine.tuning.test_continued import CORES, FIRST, LOCAL, by_rate, made
from tests.redefining import redefined

ADAPTIVE = {"name": "adaptive", "algorithm": "adaptive-sgd", "parameters": {"lr": 0.1}}


def planned(document, had):
    """Return the parameters of a variant that is planned now, after runs that had others."""
    (name,) = [variant["name"] for variant in document["variants"]]
    tried = {(name, "local", 2): {0: Tried(had)}}
    step = Plan(validate_experiment(document), CORES, None, tried).first()
    found = [run.spec.algorithm.parameters for run in step.runs]
    assert all(each == found[0] for each in found)
    return found[0]


def test_runs_made_before_adaptive_sgd_could_grant_several_updates_at_once_asked_for_each():
    """Its default is another one since (decision 152), so that not to name it does not mean what it did."""
    document = FIRST | {"variants": [ADAPTIVE], "baseline": "adaptive", "tuning": None}
    now = Plan(validate_experiment(document), CORES).first().runs[0].spec.algorithm.parameters
    assert now["at_once"] == 0.5
    lacking = {name: value for name, value in now.items() if name != "at_once"}
    assert planned(document, lacking) == now | {"at_once": 0.0}
    assert planned(document, now | {"at_once": 0.25}) == now | {"at_once": 0.25}
    named = document | {"variants": [ADAPTIVE | {"parameters": {"lr": 0.1, "at_once": 0.75}}]}
    assert planned(named, now | {"at_once": 0.25})["at_once"] == 0.75, "what is named is no default"


def test_what_is_searched_only_sometimes_keeps_its_default_where_it_is_not():
    """The kind of momentum is not searched where momentum is 0."""
    sync = {"name": "sync", "algorithm": "sync-sgd", "search": {"momentum": {"choices": [0.0, 0.9]}}}
    document = FIRST | {"variants": [sync, LOCAL], "baseline": "sync"}
    earlier, known = made(document, by_rate)
    again = validate_experiment(document | {"tuning": {"trials": 8, "continues": "exp_1"}})
    expected = Plan(again, CORES, None, None, [earlier], known).settings
    with redefined(SyncSGD, momentum_kind="nesterov", clip_norm=1.0):
        plan = Plan(again, CORES, None, None, [earlier], known)
        new = Plan(validate_experiment(document), CORES)
    assert plan.settings == expected
    assert plan.defaults.changed == {"sync": {"momentum_kind": "nesterov", "clip_norm": 1.0}}
    still = {s["momentum_kind"] for s in new.settings["sync", "local", 2] if s["momentum"] == 0.0}
    assert still == {"nesterov"}, "a new experiment has the defaults of now"


def test_a_default_that_is_not_taken_any_more_is_told_where_the_variant_is():
    document = FIRST | {"variants": [ADAPTIVE], "baseline": "adaptive", "tuning": None}
    now = Plan(validate_experiment(document), CORES).first().runs[0].spec.algorithm.parameters
    with pytest.raises(SpecError, match="by default") as caught:
        planned(document, now | {"at_once": 2.0})
    assert [fault.pointer for fault in caught.value.faults] == ["/variants/0/parameters/at_once"]


def test_what_an_algorithm_does_not_have_any_more_is_left_out():
    """Then its runs are others than before, which is refused where they are extended."""
    document = FIRST | {"variants": [ADAPTIVE], "baseline": "adaptive", "tuning": None}
    now = Plan(validate_experiment(document), CORES).first().runs[0].spec.algorithm.parameters
    assert planned(document, now | {"gone": 1}) == now
