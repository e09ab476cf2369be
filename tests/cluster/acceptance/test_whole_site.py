"""The whole way from REST over Redis, agent, supervisor, mpirun and ranks to the journal and back, and kill -9."""

import os
import signal
import sqlite3
from contextlib import closing

import pytest
from hooke.cluster import broker
from hooke.cluster.lock import holder
from hooke.cluster.processes import children, members
from hooke.spec.journal import records, unpack
from hooke.spec.orders import BrokerOrder

from tests.cluster.acceptance.installation import PATIENT, comparison
from tests.cluster.bench import Tree, kill9
from tests.waiting import wait_for

pytestmark = pytest.mark.needs("redis")

ENDLESS = 10**9


def states(run):
    return [change["state"] for change in run["history"]]


def test_kill_of_every_kind_of_process_of_a_run(site):
    """One experiment, one seed for each victim: the next run starts when the one before has ended."""
    victims = ["rank 0", "rank 1", "mpirun", "hydra_pmi_proxy"]
    endless = comparison(ENDLESS, seeds=len(victims), workload=PATIENT)
    runs = site.submit(endless | {"retry": {"attempts": 1}})
    for run, victim in zip(runs, victims, strict=True):
        site.wait_training(run)
        tree = Tree(site.supervisor(run))
        kill9(
            {"mpirun": tree.mpirun, "hydra_pmi_proxy": tree.proxy, "rank 0": tree.ranks[0]}.get(
                victim, tree.ranks[1]
            )
        )
        ended = site.wait_state(run, "failed_infra")
        site.assert_nothing_left(run)
        last = ended["history"][-1]
        assert victim in last["why"], last
        assert last["who"] == "supervisor"
        if victim.startswith("rank"):
            assert (last["rank"], last["signal"]) == (int(victim[-1]), signal.SIGKILL)
            assert last["host"] == os.uname().nodename
        site.assert_complete(run)
        assert ended["attempt"] == 1


def test_the_api_is_killed_in_mid_run(site):
    (run,) = site.submit(comparison(ENDLESS, workload=PATIENT))
    site.wait_training(run)
    site.kill("api")
    journal = site.home.attempt(run, 1).journal(0)
    before = journal.stat().st_size
    wait_for(lambda: "ConnectError" in supervisor_log(site, run), "a delivery that failed")
    wait_for(lambda: journal.stat().st_size > before, "training to go on")
    site.start_api()
    wait_for(site.online, "the API")
    written = steps_written(site, run)
    wait_for(lambda: site.run(run)["phases"][0]["steps"] > written, "what was written meanwhile")
    site.client.post(f"/runs/{run}/cancel")
    ended = site.wait_state(run, "cancelled")
    assert states(ended) == ["queued", "dispatched", "starting", "running", "cancelled"]
    assert ended["attempt"] == 1
    assert not site.home.attempt(run, 2).path.exists(), "a second attempt"
    site.assert_complete(run)
    site.assert_nothing_left(run)


def test_the_agent_is_killed_the_message_comes_twice_and_cancel_leaves_nothing(site):
    (run,) = site.submit(comparison(ENDLESS, workload=PATIENT))
    site.wait_training(run)
    supervisor = site.supervisor(run)
    mpirun = Tree(supervisor).mpirun
    site.kill("agent")

    order = launch_order(site, run)
    line = broker.Orders(broker.make_app(site.environment["HOOKE_REDIS_URL"]))
    line.send("local", "launch", order)
    site.start_agent()
    line.send("local", "launch", order)
    line.send("local", "probe", order)
    refused = f"order {order.id} is refused: order {order.id} (launch {run}.1) is not wanted any more"
    wait_for(lambda: (site.path / "agent.log").read_text().count(refused) == 3, "the end of all three messages")

    shown = site.run(run)["phases"][0]["steps"]
    wait_for(lambda: site.run(run)["phases"][0]["steps"] > shown, "the run to go on")
    assert site.supervisor(run) == supervisor
    assert [child.pid for child in children(supervisor, "mpirun")] == [mpirun]

    assert site.client.post(f"/runs/{run}/cancel").status_code == 202
    ended = site.wait_state(run, "cancelled")
    site.assert_nothing_left(run)
    assert states(ended) == ["queued", "dispatched", "starting", "running", "cancelled"]
    site.assert_complete(run)
    wait_for(lambda: holder(site.home.attempt(run, 1).lock) is None, "its supervisor to leave")


def supervisor_log(site, run):
    return site.home.job(site.home.attempt(run, 1).job.read_text()).supervisor_log.read_text()


def steps_written(site, run):
    return sum(r.n for r in records(site.home.attempt(run, 1).journal(0)) if r.kind == "steps")


def launch_order(site, run):
    """Return the order that the API sent, as the broker carried it."""
    with closing(sqlite3.connect(site.home.path / "hooke.db")) as database:
        query = "SELECT id, agent FROM agent_orders WHERE kind = 'launch' AND subject = ?"
        id, agent = database.execute(query, (f"{run}.1",)).fetchone()
    return BrokerOrder(id=id, agent=agent, made=1.0)


def test_the_supervisor_is_killed_and_the_next_attempt_goes_on_from_the_checkpoint(site):
    """Its lease runs out, the API asks, and the agent has somebody end and report what was left."""
    retry = {"backoff_seconds": 0}
    (run,) = site.submit(comparison(ENDLESS, workload=PATIENT) | {"checkpoint_every": 5_000, "retry": retry})
    site.wait_training(run)
    wait_for(lambda: any(each["ranks"] == 2 for each in site.run(run)["checkpoints"]), "a checkpoint")
    kept = max(each["samples"] for each in site.run(run)["checkpoints"] if each["ranks"] == 2)
    kill9(site.supervisor(run))
    wait_for(lambda: site.run(run)["attempt"] == 2, "the next attempt")
    assert members([f"{run}.1"]) == []
    site.wait_training(run)
    assert site.run(run)["samples"] >= kept
    first = next(records(site.home.attempt(run, 2).journal(0)))
    assert first.restored_step >= kept // 64 > 0
    site.client.post(f"/runs/{run}/cancel")
    ended = site.wait_state(run, "cancelled")
    assert "lost" in states(ended)
    (again,) = (each for each in ended["history"] if each["state"] == "queued" and each["attempt"] == 2)
    assert (again["who"], again["cause"]) == ("supervisor", "infrastructure")
    assert "supervisor died" in again["why"]
    site.assert_nothing_left(run)
    assert all(site.home.attempt(run, number).delivered.exists() for number in (1, 2)), "all has arrived"
    written = [record for record in records(site.home.attempt(run, 2).journal(0)) if record.kind == "steps"]
    assert ended["phases"][0]["steps"] == unpack("step", written[-1].columns["step"])[-1]


def test_virtual_runs_share_a_process_and_one_of_them_is_cancelled(site):
    runs = site.submit(comparison(40_000, seeds=3, virtual=True, workers=4))
    site.wait_state(runs[0], "running")
    assert site.client.post(f"/runs/{runs[2]}/cancel").status_code == 202
    ended = [site.wait_state(run, "succeeded", "cancelled") for run in runs]
    assert [run["state"] for run in ended] == ["succeeded", "succeeded", "cancelled"]
    jobs = {site.home.attempt(run, 1).job.read_text() for run in runs}
    assert len(jobs) == 1
    for run in runs[:2]:
        site.assert_complete(run)
    site.assert_nothing_left(*runs)


def test_the_agent_ends_promptly_when_asked(site):
    site.kill("agent", signal.SIGTERM)
    assert site.processes["agent"].returncode == 0, (site.path / "agent.log").read_text()[-6000:]
    site.start_agent()
