"""Queues over HTTP and in the database: policies, priorities, limits, reasons, predictions, and the scheduler."""

import csv
import io
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hooke.spec.states import RunState
from hooke_api.models import Attempt, Cluster, Experiment, Run, now
from hooke_api.waiting.limits import check_limits
from sqlalchemy import event, select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, Supervisor
from tests.api.test_experiments import VIRTUAL


def submit(service, name, user="owner", seeds=1, **more):
    """Submit an experiment of `seeds` runs in the name of a user."""
    clusters = [{"name": "local", "workers": [2], "seeds": seeds}]
    made = service.submit(**ALONE | {"name": name, "clusters": clusters} | more)
    with service.database.write() as session:
        session.execute(update(Experiment).where(Experiment.id == made["id"]).values(created_by=user))
    return made["id"]


def put(service, path, body, status=200):
    answer = service.client.put(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def policy(service, order="first-come", **more):
    return put(service, "/clusters/local/policy", {"order": order, **more})


def names(service):
    return [entry["name"] for entry in service.get("/clusters/local/queue")["entries"]]


def took(service, seconds):
    """Let every run that has been dispatched end, each after so many seconds, the first one sent an hour ago."""
    orders = [order for launch in service.line.launched for order in launch[1]]
    for order in orders:
        Supervisor(service, order).report("starting", "running", "succeeded")
    at = now() - timedelta(hours=1)
    with service.database.write() as session:
        for order in orders:
            session.execute(update(Attempt).where(Attempt.run_id == order.run).values(created_at=at))
            began, at = at, at + timedelta(seconds=seconds)
            session.execute(update(Run).where(Run.id == order.run).values(started_at=began, finished_at=at))


@ONE_KIND
def test_a_policy_is_set_read_and_refused(service):
    service.hello()
    assert service.get("/clusters/local/queue")["policy"]["order"] == "first-come"
    told = policy(service, "priority", ageing_minutes=30, max_waiting_runs=5)
    assert service.get("/clusters/local/queue")["policy"] == told
    assert (told["ageing_minutes"], told["half_life_hours"]) == (30, 24)
    put(service, "/clusters/absent/policy", {}, 404)
    fault = put(service, "/clusters/local/policy", {"order": "random"}, 422)["errors"][0]
    assert fault["pointer"] == "/order"
    service.hello()  # the agent's next word leaves it
    assert service.get("/clusters/local/queue")["policy"] == told


def test_the_scheduler_takes_the_highest_priority_and_it_may_change_while_waiting(service):
    service.hello()
    policy(service, "priority")
    first, second = submit(service, "first"), submit(service, "second")
    assert names(service) == ["first", "second"]
    assert put(service, f"/experiments/{second}/priority", {"priority": 5})["priority"] == 5
    assert names(service) == ["second", "first"]
    service.scheduler.look()
    assert [run["experiment_id"] for run in service.runs(state="dispatched")] == [second]
    put(service, f"/experiments/{second}/priority", {"priority": 500}, 422)
    took(service, 1)
    told = put(service, f"/experiments/{second}/priority", {"priority": 1}, 409)
    assert told["detail"] == "experiment 2 has ended: none of its runs wait"
    put(service, f"/experiments/{first}/priority", {"priority": -1})


@ONE_KIND
def test_an_experiment_may_be_submitted_with_a_priority(service):
    service.hello()
    made = service.client.post("/experiments?priority=7", json=SPEC | ALONE).json()
    assert (made["priority"], made["user"]) == (7, "owner")


@ONE_KIND
def test_fair_share_goes_by_what_users_have_used(service):
    service.hello()
    submit(service, "hers", "ada")
    service.scheduler.look()
    took(service, 60)
    policy(service, "fair-share")
    submit(service, "hers again", "ada")
    submit(service, "his", "bob")
    assert names(service) == ["his", "hers again"]
    service.scheduler.look()
    assert service.get("/clusters/local/queue")["active"][0]["user"] == "bob"


@ONE_KIND
def test_fair_share_counts_a_run_that_goes_on_by_what_it_has_taken(service):
    """What waits of Ada comes after that of Bob while her run goes on, as it does once it has ended."""
    service.hello()
    submit(service, "his first", "bob")
    service.scheduler.look()
    took(service, 100)
    policy(service, "fair-share")
    submit(service, "hers first", "ada")
    service.scheduler.look()
    supervisor = Supervisor(service, service.line.launched[-1][1][0])
    supervisor.report("starting", "running")
    began = now() - timedelta(seconds=115)
    with service.database.write() as session:
        session.execute(update(Attempt).where(Attempt.run_id == supervisor.order.run).values(created_at=began))
    submit(service, "hers", "ada")
    submit(service, "his", "bob")
    assert names(service) == ["his", "hers"]
    supervisor.report("succeeded")
    assert names(service) == ["his", "hers"]


@ONE_KIND
def test_shortest_service_goes_by_the_history_of_similar_runs(service):
    service.hello()
    submit(service, "long one", seeds=3)
    service.scheduler.look()
    took(service, 40)
    policy(service, "shortest-service")
    submit(service, "six", seeds=6)
    submit(service, "two", seeds=2)
    submit(service, "short budget", seeds=2, budget={"samples": 1000})
    assert names(service) == ["short budget", "two", "six"]
    entries = service.get("/clusters/local/queue")["entries"]
    assert entries[1]["run_seconds"] == pytest.approx(80, rel=0.1)
    assert entries[1]["likeness"] == "3 runs of the same workload, algorithm, ranks, cluster, budget and target"
    assert entries[0]["run_seconds"] == pytest.approx(8, rel=0.1)
    service.scheduler.look()
    assert {run["experiment_id"] for run in service.runs(state="dispatched")} == {entries[0]["experiment"]}


@ONE_KIND
def test_waiting_runs_know_position_reason_and_times(service):
    service.hello()
    submit(service, "known", seeds=2)
    service.scheduler.look()
    took(service, 40)
    active, waits, last = submit(service, "active", seeds=3), submit(service, "waits"), submit(service, "last")
    service.scheduler.look()
    (told,) = service.get(f"/experiments/{waits}")["waiting"]
    assert (told["position"], told["runs"], told["runs_ahead"]) == (1, 1, 0)
    assert told["reason"].startswith("the cluster is taken by experiment 2 until about ")
    starts = datetime.fromisoformat(told["starts"]["at"])
    assert 100 < (starts - datetime.now(UTC)).total_seconds() < 140, "three runs of 40 s, the first begins now"
    (after,) = service.get(f"/experiments/{last}")["waiting"]
    assert after["reason"] == "behind 1 experiment (1 run)"
    assert (
        after["starts"]["earliest"] < after["starts"]["at"] < after["starts"]["latest"] < after["ends"]["latest"]
    )
    listed = {item["id"]: item["waiting"] for item in service.get("/experiments")["items"]}
    assert [bool(listed[each]) for each in (active, waits, last)] == [False, True, True]
    turns = [run["waiting"] for run in service.runs(experiment=active)]
    assert [turn["reason"] for turn in turns] == [
        "sent to its cluster, which is starting it",
        "sent to its cluster, takes its turn after 1 run of its launch",
        "sent to its cluster, takes its turn after 2 runs of its launch",
    ]
    assert [turn["position"] for turn in turns] == [0, 0, 0]
    (occupies,) = service.get("/clusters/local/queue")["active"]
    assert (occupies["experiment"], occupies["runs"], occupies["sent"]) == (active, 3, 3)
    ends = [datetime.fromisoformat(turn["ends"]["at"]) for turn in turns]
    assert (ends[2] - ends[0]).total_seconds() == pytest.approx(80, rel=0.1)
    took(service, 1)
    assert [run["waiting"] for run in service.runs(experiment=active)] == [None] * 3


@ONE_KIND
def test_later_runs_of_an_experiment_wait_for_those_before_them(service):
    service.hello()
    submit(service, "known")
    service.scheduler.look()
    took(service, 40)
    waits = submit(service, "waits", seeds=3)
    with service.database.write() as session:
        session.execute(update(Cluster).values(seen_at=now() - timedelta(minutes=62)))
    told = [run["waiting"] for run in service.runs(experiment=waits)]
    assert told[0]["reason"].startswith("cluster offline since ")
    assert told[2]["reason"].endswith(", then 2 runs of its experiment")
    assert [each["runs_ahead"] for each in told] == [0, 1, 2]
    assert [each["starts"] for each in told] == [None] * 3
    service.hello()
    first, second, third = (service.run(run["id"])["waiting"] for run in service.runs(experiment=waits))
    assert (first["reason"], second["reason"]) == ("next to start", "next to start, then 1 run of its experiment")
    gap = datetime.fromisoformat(third["starts"]["at"]) - datetime.fromisoformat(first["starts"]["at"])
    assert gap.total_seconds() == pytest.approx(80, rel=0.1)


@ONE_KIND
def test_without_history_nothing_is_predicted(service):
    service.hello()
    submit(service, "active")
    service.scheduler.look()
    (told,) = service.get(f"/experiments/{submit(service, 'waits')}")["waiting"]
    assert "for an unknown time" in told["reason"]
    assert (told["starts"], told["ends"]) == (None, None)


@ONE_KIND
def test_too_many_waiting_runs_are_refused_before_anything_is_stored(service):
    service.hello()
    policy(service, max_waiting_runs=3)
    submit(service, "hers", "ada", seeds=3)
    submit(service, "mine", seeds=2)
    for path in ("/experiments/dry-run", "/experiments"):
        answer = service.client.post(path, json=SPEC)
        assert answer.status_code == 422
        (fault,) = answer.json()["errors"]
        assert fault["pointer"] == "/clusters/0"
        assert fault["message"].startswith(
            "owner has 2 waiting runs on local and may have 3; this experiment adds 4"
        )
    assert len(service.get("/experiments")["items"]) == 2


@ONE_KIND
def test_a_limit_of_active_runs_makes_launches_smaller(service):
    service.hello()
    policy(service, max_active_runs=2)
    submit(service, "three", seeds=3)
    service.scheduler.look()
    assert [len(launch[1]) for launch in service.line.launched] == [2]
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert (entry["begun"], entry["reason"]) == (True, "held: 2 runs of owner are active, the limit is 2")
    took(service, 1)
    service.scheduler.look()
    assert [len(launch[1]) for launch in service.line.launched] == [2, 1]


@ONE_KIND
@pytest.mark.parametrize("order", ["first-come", "priority", "fair-share", "shortest-service"])
def test_runs_of_an_experiment_stay_together_and_interleaved_over_seeds(service, order):
    """Launches of at most 3: a second experiment does not come between; every seed has both variants in turn."""
    service.hello()
    policy(service, order, max_active_runs=3)
    both = {"name": "local", "workers": [2], "seeds": 3}
    one = service.submit(clusters=[both])["id"]
    two = service.submit(name="two", clusters=[both | {"seeds": 1}])["id"]
    for _ in range(3):
        service.scheduler.look()
        took(service, 1)
    with service.database.read() as session:
        runs = {run.id: run for run in session.scalars(select(Run))}
    sent = [runs[order.run] for launch in service.line.launched for order in launch[1]]
    blocks = [run.experiment_id for run in sent]
    assert sorted(blocks, key=blocks.index) == blocks, "the second does not come between"
    assert set(blocks) == {one, two}
    of_one = [run for run in sent if run.experiment_id == one]
    assert [run.seed for run in of_one] == [0, 0, 1, 1, 2, 2]
    assert [run.variant for run in of_one] == ["sync", "original"] * 3


@ONE_KIND
def test_a_simulated_run_needs_the_whole_cluster(service):
    service.hello(cores=4)
    service.submit(clusters=[VIRTUAL])
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert entry["ranks"] == 4


def test_every_thread_of_a_worker_takes_a_slot(service):
    """Two workers, of which one has three threads, and a server: while they wait, and while they run."""
    service.hello(cores=8)
    threads = [{"kind": "hogwild-cpu", "threads": 3}, {"kind": "cpu"}]
    method = [{"name": "original", "algorithm": "original-easgd"}]
    service.submit(
        variants=method, baseline="original", clusters=[{"name": "local", "workers": threads, "seeds": 1}]
    )
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert entry["ranks"] == 5
    service.scheduler.look()
    (active,) = service.get("/clusters/local/queue")["active"]
    assert active["ranks"] == 5


def test_the_history_is_a_trace_that_can_be_replayed(service):
    from hooke_api.queue import trace

    service.hello()
    submit(service, "one", "ada", seeds=2)
    service.scheduler.look()
    took(service, 30)
    text = service.client.get("/clusters/local/trace.csv").text
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["job_id"], row["user"], row["cpu_num"]) == ("1", "ada", "4")
    (job,) = trace.read(text.splitlines()).jobs
    assert job.seconds == pytest.approx(60, abs=0.1)
    assert service.client.get("/clusters/absent/trace.csv").status_code == 404


def test_two_submissions_at_once_count_each_other(service):
    """The second one waits for the first, which has not been committed yet, and is then refused."""
    service.hello()
    policy(service, max_waiting_runs=3)
    submit(service, "first", seeds=2)
    with service.database.write() as session:
        session.execute(update(Run).values(state=RunState.SUCCEEDED))
    answers = []
    body = SPEC | ALONE | {"clusters": [{"name": "local", "workers": [2], "seeds": 2}]}
    second = threading.Thread(target=lambda: answers.append(service.client.post("/experiments", json=body)))
    with service.database.write() as session:
        check_limits(session, "owner", ["local"], Counter(local=2), lock=True)
        session.execute(update(Run).values(state=RunState.QUEUED))
        second.start()
        second.join(0.3)
        assert answers == []
    second.join()
    assert answers[0].status_code == 422
    assert "owner has 2 waiting runs" in answers[0].text


@ONE_KIND
def test_a_page_of_waiting_runs_takes_as_many_queries_for_many_experiments(service):
    service.hello()
    asked, taken = [], []
    event.listen(service.database.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    for more in (2, 5):
        for number in range(more):
            submit(service, f"{more} {number}", seeds=2)
        asked.clear()
        waiting = [run["waiting"]["runs_ahead"] for run in service.runs()]
        taken.append(sum(statement.startswith("SELECT") for statement in asked))
        assert sorted(waiting) == list(range(len(waiting)))
    assert taken[0] == taken[1]
