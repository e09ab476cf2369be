"""docker/compose.yaml by processes: PostgreSQL, Redis with a password, two APIs on one port, an agent."""

import os
import re
import signal
import subprocess
import sys
import uuid
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
import redis
import yaml
from hooke.cluster.processes import signal_all
from hooke_api.local.attempts import supervisors

from tests.api.databases import postgres_url, run_sql
from tests.checkout import ROOT
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = pytest.mark.needs("postgres", "redis")

SERVICES = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
SPEC = {
    "name": "topology",
    "workload": {"name": "digits-mlp"},
    "variants": [{"name": "it", "algorithm": "sync-sgd"}],
    "baseline": "it",
    "clusters": [{"name": "simulated", "computed_on": "cluster", "workers": [2], "seeds": 1, "virtual": {}}],
    "budget": {"samples": 2000},
    "evaluation": {"every": 1000},
}


class Host:
    """The services of the compose file as processes of this machine, with its own commands and variables."""

    def __init__(self, folder: Path, sockets: Path, database: str, redis_server: str) -> None:
        self.folder, self.sockets, self.database = folder, sockets, database
        self.secrets, self.home = folder / "secrets", folder / "server"
        subprocess.run([ROOT / "docker" / "make-secrets", self.secrets], check=True)
        self.home.mkdir(mode=0o700)
        self.port, self.redis_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.redis_server = redis_server
        self.started: list[subprocess.Popen[bytes]] = []
        self.reader = psycopg.connect(host=str(sockets), user="hooke", dbname=database, autocommit=True)

    def secret(self, name: str) -> str:
        return (self.secrets / name).read_text()

    def here(self, text: str) -> str:
        """Return a text of the compose file with addresses and folders of this machine, as the shell sees it."""
        for there, here in {
            "/run/secrets": str(self.secrets),
            "http://proxy:7450": self.url,
            "redis://redis:6379": f"redis://127.0.0.1:{self.redis_port}",
            "--home=/var/lib/hooke": f"--home={self.folder / 'agent'}",
            "redis-server -": f"{self.redis_server} --port {self.redis_port} --dir {self.folder} -",
            "${HOOKE_SERVER_NAME:-localhost}": "localhost",
            "$$": "$",
        }.items():
            text = text.replace(there, here)
        return text

    def start(self, name: str, command: list[str], **variables: str) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=kept | variables, cwd=self.folder, start_new_session=True
            )
        self.started.append(process)
        return process

    def start_api(self, name: str) -> subprocess.Popen[bytes]:
        given = {key: self.here(value) for key, value in SERVICES[name]["environment"].items()}
        assert given["HOOKE_DATABASE_URL"].endswith("hooke@postgres/hooke")
        return self.start(
            name,
            [sys.executable, "-m", "hooke_api"],
            **given
            | {
                "HOOKE_DATABASE_URL": postgres_url(self.sockets, self.database),
                "HOOKE_HOME": str(self.home),
                "HOOKE_PORT": str(self.port),
                "HOOKE_REUSE_PORT": "true",
                "HOOKE_LEADER_SECONDS": "1",
            },
        )

    def look(self, query: str) -> list[str]:
        """Return the only column of a query: waiting by requests would cost more than what is waited for."""
        with self.reader.cursor() as cursor:
            return [str(row[0]) for row in cursor.execute(query).fetchall()]

    def leader(self) -> int | None:
        """Return the process that schedules, from the row that it renews."""
        held = self.look("SELECT holder FROM leaders WHERE until > now()")
        return int(re.fullmatch(r".*:(\d+):[0-9a-f]+", held[0])[1]) if held else None

    def logs(self) -> dict[str, str]:
        return {path.name: path.read_text()[-2000:] for path in self.folder.glob("*.log")}

    def end(self) -> None:
        self.reader.close()
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.started:
            process.wait(LIMIT)
        signal_all(supervisors(self.folder / "agent"), signal.SIGKILL)  # of a test that failed


@pytest.fixture
def host(tmp_path, postgres, postgres_template, program_path):
    database = f"test_{uuid.uuid4().hex}"
    run_sql(postgres, f"CREATE DATABASE {database} TEMPLATE {postgres_template}")
    with ExitStack() as stack:
        stack.callback(run_sql, postgres, f"DROP DATABASE {database} WITH (FORCE)")
        made = Host(tmp_path, postgres, database, program_path("redis"))
        stack.callback(made.end)
        yield made


def listens(process: subprocess.Popen[bytes], port: int) -> bool:
    """Return whether a process accepts connections on a port."""
    assert process.poll() is None, "it has ended"
    found = psutil.Process(process.pid).net_connections("tcp")
    return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in found)


def test_the_leading_api_is_killed_and_the_other_one_schedules_on_the_same_port(host):
    host.start("redis", [host.here(word) for word in SERVICES["redis"]["command"]])
    address = {"port": host.redis_port, "password": host.secret("redis-password")}
    with redis.Redis(**address) as client:
        wait_for(client.ping, lambda: f"Redis: {host.logs()}", ignoring=(redis.ConnectionError,))
    with redis.Redis(port=host.redis_port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()

    apis = [host.start_api(name) for name in ("api-1", "api-2")]
    for api in apis:
        wait_for(lambda api=api: listens(api, host.port), lambda: f"both APIs: {host.logs()}")
    options = map(host.here, SERVICES["agent"]["command"])
    agent = host.start("agent", [sys.executable, "-m", "hooke.cluster.agent", *options])
    secrets = [path.read_text() for path in host.secrets.iterdir()]
    for process in host.started:
        shown = " ".join(psutil.Process(process.pid).cmdline())
        assert not [secret for secret in secrets if secret in shown], "others can read the command line"

    wait_for(lambda: host.look("SELECT name FROM clusters") == ["cluster"], lambda: f"the agent: {host.logs()}")
    leader = wait_for(host.leader, "a leader")
    (killed,) = [api for api in apis if api.pid == leader]
    (other,) = [api for api in apis if api.pid != leader]
    killed.kill()
    killed.wait(LIMIT)

    headers = {"authorization": f"Bearer {host.secret('token')}"}
    with httpx.Client(base_url=f"{host.url}/api/v1", headers=headers, timeout=LIMIT, trust_env=False) as client:
        answer = client.post("/experiments", json=SPEC)
        assert answer.status_code == 201, answer.text
        wait_for(lambda: host.leader() == other.pid, "the other one to lead")
        ended = ["succeeded"]
        wait_for(
            lambda: host.look("SELECT state FROM runs") == ended, lambda: f"the end of the run: {host.logs()}"
        )
        (run,) = client.get("/runs").json()["items"]
        run = client.get(f"/runs/{run['id']}").json()
        assert [change["state"] for change in run["history"]][:2] == ["queued", "dispatched"]
        assert run["attempt"] == 1
        assert client.get("/readyz").status_code == 200
    assert agent.poll() is None
