"""A whole site of real processes (Redis, API, agent), each of which a test may kill, and what is left of it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
from hooke.cluster.lock import held, holder
from hooke.cluster.places import Home
from hooke.cluster.processes import members, sweep
from hooke.spec.journal import records, unpack

from tests import warm_ranks
from tests.waiting import LIMIT, free_port, wait_for

LEASE = 12.0
"""Short, so that a dead supervisor is missed soon; a living one is heard every 5 s, after an outage within 8 s."""

PATIENT = "patient"
"""A workload of these tests for runs that go on while others are killed: they would take all cores else."""


def comparison(samples, *, seeds=1, virtual=False, algorithm="sync-sgd", workers=2, workload="digits-mlp"):
    """Return an ExperimentSpec of `seeds` runs."""
    cluster = {"name": "local", "workers": [workers], "seeds": seeds}
    if virtual:
        cluster |= {"name": "10gbe", "computed_on": "local", "virtual": {}}
    return {
        "name": "acceptance",
        "workload": {"name": workload},
        "variants": [{"name": "it", "algorithm": algorithm}],
        "baseline": "it",
        "clusters": [cluster],
        "budget": {"samples": samples},
        "evaluation": {"every": max(1000, samples // 1000)},
    }


class Site:
    """Redis on a socket, the API on SQLite, one agent called `local`."""

    def __init__(self, path, redis_server, database):
        self.path = path
        self.home = Home(path / "home")
        self.home.path.mkdir(parents=True)
        shutil.copy(database, self.home.path / "hooke.db")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        self.environment = kept | {
            "HOOKE_HOME": str(self.home.path),
            "HOOKE_PORT": str(self.port),
            "HOOKE_REDIS_URL": f"unix://{path}/redis.sock",
            "HOOKE_LEASE_SECONDS": str(LEASE),
            "HOOKE_PROBE_SECONDS": "1",
            "HOOKE_PATH": str(Path(__file__).with_name("own")),
        }
        self.environment |= warm_ranks.environment()
        self.processes = {}
        options = ["--port", "0", "--unixsocket", f"{path}/redis.sock", "--save", "", "--dir", str(path)]
        self.start("redis", [redis_server, *options])
        self.start_api()
        wait_for((self.home.path / "agent-token").exists, "the agents' token")
        self.start_agent()
        self.client = httpx.Client(base_url=f"{self.url}/api/v1", timeout=LIMIT, trust_env=False)
        self.client.headers["authorization"] = f"Bearer {(self.home.path / 'token').read_text().strip()}"
        wait_for(self.online, "the cluster to be online")

    def start(self, name, command):
        with (self.path / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)

    def start_api(self):
        self.start("api", [sys.executable, "-m", "hooke_api"])

    def start_agent(self):
        arguments = ["--cluster", "local", "--api", self.url, "--home", str(self.home.path)]
        token = ["--token-file", str(self.home.path / "agent-token")]
        self.start("agent", [sys.executable, "-m", "hooke.cluster.agent", *arguments, *token])

    def kill(self, name, number=signal.SIGKILL):
        process = self.processes[name]
        process.send_signal(number)
        return process.wait(LIMIT)

    def online(self):
        try:
            found = self.client.get("/clusters").json()["items"]
        except httpx.HTTPError:
            return False
        return any(cluster["online"] for cluster in found)

    def submit(self, document):
        """Create an experiment; return the ids of its runs in order."""
        answer = self.client.post("/experiments", json=document)
        assert answer.status_code == 201, answer.text
        page = self.client.get("/runs", params={"experiment": answer.json()["id"], "limit": 50}).json()
        return [run["id"] for run in sorted(page["items"], key=lambda run: run["number"])]

    def run(self, run):
        return self.client.get(f"/runs/{run}").raise_for_status().json()

    def wait_state(self, run, *states):
        def reached():
            found = self.run(run)
            return found if found["state"] in states else None

        return wait_for(reached, lambda: f"{run} to be {states}: {self.run(run)['history']}\n{self.logs()}")

    def wait_training(self, run, steps=20):
        """Wait until the API shows that every rank of a run has made steps."""
        self.wait_state(run, "running")

        def trained():
            phases = self.run(run)["phases"]
            return phases and min(rank["steps"] for rank in phases) >= steps

        wait_for(trained, "steps")

    def supervisor(self, run):
        return wait_for(lambda: holder(self.home.attempt(run, 1).lock), "its supervisor")

    def logs(self):
        return {path.name: path.read_text()[-3000:] for path in self.path.glob("*.log")}

    def assert_complete(self, run, attempt=1):
        """The API's totals of every rank are the journal's: no point lost, none counted twice."""
        wait_for(self.home.attempt(run, attempt).delivered.exists, "delivery")
        stored = {rank["rank"]: rank for rank in self.run(run)["phases"]}
        assert stored
        for rank, totals in stored.items():
            written = {"steps": 0, "payload": 0, "messages": 0, "compute": 0.0}
            for record in records(self.home.attempt(run, attempt).journal(rank)):
                if record.kind == "steps":
                    written["steps"] += record.n
                    for name in ("payload", "messages", "compute"):
                        written[name] += sum(unpack(name, record.columns[name]))
            for name in ("steps", "payload", "messages"):
                assert totals[name] == written[name], (rank, name)
            assert abs(totals["compute"] - written["compute"]) <= 1e-3 * written["compute"]

    def assert_nothing_left(self, *runs):
        assert members([f"{run}.{attempt}" for run in runs for attempt in (1, 2)]) == []

    def close(self):
        self.client.close()
        for name in ("agent", "api", "redis"):
            process = self.processes[name]
            process.kill()
            process.wait()
        attempts = self.home.attempts()
        for attempt in attempts:
            if (pid := holder(attempt.lock)) is not None:
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda path=attempt.lock: not held(path), "the end of a supervisor")
        sweep([attempt.id for attempt in attempts])
