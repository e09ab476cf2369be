"""What a comparison says of runs that did not end by themselves, or went on with fewer workers."""

from hooke_api.models import DroppedWorker, now

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor
from tests.api.test_extending import TWO, ended, finish

pytestmark = ONE_KIND


def first_waiting(service):
    """Return the order of a run that has been sent to its cluster and has not begun."""
    sent = {run["id"] for run in service.runs(state="dispatched")}
    return next(order for _, orders in service.line.launched for order in orders if order.run in sent)


def test_a_comparison_says_that_runs_which_had_shown_something_were_tried_again(service):
    """Otherwise who tries a seed again until it does not diverge has the faster method."""
    experiment = service.submit(**TWO)["id"]
    service.scheduler.look()
    first = service.runs(experiment=experiment)[0]
    order = next(o for _, orders in service.line.launched for o in orders if o.run == first["id"])
    Supervisor(service, order).report("starting", "running", "failed_user", exit_code=65)
    finish(service)
    assert service.get(f"/experiments/{experiment}/comparison")["extended"] is None
    service.client.post(f"/runs/{first['id']}/retry", json={"resume": False}).raise_for_status()
    finish(service)
    told = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert told.startswith("1 run was retried by hand after a divergence, an error or the time limit")


def test_a_comparison_says_that_runs_were_cancelled_in_the_middle_and_tried_again(service):
    """Who sees its curve knows how a run will end. One that had not begun has shown nothing."""
    experiment = service.submit(**TWO)["id"]
    path = f"/experiments/{experiment}/comparison"
    for states in (("starting", "running", "cancelled"), ("starting", "cancelled")):
        service.scheduler.look()
        order = first_waiting(service)
        service.client.post(f"/runs/{order.run}/cancel").raise_for_status()
        Supervisor(service, order).report(*states)
    finish(service)
    assert ", 2 runs cancelled" in service.get(path)["sentences"][0]
    assert service.get(path)["extended"] is None
    for run in service.runs(state="cancelled"):
        service.client.post(f"/runs/{run['id']}/retry", json={"resume": False}).raise_for_status()
    finish(service)
    told = service.get(path)["extended"]
    assert told.startswith("1 run was cancelled while running and retried by hand")
    assert "cancelled" not in service.get(path)["sentences"][0]


def test_a_comparison_says_which_runs_went_on_without_a_worker(service):
    """Methods that cannot end with an error instead, and fewer workers exchange less."""
    experiment = ended(service, on_bad_worker="drop")
    run = next(each for each in service.runs(experiment=experiment) if each["variant"] == "sync")
    path = f"/experiments/{experiment}/comparison"
    assert service.get(path)["extended"] is None
    with service.database.write() as session:
        lost = {"rank": 0, "seq": 9, "worker": 1, "step": 3, "why": "NaN", "at": now()}
        session.add(DroppedWorker(run_id=run["id"], attempt=1, **lost))
    assert service.get(path)["extended"] == (
        "1 run of sync went on without a worker that had NaN or Inf or was killed: from then on with fewer "
        "workers than the others."
    )
