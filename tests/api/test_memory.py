"""What may grow in a process of the API is bounded: caches, pages of SQLite, arenas of the C library, buckets."""

import asyncio
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing

import numpy as np
import pytest
from hooke.spec.events import STEP_COLUMNS
from hooke_api.base import memory
from hooke_api.base.caches import Budget, Cache
from hooke_api.base.rates import Buckets
from hooke_api.base.settings import Settings
from hooke_api.metrics import loading
from hooke_api.metrics.evaluations import later_evaluations
from hooke_api.metrics.increments import COLUMNS, Increments
from hooke_api.metrics.pieces import Ahead
from hooke_api.metrics.schemas import Band, BandAnswer
from hooke_api.storage import blocks
from hooke_api.storage import database as storage
from hooke_api.storage.database import Database
from sqlalchemy import event

from tests.api.databases import ONE_KIND


def test_caches_together_hold_what_was_used_last():
    """Against a list in the order of use, which is cut where it is too much."""
    draw, limit = random.Random(1), 1000
    budget = Budget(limit)
    caches = [Cache(budget, len) for _ in range(3)]
    used: list[tuple[int, int, bytes]] = []
    for _ in range(3000):
        which, key = draw.randrange(3), draw.randrange(12)
        known = next((entry for entry in used if entry[:2] == (which, key)), None)
        if draw.random() < 0.5:
            assert caches[which].get(key) == (known[2] if known else None)
        else:
            value = bytes(draw.randrange(400))
            caches[which].put(key, value)
            if known:
                used.remove(known)
            known = (which, key, value)
            used.append(known)
        if known:
            used.remove(known)
            used.append(known)
        while sum(len(entry[2]) for entry in used) > limit and len(used) > 1:
            used.pop(0)
        assert budget.held == sum(len(entry[2]) for entry in used) <= limit
    caches[0].drop(lambda key: key % 2 == 0)
    used = [entry for entry in used if entry[0] != 0 or entry[1] % 2]
    assert budget.held == sum(len(entry[2]) for entry in used)
    for which, key, value in used:
        assert caches[which].get(key) == value


def test_one_that_is_too_large_stays_alone():
    budget = Budget(10)
    small, large = Cache(budget, len), Cache(budget, len)
    small.put("a", b"12345")
    large.put("a", bytes(100))
    assert (small.get("a"), large.get("a")) == (None, bytes(100))
    small.put("a", b"12345")
    assert (small.get("a"), large.get("a"), budget.held) == (b"12345", None, 5)


def test_answers_about_bands_hold_bytes_not_numbers_of_answers():
    budget = Budget(500_000)
    increments, numbers = Increments(budget), [float(i) for i in range(300)]
    of_one = len(COLUMNS) * 300 * 8
    for version in range(40):
        bands = [
            Band(
                variant=f"{version} {i}", cluster="local", simulated=False, workers=2, metric="train_loss",
                x=numbers, mean=numbers, low=numbers, high=numbers, n=[1] * 300,
                runs=["run_1"],
            )
            for i in range(10)
        ]  # fmt: skip
        increments.since(BandAnswer(axis="clock", unit="s", bands=bands, position=0), None)
        assert budget.held <= 500_000
    assert budget.held >= 10 * of_one, "the newest is there"


@ONE_KIND
def test_connections_to_sqlite_keep_few_pages_and_few_are_in_use(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'hooke.db'}")
    held = [database.engine.connect() for _ in range(8)]  # many requests at a time
    for connection in held:
        assert connection.exec_driver_sql("PRAGMA cache_size").scalar() == -storage.SQLITE_KIB
        connection.close()
    used = set()
    for _ in range(20):
        with database.read() as session:
            used.add(id(session.connection().connection.dbapi_connection))
    assert len(used) == 1, "requests in turn fill the pages of one connection"
    database.close()


@ONE_KIND
def test_all_caches_of_an_application_have_one_limit(service):
    from hooke_api.metrics.endpoints import curve_store, increments, phase_store
    from hooke_api.timeline.endpoints import timeline_store

    class Request:
        app = service.app

    for made in (curve_store, increments, phase_store, timeline_store):
        found = asyncio.run(made(Request))
        (cache,) = [each for each in vars(found).values() if isinstance(each, Cache)]
        assert cache._budget is service.app.state.caches
    assert service.app.state.caches._limit == Settings.model_fields["caches_limit"].default


@ONE_KIND
def test_looks_at_any_number_of_runs_are_statements_of_few_shapes(database):
    """Each shape is compiled and kept: with a hundred runs in an experiment there would be a hundred of each."""
    shapes = set()
    event.listen(database.engine, "before_cursor_execute", lambda _c, _k, text, *_: shapes.add(text))
    with database.read() as session:
        for runs in range(1, 200):
            places = {f"run_{i}": (1, 0, 5) for i in range(runs)}
            assert later_evaluations(session, places) == {}
            Ahead(session, dict.fromkeys(places, 0))
            Ahead(session, dict.fromkeys(places, 0) | {"run_0": 7})
    shapes.discard("BEGIN")
    assert len(shapes) <= 3 * 8, "of conditions 1, 2, 4, ..., 128"


def test_buckets_that_are_full_again_are_forgotten():
    now = [0.0]
    buckets = Buckets(60, "requests", lambda: now[0])
    for number in range(1000):
        buckets.take(str(number), "")
        now[0] += 0.1
    assert len(buckets) <= 11, "each is full after a second"


ARENAS = """
import ctypes, json, sys, threading
from hooke_api.base import memory
if sys.argv[1] == "settled":
    assert memory.settle()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.fclose.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
together = threading.Barrier(12)
def work():
    together.wait()
    assert libc.malloc(5000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, file)
libc.fclose(file)
"""


def arenas(how: str, place) -> int:
    subprocess.run([sys.executable, "-c", ARENAS, how, str(place)], check=True)
    return place.read_text().count("<heap nr=")


@pytest.mark.skipif(memory._library() is None, reason="NOT TESTED HERE: the C library is not glibc")
def test_threads_share_few_arenas(tmp_path):
    assert arenas("settled", tmp_path / "a") <= memory.ARENAS
    assert arenas("as it is", tmp_path / "b") > memory.ARENAS, "the measure sees them"


TRIMMED = """
import ctypes, json
from pathlib import Path
from hooke_api.base import memory
memory.settle()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes, libc.memset.argtypes = [ctypes.c_void_p], [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
found = [resident()]
blocks = [libc.malloc(60_000) for _ in range(1000)]
for block in blocks: libc.memset(block, 1, 60_000)
kept = libc.malloc(60_000)  # at the end, so that the heap cannot shrink by itself
for block in blocks: libc.free(block)
found.append(resident())
memory.trim()
found.append(resident())
print(json.dumps(found))
"""


@pytest.mark.skipif(memory._library() is None, reason="NOT TESTED HERE: the C library is not glibc")
def test_what_is_free_in_the_middle_of_a_heap_goes_back_to_the_system():
    told = subprocess.run([sys.executable, "-c", TRIMMED], check=True, capture_output=True, text=True)
    before, freed, trimmed = json.loads(told.stdout)
    assert freed - before > 50e6, "without a trim it stays"
    assert trimmed - before < 10e6


def test_sizes_of_arrays_are_those_that_numpy_tells():
    """A timeline is counted with its messages and meetings, not with its trace alone."""
    from hooke_api.timeline.messages import Meetings, Messages
    from hooke_api.timeline.store import Timeline

    class Trace:
        nbytes = 1000

    whole, real = np.zeros(100, dtype=np.int64), np.zeros(100)
    table = np.zeros((50, 2))
    messages = Messages(whole, whole, real, real, whole)
    meetings = Meetings(np.zeros(2, dtype=np.int64), table, table, table)
    assert Timeline(Trace(), messages, meetings, None, True).nbytes == 1000 + 5 * 800 + 16 + 3 * 800
    assert Timeline(Trace(), messages, None, None, True).nbytes == 1000 + 5 * 800


@ONE_KIND
def test_the_steps_of_a_run_are_read_a_few_rows_at_a_time(tmp_path, sqlite_template):
    """What is read of a long run takes its columns twice, and not all that its rows hold as well."""
    shutil.copy(sqlite_template, tmp_path / "hooke.db")
    database = Database(f"sqlite:///{tmp_path / 'hooke.db'}")
    n, rows = 512, 150
    columns = {name: np.zeros(n, dtype) for name, dtype in STEP_COLUMNS.items()}
    header, data = blocks.pack(columns)
    with closing(sqlite3.connect(tmp_path / "hooke.db")) as connection:  # without the run that they belong to
        insert = (
            "INSERT INTO chunks (run_id, attempt, rank, seq, n, header, data) VALUES ('run_1', 1, 0, ?, ?, ?, ?)"
        )
        connection.executemany(insert, [(seq, n, json.dumps(header), data) for seq in range(rows)])
        connection.commit()
    with database.read() as session:
        loading.read_columns(session, "run_1")  # what is imported and compiled at first
        tracemalloc.start()
        found = loading.read_columns(session, "run_1")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    database.close()
    size = sum(column.nbytes for column in found[1, 0].values())
    assert len(found[1, 0]["step"]) == n * rows and size > 3e6
    assert len(data) * rows > 1.5 * size, "rows hold more"
    assert peak < 2.4 * size
