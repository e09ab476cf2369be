"""A complete installation on this machine: PostgreSQL, Redis, two APIs, proxies, two agents, emulated hosts."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis
from hooke.cluster.processes import signal_all
from hooke_api.local.parts import redis_server

from benchmarks.evidence.store import ROOT
from benchmarks.netlab import lab as labs
from benchmarks.soak.clocks import Clocks
from benchmarks.soak.disks import Disk
from benchmarks.soak.processes import living
from benchmarks.soak.proxy import Proxy
from benchmarks.soak.services import Keeper, Service

LAB, HOSTS, RATE = "soak", 3, "1gbit"
HERE = "10.77.0.254"
"""Address of this machine on the hosts' network."""
LOCAL, ON_HOSTS = "local", "hosts"
"""The clusters: one `local`, one on emulated hosts; without root both are `local`."""
MEGABYTES = {"server": 640, LOCAL: 512, ON_HOSTS: 512}
"""Sizes of the disks."""
LEASE_SECONDS = 20.0
"""Half of the default, so that more is lost and found again in the same time."""
AGENT = Path(__file__).with_name("agent.sh")
OWN = Path(__file__).with_name("own")
"""Workloads of the planned faults."""
_START_SECONDS = 90.0


class Installation:
    """The running parts, and how to reach them. `folder` holds them; `lab` is None without emulated hosts.

    `clocks`: of PostgreSQL, APIs and agents, if these are to jump.
    """

    def __init__(self, folder: Path, seed: int, lab: labs.Lab | None, clocks: Clocks | None = None) -> None:
        self.folder, self.lab, self.clocks = folder, lab, clocks
        for name in ("logs", "disks", "agents", "orders"):
            (folder / name).mkdir()
        self.disks = {name: Disk(folder / "disks" / name, size) for name, size in MEGABYTES.items()}
        self.homes = {name: folder / "disks" / name / "home" for name in (LOCAL, ON_HOSTS)}
        subprocess.run([ROOT / "docker" / "make-secrets", folder / "secrets"], check=True)
        self.port, self.redis_port = _free_port(), _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.sockets = folder / "sockets"
        self.proxies = {name: Proxy(self.port, seed + i) for i, name in enumerate(self.homes)}
        self.postgres, self.redis = self._postgres(), self._redis()
        self.apis = [self._api(f"api-{i}") for i in (1, 2)]
        self.agents = {name: self._agent(name) for name in self.homes}
        self.services = [self.postgres, self.redis, *self.apis, *self.agents.values()]
        self._keeper = Keeper(self.services)

    def secret(self, name: str) -> str:
        """Return a secret of the installation."""
        return (self.folder / "secrets" / name).read_text()

    def _service(self, name: str, command: list[str], user: str | None = None, **variables: str) -> Service:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        kept |= {"HOOKE_PATH": str(OWN), "SOAK_ORDERS": str(self.folder / "orders")}
        if self.clocks is not None:
            kept |= self.clocks.variables(name)
        return Service(name, command, self.folder / "logs" / f"{name}.log", kept | variables, user)

    def _postgres(self) -> Service:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)
        program = shutil.which("postgres") or (str(found[0]) if found else None)
        if program is None:
            raise SystemExit("soak: PostgreSQL is not installed")
        user = "nobody" if os.geteuid() == 0 else None
        data = self.disks["server"].path / "postgres"
        for place in (data, self.sockets):
            place.mkdir(mode=0o700)
            if user:
                shutil.chown(place, user)
        program_of_clusters = str(Path(program).with_name("initdb"))
        options = ["-U", "hooke", "-A", "trust", "-E", "UTF8", "--no-sync"]
        init = [program_of_clusters, "-D", str(data), *options]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL, cwd="/", user=user)
        settings = {
            "listen_addresses": "",
            "fsync": "off",  # processes die here, not the machine
            "shared_buffers": "32MB",
            "min_wal_size": "32MB",
            "max_wal_size": "64MB",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [program, "-D", str(data), "-k", str(self.sockets), *options]
        return self._service("postgres", command, user)

    def _redis(self) -> Service:
        place = self.folder / "redis.conf"
        lines = ["bind 127.0.0.1", f"port {self.redis_port}", f"requirepass {self.secret('redis-password')}"]
        place.write_text("\n".join([*lines, 'save ""', "appendonly no", ""]))
        place.chmod(0o600)
        return self._service("redis", [redis_server(), str(place)])

    def _api(self, name: str) -> Service:
        secrets = self.folder / "secrets"
        settings = {
            "database_url": f"postgresql+psycopg://hooke@/hooke?host={self.sockets}",
            "home": self.disks["server"].path / "home",
            "port": self.port,
            "reuse_port": "true",
            "redis_url": f"redis://127.0.0.1:{self.redis_port}/0",
            "redis_password_file": secrets / "redis-password",
            "token_file": secrets / "token",
            "agent_token_file": secrets / "agent-token",
            "lease_seconds": LEASE_SECONDS,
            "disk_warning": 0,
            "compact_after": "",  # never: rows are counted
        }
        variables = {f"HOOKE_{key.upper()}": str(value) for key, value in settings.items()}
        return self._service(name, [sys.executable, "-m", "hooke_api"], **variables)

    def _agent(self, name: str) -> Service:
        document: dict[str, Any] = {
            "cluster": name,
            "api": self.proxies[name].url,
            "broker": f"redis://127.0.0.1:{self.redis_port}/0",
            "broker_password_file": str(self.folder / "secrets" / "redis-password"),
            "token_file": str(self.folder / "secrets" / "agent-token"),
            "home": str(self.homes[name]),
        }
        if name == ON_HOSTS and self.lab is not None:
            document["launcher"] = {
                "kind": "hosts",
                "hosts": [{"address": self.lab.address(host)} for host in range(1, HOSTS + 1)],
                "agent": [str(AGENT)],
                "silent_seconds": 6.0,
                "options": ["-localhost", HERE],
            }
        place = self.folder / "agents" / f"{name}.json"
        place.write_text(json.dumps(document))
        place.chmod(0o600)
        command = [sys.executable, "-m", "hooke.cluster.agent", "--config", str(place)]
        return self._service(f"agent-{name}", command, NETLAB=LAB)

    def start(self) -> None:
        """Start everything and wait until it works. Raises TimeoutError."""
        self.postgres.start()
        wait_for(lambda: self.query("SELECT 1", database="postgres"), "PostgreSQL", psycopg.Error)
        address = {"host": str(self.sockets), "user": "hooke", "dbname": "postgres"}
        with psycopg.connect(**address, autocommit=True) as connection:
            connection.execute("CREATE DATABASE hooke")
        self.redis.start()
        for service in self.apis:  # the first one makes the tables
            service.start()
            wait_for(lambda: self.request("GET", "/readyz").status_code == 200, service.name, httpx.HTTPError)
        for agent in self.agents.values():
            agent.start()
        self._keeper.start()
        wait_for(lambda: len(self.query("SELECT name FROM clusters")) == 2, "both agents", psycopg.Error)

    def query(self, text: str, *values: object, database: str = "hooke") -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises psycopg.Error while PostgreSQL is away."""
        address = {"host": str(self.sockets), "user": "hooke", "dbname": database, "connect_timeout": 3}
        with psycopg.connect(**address, autocommit=True, options="-c statement_timeout=20s") as connection:
            return connection.execute(text, values).fetchall()

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Ask the API, not through a proxy. Raises httpx.HTTPError."""
        headers = {"authorization": f"Bearer {self.secret('token')}", **given.pop("headers", {})}
        with httpx.Client(
            base_url=f"{self.url}/api/v1", headers=headers, timeout=10, trust_env=False, verify=False
        ) as client:
            return client.request(method, path, **given)

    def broker(self) -> redis.Redis:
        """Return a client of Redis."""
        return redis.Redis(
            port=self.redis_port, password=self.secret("redis-password"), socket_timeout=3, decode_responses=True
        )

    def stop(self) -> None:
        """End everything in order."""
        with suppress(RuntimeError):  # it was never started
            self._keeper.stop()
        for service in (*self.agents.values(), *self.apis, self.redis):
            service.end()
        self.postgres.end(signal.SIGINT)  # fast shutdown
        signal_all([process.pid for process in living(self.homes.values())], signal.SIGKILL)
        for proxy in self.proxies.values():
            proxy.close()
        for disk in self.disks.values():
            disk.close()


def wait_for(condition: Callable[[], object], what: str, *ignoring: type[Exception]) -> None:
    """Wait until a condition holds. Raises TimeoutError, which says what was waited for."""
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        with suppress(*ignoring):
            if condition():
                return
        time.sleep(0.2)
    raise TimeoutError(f"waited {_START_SECONDS:g} s in vain for {what}")


@contextmanager
def installed(seed: int, keep: Path, hosts: bool = True, clocks: bool = False) -> Iterator[Installation]:
    """Yield a running installation; end it at the end, and move its logs to `keep`.

    `hosts`: with emulated hosts, if that is possible here; `clocks`: with clocks that can be set.
    """
    with ExitStack() as stack:
        lab = None
        if hosts and not labs.lacking():
            lab = stack.enter_context(labs.held(HOSTS, RATE, LAB))
            _join(lab)
        folder = Path(tempfile.mkdtemp(prefix="hooke-soak-", dir="/tmp"))
        folder.chmod(0o755)  # PostgreSQL runs as another user
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        made = Installation(folder, seed, lab, Clocks(folder / "clocks") if clocks else None)
        stack.callback(lambda: shutil.copytree(folder / "logs", keep / "logs", dirs_exist_ok=True))
        stack.callback(made.stop)
        made.start()
        yield made


def _join(lab: labs.Lab) -> None:
    """Put this machine on the hosts' network; the link goes with the lab."""
    switch, near = lab.namespace("switch"), f"{lab.name}-here"
    add = ["ip", "link", "add", near, "type", "veth", "peer", "name", "here", "netns", switch]
    wait_for(lambda: subprocess.run(add, check=False).returncode == 0, "the end of an earlier link")
    for words in (
        ["ip", "-n", switch, "link", "set", "here", "master", "bridge", "up"],
        ["ip", "addr", "add", f"{HERE}/24", "dev", near],
        ["ip", "link", "set", near, "up"],
    ):
        subprocess.run(words, check=True)


def _free_port() -> int:
    """Return a port below those of outgoing connections, which could take it while its service is away."""
    while True:
        port = random.SystemRandom().randrange(12_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
