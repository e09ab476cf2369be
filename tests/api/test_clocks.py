"""Which clock decides: the database's. Those of agents are displayed, and those of API hosts do not count."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hooke.spec.states import RunState
from hooke_api.models import AgentOrder, Attempt, Cluster, Leader, Run, base, clock, now
from hooke_api.scheduling import ahead
from hooke_api.scheduling import scheduler as scheduling
from hooke_api.scheduling.holds import LONGEST_SECONDS
from hooke_api.scheduling.leader import Leadership
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import HELLO, start, steps
from tests.api.test_ingest import rank
from tests.api.test_scheduler import expire, set_attempts, states

FUTURE = datetime(2223, 5, 4, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_supervisor_s_clock_is_displayed_and_not_believed(service):
    """A run finished in 2223."""
    supervisor = service.launch()
    before = now()
    supervisor.report("starting", "running", "failed_user")
    supervisor.reports[:] = []
    other = service.run(supervisor.id)
    assert before <= at(other["started_at"]) <= at(other["finished_at"]) <= now()
    second = service.client.post(f"/runs/{supervisor.id}/retry")
    assert second.status_code == 202
    again = service.next()
    again.report("starting")
    for state in ("running", "failed_user"):
        again.reports.append(again.reports[-1].model_copy(update={"state": state, "unix": FUTURE.timestamp()}))
    again.send()
    run = service.run(supervisor.id)
    assert before <= at(run["finished_at"]) <= now()
    last = run["history"][-1]
    assert at(last["reported_at"]) == FUTURE
    assert before <= at(last["at"]) <= now()
    assert run["history"][0]["reported_at"] is None  # by the server itself


@pytest.mark.parametrize("ahead", [-86_400.0, 0.0, 250 * 365.25 * 86_400.0])
def test_an_agent_s_clock_is_measured_and_displayed(service, ahead):
    headers = {"hooke-clock": f"{time.time() + ahead:.3f}"}
    service.agent.post("/agents/hello", json=HELLO, headers=headers).raise_for_status()
    cluster = service.get("/clusters/local")
    assert cluster["clock_offset"] == pytest.approx(ahead, abs=60)
    assert cluster["online"] is True
    assert abs((at(cluster["seen_at"]) - now()).total_seconds()) < 60
    service.hello()
    assert service.get("/clusters/local")["clock_offset"] is None


@pytest.mark.parametrize("told", ["nan", "inf", "soon", "1e300"])
@ONE_KIND
def test_a_clock_that_is_none_is_refused(service, told):
    answer = service.agent.post("/agents/hello", json=HELLO, headers={"hooke-clock": told})
    assert answer.status_code == 422


def test_the_clock_of_an_api_host_does_not_count(service, kind, monkeypatch):
    """Two API hosts an hour apart: the leases that one renews have not expired for the other."""
    if kind == "sqlite":
        pytest.skip("SQLite runs in the API's process, on its clock")
    supervisor = service.launch()
    supervisor.report("starting", "running")

    def ahead():
        return datetime.now(UTC) + timedelta(hours=1)

    for module in (base, clock):
        monkeypatch.setattr(module, "now", ahead)
    service.scheduler.up_since -= 1000
    service.scheduler.look()
    assert states(service) == ["running"]
    assert service.get("/clusters/local")["online"] is True


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_jumps_loses_no_run(service, monkeypatch, hours):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.scheduler.up_since -= 1000
    service.scheduler.look()
    real = scheduling.database_time
    monkeypatch.setattr(scheduling, "database_time", lambda session: real(session) + timedelta(hours=hours))
    for _ in range(3):
        service.scheduler.look()
    assert states(service) == ["running"]
    expire(service)  # one that stays silent for a lease after the jump is lost
    set_attempts(service, leased_until=now() - timedelta(hours=3))
    service.scheduler.look()
    assert states(service) == ["lost"]


def test_after_a_clock_was_set_back_nothing_waits_for_the_time_that_was(service):
    """A supervisor that died meanwhile would be waited for, its cluster be online, an order not be sent again."""
    supervisor = service.launch(retry={"attempts": 3, "backoff_seconds": 20})
    supervisor.report("starting", "running")
    hour, lease = timedelta(hours=1), timedelta(seconds=service.settings.lease_seconds)
    before = now() + hour
    set_attempts(service, leased_until=before + lease, sent_at=before, asked_at=before)
    with service.database.write() as session:
        session.execute(update(Cluster).values(seen_at=before, held_until=before))
        session.execute(update(AgentOrder).values(made_at=before))
        session.execute(update(Run).values(not_before=before, state=RunState.QUEUED, failures=2))
    monotonic, database_at = service.scheduler._watched
    service.scheduler._watched = monotonic, database_at + hour
    service.scheduler.look()
    with service.database.read() as session:
        attempt = session.scalars(select(Attempt)).first()
        cluster, run = session.get(Cluster, "local"), session.scalars(select(Run)).one()
        order = session.scalars(select(AgentOrder).order_by(AgentOrder.made_at)).first()
    for at in (attempt.sent_at, attempt.asked_at, cluster.seen_at, order.made_at):
        assert at <= now()
    assert attempt.leased_until <= now() + lease
    assert cluster.held_until <= now() + timedelta(seconds=LONGEST_SECONDS)
    assert run.not_before <= now() + timedelta(seconds=40), "the pause after the second failure"


def test_times_that_lie_ahead_as_they_may_are_left_alone(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    lease = now() + timedelta(seconds=service.settings.lease_seconds - 1)
    set_attempts(service, leased_until=lease, sent_at=now() + timedelta(seconds=30))
    with service.database.read() as session:
        assert not ahead.any_ahead(session, now(), service.settings)
    assert ahead.pull_back(service.database, service.settings) == 0


def test_nobody_waits_for_a_leader_from_before_the_clock_was_set_back(service):
    """It was killed, and gave nothing back: nothing would be scheduled for an hour."""
    term = timedelta(seconds=10)
    for until, leads in ((now() + timedelta(hours=1), True), (now() + term, False)):
        mine = Leadership(service.database, term, "test")
        with service.database.write() as session:
            session.merge(Leader(name="test", holder="another one", until=until))
        assert mine.hold() is leads


def test_nothing_expires_after_a_time_in_which_no_lease_could_be_renewed(service, monkeypatch):
    """The database was away for a minute, the API was not: passes failed meanwhile, and so did every report."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.scheduler.up_since -= 1000
    service.scheduler.look()
    monotonic, database_at = service.scheduler._watched
    gap = timedelta(seconds=60)
    service.scheduler._watched = monotonic - gap.total_seconds(), database_at - gap
    set_attempts(service, leased_until=now() - timedelta(seconds=1))
    service.scheduler.look()
    assert states(service) == ["running"]


def test_a_new_leader_waits_for_a_lease(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.scheduler.up_since -= 1000
    hold = service.scheduler.leadership.hold
    service.scheduler.leadership.hold = lambda: False
    service.scheduler.look()
    service.scheduler.leadership.hold = hold
    set_attempts(service, leased_until=now() - timedelta(seconds=1))
    service.scheduler.look()
    assert states(service) == ["running"]


def test_one_that_delivers_what_it_wrote_after_its_end_is_not_lost(service):
    """After a long outage that takes more than a lease; its requests say that it has ended."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    set_attempts(service, leased_until=now() - timedelta(seconds=1))
    supervisor.send(rank(0, start(), steps(1)), renew=False)
    service.scheduler.up_since -= 1000
    service.scheduler.look()
    assert states(service) == ["running"]
