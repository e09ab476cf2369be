"""The agent of a cluster: `hooke agent --cluster local --api URL --broker URL --token-file FILE`.

A Celery worker on the queue `cluster.<name>` of the broker, whose tasks claim orders at the API and carry them out
(`hooke.cluster.claiming`). Supervisors own the runs: they continue when the agent ends, and the agent takes over
existing jobs when it starts.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # until all is imported

import argparse
import faulthandler
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import redis
from celery import Celery
from celery.worker import state

from hooke.cluster import accounts, broker, calibrating, orders, site
from hooke.cluster.agent_client import ApiClient
from hooke.cluster.claiming import Claiming
from hooke.cluster.environment import absolute
from hooke.cluster.hello import Heartbeat, describe
from hooke.cluster.launchers.settings import LauncherSettings
from hooke.cluster.lock import Lock
from hooke.cluster.machines import machines_of
from hooke.cluster.places import Home
from hooke.cluster.site import Site
from hooke.errors import HookeError, LaunchError
from hooke.spec.protocol import BROKER_KEY

CONCURRENCY = 4
_PATIENCE = 1.0
"""Seconds from SIGTERM to the end, even if Celery still waits for a task: every task may be repeated."""
_BROKER_SECONDS = 5.0
_LAST = 5.0
"""Seconds from SIGTERM until a hanging process is ended by a watchdog that needs no Python lock."""
_log = logging.getLogger(__name__)


def register(
    app: Celery,
    home: Home,
    api: str,
    client: ApiClient,
    launcher: LauncherSettings | None = None,
    account: accounts.Account | None = None,
) -> None:
    """Register the application's tasks; `launcher`: by default `local`; `account`: that of users' code."""
    claiming = Claiming(home, api, client, launcher, account)

    def take(document: dict[str, Any]) -> None:
        claiming.take(document)

    for name in broker.TASKS.values():
        app.task(take, name=name)


def _recover(home: Home, api: str, client: ApiClient) -> None:
    for name in orders.recover(home, api):
        _log.warning("took over job %s of an earlier supervisor", name)
    calibrating.recover(home, client)


class Ending(threading.Thread):
    """Ends the agent after a signal: soon, although tasks are going on; an interrupted one is delivered again.

    The handler interrupts the main thread anywhere, also where it holds a lock that ending needs. So it takes
    none: this thread does the rest.
    """

    def __init__(self, heartbeat: Heartbeat, leave: Callable[[Heartbeat], None]) -> None:
        super().__init__(name="ending", daemon=True)
        self._heartbeat, self._leave = heartbeat, leave
        self._asked, self._ask = os.pipe()
        os.set_blocking(self._ask, False)
        self._noted = False

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """Note a signal: the handler. A second one does not put the end off."""
        if not self._noted:
            self._noted = True
            faulthandler.dump_traceback_later(_LAST, exit=True)  # logs where it hangs
        state.should_stop = 0
        with suppress(BlockingIOError):  # full of earlier signals
            os.write(self._ask, b".")

    def run(self) -> None:
        """Wait for a signal, and end."""
        os.read(self._asked, 1)
        self._heartbeat.stop()
        time.sleep(_PATIENCE)
        self._leave(self._heartbeat)


def _leave(heartbeat: Heartbeat) -> None:
    if heartbeat.refused:
        sys.stderr.write(f"hooke agent: the server refuses this agent: {heartbeat.refused}\n")
        sys.stderr.flush()
    os._exit(1 if heartbeat.refused else 0)


def main(arguments: list[str] | None = None) -> None:
    """Run the agent until SIGTERM or SIGINT; exit with a sentence if it cannot work."""
    parser = argparse.ArgumentParser(prog="hooke agent", description="Run the agent of a cluster.")
    parser.add_argument("--cluster", "--name", help="name of the cluster")
    parser.add_argument("--api", help="base URL of the API")
    parser.add_argument("--broker", help="URL of Redis, without password; default: HOOKE_REDIS_URL")
    parser.add_argument("--broker-password-file", type=Path, help="file with the password of Redis")
    parser.add_argument("--token-file", type=Path, help="file with the token of the cluster")
    parser.add_argument("--home", type=Path, help="folder for runs and jobs")
    parser.add_argument("--launcher", help="its kind and plain options: slurm,slots=64,partition=gpu")
    parser.add_argument("--user-code-account", help="account of this host under which users' code runs")
    parser.add_argument("--config", type=Path, help="TOML file with these options and the launcher")
    options = vars(parser.parse_args(arguments))
    try:
        run(site.read(options.pop("config"), options))
    except HookeError as error:
        sys.exit(f"hooke agent: {error}")


def run(place: Site) -> None:
    """Run the agent of a site until SIGTERM or SIGINT. Raises HookeError if it cannot work."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    home = Home(place.home)
    try:
        home.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = Lock.acquire(home.path / "agent.lock")
    except OSError as error:
        writable = "it has to be a folder that this account may write to, under systemd also by ReadWritePaths="
        raise LaunchError(f"--home {home.path}: {error.strerror}: {writable}") from None
    if lock is None:
        raise LaunchError(f"another agent runs with the folder {home.path}: give this one its own with --home")
    site.token(place.token_file)  # told now, not in the log
    for file in place.exposed:
        _log.warning("%s can be read by other users of this host: chmod 600", file)
    account = _account(place)
    _check_broker(place.broker)
    _serve(place, home, account)
    lock.release()


def _account(place: Site) -> accounts.Account | None:
    """Return the account for users' code, with the home folder made ready for it. Raises LaunchError.

    This process and those that it starts see no users' files from now on, unless they are of that account.
    """
    if place.user_code_account is None:
        return None
    account = accounts.find(place.user_code_account, absolute(os.environ).get(accounts.PATH, ""))
    os.environ.pop(accounts.PATH, None)
    os.environ["PYTHONSAFEPATH"] = "1"  # else `python -m` looks for modules where the agent was started first
    accounts.open_home(place.home)
    accounts.check(account, place.home, place.token_file)
    _log.info("users' code runs as %s (uid %d)", account.name, account.uid)
    return account


def _serve(place: Site, home: Home, account: accounts.Account | None) -> None:
    """Join the server, then take orders until the end. Raises LaunchError if the server refuses this agent."""
    agent = site.identity(home.path)
    client = ApiClient(place.api, place.token_file, agent, home.path)
    machines = machines_of(place.launcher, home.path)
    heartbeat = Heartbeat(
        client,
        lambda told: describe(place.cluster, agent, told, place.launcher, home.path, machines.look()),
        account,
    )
    app = broker.make_app(place.broker)
    register(app, home, place.api, client, place.launcher, account)
    ending = Ending(heartbeat, _leave)
    ending.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ending.note)
    heartbeat.start()
    heartbeat.answered.wait()  # a second agent of a cluster must neither take orders nor take over jobs
    if heartbeat.stopped:
        return
    _check_refused(heartbeat, place.api)
    _check_broker(place.broker, heartbeat.welcome.broker if heartbeat.welcome else None)
    heartbeat.on_refused = functools.partial(os.kill, os.getpid(), signal.SIGTERM)
    threading.Thread(target=_recover, args=(home, place.api, client), name="recover", daemon=True).start()
    worker = app.WorkController(
        pool="threads",
        concurrency=CONCURRENCY,
        queues=[broker.queue(place.cluster)],
        hostname=f"{place.cluster}@{os.uname().nodename}",
        loglevel=logging.INFO,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    _check_refused(heartbeat, place.api)
    if worker.exitcode:
        raise LaunchError("taking orders ended by an error, which the log has: start the agent again")


def _check_refused(heartbeat: Heartbeat, api: str) -> None:
    if heartbeat.refused:
        heartbeat.stop()
        raise LaunchError(f"the server at {api} refuses this agent: {heartbeat.refused}")


def _check_broker(url: str, server: str | None = None) -> None:
    """Raise LaunchError if the broker refuses the agent, or is not the one that the server uses.

    One that does not answer is waited for by Celery. `server`: what the server has written there, if it told.
    """
    shown = site.without_password(url)
    try:
        limits = {"socket_timeout": _BROKER_SECONDS, "socket_connect_timeout": _BROKER_SECONDS}
        with redis.Redis.from_url(url, **limits, decode_responses=True) as client:
            found = client.get(BROKER_KEY)
    except redis.AuthenticationError as error:
        if not urlsplit(url).password:
            raise LaunchError(f"the broker at {shown} needs a password: give --broker-password-file") from None
        raise LaunchError(
            f"the broker at {shown} refuses the password: {error}; see --broker-password-file"
        ) from None
    except (redis.ConnectionError, redis.TimeoutError) as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise LaunchError(
                f"the broker at {shown} has a certificate that is not accepted: {error}; the URL may name another "
                "authority: ?ssl_ca_certs=FILE"
            ) from None
        _log.warning("the broker at %s does not answer, and is waited for: %s", shown, error)
        return
    except (redis.RedisError, ValueError) as error:
        raise LaunchError(f"the broker at {shown} is not a Redis that an agent can use: {error}") from None
    if server is not None and found != server:
        raise LaunchError(
            f"the broker at {shown} is not the one that the server uses: check host, port and database number"
        )


if __name__ == "__main__":
    gc.freeze()  # modules stay to the end
    gc.enable()
    main()
