"""`hooke verdict`, and what `hooke submit --wait` prints at the end: verdict, and what trials have chosen."""

import json

import pytest
from hooke.cli.group import app
from hooke.cli.remote import Remote
from hooke.cli.submit import _well
from typer.testing import CliRunner

from tests.api.comparisons.test_leaderboard_told import SMALL
from tests.api.databases import ONE_KIND
from tests.api.test_extending import ended, finish


@pytest.fixture
def call(service, monkeypatch):
    """Return a function that calls the command against the service."""
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, list(words))


@ONE_KIND
def test_a_tuned_experiment_is_printed_with_what_its_trials_chose_and_cost(service, call):
    made = service.submit(**SMALL)
    finish(service)
    answer = call("verdict", str(made["number"]))
    assert answer.exit_code == 0, answer.output
    comparison, tuning = (service.get(f"/experiments/{made['id']}/{part}") for part in ("comparison", "tuning"))
    assert comparison["tuning"] in answer.output and comparison["sentences"][0] in answer.output
    for search in tuning["searches"]:
        row = next(line for line in answer.output.splitlines() if line.split()[:1] == [search["variant"]])
        figures = ("100%", "of", "trials", f"{search['median_seconds']:.3g}", "s", f"{search['samples']:,}")
        assert row.split()[3:10] == [*figures, f"{search['core_hours']:.2g}"]
        chosen = next(trial for trial in search["trials"] if trial["chosen"])["parameters"]
        values = ", ".join(f"{name} {value}" for name, value in chosen.items())
        assert f"\nChosen for {search['variant']} on local, 2 workers: {values}\n" in answer.output
    assert json.loads(call("verdict", made["id"], "--json").output) == {"comparison": comparison, "tuning": tuning}


@ONE_KIND
def test_settings_as_given_and_an_unknown_experiment(service, call):
    experiment = ended(service)
    answer = call("verdict", experiment)
    assert "Chosen for" not in answer.output and "Settings are as given" in answer.output
    assert json.loads(call("verdict", experiment, "--json").output)["tuning"] is None
    missing = call("verdict", "99")
    assert (missing.exit_code, missing.output) == (1, "hooke verdict: no experiment has the number 99\n")


@ONE_KIND
def test_who_waits_sees_what_trials_have_chosen(service, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    made = service.submit(**SMALL)
    finish(service)
    assert _well(Remote(service.url, service.settings.token), made["id"])
    assert "Chosen for sync on local" in (said := capsys.readouterr().out)
    assert service.get(f"/experiments/{made['id']}/comparison")["sentences"][0] in said
