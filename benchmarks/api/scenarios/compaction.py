"""Ended runs before and after compaction: bytes, the time that it takes, and first looks at long and short runs.

The runs are compacted by the function that the API's thread calls, in this process, while another thread writes to
the database as a supervisor's request would.
"""

from __future__ import annotations

import threading
import time

from hooke_api.models import Leader
from hooke_api.storage.compacting import compact
from hooke_api.storage.objects import FOLDER
from sqlalchemy import text, update

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.client import timed
from benchmarks.api.figures import Bench, Figure, Measured
from benchmarks.api.scenarios.series import ALL, ONE, query
from benchmarks.api.scenarios.storage import database_bytes
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Compaction"
RANKS, SHORT = 2, 2000
GOAL_MS = 50.0
SETTLE_SECONDS = 15.0
"""After the end of the runs: their series are stored at limited resolutions meanwhile."""
PAUSE_SECONDS = 0.005


def measure(bench: Bench) -> Measured:
    """Yield bytes, seconds, and ms of first looks; each run is compacted once."""
    count = bench.size(1_000_000, 20_000)
    with bench.server() as server:
        [long], [short], [other] = (claimed(server, 1, RANKS) for _ in range(3))  # experiments of their own
        empty = database_bytes(server)
        post(server, [(long, bodies.whole(long, count, 100)), (short, bodies.whole(short, SHORT, 10))])
        post(server, [(other, bodies.whole(other, SHORT, 10))])
        time.sleep(SETTLE_SECONDS)
        before, looks = database_bytes(server) - empty, _looks(bench, server, long, short, other)
        server.stop()
        seconds, short_seconds, waits = _compacted(server, long, short, other)
        server.start()
        after, later = database_bytes(server) - empty, _looks(bench, server, long, short, other)
        objects = sum(path.stat().st_size for path in (server.home / FOLDER).rglob("*") if path.is_file())
    steps = RANKS * (count + 2 * SHORT)
    name = f"{count:,} steps of {RANKS} ranks"
    yield Figure(f"{name}, rows: whole database", "bytes/step", (before / steps,))
    yield Figure("the same", "bytes/point", (before / steps / bodies.VALUES,))
    yield Figure("after compaction: whole database", "bytes/step", (after / steps,))
    yield Figure("after compaction: objects", "bytes/step", (objects / steps,))
    yield Figure("after compaction: both", "bytes/point", ((after + objects) / steps / bodies.VALUES,))
    yield Figure(f"time to compact {name}", "s", (seconds,))
    yield Figure(f"time to compact {SHORT:,} steps of {RANKS} ranks", "ms", (1e3 * short_seconds,))
    yield Figure("a small write to the database meanwhile, the longest", "ms", (1e3 * max(waits),))
    for what, values in looks.items():
        yield Figure(f"{what}, rows, first look", "ms", values)
        yield Figure(f"{what}, object, first look", "ms", later[what], GOAL_MS if "1 series" in what else None)


def _looks(
    bench: Bench, server: Server, long: Attempt, short: Attempt, other: Attempt
) -> dict[str, tuple[float, ...]]:
    """Return ms of the first requests after starts of the API, by what they ask for."""
    count = bench.size(1_000_000, 20_000)
    asked = {
        f"1 series of {count:,} points": ("POST", "/series", query(long, ONE)),
        f"1 series of {SHORT:,} points": ("POST", "/series", query(short, ONE)),
        f"{len(ALL)} metrics of {SHORT:,} points": ("POST", "/series", query(short, ALL)),
        f"band of train_loss over {count:,} points": _band(long, "train_loss"),
        "band of validation_accuracy": _band(short, "validation_accuracy"),
    }
    found: dict[str, list[float]] = {what: [] for what in asked}
    for _ in range(bench.rounds):
        for what, (method, path, body) in asked.items():
            server.restart()
            with server.client() as client:
                for _ in range(3):  # another run: the first requests of a process load code
                    timed(client, "POST", "/series", query(other, ALL))
                    timed(client, *_band(other, "train_loss")[:2])
                found[what].append(1e3 * timed(client, method, path, body))
    return {what: tuple(values) for what, values in found.items()}


def _band(attempt: Attempt, metric: str) -> tuple[str, str, None]:
    return "GET", f"/experiments/{attempt.experiment}/bands?metric={metric}", None


def _compacted(server: Server, long: Attempt, short: Attempt, other: Attempt) -> tuple[float, float, list[float]]:
    """Compact the runs; return the seconds of the long and of a short one, and those of small writes meanwhile."""
    database, end, waits = server.database(), threading.Event(), [0.0]

    def write() -> None:
        own = server.database()
        while not end.is_set():
            began = time.perf_counter()
            with own.write() as session:
                session.execute(update(Leader).where(Leader.name == "none").values(holder="none"))
            waits.append(time.perf_counter() - began)
            time.sleep(PAUSE_SECONDS)
        own.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        took = []
        for attempt in (long, short, other):
            began = time.perf_counter()
            assert compact(database, attempt.run)
            took.append(time.perf_counter() - began)
    finally:
        end.set()
        thread.join()
    if not database.sqlite:  # so that the size is that of what is left
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM"))
    database.close()
    return took[0], min(took[1:]), waits
