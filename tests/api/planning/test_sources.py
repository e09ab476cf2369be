"""The catalogue changes between trials and measurement: what was tried is what is measured, or nothing is."""

from hooke_api.planning.steps import Planner

from tests.api.databases import ONE_KIND
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
