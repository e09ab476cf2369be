"""What the queue learns from runs that have ended, and what the scheduler does with it."""

from datetime import timedelta

import pytest
from hooke.spec.states import RunState
from hooke_api.models import Attempt, Cluster, Run, now
from hooke_api.scheduling import history, usage
from hooke_api.scheduling.queued import choose
from sqlalchemy import insert, select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor
from tests.api.queue.test_queue_service import names, policy, submit, took


def told(service, run, **moments):
    """Set moments of a run; `sent` is that of its attempt."""
    with service.database.write() as session:
        if sent := moments.pop("sent", None):
            session.execute(update(Attempt).where(Attempt.run_id == run).values(created_at=sent))
        session.execute(update(Run).where(Run.id == run).values(**moments))


def known(service, slots=4):
    with service.database.read() as session:
        return history.known(session, "local", slots)


def use(service, at, half_life=24):
    with service.database.read() as session:
        return usage.usage(session, "local", 4, at, half_life)


def test_use_is_counted_over_all_runs_and_not_over_the_newest(service):
    """Four long runs of Ada are followed by 2,100 short ones of Bob."""
    service.hello()
    experiments = {user: submit(service, user, user) for user in ("ada", "bob")}
    at, ended, rows = now(), now() - timedelta(hours=5), []
    for user, seconds in [("ada", 2000.0)] * 4 + [("bob", 1.0)] * 2100:
        sent, ended = ended, ended + timedelta(seconds=seconds)
        rows.append((user, sent, ended))
    add_ended(service, experiments, rows)
    assert len(known(service).runs) == history.REMEMBERED, "predictions are made from these"
    for half_life in (0.5, 24, 1e5):
        expected = dict.fromkeys(experiments, 0.0)
        for user, sent, ended in rows:
            age = (at - ended).total_seconds() / (3600 * half_life)
            expected[user] += 4 * (ended - sent).total_seconds() * 0.5**age
        assert use(service, at, half_life) == pytest.approx(expected, rel=2e-4)
    add_ended(service, experiments, [("ada", at - timedelta(seconds=500), at)])
    assert use(service, at, 1e5)["ada"] == pytest.approx(expected["ada"] + 4 * 500, rel=2e-4), "read again"


def add_ended(service, experiments, rows):
    """Store runs that have ended, as copies of that of the user's experiment: user, dispatch, end."""
    with service.database.write() as session:
        runs, attempts, columns = [], [], [column.key for column in Run.__table__.columns]
        queued = session.scalars(select(Run).where(Run.state == RunState.QUEUED)).all()
        models = {run.experiment_id: {key: getattr(run, key) for key in columns} for run in queued}
        for n, (user, sent, ended) in enumerate(rows):
            own = {"id": f"run_{len(rows)}_{n}", "number": 10_000 * len(rows) + n, "finished_at": ended}
            runs.append(models[experiments[user]] | own | {"state": RunState.SUCCEEDED})
            attempts.append({"run_id": own["id"], "number": 1, "created_at": sent})
        session.execute(insert(Run), runs)
        session.execute(insert(Attempt), attempts)


def test_runs_that_failed_while_starting_take_their_own_time(service):
    """Two runs of a launch die after a minute each, before they train; the third took 5 s, not 125."""
    service.hello()
    submit(service, "three", "ada", seeds=3, retry={"attempts": 1})
    service.scheduler.look()
    first, second, third = (order.run for order in service.line.launched[-1][1])
    orders = service.line.launched[-1][1]
    for order, states in zip(orders, (["failed_infra"], ["failed_infra"], ["running", "succeeded"]), strict=True):
        Supervisor(service, order).report("starting", *states)
    at = now() - timedelta(hours=1)
    told(service, first, sent=at, finished_at=at + timedelta(seconds=60))
    told(service, second, sent=at, finished_at=at + timedelta(seconds=120))
    began, ended = at + timedelta(seconds=121), at + timedelta(seconds=125)
    told(service, third, sent=at, started_at=began, finished_at=ended)
    assert [(run.seconds, run.starting, run.whole) for run in known(service).runs] == [
        (60, 60, False),
        (60, 60, False),
        (5, 1, True),
    ]
    submit(service, "again")
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert entry["run_seconds"] == pytest.approx(5, rel=0.1)
    used = use(service, ended)
    assert used == pytest.approx({"ada": 4 * 125}, rel=0.01), "they kept the cluster, too"


def test_a_clock_that_is_behind_gives_nobody_time_back(service):
    service.hello()
    submit(service, "one", "ada")
    service.scheduler.look()
    took(service, 10)
    (run,) = service.runs()
    told(service, run["id"], finished_at=now() - timedelta(days=2))
    (ended,) = known(service).runs
    assert (ended.seconds, use(service, now())) == (0, {"ada": 0})


def test_a_later_attempt_says_nothing_of_a_whole_run(service):
    service.hello()
    submit(service, "one")
    service.scheduler.look()
    took(service, 10)
    with service.database.write() as session:
        session.execute(update(Run).values(attempt=2))
        session.execute(update(Attempt).values(number=2, restored_step=50))
    assert [run.whole for run in known(service).runs] == [False]


def test_a_huge_budget_with_a_wall_limit_is_predicted_by_the_limit(service):
    service.hello()
    submit(service, "known")
    service.scheduler.look()
    took(service, 40)
    rarely = {"every": 10**11}
    submit(service, "endless", budget={"samples": 10**12}, evaluation=rarely)
    submit(service, "limited", budget={"samples": 10**12, "max_seconds": 60}, evaluation=rarely)
    endless, limited = service.get("/clusters/local/queue")["entries"]
    assert endless["ends"] is None
    assert limited["run_seconds"] == pytest.approx(60)
    assert service.client.get("/experiments").status_code == 200


@ONE_KIND
def test_first_come_lets_what_has_begun_go_on_as_the_queue_shows(service):
    service.hello()
    policy(service, "priority", max_active_runs=1)
    submit(service, "first")
    second = service.client.put(
        f"/experiments/{submit(service, 'second', seeds=3)}/priority", json={"priority": 9}
    ).json()
    service.scheduler.look()
    took(service, 1)
    policy(service, "first-come", max_active_runs=1)
    assert names(service) == ["second", "first"]
    service.scheduler.look()
    assert [run["experiment_id"] for run in service.runs(state="dispatched")] == [second["id"]]


def test_nothing_is_chosen_on_a_cluster_that_was_taken_meanwhile(service):
    """A pass of the scheduler that looked before a calibration was requested or the cluster drained."""
    service.hello()
    submit(service, "one")
    with service.database.write() as session:
        assert len(choose(session, "local")) == 1
    with service.database.write() as session:
        session.execute(update(Cluster).values(draining=True))
        assert choose(session, "local") == []
        session.execute(update(Cluster).values(draining=False))
    assert service.client.post("/clusters/local/calibrations", json={}).status_code == 202
    with service.database.write() as session:
        assert choose(session, "local") == []


def test_a_sent_run_of_an_offline_cluster_is_not_said_to_be_starting(service):
    service.hello()
    submit(service, "one")
    service.scheduler.look()
    with service.database.write() as session:
        session.execute(update(Cluster).values(seen_at=now() - timedelta(minutes=62)))
    (run,) = service.runs()
    assert run["waiting"]["reason"].startswith("sent to its cluster, which is offline since ")


def test_a_run_over_its_predicted_end_is_late_and_predicted_by_its_own_progress(service):
    service.hello()
    submit(service, "known", seeds=2)
    service.scheduler.look()
    took(service, 60)
    submit(service, "slow")
    submit(service, "waits")
    service.scheduler.look()
    order = service.line.launched[-1][1][0]
    Supervisor(service, order).report("starting", "running")
    began = now() - timedelta(seconds=600)
    told(service, order.run, sent=began, started_at=began, samples=5000)
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert ", already 9 min late: timed runs share no cores" in entry["reason"]
    with service.database.read() as session:
        at = session.scalars(select(Run).where(Run.id == order.run)).one().started_at
    assert at is not None
    (active,) = service.get("/clusters/local/queue")["active"]
    assert active["ends"] is not None, "half of the budget took 10 min"
