"""docs/clusters.md, word for word: two agents with two homes, PostgreSQL and Redis that ask for passwords."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import redis
import yaml
from hooke.cluster import site
from hooke.cluster.agent import _check_broker
from hooke.errors import LaunchError
from hooke.spec.protocol import BROKER_KEY

from tests.e2e.instances import QUICK
from tests.waiting import LIMIT, wait_for

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "clusters.md").read_text()
PASSWORD = "a b&c"
ENGINE = Path(sys.executable).parent

pytestmark = pytest.mark.needs("postgres", "redis")


def block(name: str, cluster: str = "lab") -> str:
    """Return the commands of the page under this name, for a cluster of this name."""
    (found,) = re.findall(rf"^```sh {name}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return re.sub(r"\blab\b", cluster, found)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Shell:
    """A user at a terminal of one host, with a home folder, who types what the page says."""

    def __init__(self, home: Path, places: dict[str, str], **environment: str) -> None:
        home.mkdir()
        self.home, self.places = home, places
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        self.environment = kept | {"HOME": str(home), "PATH": f"{ENGINE}:{os.environ['PATH']}"} | environment

    def text(self, commands: str) -> str:
        for written, here in self.places.items():
            commands = commands.replace(written, here)
        return commands

    def run(self, commands: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-euc", self.text(commands)],
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def start(self, commands: str) -> subprocess.Popen[bytes]:
        with (self.home / "output").open("ab") as output:
            return subprocess.Popen(
                ["bash", "-euc", f"{self.text(commands)}\n"],
                cwd=self.home,
                env=self.environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self) -> str:
        return (self.home / "output").read_text()


@pytest.fixture
def database(tmp_path, program_path):
    """Start a PostgreSQL that asks for a password; yield its port."""
    binaries = Path(program_path("postgres")).parent
    folder = Path(f"/tmp/hooke-pg-{os.getpid()}-{time.monotonic_ns()}")
    folder.mkdir(mode=0o755)
    (folder / "password").write_text(PASSWORD)
    who = {"user": "nobody"} if os.geteuid() == 0 else {}
    if who:
        shutil.chown(folder, "nobody")
    init = [binaries / "initdb", "-D", folder / "data", "-U", "hooke", "-A", "scram-sha-256", "--no-sync"]
    subprocess.run([*init, "--pwfile", folder / "password"], check=True, capture_output=True, cwd="/", **who)
    port = free_port()
    options = ["-p", str(port), "-k", folder, "-c", "listen_addresses=localhost", "-c", "fsync=off"]
    with (tmp_path / "postgres.log").open("wb") as log:
        process = subprocess.Popen(
            [binaries / "postgres", "-D", folder / "data", *options], stdout=log, stderr=log, cwd="/", **who
        )
    try:
        address = {"host": "localhost", "port": port, "user": "hooke", "password": PASSWORD, "dbname": "postgres"}
        connection = wait_for(
            lambda: psycopg.connect(**address, autocommit=True),
            "PostgreSQL",
            ignoring=(psycopg.OperationalError,),
        )
        with connection:
            connection.execute("CREATE DATABASE hooke")
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)
        shutil.rmtree(folder)


@pytest.fixture
def broker(tmp_path, program_path):
    """Start a Redis that asks for a password; yield its port."""
    port = free_port()
    options = ["--port", str(port), "--requirepass", PASSWORD, "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen([program_path("redis"), *options], stdout=subprocess.DEVNULL)
    with redis.Redis(port=port, password=PASSWORD) as client:
        wait_for(client.ping, "Redis", ignoring=(redis.ConnectionError,))
    yield port
    process.kill()
    process.wait()


def test_an_administrator_gets_from_nothing_to_runs_on_two_clusters(tmp_path, database, broker):
    port = free_port()
    places = {
        "@localhost/": f"@localhost:{database}/",
        ":6379": f":{broker}",
        "server:7450": f"127.0.0.1:{port}",
        "@server:": "@127.0.0.1:",
        "//server:": "//127.0.0.1:",
        "--port 7450": f"--port {port}",
        "examples/comparison.yaml": "spec.yaml",
    }
    quoted = PASSWORD.replace(" ", "%20").replace("&", "%26")
    passwords = {"DATABASE_PASSWORD": quoted, "REDIS_PASSWORD": quoted}
    server = Shell(tmp_path / "server", places, **passwords)
    (server.home / "spec.yaml").write_text(yaml.safe_dump(QUICK | {"schema": "hooke.experiment/1"}))
    sites = {name: Shell(tmp_path / name, places) for name in ("lab", "hpc")}
    started = [server.start(block("server").replace("hooke up", "exec hooke up"))]
    try:
        wait_for(lambda: "is ready" in server.said(), lambda: f"the server: {server.said()}")
        server.environment |= {"HOOKE_API": f"http://127.0.0.1:{port}"}
        for name, host in sites.items():
            told = server.run(block("join", name))
            assert "holds the token tok_" in told.stdout, told
            shutil.copy(server.home / f"{name}.token", host.home)  # as an administrator does by scp
            assert (host.home / f"{name}.token").stat().st_mode & 0o777 == 0o600
            (host.home / "redis.password").write_text(PASSWORD)
            started.append(host.start("exec " + block("agent", name)))
        wait_for(lambda: _online(server) >= set(sites), lambda: [host.said() for host in sites.values()])
        assert set(re.findall(r"(\S+) +online", server.run("hooke clusters list").stdout)) >= set(sites)
        told = server.run(block("run").replace("--cluster lab", "--cluster lab --cluster hpc"))
        assert told.returncode == 0, (told, sites["lab"].said(), sites["hpc"].said(), server.said())
        for name, host in sites.items():
            assert len(list(host.home.glob(f".hooke-agent/{name}/runs/*/1/delivered"))) == 1
        _refusals(server, sites)
        assert started[1].wait(LIMIT) == 1, sites["lab"].said()  # the refused agent takes no orders any more
        assert "refuses this agent: this token was revoked" in sites["lab"].said()
    finally:
        for process in reversed(started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
        for process in started:
            process.wait(LIMIT)


def _ask(server: Shell, path: str) -> list[dict[str, Any]]:
    token = (server.home / ".hooke" / "token").read_text().strip()
    headers = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{server.environment['HOOKE_API']}/api/v1{path}", headers=headers).json()["items"]


def _online(server: Shell) -> set[str]:
    """Return the clusters that are online; by a request, for a command takes longer than what is waited for."""
    return {cluster["name"] for cluster in _ask(server, "/clusters") if cluster["online"]}


def _refusals(server: Shell, sites: dict[str, Shell]) -> None:
    """What goes wrong is said by the agent that exits, and by nobody else."""
    lab, agent = sites["lab"], block("agent")
    wrong = lab.run(agent.replace("--cluster lab", "--cluster elsewhere").rstrip() + " --home other")
    assert wrong.returncode == 1
    assert "this token is for the cluster 'lab', not for 'elsewhere'" in wrong.stderr
    second = lab.run(agent.rstrip() + " --home other\n")
    assert "the cluster 'lab' has another agent" in second.stderr, second
    same = lab.run(agent)
    assert "another agent runs with the folder" in same.stderr, same
    (lab.home / "bad").write_text("wrong")
    listed = _ask(server, "/clusters/lab/tokens")
    assert listed[0]["used_at"] is not None
    assert "is revoked" in server.run(f"hooke clusters revoke {listed[0]['id']}").stdout
    third = lab.run(agent.rstrip() + " --home other\n")
    assert "this token was revoked" in third.stderr, third
    refused = server.run("hooke clusters remove nowhere")
    assert (refused.returncode, refused.stderr) == (1, "hooke clusters: no cluster is called 'nowhere'\n")


def test_an_agent_says_that_the_broker_refuses_its_password(tmp_path, broker):
    with pytest.raises(LaunchError, match=r"the broker at redis://127.0.0.1:\d+/0 refuses the password") as caught:
        _check_broker(f"redis://:wrong@127.0.0.1:{broker}/0")
    assert "wrong@" not in str(caught.value)
    with pytest.raises(LaunchError, match="needs a password: give --broker-password-file"):
        _check_broker(f"redis://127.0.0.1:{broker}/0")
    address = site.with_password(f"redis://127.0.0.1:{broker}", PASSWORD)
    with pytest.raises(LaunchError, match="is not a Redis that an agent can use"):
        _check_broker(f"{address}/99")
    with redis.Redis.from_url(f"{address}/1") as client:
        client.set(BROKER_KEY, "mark")
    _check_broker(f"{address}/1", "mark")
    with pytest.raises(LaunchError, match="is not the one that the server uses"):
        _check_broker(f"{address}/2", "mark")
    _check_broker(f"redis://127.0.0.1:{free_port()}/0")  # one that is not there yet is waited for
