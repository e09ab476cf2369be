"""The place of an extended experiment in a queue: that of its extension, not that of its submission."""

from datetime import timedelta

import pytest
from hooke_api.models import Experiment, now
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor
from tests.api.queue.test_queue_service import names, policy, submit


def let_end(service):
    """End what has been dispatched."""
    for run in service.runs(state="dispatched"):
        order = next(o for _, orders in service.line.launched for o in orders if o.run == run["id"])
        Supervisor(service, order).report("starting", "running", "succeeded")


def active(service):
    return {run["experiment_id"] for run in service.runs(state="dispatched")}


def old_and_extended(service):
    """Return an experiment that was measured long ago and is extended now, and one that waited then."""
    old = submit(service, "old")
    service.scheduler.look()
    let_end(service)
    with service.database.write() as session:
        session.execute(update(Experiment).values(created_at=now() - timedelta(days=30)))
    waits = submit(service, "waits", seeds=2)
    answer = service.client.post(f"/experiments/{old}/extension", json={"seeds": 3})
    assert answer.status_code == 201, answer.text
    return old, waits


@ONE_KIND
@pytest.mark.parametrize(
    ("order", "more"),
    [
        ("first-come", {}),
        ("priority", {"ageing_minutes": 60}),
        ("fair-share", {}),
        ("shortest-service", {"patience_hours": 24}),
    ],
)
def test_nothing_that_waited_is_passed_by_an_extension(service, order, more):
    service.hello()
    policy(service, order, **more)
    old, waits = old_and_extended(service)
    assert names(service) == ["waits", "old"]
    service.scheduler.look()
    assert active(service) == {waits}
    let_end(service)
    service.scheduler.look()
    assert active(service) == {old}


def test_an_extension_that_has_begun_goes_first(service):
    service.hello()
    policy(service, "first-come", max_active_runs=1)
    old, _ = old_and_extended(service)
    for _ in range(3):  # both runs of the one that waited, then the first of the extension
        service.scheduler.look()
        let_end(service)
    submit(service, "later")
    assert names(service) == ["old", "later"]
    (first, second) = service.get("/clusters/local/queue")["entries"]
    assert (first["begun"], second["begun"]) == (True, False)
    service.scheduler.look()
    assert active(service) == {old}
