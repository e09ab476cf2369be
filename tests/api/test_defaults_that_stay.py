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
from tests.api.planning.test_tuning import TUNED, reported, trials
from tests.api.test_experiments import problem
from tests.api.test_extending import FEW, THIRD, ended, extend, finish, preview, settings_of
from tests.redefining import redefined

KEPT = "local keeps what was the default when it was submitted: period 4 (now 32)"


def periods(service, **query):
    """Return the periods of the runs of each variant of Local SGD."""
    found = {}
    for run in service.runs(**query):
        if run["algorithm"] == "local-sgd":
            period = service.run(run["id"])["spec"]["algorithm"]["parameters"]["period"]
            found.setdefault(run["variant"], []).append(period)
    return found


def hidden(service):
    return {service.run(run["id"])["spec"]["workload"]["parameters"]["hidden1"] for run in service.runs()}


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
    assert periods(service) == {"local": [4] * 3, "third": [32] * 3}
    own = [run for run in service.runs() if run["variant"] == "local"]
    assert len({str(settings_of(service, run)) for run in own}) == 1
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
    assert periods(service, experiment=elsewhere) == {"local": [4] * 3, "third": [32] * 3}


@ONE_KIND
def test_what_a_new_experiment_does_not_name_has_the_default_of_now(service):
    experiment = ended(service)
    with redefined(LocalSGD, period=32):
        again = service.client.post("/experiments", json=service.get(f"/experiments/{experiment}")["spec"])
        assert periods(service, experiment=again.json()["id"]) == {"local": [32] * 2}
    assert service.get(f"/experiments/{experiment}/comparison")["extended"] is None


@ONE_KIND
def test_the_command_tells_what_is_kept(service, monkeypatch):
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    experiment = ended(service)
    with redefined(LocalSGD, period=32):
        answer = CliRunner().invoke(app, ["experiments", "extend", experiment, "--seeds", "1", "--check"])
    assert f"warning: /: {KEPT}\n" in answer.output


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
def test_a_value_that_is_not_taken_any_more_is_refused(service):
    experiment = ended(service)
    with service.database.write() as session:
        for run in session.scalars(select(Run).where(Run.variant == "local").options(undefer(Run.spec))):
            parameters = run.spec["algorithm"]["parameters"] | {"period": 0}
            run.spec = run.spec | {"algorithm": run.spec["algorithm"] | {"parameters": parameters}}
    (fault,) = problem(extend(service, experiment, seeds=1), 422)["errors"]
    assert fault["pointer"] == ""
    assert fault["message"].startswith("variant local: the value that its runs have had by default: ")
    assert service.count(Run) == 4


@ONE_KIND
def test_a_parameter_that_came_later_has_its_default_which_changes_nothing(service):
    """As where Weighted Sync SGD, DeMo and 1-bit Adam got settings of the step."""
    experiment = ended(service)
    with service.database.write() as session:
        for run in session.scalars(select(Run).where(Run.variant == "local").options(undefer(Run.spec))):
            parameters = dict(run.spec["algorithm"]["parameters"])
            del parameters["clip_norm"]
            run.spec = run.spec | {"algorithm": run.spec["algorithm"] | {"parameters": parameters}}
            run.fingerprint = fingerprint(RunSpec.model_validate(run.spec))
    assert extend(service, experiment, seeds=1).status_code == 201
    added = service.run(service.runs()[-1]["id"])
    assert (added["variant"], added["spec"]["algorithm"]["parameters"]["clip_norm"]) == ("local", None)


@ONE_KIND
def test_settings_that_trials_have_chosen_are_measured_with_the_defaults_of_the_trials(service):
    """Otherwise another thing would be measured than was chosen."""
    experiment = service.submit(**FEW)["id"]
    with redefined(DigitsMLP, hidden1=64), redefined(LocalSGD, clip_norm=1.0):
        finish(service)
        assert len(reported(service)) == 6
        assert hidden(service) == {256}
        mean = {"name": "mean", "algorithm": "local-sgd"}
        extend(service, experiment, seeds=1, variants=[mean]).raise_for_status()
        finish(service)
        assert hidden(service) == {256}
        norms = {}
        for run in service.runs():
            parameters = service.run(run["id"])["spec"]["algorithm"]["parameters"]
            norms.setdefault(run["variant"], set()).add(parameters["clip_norm"])
    assert norms == {"sync": {None}, "local": {None}, "mean": {1.0}}
    said = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert "clip_norm empty (local) and 1.0 (mean)." in said


@ONE_KIND
def test_more_trials_have_the_defaults_of_the_trials_before(service):
    """They were refused: trials with another value would not count as one search."""
    first = service.submit(**TUNED | {"tuning": {"trials": 3}})["id"]
    finish(service)
    before = {run["id"] for run in service.runs()}
    with redefined(LocalSGD, clip_norm=1.0), redefined(DigitsMLP, hidden1=64):
        service.submit(**TUNED | {"tuning": {"trials": 3, "continues": first}})
        finish(service)
    new = [service.run(run["id"])["spec"] for run in service.runs() if run["id"] not in before]
    assert len([run for run in trials(service) if run["id"] not in before]) == 6
    assert {spec["algorithm"]["parameters"]["clip_norm"] for spec in new} == {None}
    assert hidden(service) == {256}
