"""A choice at the edge of its space: the space is widened, and the trials that were made count."""

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.api.planning.test_tuning import TUNED, play, rate, trials

SYNC, LOCAL = TUNED["variants"]
FIRST = TUNED | {"tuning": {"trials": 3}, "clusters": [{"name": "local", "workers": [2], "seeds": 1}]}


def higher_is_better(run):
    """Return the seconds of a method that is the faster, the higher its rate; always in time."""
    return 4 / (1 + rate(run)) * (1 + run["seed"] % 7 / 100)


def test_a_wider_space_keeps_the_trials(service):
    first = service.submit(**FIRST)["id"]
    play(service, higher_is_better)
    before = {run["id"] for run in trials(service)}
    wider = {"lr": {"low": 0.003, "high": 5, "scale": "log"}}
    again = FIRST | {"variants": [SYNC, LOCAL | {"search": wider}], "tuning": {"trials": 3, "continues": first}}
    second = service.submit(**again)["id"]
    play(service, higher_is_better)
    new = {(run["variant"], run["trial"]) for run in trials(service) if run["id"] not in before}
    assert new == {(name, trial) for name in ("sync", "local") for trial in range(4, 7)}
    for found in service.get(f"/experiments/{second}/tuning")["searches"]:
        rates = {trial["trial"]: trial["parameters"]["lr"] for trial in found["trials"]}
        assert found["chosen"] == max(rates, key=rates.get), "the highest rate of all six"
        made_by = [trial["experiment"] for trial in found["trials"]]
        assert (found["earlier_trials"], made_by) == (3, [first] * 3 + [second] * 3)
    comparison = service.get(f"/experiments/{second}/comparison")
    words = "Each setting is the best of 6 trials per variant, 3 of them made before"
    assert comparison["tuning"].startswith(words)
    assert not any("unequal" in sentence for sentence in comparison["sentences"])
    assert service.get(f"/experiments/{first}/tuning")["searches"][0]["earlier_trials"] == 0


@ONE_KIND
def test_an_experiment_that_is_not_there_cannot_be_continued(service):
    service.hello()
    document = SPEC | TUNED | {"tuning": {"trials": 8, "continues": "exp_0"}}
    answer = service.client.post("/experiments/dry-run", json=document)
    fault = {"pointer": "/tuning/continues", "message": "no experiment has the id 'exp_0'"}
    assert (answer.status_code, answer.json()["errors"]) == (422, [fault])
