"""Further attempts: by policy and by request, from checkpoints, after pauses; and runs that are given up."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from hooke.spec.events import Checkpointed
from hooke_api.models import Cluster, Run, now
from hooke_api.runs.attempts import RISK
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, Supervisor, done, scored, start, steps
from tests.api.test_experiments import problem
from tests.api.test_ingest import rank
from tests.api.test_scheduler import end_pauses, expire, set_attempts

pytestmark = ONE_KIND  # the rest is tried on both in test_scheduler.py, test_forging.py and test_clocks.py


def waits_for(service, run: str) -> str:
    return service.run(run)["waiting"]["reason"]


def test_a_failed_attempt_is_followed_by_another_after_a_pause(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    answer = supervisor.report("failed_infra", why="rank 1 was killed by SIGKILL (9)", signal=9, rank=1)
    assert (answer.reports, answer.fenced) == (3, True)
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"], run["failures"], run["finished_at"]) == ("queued", 2, 1, None)
    last = run["history"][-1]
    assert last["why"] == "attempt 1 ended: rank 1 was killed by SIGKILL (9); attempt 2 follows in 10 s"
    assert (last["cause"], last["signal"], last["rank"], last["attempt"]) == ("infrastructure", 9, 1, 2)
    assert "before attempt 2" in waits_for(service, supervisor.id)
    service.scheduler.look()
    assert len(service.line.launched) == 1
    end_pauses(service)
    assert service.next().order.attempt == 2


def test_others_go_on_while_a_run_pauses(service):
    """A lost node leaves no hole in the seeds, and holds up no other seed."""
    service.submit(**ALONE | {"clusters": [{"name": "local", "workers": [2], "seeds": 3}]})
    service.scheduler.look()
    orders = service.line.launched[0][1]
    assert len(orders) == 3
    Supervisor(service, orders[0]).report("starting", "running", "failed_infra")
    for order in orders[1:]:
        Supervisor(service, order).report("starting", "running", "succeeded")
    service.scheduler.look()
    assert len(service.line.launched) == 1
    end_pauses(service)
    again = service.next()
    assert (again.id, again.order.attempt) == (orders[0].run, 2)
    again.report("starting", "running", "succeeded")
    runs = service.runs()
    assert {(run["state"], run["seed"]) for run in runs} == {("succeeded", seed) for seed in range(3)}
    assert service.get("/experiments")["items"][0]["state"] == "succeeded"


def test_no_pause_of_an_experiment_holds_up_a_younger_one(service):
    service.launch().report("starting", "running", "failed_infra")
    younger = service.submit(name="younger", **ALONE)["id"]
    assert service.run(service.next().id)["experiment_id"] == younger


@pytest.mark.parametrize("order", ["priority", "fair-share", "shortest-service"])
def test_nor_under_other_policies(service, order):
    service.launch().report("starting", "running", "failed_infra")
    policy = service.get("/clusters/local/queue")["policy"]
    service.client.put("/clusters/local/policy", json=policy | {"order": order}).raise_for_status()
    younger = service.submit(name="younger", **ALONE)["id"]
    assert service.run(service.next().id)["experiment_id"] == younger


def checkpoint(seq: int, samples: int, of: int, attempt: int) -> Checkpointed:
    path = f"r/{attempt}/checkpoints/{samples}/{of}.npz"
    return Checkpointed(seq=seq, step=samples // 64, samples=samples, path=path, bytes=9, sha256="0" * 64)


def limited(supervisor, *samples: int, ranks=(0, 1)) -> None:
    """Play an attempt that the scheduler's time limit ends after checkpoints."""
    supervisor.report("starting", "running")
    supervisor.reports.append(
        supervisor.reports[-1].model_copy(
            update={"state": "timed_out", "cause": "time_limit", "why": "job 7: TIMEOUT"}
        )
    )
    for of in ranks:
        kept = [checkpoint(1 + i, each, of, supervisor.order.attempt) for i, each in enumerate(samples)]
        supervisor.send(rank(of, start(), *kept, done(len(kept) + 1, reason="cancelled")))
    supervisor.send()


def test_a_time_limit_with_a_further_checkpoint_leads_to_an_attempt_at_once(service):
    """As often as it gets further; it ends where it does not."""
    supervisor = service.launch()
    for attempt, samples in ((1, 640), (2, 1280), (3, 1920), (4, 2560)):
        limited(supervisor, samples - 320, samples)
        run = service.run(supervisor.id)
        assert (run["state"], run["attempt"], run["failures"]) == ("queued", attempt + 1, 0)
        assert (
            run["history"][-1]["why"] == f"attempt {attempt} ended: job 7: TIMEOUT; attempt {attempt + 1} follows"
        )
        supervisor = service.next()
    limited(supervisor, 2560)
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"]) == ("timed_out", 5)
    assert "no further checkpoint" in run["history"][-1]["why"]


def test_a_checkpoint_of_some_ranks_is_none(service):
    supervisor = service.launch()
    limited(supervisor, 640, ranks=(0,))
    assert service.run(supervisor.id)["state"] == "timed_out"


def test_the_end_by_a_time_limit_waits_for_the_records_that_decide(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.reports.append(
        supervisor.reports[-1].model_copy(update={"state": "timed_out", "cause": "time_limit"})
    )
    assert supervisor.send(rank(0, start())).reports == 2
    assert service.run(supervisor.id)["state"] == "running"
    for of in (0, 1):
        records = [] if of == 0 else [start()]
        supervisor.send(rank(of, *records, checkpoint(1, 640, of, 1), done(2, reason="cancelled")))
    assert service.run(supervisor.id)["attempt"] == 2


def test_the_wall_limit_of_the_budget_is_final(service):
    supervisor = service.launch()
    supervisor.report("starting", "running", "timed_out")
    assert service.run(supervisor.id)["state"] == "timed_out"


def test_the_policy_of_the_experiment_decides(service):
    policy = {"attempts": 2, "backoff_seconds": 0, "causes": ["infrastructure"]}
    supervisor = service.launch(retry=policy)
    supervisor.report("starting", "running", "failed_infra")
    second = service.next()
    second.report("starting", "running", "failed_infra")
    run = service.run(supervisor.id)
    assert (run["state"], run["failures"]) == ("failed_infra", 2)
    assert "there is no further attempt: 2 of 2 have failed" in run["history"][-1]["why"]
    assert service.get(f"/experiments/{run['experiment_id']}")["spec"]["retry"]["attempts"] == 2
    assert (
        "/retry/attempts"
        in problem(service.client.post("/experiments/dry-run", json=SPEC | {"retry": {"attempts": 0}}), 422)[
            "errors"
        ][0]["pointer"]
    )


def test_a_run_that_is_to_end_gets_no_further_attempt_and_is_cancelled(service):
    """Its rank had been killed when the cancel came: it ended as failed, although a user had ended it."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.client.post(f"/runs/{supervisor.id}/cancel")
    supervisor.report("failed_infra")
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"]) == ("cancelled", 1)
    assert run["history"][-1]["why"].startswith("cancelled; before it heard of that, its attempt ended: ")
    assert run["history"][-1]["cause"] == "infrastructure"


def test_a_failed_run_is_tried_again_at_a_user_s_request(service):
    supervisor = service.launch(retry={"attempts": 1})
    problem(service.client.post(f"/runs/{supervisor.id}/retry"), 409)  # it has not ended
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1), scored(2, 256, 0.5)))
    supervisor.report("failed_infra")
    run = service.run(supervisor.id)
    experiment = run["experiment_id"]
    assert run["state"] == "failed_infra"
    assert service.get(f"/experiments/{experiment}")["finished_at"] is not None
    again = service.client.post(f"/runs/{supervisor.id}/retry")
    assert again.status_code == 202, again.text
    run = again.json()
    assert (run["state"], run["attempt"], run["failures"], run["samples"]) == ("queued", 2, 0, 0)
    assert (run["finished_at"], run["accuracy"]) == (None, None)
    assert run["history"][-1]["why"] == "retried, from its latest checkpoint, if it has one"
    view = service.get(f"/experiments/{experiment}")
    assert (view["state"], view["finished_at"]) == ("running", None) or view["state"] == "queued"
    second = service.next()
    assert (second.order.attempt, second.order.resume_from) == (2, 1)
    second.report("starting", "running", "succeeded")
    view = service.get(f"/experiments/{experiment}")
    assert view["state"] == "succeeded" and view["finished_at"] is not None
    assert (
        "only a run that has ended without success"
        in problem(service.client.post(f"/runs/{supervisor.id}/retry"), 409)["detail"]
    )


def test_a_run_starts_over_at_a_user_s_request(service):
    """And a later attempt goes on from the attempt that started over, not from those before."""
    service.hello()
    service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
    supervisor = service.next()
    supervisor.report("starting", "running", "failed_user")
    service.client.post(f"/runs/{supervisor.id}/retry", json={"resume": False}).raise_for_status()
    second = service.next()
    assert (second.order.attempt, second.order.resume_from) == (2, 2)
    second.report("starting", "running", "failed_infra")
    end_pauses(service)
    third = service.next()
    assert (third.order.attempt, third.order.resume_from) == (3, 2)


def offline(service) -> None:
    with service.database.write() as session:
        session.execute(update(Cluster).values(seen_at=now() - timedelta(seconds=60)))


def test_a_run_of_an_unreachable_cluster_is_abandoned_with_the_risk_said(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    abandon = f"/runs/{supervisor.id}/abandon"
    assert "cancel it" in problem(service.client.post(abandon), 409)["detail"]
    offline(service)
    assert "supervisor has reported" in problem(service.client.post(abandon), 409)["detail"]
    service.client.post(f"/runs/{supervisor.id}/cancel").raise_for_status()
    expire(service)
    assert service.run(supervisor.id)["state"] == "lost"
    answer = service.client.post(abandon)
    assert answer.status_code == 202
    run = answer.json()
    assert (run["state"], run["history"][-1]["why"]) == ("cancelled", f"abandoned: {RISK}")
    # it lives after all: what it measured is kept, and it is told to end
    late = supervisor.send(rank(0, start(), steps(1)))
    assert (late.cancel, late.fenced, late.acknowledged) == (True, False, {0: 1})
    # a further attempt: the old one is told that it no longer owns the run
    service.client.post(f"/runs/{supervisor.id}/retry").raise_for_status()
    assert supervisor.send().fenced


def test_a_run_that_was_sent_to_an_absent_cluster_is_abandoned_before_it_began(service):
    supervisor = service.launch()
    answer = service.client.post(f"/runs/{supervisor.id}/abandon")
    assert "its cluster has reported: cancel it" in problem(answer, 409)["detail"]
    offline(service)
    assert service.client.post(f"/runs/{supervisor.id}/abandon").json()["state"] == "cancelled"
    problem(service.client.post(f"/runs/{supervisor.id}/abandon"), 409)


def test_nothing_is_sent_to_a_cluster_that_is_absent(service):
    """17,000 orders a day were: a cancel and a probe every 10 s."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.client.post(f"/runs/{supervisor.id}/cancel")
    offline(service)
    expire(service)
    for _ in range(5):
        set_attempts(service, asked_at=None)
        service.scheduler.look()
    assert (service.line.probed, service.line.cancelled) == ([], [])
    service.hello()
    service.scheduler.look()
    assert (service.line.probed, service.line.cancelled) == ([("local", supervisor.id, 1)],) * 2


def test_a_dispatched_run_of_which_nothing_is_heard_is_lost_and_then_proven_dead(service):
    """The deadline counts orders that were sent to an agent that reports, so no clock of an agent."""
    supervisor = service.launch()
    settings = service.settings
    sends = round(settings.start_seconds / settings.resend_seconds)
    for _ in range(sends - 1):
        set_attempts(service, sent_at=now() - timedelta(seconds=settings.resend_seconds + 1))
        service.scheduler.look()
    assert len(service.line.launched) == sends
    assert service.run(supervisor.id)["state"] == "dispatched"
    service.scheduler.up_since -= 10 * settings.lease_seconds
    set_attempts(service, sent_at=now() - timedelta(seconds=settings.resend_seconds + 1))
    service.scheduler.look()
    run = service.run(supervisor.id)
    assert (run["state"], run["history"][-1]["why"]) == (
        "lost",
        "its order was sent 15 times in 300 s without an answer",
    )
    assert service.line.probed == [("local", supervisor.id, 1)]
    service.prove(supervisor.id, 1, alive=False, why="its supervisor died; no process of it is left")
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"], run["failures"]) == ("queued", 2, 1)


def failed_launch(service, *supervisors, why="on n1: No space left on device (ENOSPC): /home/jobs"):
    names = [{"run": each.id, "attempt": each.order.attempt} for each in supervisors]
    answer = service.agent.post("/agents/failed-launch", json={"attempts": names, "why": why})
    assert answer.status_code == 204, answer.text


def test_a_failed_launch_is_told_with_its_cause_and_the_cluster_pauses(service):
    supervisor = service.launch()
    younger = service.submit(name="younger", **ALONE)["id"]
    failed_launch(service, supervisor)
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"], run["failures"]) == ("queued", 2, 0)
    last = run["history"][-1]
    assert last["why"] == (
        "its launch failed on n1: No space left on device (ENOSPC): /home/jobs; attempt 2 follows"
    )
    assert (last["who"], last["cause"]) == ("agent", "infrastructure")
    cluster = service.get("/clusters/local")
    assert cluster["held_until"] is not None and "ENOSPC" in cluster["held_why"]
    (waits,) = service.get(f"/experiments/{younger}")["waiting"]
    assert "the cluster gets no runs until" in waits["reason"] and "ENOSPC" in waits["reason"]
    service.scheduler.look()
    assert len(service.line.launched) == 1, "a full disk does not make a queue run through"
    with service.database.write() as session:
        session.execute(update(Cluster).values(held_until=now()))
    second = service.next()
    assert second.order.attempt == 2
    second.report("starting")
    cluster = service.get("/clusters/local")
    assert (cluster["held_until"], cluster["held_why"]) == (None, None)


def test_pauses_of_a_cluster_grow_until_a_run_starts(service):
    supervisor, pauses = service.launch(), []
    for _ in range(8):
        before = now()
        failed_launch(service, supervisor)
        with service.database.read() as session:
            pauses.append((session.get(Cluster, "local").held_until - before).total_seconds())
        with service.database.write() as session:
            session.execute(update(Cluster).values(held_until=None))
        supervisor = service.next()
    assert [round(each, -1) for each in pauses] == [10, 20, 40, 80, 160, 320, 600, 600]


def test_a_failed_launch_of_an_attempt_that_has_reported_changes_nothing(service):
    supervisor = service.launch()
    supervisor.send()
    failed_launch(service, supervisor, SimpleNamespace(id="run_unknown", order=SimpleNamespace(attempt=1)))
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"]) == ("dispatched", 1)
    assert service.get("/clusters/local")["held_until"] is None


def test_figures_of_an_attempt_that_started_over_do_not_count_the_one_before(service):
    service.hello()
    service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
    first = service.next()
    first.report("starting", "running")
    first.send(rank(0, start(), scored(1, 900, 0.5, clock=5.0)))
    first.report("failed_user")
    service.client.post(f"/runs/{first.id}/retry", json={"resume": False}).raise_for_status()
    second = service.next()
    second.report("starting", "running")
    second.send(rank(0, start(), scored(1, 500, 0.5, clock=2.0), scored(2, 1000, 0.95, clock=9.0, reached=True)))
    with service.database.read() as session:
        run = session.get_one(Run, first.id)
        assert (run.target_after, run.time_to_target) == (2.0, 9.0)
