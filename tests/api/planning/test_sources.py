"""The catalogue changes between trials and measurement: what was tried is what is measured, or nothing is."""

from hooke_api.planning.steps import Planner

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported
from tests.api.hands import SPEC, Supervisor
from tests.api.planning.test_faults import end
from tests.api.test_catalogues import OTHER, SCHEMA, built_ins, own

RATE = SCHEMA["properties"]["rate"] | {"default": 0.1}
DEFAULTS = SCHEMA | {"required": [], "properties": SCHEMA["properties"] | {"rate": RATE}}
SPACES = {"rate": {"low": 0.01, "high": 1.0, "scale": "log"}}
MINE = SPEC | {
    "variants": [{"name": "mine", "algorithm": "my-sgd"}],
    "baseline": "mine",
    "tuning": {"trials": 2},
}


def offer(service, **more):
    algorithms = [*built_ins("algorithm"), own(servers=0, schema=DEFAULTS, search=SPACES) | more]
    service.hello(algorithms=algorithms, workloads=built_ins("workload"))


def submit(service):
    offer(service)
    answer = service.client.post("/experiments", json=MINE)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def play(service):
    """End every trial, each at the same time."""
    while service.runs(state="queued"):
        service.scheduler.look()
        sent = {run["id"] for run in service.runs(state="dispatched")}
        for order in (order for _, orders in service.line.launched for order in orders if order.run in sent):
            end(Supervisor(service, order))


def rates(service, reported):
    runs = [service.run(run["id"]) for run in service.runs() if (run["rung"] is None) is reported]
    return {run["trial"]: run["spec"]["algorithm"]["parameters"]["rate"] for run in runs}


def test_a_source_that_changed_after_its_trials_is_not_measured_with_their_choice(service):
    experiment = submit(service)
    play(service)
    offer(service, hash=OTHER)
    Planner(service.database).look()
    assert {run["rung"] for run in service.runs()} == {0}
    view = service.get(f"/experiments/{experiment}")
    assert any("the source of 'my-sgd' has changed" in warning["message"] for warning in view["warnings"])
    assert (view["state"], view["finished_at"] is not None) == ("failed", True)
    assert "No setting was chosen" in service.get(f"/experiments/{experiment}/comparison")["tuning"]


@ONE_KIND
def test_settings_are_those_that_were_tried_also_if_other_spaces_are_declared_now(service):
    experiment = submit(service)
    play(service)
    tried = rates(service, reported=False)
    offer(service, search={"rate": {"low": 2.0, "high": 3.0}})
    Planner(service.database).look()
    measured = rates(service, reported=True)
    assert len(measured) == 1
    assert measured.items() <= tried.items()
    (search,) = service.get(f"/experiments/{experiment}/tuning")["searches"]
    assert {trial["trial"]: trial["parameters"]["rate"] for trial in search["trials"]} == tried
    offer(service, search={"rate": {"choices": [1.0]}})
    (search,) = service.get(f"/experiments/{experiment}/tuning")["searches"]
    assert len(search["trials"]) == len(tried)


@ONE_KIND
def test_spaces_that_cannot_be_read_are_told(service):
    """Of an agent of another version: nothing of them fails, and a parameter without a space is not searched."""
    unreadable = {
        "rate": {"low": 1e-300, "high": 1e300, "scale": "log"},
        "period": {"low": 0.5, "high": 2.5, "scale": "log", "integer": True},
        "alpha": {"choices": [0.1, 0.2], "when": {"alpha": [None]}},
        "gone": {"low": 0, "high": 1},
        "x": "no space",
    }
    offer(service, search=unreadable)
    answer = service.client.post("/experiments/dry-run", json=MINE)
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == "/variants/0/search"
    assert "gone" in fault["message"], "the reason, not the number of workers"


BOOST = {"type": "number", "minimum": 0, "default": 1.0}
LATER = DEFAULTS | {"properties": DEFAULTS["properties"] | {"boost": BOOST}}
WIDER = {"rate": {"low": 2.0, "high": 3.0}, "boost": {"low": 0.0, "high": 9.0}}
"""Of a later version: another space, and a parameter that no trial had."""


def finish(service, experiment):
    """End all runs of a tuned experiment, the reported ones, too."""
    play(service)
    Planner(service.database).look()
    play(service)
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"


def go_on(service, experiment):
    return service.client.post("/experiments", json=MINE | {"tuning": {"trials": 3, "continues": experiment}})


@ONE_KIND
def test_an_experiment_is_continued_in_the_spaces_with_which_it_was_begun(service):
    first = submit(service)
    (kept,) = service.get(f"/experiments/{first}")["spec"]["tuning"]["spaces"].items()
    assert (kept[0], {name: each["low"] for name, each in kept[1].items()}) == ("my-sgd", {"rate": 0.01})
    finish(service, first)
    before = {run["id"] for run in service.runs()}
    offer(service, schema=LATER, search=WIDER)
    answer = go_on(service, first)
    assert answer.status_code == 201, answer.text
    new = [service.run(run["id"])["spec"]["algorithm"] for run in service.runs() if run["id"] not in before]
    assert len(new) == 3
    assert {each["parameters"]["boost"] for each in new} == {1.0}
    assert all(0.01 <= each["parameters"]["rate"] <= 1.0 for each in new)
    second = answer.json()
    assert second["spec"]["tuning"]["spaces"] == dict([kept])
    page = service.client.get(f"/experiments/{second['id']}/report.html").text
    assert "Search spaces since it was begun. mine: rate 0.01 to 1, log." in page
    assert "spaces&#34;" not in page and "continues&#34;" in page, "its specification is what was submitted"
    for experiment in (first, second["id"]):
        (search,) = service.get(f"/experiments/{experiment}/tuning")["searches"]
        assert search["spaces"] == kept[1]


@ONE_KIND
def test_an_edited_file_is_the_reason_why_it_is_not_continued_and_not_its_space(service):
    first = submit(service)
    finish(service, first)
    offer(service, schema=LATER, search=WIDER, hash=OTHER)
    answer = go_on(service, first)
    assert answer.status_code == 422
    (told,) = answer.json()["errors"]
    assert told["pointer"] == "/variants/0/algorithm"
    assert "the source of 'my-sgd' has changed since its trials" in told["message"]


@ONE_KIND
def test_an_import_shows_the_spaces_with_which_the_original_was_begun(service):
    first = submit(service)
    finish(service, first)
    (made,) = service.get(f"/experiments/{first}/tuning")["searches"]
    bundle = exported(service, first)
    service.hello(algorithms=built_ins("algorithm"), workloads=built_ins("workload"))  # its file is gone
    view = imported(service, bundle)
    (search,) = service.get(f"/experiments/{view['id']}/tuning")["searches"]
    assert (search["spaces"], search["chosen"]) == (made["spaces"], made["chosen"])
    assert [trial["parameters"] for trial in search["trials"]] == [each["parameters"] for each in made["trials"]]
