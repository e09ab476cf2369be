"""PostgreSQL: a process that stands still in the middle of a change keeps others waiting for a bounded time."""

from contextlib import closing

import psycopg
import pytest
from hooke_api.models import NumberSequence
from hooke_api.storage import database as storing
from hooke_api.storage.database import ALIVE, Database
from sqlalchemy import select, text, update
from sqlalchemy.exc import OperationalError

from tests.api.databases import MIGRATIONS, fresh_database
from tests.api.hands import ALONE, SPEC
from tests.api.test_busy import served, unavailable
from tests.waiting import wait_for

pytestmark = pytest.mark.needs("postgres")
EVENTS = update(NumberSequence).where(NumberSequence.name == "events").values(value=NumberSequence.value + 1)
"""What every transaction with events does last: all others wait for its end."""


@pytest.fixture
def url(request, tmp_path):
    with fresh_database(request, "postgres", tmp_path) as url:
        yield url


def test_who_waits_for_a_locked_row_is_told_to_try_again(url, tmp_path):
    with served(url, tmp_path, database_seconds=0.1) as (_, client), closing(Database(url)) as other:
        with other.write() as session:
            session.execute(EVENTS)
            unavailable(client.post("/experiments", json=SPEC | ALONE))
            assert client.get("/experiments").json()["items"] == []
        assert client.post("/experiments", json=SPEC | ALONE).status_code == 201


def test_a_change_in_which_nothing_happens_any_more_is_undone(url, monkeypatch):
    """Its process was stopped, or its host lost: without an end, nobody could write until the kernel notices."""
    monkeypatch.setattr(storing, "IDLE_SECONDS", 0.3)
    with closing(Database(url)) as stopped, closing(Database(url, seconds=0.1)) as living:

        def written() -> bool:
            with living.write() as session:
                session.execute(EVENTS)
            return True

        with pytest.raises(OperationalError), stopped.write() as session:
            session.execute(EVENTS.values(value=1000))
            wait_for(written, "the end of the other change", ignoring=(OperationalError,))
        with living.read() as session:
            assert session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) == 1
        with stopped.write() as session:
            session.execute(EVENTS)  # with another connection


def test_reading_and_migrating_may_stand_still(url, monkeypatch):
    monkeypatch.setattr(storing, "IDLE_SECONDS", 0.05)
    shown = text("SHOW idle_in_transaction_session_timeout"), text("SHOW lock_timeout")
    with closing(Database(url, seconds=2.0)) as database:
        with database.write() as session:
            assert [session.scalar(each) for each in shown] == ["50ms", "6s"]
        for transaction in (database.read(), database.write(bounded=False)):
            with transaction as session:
                assert [session.scalar(each) for each in shown] == ["0", "0"]
        database.migrate(MIGRATIONS)


def test_connections_over_tcp_notice_that_the_other_end_is_gone(url):
    with closing(Database(url)) as database, database.read() as session:
        driver = session.connection().connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        assert driver.info.get_parameters().items() >= {name: str(value) for name, value in ALIVE.items()}.items()
    with closing(Database(f"{url}&keepalives_idle=7")) as database, database.read() as session:
        driver = session.connection().connection.driver_connection
        assert driver.info.get_parameters()["keepalives_idle"] == "7"
