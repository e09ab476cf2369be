"""A server, a Slurm, and the agent that joins them: `hooke agent --config` with the launcher `slurm`."""

import os
import signal
import subprocess

import pytest
import yaml
from hooke_api.local.instance import runtime_folder

from tests.api.databases import sqlite_template  # fixtures count where they are imported
from tests.e2e.instances import HOOKE, QUICK, Running, processes, runs, submit
from tests.waiting import LIMIT, free_port, wait_for

COMPARISON = QUICK | {
    "schema": "hooke.experiment/1",
    "variants": [
        {"name": "Sync SGD", "algorithm": "sync-sgd"},
        {"name": "Local SGD", "algorithm": "local-sgd", "parameters": {"period": 8}},
    ],
    "clusters": [{"name": "local", "workers": [2], "seeds": 2}],
}
CONFIG = """
cluster = "hpc"
api = "{url}"
broker = "unix://{socket}"
token_file = "hpc.token"
home = "agent"

[launcher]
kind = "slurm"
slots = 4
partition = "main"
"""

__all__ = ["sqlite_template"]
pytestmark = pytest.mark.needs("redis")


class Server:
    """`hooke up`, an agent on a host of Slurm, and a user at a terminal."""

    def __init__(self, folder, environment, database):
        self.folder, self.agent, self.client = folder, None, None
        self.up = Running(folder / "server", "up", port=free_port(), database=database)
        try:
            self.client = self.up.ready()
            self.environment = environment | {"HOOKE_API": self.up.url, "HOOKE_TOKEN": self.up.token}
            self.hooke("clusters", "token", "hpc", "--out", "hpc.token")
            socket = runtime_folder(self.up.home) / "redis.sock"
            (folder / "agent.toml").write_text(CONFIG.format(url=self.up.url, socket=socket))
            self.join()
            wait_for(self.online, lambda: f"the cluster: {self.said()}")
        except BaseException:
            self.close()
            raise

    def hooke(self, *arguments):
        """Run a command of the user; return what it printed."""
        done = subprocess.run(
            [HOOKE, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=LIMIT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout, done.stderr, self.said())
        return done.stdout

    def join(self):
        """Start the agent."""
        with (self.folder / "agent.out").open("ab") as output:
            command = [HOOKE, "agent", "--config", str(self.folder / "agent.toml")]
            self.agent = subprocess.Popen(command, env=self.environment, stdout=output, stderr=output)

    def online(self):
        found = self.client.get("/clusters").raise_for_status().json()["items"]
        return any(each["name"] == "hpc" and each["online"] for each in found)

    def said(self):
        return (self.folder / "agent.out").read_text() if self.agent else self.up.said()

    def close(self):
        if self.agent is not None:
            self.agent.terminate()
            self.agent.wait(LIMIT)
        if self.client is not None:
            self.client.close()
        self.up.stop()
        self.up.sweep()
        for pid in processes(self.folder / "agent"):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def server(slurm, tmp_path_factory, sqlite_template):
    kept = {name: value for name, value in slurm.environment.items() if not name.startswith("HOOKE_")}
    server = Server(tmp_path_factory.mktemp("site"), kept, sqlite_template)
    yield server
    server.close()


def told(server, experiment):
    """Return every reason that REST gives for the states of an experiment's runs."""
    return [
        change["why"]
        for run in runs(server.client, experiment)
        for change in server.client.get(f"/runs/{run['id']}").raise_for_status().json()["history"]
    ]


def test_a_comparison_waits_in_slurms_queue_with_its_reason_and_gets_its_verdict(server, on_slurm):
    on_slurm.ask("scontrol", "update", f"nodename={on_slurm.node}", "state=drain", "reason=maintenance")
    (server.folder / "spec.yaml").write_text(yaml.safe_dump(COMPARISON))
    command = [HOOKE, "submit", "spec.yaml", "--cluster", "hpc", "--wait"]
    with subprocess.Popen(
        command,
        cwd=server.folder,
        env=server.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        experiment = waiting.stdout.readline().strip().rpartition("/")[2]
        wait_for(
            lambda: any("PENDING" in why and "DRAINED" in why for why in told(server, experiment)),
            lambda: f"Slurm's reason: {told(server, experiment)}, {server.said()}",
        )
        assert "starting" in {run["state"] for run in runs(server.client, experiment)}
        on_slurm.ask("scontrol", "update", f"nodename={on_slurm.node}", "state=resume")
        verdict, counts = waiting.communicate(timeout=LIMIT)
    assert waiting.returncode == 0, (verdict, counts, told(server, experiment), server.said())
    assert "Local SGD" in verdict and "Sync SGD" in verdict, verdict
    ended = runs(server.client, experiment)
    assert [(run["state"], run["cluster"]) for run in ended] == [("succeeded", "hpc")] * 4


def test_a_cancelled_run_leaves_the_queue_and_a_new_agent_finds_the_job_of_the_old_one(server, on_slurm):
    experiment = submit(server.client, COMPARISON | {
        "clusters": [{"name": "hpc", "workers": [2], "seeds": 1}], "budget": {"samples": 10**9}, "target": None,
        "evaluation": {"every": 10**6}, "variants": COMPARISON["variants"][:1],
    })  # fmt: skip
    running = wait_for(
        lambda: next((run for run in runs(server.client, experiment) if run["samples"] > 0), None), "samples"
    )
    server.agent.kill()
    server.agent.wait()
    server.join()
    wait_for(server.online, lambda: f"the cluster: {server.said()}")
    assert server.client.post(f"/runs/{running['id']}/cancel").status_code == 202
    wait_for(
        lambda: server.client.get(f"/runs/{running['id']}").json()["state"] == "cancelled",
        lambda: f"the end: {told(server, experiment)}",
    )
    states = [state for _, state in on_slurm.jobs(f"hooke.{running['id']}.1")]
    assert len(states) == 1 and states[0] != "RUNNING", "one job, and it has ended"
