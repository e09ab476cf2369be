"""A search over a setting of the workload, from its submission to the tables of its trials."""

from hooke_api.planning.steps import Planner

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.api.planning.test_tuning import play, reported, trials

pytestmark = ONE_KIND

STILL = {"lr": None, "momentum": None, "momentum_kind": None}
TUNED = {
    "workload": {"name": "xmlc-mlp", "parameters": {"labels": 50}},
    "variants": [
        {
            "name": "slide",
            "algorithm": "sgd",
            "workload_settings": {"output": "slide"},
            "search": STILL | {"workload.hashes": {"choices": [4, 8, 12]}},
        },
    ],
    "baseline": "slide",
    "clusters": [{"name": "local", "workers": [1], "seeds": 2}],
    "tuning": {"trials": 3},
}


def settings(service, runs):
    return [service.run(run["id"])["spec"]["workload_settings"] for run in runs]


def by_hashes(run):
    """Return the seconds: more hashes are faster."""
    return 9.0 - run["spec"]["workload_settings"]["hashes"] / 2


def test_the_chosen_setting_is_in_the_tables_and_its_edge_is_told(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, by_hashes)
    assert {each["hashes"] for each in settings(service, trials(service))} == {4, 8, 12}
    assert settings(service, reported(service)) == [{"output": "slide", "hashes": 12}] * 2
    (search,) = service.get(f"/experiments/{experiment}/tuning")["searches"]
    assert list(search["spaces"]) == ["workload.hashes"]
    assert sorted(trial["parameters"]["workload.hashes"] for trial in search["trials"]) == [4, 8, 12]
    chosen = search["trials"][search["chosen"] - 1]
    assert chosen["parameters"] == {"workload.hashes": 12}
    assert search["edges"] == {"workload.hashes": "high"}


def test_a_planner_that_begins_anew_knows_the_settings_of_the_trials(service):
    """They are those of the runs, whatever is declared now."""
    experiment = service.submit(**TUNED)["id"]
    runs = trials(service)
    hashes = [each["hashes"] for each in settings(service, runs)]
    made = {run["trial"]: found for run, found in zip(runs, hashes, strict=True)}
    Planner(service.database).look()
    search = service.get(f"/experiments/{experiment}/tuning")["searches"][0]
    assert {each["trial"]: each["parameters"]["workload.hashes"] for each in search["trials"]} == made


def test_a_wrong_space_is_told_where_it_is(service):
    service.hello()
    wrong = STILL | {"workload.hashes": {"choices": [4, 99]}, "workload.labels": {"choices": [50, 60]}}
    variants = [TUNED["variants"][0] | {"search": wrong}]
    answer = service.client.post("/experiments", json=SPEC | TUNED | {"variants": variants})
    assert answer.status_code == 422
    told = {error["pointer"]: error["message"] for error in answer.json()["errors"]}
    assert "does not take 99" in told["/variants/0/search/workload.hashes"]
    assert "cannot set this parameter of xmlc-mlp" in told["/variants/0/search/workload.labels"]
