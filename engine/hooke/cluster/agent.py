"""The agent of a cluster: `python -m hooke.cluster.agent --name local --api URL --token-file F --home DIR`.

A Celery worker on the queue `cluster.<name>` of HOOKE_REDIS_URL, whose tasks only start, cancel and probe.
Supervisors own the runs: they continue when the agent ends, and the agent takes over existing jobs when it starts.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from celery import Celery
from celery.worker import state
from pydantic import TypeAdapter

from hooke.cluster import broker, calibrating, orders
from hooke.cluster.hello import ApiClient, Heartbeat
from hooke.cluster.places import Home
from hooke.spec.calibrating import CalibrationOrder
from hooke.spec.events import LaunchOrder

CONCURRENCY = 4
_PATIENCE = 1.0
"""Seconds from SIGTERM to the end, even if Celery still waits for a task: every task may be repeated."""
_LAST = 5.0
"""Seconds from SIGTERM until a hanging process is ended by a watchdog that needs no Python lock."""
_ORDERS: TypeAdapter[list[LaunchOrder]] = TypeAdapter(list[LaunchOrder])
_log = logging.getLogger(__name__)


def register(app: Celery, home: Home, api: str, client: ApiClient) -> None:
    """Register the application's tasks."""

    def launch(documents: list[dict[str, Any]]) -> None:
        orders.launch(home, api, _ORDERS.validate_python(documents))

    def cancel(run: str, attempt: int) -> None:
        orders.cancel(home, api, run, attempt)

    def probe(run: str, attempt: int) -> None:
        client.proof(orders.prove(home, api, run, attempt))

    def calibrate(order: dict[str, Any]) -> None:
        calibrating.calibrate(home, CalibrationOrder.model_validate(order), client)

    tasks: dict[str, Callable[..., None]] = {
        broker.LAUNCH: launch,
        broker.CANCEL: cancel,
        broker.PROBE: probe,
        broker.CALIBRATE: calibrate,
    }
    for name, function in tasks.items():
        app.task(function, name=name)


def _recover(home: Home, api: str) -> None:
    for name in orders.recover(home, api):
        _log.warning("took over job %s of an earlier supervisor", name)


def _end(heartbeat: Heartbeat, _number: int, _frame: FrameType | None) -> None:
    """Let current tasks end, but exit soon: an interrupted task is delivered again."""
    faulthandler.dump_traceback_later(_LAST, exit=True)  # logs where it hangs
    heartbeat.stop()
    state.should_stop = 0
    timer = threading.Timer(_PATIENCE, os._exit, args=(0,))
    timer.daemon = True
    timer.start()


def main(arguments: list[str] | None = None) -> None:
    """Run the agent until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="hooke.cluster.agent", description="Run the agent of a cluster.")
    parser.add_argument("--name", default="local", help="name of the cluster")
    parser.add_argument("--api", required=True, help="base URL of the API")
    parser.add_argument("--token-file", required=True, type=Path, help="file with the agents' token; mode 0600")
    parser.add_argument("--home", required=True, type=Path, help="folder for runs and jobs")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    home = Home(options.home.absolute())
    home.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    client = ApiClient(options.api, options.token_file)
    app = broker.make_app(os.environ.get("HOOKE_REDIS_URL", "redis://127.0.0.1:6379/0"))
    register(app, home, options.api, client)
    heartbeat = Heartbeat(options.name, client)
    heartbeat.start()
    threading.Thread(target=_recover, args=(home, options.api), name="recover", daemon=True).start()
    worker = app.WorkController(
        pool="threads",
        concurrency=CONCURRENCY,
        queues=[broker.queue(options.name)],
        hostname=f"{options.name}@{os.uname().nodename}",
        loglevel=logging.INFO,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, functools.partial(_end, heartbeat))
    worker.start()


if __name__ == "__main__":
    main()
