"""The queue, leases and attempts: what goes where, when, and how often."""

import threading
import time
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from hooke_api.models import Attempt, Cluster, Event, Leader, Run, now
from hooke_api.scheduling import leases
from hooke_api.scheduling.scheduler import PAUSE, TRIM_SECONDS, Leadership, Scheduler
from hooke_api.storage.database import Database
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor, scored, start, steps
from tests.api.test_experiments import VIRTUAL
from tests.api.test_ingest import rank, series
from tests.waiting import LIMIT, wait_for


def states(service):
    return [run["state"] for run in sorted(service.runs(), key=lambda run: run["id"])]


def set_attempts(service, **values):
    with service.database.write() as session:
        session.execute(update(Attempt).values(**values))


def expire(service):
    """Let every lease run out, with an API that has been up long enough."""
    set_attempts(service, leased_until=now() - timedelta(seconds=1))
    service.scheduler.up_since = time.monotonic() - 10 * service.settings.lease_seconds
    service.scheduler.look()


def end_pauses(service):
    """Let the pauses before further attempts be over."""
    with service.database.write() as session:
        session.execute(update(Run).values(not_before=None))


def test_real_runs_go_out_by_experiment_in_order(service):
    service.submit()
    service.submit(name="younger")
    order = sorted(run["id"] for run in service.runs())
    for _ in range(2):
        service.scheduler.look()
        for launched in service.line.launched[-1][1]:
            for _ in range(3):
                service.scheduler.look()  # nothing else goes to a cluster that is taken
            Supervisor(service, launched).report("starting", "running", "succeeded")
    assert [launched.run for launch in service.line.launched for launched in launch[1]] == order
    assert [len(launch[1]) for launch in service.line.launched] == [4, 4]
    assert states(service) == ["succeeded"] * 8


@ONE_KIND
def test_real_and_virtual_runs_do_not_go_out_together(service):
    service.submit(clusters=[VIRTUAL, {"name": "local", "workers": [2], "seeds": 1}])
    service.scheduler.look()
    ((_, orders),) = service.line.launched
    assert {order.spec["world"] for order in orders} == {"virtual"}
    for order in orders:
        Supervisor(service, order).report("starting", "running", "succeeded")
    service.scheduler.look()
    assert {order.spec["world"] for order in service.line.launched[1][1]} == {"mpi"}


@ONE_KIND
def test_virtual_runs_of_an_experiment_go_out_together(service):
    service.submit(clusters=[VIRTUAL | {"seeds": 40}])
    service.submit(name="younger", clusters=[VIRTUAL])
    service.scheduler.look()
    ((cluster, orders),) = service.line.launched
    assert (cluster, len(orders)) == ("local", 64)
    assert all(order.spec["world"] == "virtual" for order in orders)
    assert len({order.token for order in orders}) == 64
    service.scheduler.look()
    assert len(service.line.launched) == 1
    for order in orders:
        Supervisor(service, order).report("starting", "running", "succeeded")
    service.scheduler.look()
    assert len(service.line.launched[1][1]) == 16  # the rest of the same experiment


def test_clusters_do_not_wait_for_each_other(service):
    service.hello("one")
    service.hello("two")
    service.submit(clusters=[{"name": n, "workers": [2], "seeds": 1} for n in ("one", "two")])
    service.scheduler.look()
    assert sorted(cluster for cluster, _ in service.line.launched) == ["one", "two"]


@ONE_KIND
def test_an_offline_cluster_gets_nothing(service):
    service.submit()
    with service.database.write() as session:
        session.execute(update(Cluster).values(seen_at=now() - timedelta(seconds=41)))
    service.scheduler.look()
    assert service.line.launched == []
    assert service.get("/clusters")["items"][0]["online"] is False
    service.hello()
    service.scheduler.look()
    assert len(service.line.launched) == 1


def test_busy_slots(service):
    service.hello(cores=4)
    service.submit()
    service.scheduler.look()
    assert service.get("/clusters")["items"][0]["busy"] == 3, "two workers and a server, not a sum over runs"
    for order in service.line.launched[0][1]:
        Supervisor(service, order).report("starting", "running", "succeeded")
    assert service.get("/clusters")["items"][0]["busy"] == 0


@pytest.fixture
def later(monkeypatch):
    """Return a function that moves the scheduler's clock on."""
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    monkeypatch.setattr("hooke_api.scheduling.scheduler.time", clock)
    return lambda seconds: passed.__setitem__(0, passed[0] + seconds)


def test_an_order_that_could_not_be_sent_is_sent_later(service, later):
    service.submit()
    service.line.down = True
    service.scheduler.look()
    assert states(service)[0] == "dispatched"  # written down: the queue does not depend on Redis
    service.line.down = False
    service.scheduler.look()
    assert service.line.launched == []  # a pause, so that a line that is down is not asked all the time
    later(PAUSE)
    service.scheduler.look()
    assert len(service.line.launched) == 1


@ONE_KIND
def test_a_dispatched_run_that_does_not_start_is_sent_again(service):
    supervisor = service.launch()
    service.scheduler.look()
    assert len(service.line.launched) == 1
    set_attempts(service, sent_at=now() - timedelta(seconds=21))
    service.scheduler.look()
    first, again = (launch[1][0] for launch in service.line.launched)
    assert first == again.model_copy(update={"token": first.token})  # the same attempt
    supervisor.report("starting")
    set_attempts(service, sent_at=now() - timedelta(seconds=21))
    service.scheduler.look()
    assert len(service.line.launched) == 2


@ONE_KIND
def test_one_that_waits_with_a_lease_is_not_sent_again(service):
    service.submit(clusters=[VIRTUAL])
    service.scheduler.look()
    for order in service.line.launched[0][1]:
        Supervisor(service, order).send()  # a supervisor has it, and has not begun it
    set_attempts(service, sent_at=now() - timedelta(seconds=21))
    service.scheduler.look()
    assert len(service.line.launched) == 1
    assert set(states(service)) == {"dispatched"}


@ONE_KIND
def test_silence_makes_a_run_lost_and_a_word_brings_it_back(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    expire(service)
    assert states(service)[0] == "lost"
    assert service.line.probed == [("local", supervisor.id, 1)]
    assert len(service.line.launched) == 1  # no second attempt
    service.prove(supervisor.id, 1, alive=True)
    assert states(service)[0] == "lost"
    supervisor.send(rank(0, start(), steps(1)))
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"]) == ("running", 1)
    assert [t["state"] for t in run["history"]][-3:] == ["running", "lost", "running"]


def test_one_lost_before_it_ran_comes_back_as_starting(service):
    supervisor = service.launch()
    supervisor.report("starting")
    expire(service)
    assert states(service)[0] == "lost"
    supervisor.send()
    assert states(service)[0] == "starting"


@ONE_KIND
def test_nothing_expires_until_the_api_was_up_for_a_lease(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    set_attempts(service, leased_until=now() - timedelta(seconds=60))
    service.scheduler.look()  # an API that was just started after a minute away
    assert states(service)[0] == "running"
    supervisor.send()
    expire_all = replace(service)  # another scheduler, up for longer; the lease was renewed meanwhile
    expire_all.scheduler.up_since = time.monotonic() - 1000
    expire_all.scheduler.leadership = service.scheduler.leadership
    expire_all.scheduler.look()
    assert states(service)[0] == "running"


@ONE_KIND
def test_proven_death_starts_the_next_attempt_and_fences_the_old_one(service):
    old = service.launch()
    old.report("starting", "running")
    old.send(rank(0, start(), steps(1), scored(2, 256, 0.95, reached=True)))
    expire(service)
    service.prove(old.id, 1, alive=False, why="no process is left")
    run = service.run(old.id)
    assert (run["state"], run["attempt"], run["samples"], run["accuracy"]) == ("queued", 2, 0, None)
    assert run["time_to_target"] is None
    end_pauses(service)
    new = service.next()
    assert (new.id, new.order.attempt) == (old.id, 2)
    assert new.order.token != old.order.token
    new.report("starting", "running")
    late = old.send(rank(0, steps(3, first=5)))  # a journal that was found on disk afterwards
    assert (late.fenced, late.acknowledged) == (True, {0: 3})
    assert series(service, old.id, 0, "step", attempt=1) == [list(range(1, 9))]
    old.report("failed_infra")
    run = service.run(old.id)
    assert (run["state"], run["attempt"], run["samples"]) == ("running", 2, 0)
    new.send(rank(0, start(), steps(1, n=1)))
    assert service.run(new.id)["samples"] == 64
    assert not new.send().fenced


@ONE_KIND
def test_attempts_are_not_endless(service):
    for attempt in (1, 2, 3):
        end_pauses(service)
        supervisor = service.next() if attempt > 1 else service.launch()
        supervisor.report("starting", "running")
        expire(service)
        service.prove(supervisor.id, attempt, alive=False, why="gone")
    run = service.run(supervisor.id)
    assert run["state"] == "failed_infra"
    assert "it died: gone; there is no further attempt: 3 of 3 have failed" in run["history"][-1]["why"]


def test_proof_without_an_expired_lease(service):
    """An agent that finds a dead supervisor need not wait for the lease."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.prove(supervisor.id, 1, alive=False)
    run = service.run(supervisor.id)
    assert (run["state"], run["attempt"]) == ("queued", 2)
    assert [t["state"] for t in run["history"]][-2:] == ["lost", "queued"]


@ONE_KIND
def test_proofs_that_say_nothing_new(service):
    supervisor = service.launch()
    supervisor.report("starting", "running", "succeeded")
    service.prove(supervisor.id, 1, alive=False)
    service.prove(supervisor.id, 7, alive=False)
    service.prove("run_unknown", 1, alive=False)
    assert states(service)[0] == "succeeded"
    queued = service.submit(name="younger")["id"]
    queued = service.runs(experiment=queued)[0]["id"]
    service.prove(queued, 1, alive=False)
    assert service.run(queued)["state"] == "queued"


@ONE_KIND
def test_a_lost_run_that_was_to_end_is_cancelled_by_proof(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    service.client.post(f"/runs/{supervisor.id}/cancel")
    expire(service)
    service.prove(supervisor.id, 1, alive=False)
    assert service.run(supervisor.id)["state"] == "cancelled"


def test_agents_are_asked_again_until_they_answer(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    expire(service)
    service.scheduler.look()
    assert len(service.line.probed) == 1
    set_attempts(service, asked_at=now() - timedelta(seconds=11))
    service.scheduler.look()
    assert len(service.line.probed) == 2


def test_one_process_leads(database, settings, monkeypatch):
    other = Database(settings.url)
    first, second = Leadership(database, timedelta(seconds=9)), Leadership(other, timedelta(seconds=9))
    assert first.hold()
    assert first.hold()
    assert not second.hold()
    with database.write() as session:  # the first stops renewing
        session.execute(update(Leader).values(until=now() - timedelta(seconds=1)))
    assert second.hold()
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + 4)
    monkeypatch.setattr("hooke_api.scheduling.leader.time", later)
    assert not first.hold(), "it is time to renew, and the row is another's"
    second.give_back()
    assert first.hold()
    other.close()


def test_two_schedulers_send_each_run_once(service):
    service.submit(clusters=[{"name": "local", "workers": [2], "seeds": 1}])
    schedulers = [
        service.scheduler,
        *(
            Scheduler(service.database, service.app.state.bus, service.settings, lambda _: service.line)
            for _ in "ab"
        ),
    ]
    for scheduler in schedulers:
        scheduler.leadership.hold = lambda: True  # even if the row were lost: compare-and-set holds
    threads = [threading.Thread(target=scheduler.look) for scheduler in schedulers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.count(Attempt) == 2
    assert states(service) == ["dispatched", "dispatched"]


def test_old_events_are_forgotten(service, later):
    supervisor = service.launch()
    for seq in range(1, 8):
        supervisor.send(rank(0, *([start()] if seq == 1 else []), steps(seq)))
    service.scheduler.settings = service.settings.model_copy(update={"events_kept": 3})
    later(TRIM_SECONDS)
    service.scheduler.look()
    with service.database.read() as session:
        positions = session.scalars(select(Event.position).order_by(Event.position)).all()
    assert len(positions) in (3, 4)
    assert positions == list(range(positions[0], positions[0] + len(positions)))


def test_the_thread_survives_a_failing_look(service, monkeypatch):
    scheduler = Scheduler(
        service.database,
        service.app.state.bus,
        service.settings.model_copy(update={"schedule_seconds": 0.01}),
        lambda _: service.line,
    )
    looked = threading.Semaphore(0)
    real = leases.due

    def look():
        looked.release()
        raise ConnectionError("database away")

    monkeypatch.setattr(scheduler, "look", look)
    scheduler.start()
    for _ in range(3):
        assert looked.acquire(timeout=LIMIT)
    monkeypatch.undo()
    service.submit()
    wait_for(lambda: service.line.launched, "an order")
    scheduler.stop()
    assert not scheduler.is_alive()
    assert len(service.line.launched) == 1
    assert leases.due is real


@pytest.mark.parametrize("states_seen", [("starting",), pytest.param(("starting", "running"), marks=ONE_KIND)])
def test_a_batch_member_that_ends_frees_nothing_until_all_have(service, states_seen):
    service.submit(clusters=[VIRTUAL | {"seeds": 1}])
    service.submit(name="mpi")
    service.scheduler.look()
    orders = service.line.launched[0][1]
    members = [Supervisor(service, order) for order in orders]
    for member in members:
        member.report(*states_seen)
    members[0].report("running", "succeeded")
    service.scheduler.look()
    assert len(service.line.launched) == 1
    members[1].report("running", "succeeded")
    service.scheduler.look()
    assert len(service.line.launched) == 2
    with service.database.read() as session:
        assert session.scalar(select(Run.simulated).where(Run.id == service.line.launched[1][1][0].run)) is False
