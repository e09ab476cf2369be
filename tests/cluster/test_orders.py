"""What an agent does when told, without Celery: every order may come twice, or at once, or after a death."""

import os
import threading

import psutil
import pytest
from hooke.cluster import orders
from hooke.cluster.job import Job
from hooke.cluster.lock import held, holder
from hooke.cluster.places import write_atomically
from hooke.cluster.processes import children
from hooke.errors import NotFound
from hooke.spec.orders import LaunchOrder

from tests.cluster.bench import FAST, PROGRAM, kill9, spec
from tests.waiting import wait_for


@pytest.fixture
def agent(bench, monkeypatch):
    """Return a Bench whose orders start the rank program of the tests, with little patience."""
    real = orders._make_job

    def make_job(*given):
        folder = real(*given)
        job = Job.model_validate_json(folder.description.read_text())
        program = ("-m", "mpi4py", PROGRAM, "--steps", str(bench.steps))
        changed = job.model_copy(update={"program": program, "timing": FAST})
        write_atomically(folder.description, changed.model_dump_json())
        return folder

    monkeypatch.setattr(orders, "_make_job", make_job)
    bench.steps = 100_000
    yield bench
    for attempt in bench.home.attempts():
        if (pid := holder(attempt.lock)) is not None:
            kill9(pid)
            wait_for(lambda path=attempt.lock: not held(path), "the end of a supervisor")


def order(bench, run, **more):
    bench.api.tokens[run, 1] = f"secret-{run}"
    bench.ids.add(f"{run}.1")
    return LaunchOrder(run=run, attempt=1, token=f"secret-{run}", spec=spec(**more))


def launch(bench, *given):
    orders.launch(bench.home, bench.api.url, given)


def delivered(bench, run):
    wait_for(bench.folder(run).delivered.exists, "delivery")


def mpiruns(bench, run):
    supervisor = holder(bench.folder(run).lock)
    return [child.pid for child in children(supervisor, "mpirun")]


def test_the_same_order_from_many_threads_starts_one_supervisor(agent):
    run = agent.run_name()
    given = order(agent, run)
    threads = [threading.Thread(target=launch, args=(agent, given)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agent.running(run)
    launch(agent, given)
    assert len(mpiruns(agent, run)) == 1
    assert len(list(agent.home.path.glob("jobs/*"))) == 1
    orders.cancel(agent.home, agent.api.url, run, 1)
    delivered(agent, run)
    launch(agent, given)  # a message from long ago
    assert agent.api.states(run) == ["starting", "running", "cancelled"]


def test_a_supervisor_outlives_whoever_started_it(agent):
    run = agent.run_name()
    launch(agent, order(agent, run))
    agent.running(run)
    supervisor = holder(agent.folder(run).lock)
    assert psutil.Process(supervisor).ppid() != os.getpid()
    assert os.getsid(supervisor) != os.getsid(0)
    orders.cancel(agent.home, agent.api.url, run, 1)
    delivered(agent, run)


def test_cancel_before_launch_is_remembered(agent):
    run = agent.run_name()
    orders.cancel(agent.home, agent.api.url, run, 1)
    launch(agent, order(agent, run))
    delivered(agent, run)
    assert agent.api.states(run) == ["starting", "cancelled"]


def test_a_probe_tells_life_from_death_and_the_dead_stay_dead(agent):
    def prove(run):
        return orders.prove(agent.home, agent.api.url, run, 1)

    unknown = agent.run_name()
    assert not prove(unknown).alive
    launch(agent, order(agent, unknown))  # the order was late
    delivered(agent, unknown)
    assert agent.api.states(unknown) == ["starting", "failed_infra"]

    run = agent.run_name()
    launch(agent, order(agent, run))
    agent.running(run)
    assert prove(run).alive
    kill9(holder(agent.folder(run).lock))
    wait_for(lambda: not held(agent.folder(run).lock), "the end of the supervisor")
    found = prove(run)
    assert found.alive
    assert "a new one ends it" in found.why
    delivered(agent, run)
    assert agent.api.states(run) == ["starting", "running", "failed_infra"]
    agent.assert_complete(run)
    wait_for(lambda: not held(agent.folder(run).lock), "the end of the supervisor")
    assert not prove(run).alive


def test_a_starting_agent_takes_over_what_was_left_at_a_new_address(agent):
    agent.steps = 10
    run, owned = agent.run_name(), agent.run_name()
    agent.api.down()
    launch(agent, order(agent, run))
    wait_for(agent.folder(run).exit(0).exists, "the end of rank 0")
    kill9(holder(agent.folder(run).lock))
    wait_for(lambda: not held(agent.folder(run).lock), "the end of the supervisor")
    agent.api.port = 0
    agent.api.up()  # at another port
    agent.steps = 100_000
    launch(agent, order(agent, owned))
    agent.running(owned)
    before = holder(agent.folder(owned).lock)
    damaged = agent.home.job("0-damaged")  # the first one, and no other is kept from its supervisor by it
    damaged.path.mkdir()
    damaged.description.write_text("{")
    assert len(orders.recover(agent.home, agent.api.url)) == 1
    delivered(agent, run)
    assert agent.api.end(run).state in ("succeeded", "failed_infra")
    agent.assert_complete(run)
    assert holder(agent.folder(owned).lock) == before
    wait_for(lambda: not held(agent.folder(run).lock), "the end of the supervisor")
    assert orders.recover(agent.home, agent.api.url) == []


def test_names_from_a_message_cannot_leave_the_home(agent):
    with pytest.raises(NotFound):
        orders.cancel(agent.home, agent.api.url, "../../etc", 1)
    with pytest.raises(NotFound):
        launch(agent, LaunchOrder(run="..", attempt=1, token="x", spec={}))
    assert not agent.home.path.exists()
