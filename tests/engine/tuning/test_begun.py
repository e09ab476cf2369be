"""An experiment keeps the search spaces with which it was begun, whatever its algorithms declare by then."""

import math
from dataclasses import replace

import pytest
from hooke.algorithms.local_sgd import LocalSGD
from hooke.algorithms.sync_sgd import SyncSGD
from hooke.catalogue.validation import validate_experiment
from hooke.errors import SpecError
from hooke.methods.descent import Descent
from hooke.spec.spaces import Space
from hooke.spec.specification import fingerprint
from hooke.tuning.continued import Earlier, Tried
from hooke.tuning.plan import Plan
from hooke.tuning.search import TrialKey, TrialResult

from tests.engine.tuning.test_continued import CORES, FIRST, LOCAL, SYNC, by_rate, made

FREE = [{"name": "sync", "algorithm": "sync-sgd"}, {"name": "local", "algorithm": "local-sgd"}]
BEGUN = FIRST | {"variants": FREE, "baseline": "sync"}
CONTINUED = BEGUN | {"tuning": {"trials": 4, "continues": "exp_1"}}
LATER = {"weight_decay": Space(low=0.0, high=0.1), "lr": Space(low=5.0, high=9.0)}


def begun(document=BEGUN, **more):
    """Return an experiment as it is stored, all of whose trials have ended, and their results."""
    earlier, known = made(document, by_rate, **more)
    return replace(earlier, spec=Plan(earlier.spec, CORES, **more).begun), known


def declare(monkeypatch, spaces, *algorithms):
    """A later version declares other spaces of some algorithms."""
    for each in algorithms:
        monkeypatch.setattr(each, "search", {**vars(each).get("search", {}), **spaces})


def continued(earlier, known, document=CONTINUED):
    return Plan(validate_experiment(document), CORES, None, None, [earlier], known)


def test_it_is_continued_in_its_spaces(monkeypatch):
    """Its further trials are those that it would have had without another declaration in between."""
    earlier, known = begun()
    expected = continued(earlier, known).settings
    declare(monkeypatch, LATER, SyncSGD, LocalSGD)
    plan = continued(earlier, known)
    assert plan.settings == expected
    assert plan.begun.tuning.spaces == earlier.spec.tuning.spaces
    new = Plan(validate_experiment(BEGUN), CORES)
    assert {setting["lr"] >= 5 for setting in new.settings["sync", "local", 2]} == {True}
    assert new.begun.tuning.spaces["sync-sgd"]["weight_decay"] == LATER["weight_decay"]


def test_what_is_stored_is_valid_and_plans_the_same_runs(monkeypatch):
    plan = Plan(validate_experiment(BEGUN), CORES)
    document = plan.begun.model_dump(mode="json", by_alias=True)
    declare(monkeypatch, LATER, SyncSGD, LocalSGD)
    again = Plan(validate_experiment(document), CORES)
    assert again.settings == plan.settings
    given = {"given": ["sync-sgd", "local-sgd"]}  # whoever submits it gives them, as others are declared by now
    assert again.begun.tuning == plan.begun.tuning.model_copy(update=given)
    prints = [[fingerprint(run.spec) for run in each.first().runs] for each in (plan, again)]
    assert prints[0] == prints[1]
    assert "spaces" not in validate_experiment(BEGUN).model_dump_json(), "what says nothing of it stays as it was"
    assert Plan(validate_experiment(BEGUN | {"tuning": None}), CORES).begun.tuning is None


def test_a_widened_space_replaces_one_with_which_it_was_begun(monkeypatch):
    earlier, known = begun()
    declare(monkeypatch, LATER, SyncSGD, LocalSGD)
    wide = {"low": 0.003, "high": 9.0, "scale": "log"}
    local = FREE[1] | {"search": {"lr": wide}}
    plan = continued(earlier, known, CONTINUED | {"variants": [FREE[0], local]})
    new = [setting["lr"] for setting in plan.settings["local", "local", 2][4:]]
    assert max(new) > 1
    assert {setting["weight_decay"] for setting in plan.settings["local", "local", 2]} == {0.0}
    narrow = FREE[1] | {"search": {"lr": wide | {"high": 0.01}}}
    with pytest.raises(SpecError, match="it can only become wider"):
        continued(earlier, known, CONTINUED | {"variants": [FREE[0], narrow]})


STEP = ("momentum", "momentum_kind", "optimizer", "weight_decay", "clip_norm")
"""Parameters that Weighted Sync SGD, DeMo or 1-bit Adam got later than others."""


def without(earlier, names):
    """Return an experiment of an earlier version: its trials lack parameters, and no spaces are stored."""
    lacking = {
        where: {
            number: Tried({name: value for name, value in trial.parameters.items() if name not in names})
            for number, trial in trials.items()
        }
        for where, trials in earlier.tried.items()
    }
    return Earlier(earlier.spec, lacking)


def test_trials_of_an_experiment_without_stored_spaces_tell_them():
    """It was refused: its trials lack parameters that are declared now."""
    free = [{"name": "sync", "algorithm": "weighted-sync-sgd"}]
    stored, known = made(BEGUN | {"variants": [free[0] | {"parameters": {"momentum": 0.0}}]}, by_rate)
    earlier = without(stored, STEP)
    plan = continued(earlier, known, CONTINUED | {"variants": free})
    settings = plan.settings["sync", "local", 2]
    assert {setting["momentum"] for setting in settings} == {0.0}, "the default, which changes no bit"
    rates = [setting["lr"] for setting in settings]
    assert len(set(rates)) == 8
    assert "momentum" not in plan.begun.tuning.spaces["weighted-sync-sgd"]
    assert {run.trial for run in plan.first().runs} == {5, 6, 7, 8}


def test_what_no_trial_has_varied_was_not_searched_and_what_one_had_is_in_the_space(monkeypatch):
    earlier, known = made(BEGUN, by_rate)  # as stored by an earlier version
    declare(monkeypatch, LATER | {"lr": Space(low=0.1, high=0.2)}, SyncSGD, LocalSGD)
    plan = continued(earlier, known)
    for name, algorithm in (("sync", "sync-sgd"), ("local", "local-sgd")):
        had = [trial.parameters["lr"] for trial in earlier.tried[name, "local", 2].values()]
        spaces = plan.begun.tuning.spaces[algorithm]
        assert "weight_decay" not in spaces
        assert (spaces["lr"].low, spaces["lr"].high) == (min(0.1, *had), max(0.2, *had))
        assert "momentum" in spaces


def test_a_parameter_with_few_values_may_have_had_one_by_chance():
    """Two trials of a choice say nothing; six with one value do."""
    setting = {"momentum_kind": "nesterov", "momentum": 0.5, "optimizer": "sgd"}
    for trials, kept in ((2, True), (6, False)):
        tried = {n: Tried(setting) for n in range(1, trials + 1)}
        spec = validate_experiment(BEGUN)
        found = Plan(spec, CORES, tried={("sync", "local", 2): tried}).begun.tuning.spaces["sync-sgd"]
        assert ("momentum_kind" in found) == kept


def test_trials_of_one_number_may_be_one_point_and_count_once():
    """Two trials of three variants, or at three places, are two points, and not six."""
    setting = {"momentum_kind": "nesterov", "momentum": 0.5, "optimizer": "sgd", "lr": 0.1}
    variants = [FREE[0] | {"name": f"v{n}"} for n in range(3)]
    document = BEGUN | {"variants": variants, "baseline": "v0"}
    for trials, kept in (((1,), {"momentum_kind", "lr"}), ((1, 2), {"momentum_kind"}), (range(1, 7), set())):
        tried = {(f"v{n}", "local", 2): dict.fromkeys(trials, Tried(setting)) for n in range(3)}
        found = Plan(validate_experiment(document), CORES, tried=tried).begun.tuning.spaces["sync-sgd"]
        assert found.keys() & {"momentum_kind", "lr"} == kept


def test_a_value_that_is_given_now_is_not_that_of_trials_which_lack_the_parameter():
    """They had its default, so that they would show another method under the name of this one."""
    free = {"name": "sync", "algorithm": "weighted-sync-sgd"}
    stored, known = made(BEGUN | {"variants": [free | {"parameters": {"momentum": 0.0}}]}, by_rate)
    earlier = without(stored, STEP)
    document = CONTINUED | {"variants": [free | {"parameters": {"momentum": 0.9}}]}
    with pytest.raises(SpecError) as caught:
        continued(earlier, known, document)
    assert [fault.pointer for fault in caught.value.faults] == ["/variants/0/parameters/momentum"]
    same = CONTINUED | {"variants": [free | {"parameters": {"momentum": 0.0}}]}
    assert continued(earlier, known, same).first().runs


def test_what_was_declared_later_stays_told_where_the_experiment_is_continued():
    earlier, known = begun()
    tuning = earlier.spec.tuning.model_copy(update={"later": ["local-sgd"]})
    earlier = replace(earlier, spec=earlier.spec.model_copy(update={"tuning": tuning}))
    assert continued(earlier, known).begun.tuning.later == ["local-sgd"]
    alone = CONTINUED | {"variants": [FREE[1]], "baseline": "local"}
    assert continued(earlier, known, alone).begun.tuning.later == [], "later than no other one"


def test_a_variant_that_is_added_later_is_told_where_the_others_spaces_have_changed(monkeypatch):
    earlier, known = begun()
    three = [*FREE, {"name": "slow", "algorithm": "slowmo"}]
    document = earlier.spec.model_dump(mode="json", by_alias=True) | {"variants": three}

    def extended():
        return Plan(validate_experiment(document), CORES, None, earlier.tried, (), known).begun.tuning

    assert extended().later == []
    assert set(extended().spaces) == {"sync-sgd", "local-sgd", "slowmo"}
    declare(monkeypatch, LATER, Descent)
    found = extended()
    assert found.later == ["slowmo"]
    assert found.spaces["slowmo"]["lr"] == LATER["lr"]
    assert found.spaces["sync-sgd"] == earlier.spec.tuning.spaces["sync-sgd"]
    # what was stored stays, and another version of the experiment tells it again
    document |= {"tuning": found.model_dump(mode="json")}
    assert extended() == found


def test_spaces_that_a_document_gives_are_told_until_the_end(monkeypatch):
    """Not those that are declared, nor those of an experiment that is continued: these nobody has written."""
    own = {"sync-sgd": {"lr": {"low": 5.0, "high": 9.0}}}
    stored = Plan(validate_experiment(BEGUN), CORES).begun.model_dump(mode="json", by_alias=True)
    assert "given" not in Plan(validate_experiment(stored), CORES).begun.model_dump()["tuning"], "submitted again"
    earlier, known = begun(BEGUN | {"tuning": BEGUN["tuning"] | {"spaces": own}})
    assert earlier.spec.tuning.given == ["sync-sgd"]
    declare(monkeypatch, LATER, Descent)
    again = Plan(earlier.spec, CORES, None, earlier.tried, (), known).begun
    assert (again.tuning.given, again.tuning.later) == (["sync-sgd"], [])
    assert continued(earlier, known).begun.tuning.given == ["sync-sgd"]
    spaces = earlier.spec.model_dump(mode="json")["tuning"]["spaces"]
    same = CONTINUED | {"tuning": CONTINUED["tuning"] | {"spaces": spaces}}
    assert continued(earlier, known, same).begun.tuning.given == ["sync-sgd"], "Local SGD has those of then"
    alone = BEGUN | {"variants": FREE[1:], "baseline": "local", "tuning": BEGUN["tuning"] | {"spaces": own}}
    assert Plan(validate_experiment(alone), CORES).begun.tuning.given == [], "no variant has this algorithm"


def test_a_proposal_of_a_model_is_in_the_spaces_of_the_trials_before(monkeypatch):
    pytest.importorskip("optuna")
    tuning = {"trials": 4, "search": "optuna"}
    first = Plan(validate_experiment(BEGUN | {"tuning": tuning, "variants": [SYNC, LOCAL]}), CORES)
    tried, known = {}, {}
    for run in first.first().runs:
        where = run.variant, run.cluster, run.workers
        tried.setdefault(where, {})[run.trial] = Tried(run.spec.algorithm.parameters)
        known.setdefault(where, {})[TrialKey(run.trial, run.rung, run.seed)] = TrialResult(1.0, 0.9)
    declare(monkeypatch, LATER, SyncSGD, LocalSGD)
    plan = Plan(first.begun, CORES, None, tried, (), known)
    for settings in plan.settings.values():
        assert len(settings) == 4
        assert all(setting["lr"] <= 1.0 and setting["weight_decay"] == 0.0 for setting in settings)


def test_spaces_of_a_document_hold_for_all_variants_of_the_algorithm_and_are_checked():
    lr = {"low": 0.1, "high": 0.2}
    spaces = {"sync-sgd": {"lr": lr}}
    variants = [*FREE, FREE[0] | {"name": "own", "search": {"lr": {"choices": [0.5, 0.6, 0.7, 0.8]}}}]
    document = BEGUN | {"variants": variants, "tuning": {"trials": 4, "spaces": spaces}}
    plan = Plan(validate_experiment(document), CORES)
    assert all(0.1 <= each["lr"] <= 0.2 and each["momentum"] == 0.0 for each in plan.settings["sync", "local", 2])
    assert {each["lr"] for each in plan.settings["own", "local", 2]} == {0.5, 0.6, 0.7, 0.8}
    assert any(not math.isclose(each["momentum"], 0.0) for each in plan.settings["local", "local", 2])
    with pytest.raises(SpecError) as caught:
        validate_experiment(BEGUN | {"tuning": {"trials": 4, "spaces": {"sync-sgd": {"rate": lr}}}})
    assert [fault.pointer for fault in caught.value.faults] == ["/tuning/spaces/sync-sgd/rate"]
    never = {"sync-sgd": {"lr": lr | {"when": {"momentun": [0.9]}}}}
    with pytest.raises(SpecError) as caught:
        validate_experiment(BEGUN | {"tuning": {"trials": 4, "spaces": never}})
    assert [fault.pointer for fault in caught.value.faults] == ["/tuning/spaces/sync-sgd/lr/when/momentun"]
