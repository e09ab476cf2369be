"""What `readyz` tells to who has no credential: causes, and no text of an error."""

import errno
import sqlite3

import httpx
import pytest
import redis
from hooke_api.base.causes import cause
from hooke_api.base.workers import Repeating
from hooke_api.events.bus import Bus
from hooke_api.storage.objects import ObjectError
from sqlalchemy.exc import IntegrityError, OperationalError

from tests.api.databases import ONE_KIND
from tests.waiting import free_port, wait_for

SECRET = "db.internal:5432 /srv/hooke hunter2"
FULL = sqlite3.OperationalError("database or disk is full")
READ_ONLY = sqlite3.OperationalError("attempt to write a readonly database")
CASES = [
    (OSError(errno.ENOSPC, SECRET, "/srv/hooke/hooke.db"), "no space is left on a disk"),
    (PermissionError(errno.EACCES, SECRET), "a file may not be opened"),
    (OSError(SECRET), "the operating system refuses something"),
    (OperationalError(SECRET, {}, Exception(f"connection to {SECRET} failed")), "the database does not respond"),
    (OperationalError(SECRET, {}, FULL), "the disk of the database is full"),
    (OperationalError(SECRET, {}, READ_ONLY), "the database can only be read"),
    (IntegrityError(SECRET, {}, Exception(SECRET)), "the database refuses a statement"),
    (redis.ConnectionError(SECRET), "Redis does not respond"),
    (MemoryError(SECRET), "there is no memory left"),
    (ObjectError(SECRET), "an unexpected error"),
    (KeyError(SECRET), "an unexpected error"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "said"), CASES)
def test_a_cause_is_told_without_the_words_of_the_error(error, said):
    assert cause(error) == said

    class Failing(Repeating):
        def look(self):
            raise error

    worker = Failing("purger", 3600)
    worker.start()
    told = wait_for(worker.fault, "the first look")
    worker.stop()
    assert told == f"its last look failed: {said}; the log of the server says more"


@ONE_KIND
def test_readiness_names_neither_the_host_nor_the_path_of_redis(service):
    told = httpx.get(f"{service.url}/readyz").json()["reasons"]
    assert "redis does not respond: it cannot be reached" in told
    bus = Bus(f"redis://127.0.0.1:{free_port()}/0")
    assert bus.answers() == "it cannot be reached"
    bus.close()
