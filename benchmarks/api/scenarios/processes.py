"""Two and four API processes on one port of PostgreSQL, each killed in turn while others write: exact counts.

Supervisors repeat a request until it is acknowledged, users an experiment with its key; every step has to be
stored once, every experiment to be there once, and every run to be dispatched once, whichever process was asked.
"""

from __future__ import annotations

import http.client
import itertools
import json
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from hooke.spec.states import RunState
from hooke_api.models import Experiment, Leader, Transition
from sqlalchemy import func, select

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed, experiment, hello
from benchmarks.api.client import Client
from benchmarks.api.figures import Bench, Figure, Measured
from benchmarks.api.scenarios.writers import counted
from benchmarks.api.server import Server, served

TITLE = "Several processes"
PROCESSES = (2, 4)
SUPERVISORS, USERS, STEPS = 2, 2, 10
PAUSE_SECONDS = 0.1
"""Between two requests of a writer: the processes share the machine with them."""
BETWEEN_SECONDS = 2.0
"""After a process is there again, until the next one is killed."""
LIMIT = 120.0
SENT_SECONDS = 20.0
"""Time in which what was submitted last has to be dispatched."""
OWN = {"HOOKE_REUSE_PORT": "true"}


@dataclass
class Written:
    """What writers were told."""

    acknowledged: int = 0
    unanswered: int = 0
    """Requests without an answer, or with one of 500 and above but for 503: sent again."""
    names: list[str] = field(default_factory=list)
    """Of the experiments that were acknowledged."""
    requests: Counter[str] = field(default_factory=Counter)
    """Run -> acknowledged requests of its supervisor, without the first one."""
    errors: list[Exception] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


def measure(bench: Bench) -> Measured:
    """Yield what was lost, doubled and unanswered with each number of processes."""
    if bench.database is None:
        sys.exit("benchmarks.api: `processes` share PostgreSQL: name a server with --database, or `temporary`")
    for count in PROCESSES[: bench.size(len(PROCESSES))]:
        with served(bench.database, OWN) as server:
            yield from _killed_in_turn(server, count)


def _killed_in_turn(server: Server, count: int) -> Iterator[Figure]:
    attempts, written = claimed(server, SUPERVISORS, 1), Written()
    processes = [server.pid, *(server.another() for _ in range(count - 1))]
    works: list[Callable[[], None]] = [partial(_supervise, server, each, written) for each in attempts]
    works += [partial(_submit, server, n, written) for n in range(USERS)]
    threads = [threading.Thread(target=_kept, args=(work, written)) for work in works]
    for thread in threads:
        thread.start()
    gaps = []
    try:
        for _ in range(count):
            time.sleep(BETWEEN_SECONDS)
            leader = _leader(server)
            process = leader if leader in processes else processes[0]  # the one that schedules, if it is its turn
            processes.remove(process)
            began = time.monotonic()
            server.kill(process)
            if process == leader:
                _await_another(server, process)
                gaps.append(time.monotonic() - began)
            server.another()
        time.sleep(BETWEEN_SECONDS)
    finally:
        written.over.set()
        for thread in threads:
            thread.join()
    if written.errors:
        raise written.errors[0]
    yield from _figures(server, count, attempts, written, gaps)


def _figures(
    server: Server, count: int, attempts: list[Attempt], written: Written, gaps: list[float]
) -> Iterator[Figure]:
    lost = doubled = 0
    for attempt in attempts:
        requests = written.requests[attempt.run]
        found = counted(server, [attempt], requests * STEPS, requests)
        lost, doubled = lost + found[0], doubled + found[1]
    until, times = time.monotonic() + SENT_SECONDS, list[int]()
    while len(times) < len(written.names) + len(attempts) and time.monotonic() < until:
        times = _dispatched(server)
    database = server.database()
    try:
        with database.read() as session:
            stored = Counter(session.scalars(select(Experiment.name).where(Experiment.name.startswith("kept "))))
    finally:
        database.close()
    of = f"{count} processes"
    yield Figure(f"{of}, each killed once: points missing", "points", (lost,), 0)
    yield Figure(f"{of}: points stored twice", "points", (doubled,), 0)
    missing = sum(name not in stored for name in written.names)
    yield Figure(f"{of}: experiments acknowledged and not there", "experiments", (missing,), 0)
    twice = sum(n > 1 for n in stored.values())
    yield Figure(f"{of}: experiments there twice", "experiments", (twice,), 0)
    yield Figure(f"{of}: attempts dispatched twice", "attempts", (sum(n > 1 for n in times),), 0)
    left = len(written.names) + len(attempts) - len(times)
    yield Figure(f"{of}: attempts not dispatched", "attempts", (left,), 0)
    yield Figure(f"{of}: attempts dispatched", "attempts", (len(times),), higher=True)
    yield Figure(f"{of}: requests acknowledged", "requests", (written.acknowledged,), higher=True)
    yield Figure(f"{of}: requests without an answer, sent again", "requests", (written.unanswered,))
    yield Figure(f"{of}: until another process schedules, largest", "s", (max(gaps, default=0.0),))
    yield Figure(f"{of}: times that the one which schedules was killed", "times", (len(gaps),), higher=True)


def _supervise(server: Server, attempt: Attempt, written: Written) -> None:
    """Post steps with an evaluation behind them, each request until it is acknowledged, every tenth one twice."""
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    _send(server, attempt.token, "/ingest", bodies.first(attempt), headers, written)
    for number in itertools.count():
        if written.over.wait(PAUSE_SECONDS):
            return
        seq = 1 + 2 * number
        records = [
            bodies.steps(seq, number * STEPS + 1, STEPS, 1, 0),
            bodies.evaluation(seq + 1, (number + 1) * STEPS, 1),
        ]
        body = bodies.body(attempt, {0: records})
        for _ in range(2 if number % 10 == 0 else 1):
            _send(server, attempt.token, "/ingest", body, headers, written)
        written.requests[attempt.run] += 1


def _submit(server: Server, user: int, written: Written) -> None:
    """Submit experiments of one run on a new cluster each, with a key until it is acknowledged."""
    plain = {"content-type": "application/json"}
    for number in itertools.count():
        if written.over.wait(2 * PAUSE_SECONDS):
            return
        name = f"kept {user} {number}"
        cluster = name.replace(" ", "-")
        said = json.dumps(hello(cluster, 1, f"agt_{uuid.uuid4().hex}")).encode()
        _send(server, server.agents, "/agents/hello", said, plain, written)
        body = json.dumps(experiment([cluster], 1) | {"name": name}).encode()
        _send(server, server.token, "/experiments", body, plain | {"idempotency-key": cluster}, written)
        with written.lock:
            written.names.append(name)


def _send(server: Server, token: str, path: str, body: bytes, headers: dict[str, str], written: Written) -> None:
    """Post a body until it is acknowledged. Raises ValueError if it is refused, TimeoutError after a while."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        status, answer = 0, b""
        with suppress(OSError, http.client.HTTPException), Client(server.url, token) as client:
            status, answer = client.raw("POST", path, body, headers)
        if 200 <= status < 300:
            with written.lock:
                written.acknowledged += 1
            return
        if 400 <= status < 500:
            raise ValueError(f"POST {path}: {status}: {answer[:500]!r}")
        with written.lock:
            written.unanswered += status != 503
        time.sleep(PAUSE_SECONDS)
    raise TimeoutError(f"POST {path} was not acknowledged within {LIMIT:g} s: {status}: {answer[:500]!r}")


def _kept(work: Callable[[], None], written: Written) -> None:
    try:
        work()
    except Exception as error:  # any error: told by the caller
        written.errors.append(error)


def _dispatched(server: Server) -> list[int]:
    """Return how often each attempt was dispatched that was."""
    database = server.database()
    try:
        with database.read() as session:
            sent = select(func.count()).where(Transition.state == RunState.DISPATCHED)
            return list(session.scalars(sent.group_by(Transition.run_id, Transition.attempt)))
    finally:
        database.close()


def _leader(server: Server) -> int | None:
    """Return the process that schedules."""
    database = server.database()
    try:
        with database.read() as session:
            mine = (Leader.name == "scheduler", Leader.until > func.now())
            holder = session.scalar(select(Leader.holder).where(*mine))
    finally:
        database.close()
    return int(holder.split(":")[-2]) if holder else None


def _await_another(server: Server, gone: int) -> None:
    """Return when another process than this one schedules. Raises TimeoutError."""
    until = time.monotonic() + LIMIT
    while _leader(server) in (None, gone):
        if time.monotonic() > until:
            raise TimeoutError(f"no other process schedules after {LIMIT:g} s")
        time.sleep(0.05)
