"""Later seeds of a variant have the parameters of its runs, also where a default is another one by then."""

from hooke.algorithms.local_sgd import LocalSGD
from hooke.cli.group import app
from hooke.spec.specification import RunSpec, fingerprint
from hooke.workloads.digits_mlp import DigitsMLP
from hooke_api.models import Run
from sqlalchemy import select
from sqlalchemy.orm import undefer
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported
from tests.api.hands import SPEC
from tests.api.planning.test_tuning import TUNED
from tests.api.test_experiments import problem
from tests.api.test_extending import THIRD, TWO, ended, extend, finish, preview
from tests.redefining import redefined

ONCE = {"name": "local", "workers": [2], "seeds": 1}
SMALL = TUNED | {"tuning": {"trials": 2}, "clusters": [ONCE]}
KEPT = "local keeps what was the default when it was submitted: period 4 (now 32)"


def specs(service, *mine):
    """Return the stored specifications of runs by variant, in the order of their numbers."""
    found = {}
    with service.database.read() as session:
        for variant, spec in session.execute(select(Run.variant, Run.spec).where(*mine).order_by(Run.number)):
            found.setdefault(variant, []).append(spec)
    return found


def values(service, name, *mine):
    """Return the values of a parameter that the runs of each variant have."""
    return {
        who: [each["algorithm"]["parameters"].get(name) for each in of]
        for who, of in specs(service, *mine).items()
    }


def hidden(service):
    return {each["workload"]["parameters"]["hidden1"] for of in specs(service).values() for each in of}


def change(service, variant, name, *value):
    """Store the runs of a variant as they would be with another value of a parameter, or without it."""
    with service.database.write() as session:
        for run in session.scalars(select(Run).where(Run.variant == variant).options(undefer(Run.spec))):
            parameters = {key: each for key, each in run.spec["algorithm"]["parameters"].items() if key != name}
            parameters |= {name: value[0]} if value else {}
            run.spec = run.spec | {"algorithm": run.spec["algorithm"] | {"parameters": parameters}}
            run.fingerprint = fingerprint(RunSpec.model_validate(run.spec))


@ONE_KIND
def test_added_seeds_keep_the_defaults_of_their_variant_and_an_added_variant_has_those_of_now(service):
    experiment = ended(service)
    before = service.get(f"/experiments/{experiment}")
    with redefined(LocalSGD, period=32):
        asked = {"seeds": 1, "variants": [THIRD]}
        warnings = preview(service, experiment, **asked).json()["warnings"]
        told = {each["pointer"]: each["message"] for each in warnings}
        assert told[""] == KEPT
        other = "32, the default by now; local has 4, the default when it was submitted"
        assert told["/variants/0/parameters/period"] == other
        assert extend(service, experiment, **asked).status_code == 201
        finish(service)
    assert values(service, "period", Run.algorithm == "local-sgd") == {"local": [4] * 3, "third": [32] * 3}
    assert len({str(each | {"seed": 0}) for each in specs(service)["local"]}) == 1
    versions = service.get(f"/experiments/{experiment}/versions")["items"]
    assert (versions[0]["spec"], versions[0]["fingerprint"]) == (before["spec"], before["fingerprint"])
    assert versions[1]["spec"]["variants"][:2] == before["spec"]["variants"], "a specification is as it was sent"
    view = service.get(f"/experiments/{experiment}")
    assert {"pointer": "/variants/2/parameters/period", "message": other} in view["warnings"]
    said = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert "A default of local-sgd has changed" in said
    assert "differ in what they do not name: period 4 (local) and 32 (third)." in said
    report = service.client.get(f"/experiments/{experiment}/report.html").text
    assert "period 4 (local) and 32 (third)" in report
    elsewhere = imported(service, exported(service, experiment))["id"]
    assert service.get(f"/experiments/{elsewhere}/comparison")["extended"] == said
    there = values(service, "period", Run.algorithm == "local-sgd", Run.experiment_id == elsewhere)
    assert there == {"local": [4] * 3, "third": [32] * 3}


@ONE_KIND
def test_a_new_experiment_has_the_defaults_of_now_and_the_command_tells_what_an_extension_keeps(
    service, monkeypatch
):
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    experiment = ended(service)
    with redefined(LocalSGD, period=32):
        answer = CliRunner().invoke(app, ["experiments", "extend", experiment, "--seeds", "1", "--check"])
        again = service.client.post("/experiments", json=service.get(f"/experiments/{experiment}")["spec"])
    assert f"warning: /: {KEPT}\n" in answer.output
    made = values(service, "period", Run.algorithm == "local-sgd", Run.experiment_id == again.json()["id"])
    assert made == {"local": [32] * 2}
    assert service.get(f"/experiments/{experiment}/comparison")["extended"] is None


@ONE_KIND
def test_all_variants_have_the_workload_of_the_first_runs(service):
    """Also those that are added later: otherwise they would not learn the same."""
    experiment = ended(service)
    with redefined(DigitsMLP, hidden1=64):
        told = preview(service, experiment, variants=[THIRD]).json()["warnings"]
        kept = "the workload digits-mlp keeps what was the default when it was submitted: hidden1 256 (now 64)"
        assert kept in [each["message"] for each in told]
        extend(service, experiment, seeds=1, variants=[THIRD]).raise_for_status()
        assert hidden(service) == {256}


@ONE_KIND
def test_a_value_that_is_not_taken_is_refused_and_a_parameter_that_came_later_changes_nothing(service):
    """The latter as where Weighted Sync SGD, DeMo and 1-bit Adam got settings of the step."""
    experiment = ended(service)
    change(service, "local", "period", 0)
    (fault,) = problem(extend(service, experiment, seeds=1), 422)["errors"]
    assert fault["pointer"] == ""
    assert fault["message"].startswith("variant local: the value that its runs have had by default: ")
    assert service.count(Run) == 4
    change(service, "local", "period", 4)
    change(service, "local", "clip_norm")
    assert extend(service, experiment, seeds=1).status_code == 201
    added = specs(service, Run.seed == 2)["local"][0]["algorithm"]["parameters"]
    assert (added["period"], added["clip_norm"]) == (4, None)


@ONE_KIND
def test_what_runs_did_before_there_was_a_parameter_is_told_where_others_differ(service):
    """Runs of then do not have it: `at_once` of Adaptive SGD changes what an added variant does."""
    local, third = (each | {"algorithm": "adaptive-sgd"} for each in (TWO["variants"][1], THIRD))
    experiment = ended(service, variants=[TWO["variants"][0], local])
    change(service, "local", "at_once")
    told = preview(service, experiment, variants=[third]).json()["warnings"]
    assert "/variants/0/parameters/at_once" in [each["pointer"] for each in told]
    extend(service, experiment, seeds=1, variants=[third]).raise_for_status()
    finish(service)
    runs = values(service, "at_once", Run.algorithm == "adaptive-sgd")
    assert runs == {"local": [None, None, 0.0], "third": [runs["third"][0]] * 3}
    said = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert f"at_once 0.0 (local) and {runs['third'][0]} (third)" in said


@ONE_KIND
def test_settings_that_trials_have_chosen_are_measured_with_the_defaults_of_the_trials(service):
    """Otherwise another thing would be measured than was chosen."""
    experiment = service.submit(**SMALL)["id"]
    with redefined(DigitsMLP, hidden1=64), redefined(LocalSGD, clip_norm=1.0):
        finish(service)
        assert hidden(service) == {256}
        mean = {"name": "mean", "algorithm": "local-sgd"}
        extend(service, experiment, seeds=1, variants=[mean]).raise_for_status()
        finish(service)
    assert hidden(service) == {256}
    norms = values(service, "clip_norm")
    assert norms == {"sync": [None] * 4, "local": [None] * 4, "mean": [1.0] * 4}, "two trials, and two seeds"
    said = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert "clip_norm empty (local) and 1.0 (mean)." in said


@ONE_KIND
def test_more_trials_have_the_defaults_of_the_trials_before(service):
    """They were refused: trials with another value would not count as one search."""
    first = service.submit(**SMALL)["id"]
    finish(service)
    asked = SMALL | {"tuning": {"trials": 2, "continues": first}}
    with redefined(LocalSGD, clip_norm=1.0), redefined(DigitsMLP, hidden1=64):
        tried = service.client.post("/experiments/dry-run", json=SPEC | asked).json()["warnings"]
        made = service.submit(**asked)
        finish(service)
    second = made["id"]
    assert values(service, "clip_norm", Run.experiment_id == second) == {"sync": [None] * 3, "local": [None] * 3}
    assert hidden(service) == {256}
    for warnings in (tried, made["warnings"], service.get(f"/experiments/{second}")["warnings"]):
        assert [each["message"] for each in warnings if each["pointer"] == "/tuning/continues"] == [
            f"{who} has what was the default in the trials that it continues: {what}"
            for who, what in (
                ("local", "clip_norm empty (now 1.0)"),
                ("the workload digits-mlp", "hidden1 256 (now 64)"),
            )
        ]
    again = service.submit(**SMALL | {"tuning": {"trials": 2, "continues": second}})
    assert "/tuning/continues" not in [each["pointer"] for each in again["warnings"]], "nothing has changed"
