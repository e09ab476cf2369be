"""The stream on PostgreSQL, where transactions commit out of order."""

import threading
import time
import uuid

import pytest
from hooke_api.storage.outbox import announce

from tests.api.conftest import postgres_url, run_sql
from tests.waiting import wait_for

pytestmark = pytest.mark.needs("redis", "postgres")


@pytest.fixture
def database_url(postgres, postgres_template):
    name = f"test_{uuid.uuid4().hex}"
    run_sql(postgres, f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield postgres_url(postgres, name)
    run_sql(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def test_nothing_is_missed_when_slow_and_quick_transactions_mix(api, listen):
    listener = listen(after=0)

    def write(pause: float, times: int) -> None:
        for _ in range(times):
            with api.state.database.write() as session:
                announce(session, "run", {"id": "run_a"}, experiment_id="exp_a", run_id="run_a")
                time.sleep(pause)

    writers = [threading.Thread(target=write, args=a) for a in ((0.03, 20), (0.0, 150), (0.001, 100), (0.1, 5))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    wait_for(lambda: len(listener.events) >= 275, "all events")
    assert listener.ids == list(range(1, 276))
