"""A server that was restored does not know the token of an attempt that began after the backup: it tells one."""

import asyncio
import hashlib
import json

from hooke.cluster import orders
from hooke.cluster.delivery import make_client
from hooke.cluster.job import read_job
from hooke.cluster.launchers.settings import LocalSettings
from hooke.cluster.places import Home
from hooke.cluster.supervisor import Supervisor
from hooke.spec.orders import LaunchOrder

from tests.cluster.bench import spec

KEY = ("run_a", 1)


def order(token):
    return LaunchOrder(run="run_a", attempt=1, token=token, spec=spec())


def proof_of(home):
    return home.attempt(*KEY).token_sha256.read_text()


def test_a_supervisor_that_lives_goes_on_with_the_token_of_a_later_claim(tmp_path, api):
    """It was refused for as long as it lived, and the run was lost, although it was trained."""
    home = Home(tmp_path)
    folder = orders._make_job(home, api.url, [order("first")], LocalSettings())
    api.tokens[KEY] = "first"
    supervisor = Supervisor(home, folder)
    (attempt,) = supervisor._claim()
    attempt.starting()

    async def work() -> None:
        async with make_client(api.url) as client:
            delivery = supervisor._delivery(attempt, client)
            assert await delivery._send()
            assert orders.launch(home, api.url, [order("a claim that came twice")]) == []
            assert await delivery._send(), "its own is good"
            assert proof_of(home) == hashlib.sha256(b"first").hexdigest()
            api.tokens[KEY] = "second"
            api.reports.clear()
            assert not await delivery._send(), "nobody has told it the new one"
            assert orders.launch(home, api.url, [order("second")]) == []
            assert await delivery._send()
            assert await delivery._send(), "once adopted, it is not asked for again"

    asyncio.run(work())
    assert api.states(*KEY) == ["starting"]
    assert proof_of(home) == hashlib.sha256(b"second").hexdigest(), "with which the agent proves a death"
    assert read_job(folder)[1] == {"run_a.1": "second"}, "for the next supervisor"
    assert json.loads(folder.offered.read_text()) == {"run_a.1": "second"}
    assert folder.offered.stat().st_mode & 0o777 == 0o600
    for lock in supervisor._locks:
        lock.release()
