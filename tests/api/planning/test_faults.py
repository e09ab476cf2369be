"""What goes wrong between trials and measurement: late data, errors, changed sources, cancels, two planners."""

import threading
from datetime import timedelta

import pytest
from hooke.spec.states import RunState
from hooke_api.experiments.service import cancel
from hooke_api.models import Experiment, Run
from hooke_api.planning.steps import Planner
from hooke_api.scheduling.lifecycle import Cause, move
from sqlalchemy import select, text, update

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor, done, scored, start
from tests.api.planning.test_tuning import TUNED, by_rate, play, reported, trials
from tests.api.test_ingest import rank
from tests.waiting import wait_for

TWO = TUNED | {"tuning": {"trials": 2}}
"""Four trials, without halving: after the last one comes the measurement."""


def before_the_last(service, experiment=None):
    """Submit, play all trials but one, and return the supervisor of that one."""
    service.submit(**(experiment or TWO))
    play(service, by_rate, until=lambda run: sum(r["state"] == "succeeded" for r in service.runs()) == 3)
    (open_,) = [run for run in trials(service) if run["state"] == "dispatched"]
    orders = [order for _, orders in service.line.launched for order in orders]
    return Supervisor(service, next(order for order in orders if order.run == open_["id"]))


def end(supervisor, clock=1.0):
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), scored(1, 1000, 0.95, clock=clock, reached=True), done(2, clock=clock)))
    supervisor.report("succeeded")


@pytest.mark.parametrize("restarted", [False, True])
def test_an_error_while_planning_is_not_the_end(service, restarted):
    """The plan that could not be made is made later, though no other run ends, also after a restart."""
    end(before_the_last(service))
    planner = Planner(service.database, retry_seconds=0)
    with service.database.write() as session:
        spec = session.scalars(select(Experiment.spec)).one()
        session.execute(update(Experiment).values(spec=spec | {"budget": None}))
    for _ in range(2):
        planner.look()
        assert reported(service) == []
        assert [each["message"] for each in warnings(service)] == [
            "the next runs of its tuning could not be planned, which is tried again: an unexpected error; the log "
            "of the server says more"
        ]
    with service.database.write() as session:
        session.execute(update(Experiment).values(spec=spec))
    (Planner(service.database) if restarted else planner).look()
    assert len(reported(service)) == 6
    assert warnings(service) == []


def test_a_cancelled_experiment_does_not_say_that_its_plan_is_tried_again(service):
    end(before_the_last(service))
    planner = Planner(service.database, retry_seconds=0)
    with service.database.write() as session:
        spec = session.scalars(select(Experiment.spec)).one()
        session.execute(update(Experiment).values(spec=spec | {"budget": None}))
    planner.look()
    (stale,) = warnings(service)
    with service.database.write() as session:
        session.execute(update(Experiment).values(spec=spec))
    (experiment,) = service.get("/experiments")["items"]
    told = service.client.post(f"/experiments/{experiment['id']}/cancel").json()
    assert told["warnings"] == warnings(service) == []
    planner._failed(experiment["id"], ValueError("another plan, which was being made when it was cancelled"))
    assert warnings(service) == []
    other = {"pointer": "/target", "message": "stays"}
    with service.database.write() as session:  # cancelled by an earlier version
        session.execute(update(Experiment).values(warnings=[stale, other]))
    assert service.get(f"/experiments/{experiment['id']}")["warnings"] == [other]


def warnings(service):
    with service.database.read() as session:
        return session.scalars(select(Experiment.warnings)).one()


@ONE_KIND
def test_a_trial_is_judged_when_its_records_have_arrived(service):
    """A supervisor that could not reach the API for a while sends its last state with the first of its records."""
    late = before_the_last(service)
    late.report("starting", "running")
    late.reports.append(late.reports[-1].model_copy(update={"state": "succeeded"}))
    late.send(rank(0, start()))
    service.scheduler.look()
    assert reported(service) == []
    late.send(rank(0, scored(1, 1000, 0.95, clock=0.5, reached=True), done(2, clock=0.5)))
    late.finish_ranks()
    service.scheduler.look()
    (variant,) = {run["variant"] for run in trials(service) if run["id"] == late.id}
    chosen = {run["trial"] for run in reported(service) if run["variant"] == variant}
    assert chosen == {service.run(late.id)["trial"]}, "it is by far the fastest"


@ONE_KIND
def test_records_that_never_arrive_do_not_stop_a_tuning(service):
    late = before_the_last(service)
    late.report("starting", "running")
    late.report("succeeded")
    Planner(service.database, patience_seconds=0).look()
    assert len(reported(service)) == 6


@pytest.mark.parametrize("again", [False, True])
def test_an_experiment_that_is_cancelled_ends_once(service, again):
    experiment = service.submit(**TWO)["id"]
    first = service.client.post(f"/experiments/{experiment}/cancel").json()
    assert (first["state"], first["finished_at"] is not None) == ("cancelled", True)
    if again:
        second = service.client.post(f"/experiments/{experiment}/cancel").json()
        assert second["finished_at"] == first["finished_at"]
    service.scheduler.look()
    assert reported(service) == []


def test_a_run_may_end_while_its_experiment_is_cancelled(service):
    """Neither of the two transactions fails, whichever locks first."""
    supervisor = before_the_last(service)
    supervisor.report("starting", "running")
    errors = []

    def cancels():
        try:
            with service.database.write() as session:
                experiment = session.scalars(select(Experiment.id)).one()
                cancel(session, experiment, "someone", timedelta(seconds=40))
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)

    other = threading.Thread(target=cancels)
    with service.database.write() as session:
        run = session.get_one(Run, supervisor.id, with_for_update=True)
        other.start()
        if not service.database.sqlite:
            waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")

            def waits():
                with service.database.read() as looking:
                    return looking.scalar(waiting)

            wait_for(waits, "the cancel to wait for the run")
        assert move(session, run, RunState.SUCCEEDED, Cause("supervisor", "it is over"))
    other.join()
    assert errors == []
    service.scheduler.look()
    assert reported(service) == []
    assert service.get("/experiments")["items"][0]["finished_at"] is not None


def test_two_processes_plan_a_step_once(service):
    end(before_the_last(service))
    planners = [threading.Thread(target=Planner(service.database).look) for _ in range(4)]
    for planner in planners:
        planner.start()
    for planner in planners:
        planner.join()
    cells = [(run["variant"], run["seed"]) for run in reported(service)]
    assert len(cells) == len(set(cells)) == 6
