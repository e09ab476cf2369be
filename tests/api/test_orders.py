"""Orders to agents: the broker names them, and what they are worth is decided when their agent claims them."""

import time
from datetime import timedelta

import pytest
from hooke.spec.orders import BrokerOrder, ClaimedOrder
from hooke_api.models import AgentOrder, AttemptToken, Cluster, Removal, Run, StoredCalibration, now
from hooke_api.scheduling import calibrations, orders
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, OrderLine, Supervisor
from tests.api.test_experiments import problem
from tests.api.test_joining import make
from tests.api.test_scheduler import expire, set_attempts

pytestmark = ONE_KIND  # every other test claims its launches by `OrderLine`, on both databases

ONE, OTHER = "agt_" + 32 * "1", "agt_" + 32 * "2"
FORGED = BrokerOrder(id="ord_" + 32 * "f", agent=ONE, made=1.0)


@pytest.fixture
def sent(service):
    """Return a function that has the scheduler look, and returns the only order that it sends."""
    service.hello(agent=ONE)
    service.line.deaf = True

    def look(kind: str) -> BrokerOrder:
        before = len(service.line.sent)
        service.scheduler.look()
        (found,) = (order for _, name, order in service.line.sent[before:] if name == kind)
        return found

    return look


def submit(service, seeds=1):
    clusters = [{"name": "local", "workers": [2], "seeds": seeds}]
    service.client.post("/experiments", json=SPEC | ALONE | {"clusters": clusters}).raise_for_status()


def claimed(service, order):
    answer = service.claim("local", order)
    assert answer.status_code == 200, answer.text
    return ClaimedOrder.model_validate_json(answer.content).work


def refused(service, order, status=410, **changes):
    return problem(service.claim("local", order, **changes), status)["detail"]


def age(service, model, column, seconds):
    with service.database.write() as session:
        session.execute(update(model).values({column: now() - timedelta(seconds=seconds)}))


def test_the_broker_carries_ids_and_a_time(service, sent):
    submit(service)
    order = sent("launch")
    assert set(order.model_dump()) == {"id", "agent", "made"}
    assert order.agent == ONE
    assert abs(order.made - time.time()) < 60


def test_a_repeated_claim_gets_the_same_with_another_token(service, sent):
    submit(service, seeds=3)
    order = sent("launch")
    first, again = claimed(service, order), claimed(service, order)
    plain = [[each.model_copy(update={"token": ""}) for each in work.attempts] for work in (first, again)]
    assert plain[0] == plain[1]
    runs = {run["id"]: service.run(run["id"]) for run in service.runs()}
    assert [each.run for each in plain[0]] == sorted(runs)
    assert all(each.spec == runs[each.run]["spec"] for each in plain[0])
    assert len({each.token for work in (first, again) for each in work.attempts}) == 6


def test_an_order_is_for_its_agent_alone(service, sent):
    """And nobody else learns that there is one."""
    submit(service)
    order = sent("launch")
    unknown = refused(service, FORGED, 404)
    for agent in (OTHER, None):
        assert refused(service, order, 404, agent=agent).replace(order.id, FORGED.id) == unknown
    make(service, "hpc")
    service.tokens["local"] = service.tokens["hpc"]
    assert refused(service, order, 404).replace(order.id, FORGED.id) == unknown
    service.tokens["local"] = "hooke_cluster_guess"
    refused(service, order, 401)
    del service.tokens["local"]
    assert service.count(AttemptToken) == 0
    claimed(service, order)


def test_a_revoked_token_claims_nothing(service, sent):
    made = make(service, "local")
    service.agent.headers["authorization"] = f"Bearer {made['token']}"
    service.hello(agent=ONE)
    submit(service)
    order = sent("launch")
    service.client.post(f"/cluster-tokens/{made['id']}/revoke").raise_for_status()
    assert "was revoked" in refused(service, order, 401)


def test_an_order_is_withdrawn_when_its_cluster_gets_another_agent(service, sent):
    submit(service)
    order = sent("launch")
    with service.database.write() as session:
        session.execute(update(Cluster).values(agent=OTHER))
    assert "has another agent" in refused(service, order)


def test_an_order_expires(service, sent):
    submit(service)
    order = sent("launch")
    age(service, AgentOrder, "made_at", orders.LIFE.total_seconds() + 1)
    assert "has expired" in refused(service, order)
    set_attempts(service, sent_at=now() - timedelta(seconds=service.settings.resend_seconds + 1))
    claimed(service, sent("launch"))


def test_a_launch_is_refused_once_its_attempt_has_reported_and_after_the_end_of_its_run(service, sent):
    submit(service)
    order = sent("launch")
    (launch,) = claimed(service, order).attempts
    supervisor = Supervisor(service, launch)
    for states in ((), ("starting", "running"), ("succeeded",)):
        supervisor.report(*states)
        assert "is not wanted any more" in refused(service, order)
    assert service.count(AttemptToken) == 1
    assert service.run(launch.run)["state"] == "succeeded"


def test_a_launch_is_refused_after_its_run_was_cancelled_and_the_others_of_it_are_not(service, sent):
    submit(service, seeds=3)
    order = sent("launch")
    first, *others = (each.run for each in claimed(service, order).attempts)
    service.client.post(f"/runs/{first}/cancel").raise_for_status()
    assert [each.run for each in claimed(service, order).attempts] == others
    for run in others:
        service.client.post(f"/runs/{run}/cancel").raise_for_status()
    refused(service, order)


def test_an_order_about_an_earlier_attempt_is_refused(service, sent):
    submit(service)
    order = sent("launch")
    run = service.runs()[0]["id"]
    body = {"run": run, "attempt": 1, "alive": False, "why": "nothing of it is here", "agent": ONE}
    service.agent.post("/agents/proof", json=body).raise_for_status()
    second = sent("launch")
    refused(service, order)
    assert claimed(service, second).attempts[0].attempt == 2


def test_a_probe_is_refused_once_the_run_is_heard_again(service, sent):
    """An agent that finds nothing of an attempt declares it dead, so it is not asked for nothing."""
    submit(service)
    (launch,) = claimed(service, sent("launch")).attempts
    supervisor = Supervisor(service, launch)
    supervisor.report("starting", "running")
    expire(service)
    (probe,) = (order for _, kind, order in service.line.sent if kind == "probe")
    assert (claimed(service, probe).run, claimed(service, probe).attempt) == (launch.run, 1)
    supervisor.send()
    assert "probe" in refused(service, probe)


def test_a_cancel_is_refused_after_the_end_of_its_run(service, sent):
    submit(service)
    (launch,) = claimed(service, sent("launch")).attempts
    supervisor = Supervisor(service, launch)
    supervisor.report("starting", "running")
    service.client.post(f"/runs/{launch.run}/cancel").raise_for_status()
    order = sent("cancel")
    assert (claimed(service, order).run, claimed(service, order).attempt) == (launch.run, 1)
    supervisor.report("cancelled")
    refused(service, order)


def test_only_deleted_runs_are_removed_and_once(service, sent):
    """A forged list of runs would be the worst order of all."""
    with service.database.write() as session:
        for name, cluster in (("run_a", "local"), ("run_b", "local"), ("run_c", "elsewhere")):
            session.add(Removal(run_id=name, cluster=cluster, created_at=now()))
    order = sent("forget")
    assert claimed(service, order).runs == ["run_a", "run_b"]
    for name, left in (("run_a", ["run_b"]), ("run_b", None)):
        report = {"agent": ONE, "forgotten": [name], "kept": []}
        service.agent.post("/agents/forgotten", json=report).raise_for_status()
        assert claimed(service, order).runs == left if left else refused(service, order)


PATH = "/clusters/local/calibrations"


def test_a_calibration_that_no_agent_claims_is_sent_again_until_one_does(service, sent):
    """The API may have been away when the order arrived. The time until it has failed does not begin anew."""
    id = service.client.post(PATH, json={"workers": 2}).json()["id"]
    first = sent("calibrate")
    service.scheduler.look()
    assert len(service.line.sent) == 1
    age(service, AgentOrder, "made_at", service.settings.resend_seconds + 1)
    age(service, StoredCalibration, "sent_at", 100)
    second = sent("calibrate")
    assert second.id != first.id
    with service.database.read() as session:
        assert now() - session.scalars(select(StoredCalibration.sent_at)).one() > timedelta(seconds=99)
    for order in (first, second):
        found = claimed(service, order).calibration
        assert (found.id, found.workers) == (id, 2)
    age(service, AgentOrder, "made_at", service.settings.resend_seconds + 1)
    service.scheduler.look()
    assert len(service.line.sent) == 2
    service.agent.post("/agents/calibration", json={"id": id, "why": "no mpirun"}).raise_for_status()
    assert "calibrate" in refused(service, second)


def test_a_calibration_whose_order_arrives_after_its_time_does_not_begin(service, sent):
    """The scheduler may not have come to end it: it was away, as its agent was."""
    service.client.post(PATH, json={})
    order = sent("calibrate")
    age(service, StoredCalibration, "sent_at", calibrations.LIMIT.total_seconds() + 1)
    assert "is not wanted any more" in refused(service, order)
    age(service, StoredCalibration, "sent_at", calibrations.LIMIT.total_seconds() - 5)
    claimed(service, order)
    service.scheduler.look()
    with service.database.read() as session:
        row = session.scalars(select(StoredCalibration)).one()
    assert row.state == "running"
    assert now() - row.sent_at < timedelta(seconds=60), "its agent was heard of"


def test_the_end_of_a_calibration_is_asked_for_until_it_is_heard(service, sent):
    id = service.client.post(PATH, json={}).json()["id"]
    claimed(service, sent("calibrate"))
    service.client.post(f"{PATH}/{id}/cancel").raise_for_status()
    sent("cancel_calibration")
    age(service, AgentOrder, "made_at", service.settings.resend_seconds + 1)
    order = sent("cancel_calibration")
    assert claimed(service, order).calibration == id
    age(service, AgentOrder, "made_at", service.settings.resend_seconds + 1)
    count = len(service.line.sent)
    service.scheduler.look()
    assert len(service.line.sent) == count
    age(service, StoredCalibration, "sent_at", calibrations.CANCEL_LIMIT.total_seconds() + 1)
    service.scheduler.look()
    assert service.get(PATH)["items"][0]["state"] == "cancelled"
    refused(service, order)


def test_a_calibration_that_is_cancelled_before_its_order_is_claimed_does_not_begin(service, sent, monkeypatch):
    service.client.post(PATH, json={})
    monkeypatch.setattr(calibrations, "sent", lambda *_: None)  # the scheduler has not come to note it
    order = sent("calibrate")
    id = service.get(PATH)["items"][0]["id"]
    assert service.client.post(f"{PATH}/{id}/cancel").json()["state"] == "cancelled"
    refused(service, order)


def test_one_that_is_claimed_runs_although_the_scheduler_has_not_noted_it(service, sent, monkeypatch):
    service.client.post(PATH, json={})
    monkeypatch.setattr(calibrations, "sent", lambda *_: None)
    claimed(service, sent("calibrate"))
    id = service.get(PATH)["items"][0]["id"]
    assert service.client.post(f"{PATH}/{id}/cancel").json()["state"] == "cancelling"


def test_an_order_that_is_replayed_without_end_makes_no_tokens_without_end(service, sent):
    submit(service)
    order = sent("launch")
    for _ in range(orders.MOST_CLAIMS):
        launch = claimed(service, order).attempts[0]
    assert f"was claimed {orders.MOST_CLAIMS} times" in refused(service, order)
    assert service.count(AttemptToken) == orders.MOST_CLAIMS
    Supervisor(service, launch).report("starting")
    assert service.count(AttemptToken) == 1


def test_old_orders_are_deleted(service, sent):
    submit(service)
    order = sent("launch")
    service.scheduler._trim_at = 0.0
    service.scheduler.look()
    assert service.count(AgentOrder) == 1
    age(service, AgentOrder, "made_at", orders.KEPT.total_seconds() + 1)
    service.scheduler._trim_at = 0.0
    service.scheduler.look()
    assert service.count(AgentOrder) == 0
    refused(service, order, 404)
    assert service.run(service.runs()[0]["id"])["state"] == "dispatched"


def test_another_api_process_answers_the_claim(service):
    """Tokens are made where the claim arrives: the process that sent an order keeps nothing of it."""
    service.submit(**ALONE)
    service.scheduler._sender = remote = OrderLine()
    remote.deaf = True
    service.scheduler.look()
    ((cluster, kind, order),) = remote.sent
    assert (cluster, kind) == ("local", "launch")
    work = claimed(service, order)
    Supervisor(service, work.attempts[0]).report("starting")
    with service.database.read() as session:
        assert session.scalars(select(Run.state)).one() == "starting"
