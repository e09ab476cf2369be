"""How long a supervisor waits before it tries again: never so long that it looks lost."""

import asyncio
import itertools
from types import SimpleNamespace

import httpx
import pytest
from hooke.cluster.delivery import Delivery, Tokens
from hooke.cluster.job import Job, Timing
from hooke.cluster.launchers.slurm_words import Line, outside
from hooke.cluster.verdict import Evidence, judge
from hooke_api.base.settings import Settings

REQUEST_SECONDS = 13.0
"""Longest time of one request: connecting and waiting for the answer."""


def delays(answers, hours: float) -> list[float]:
    """Return the pauses of a delivery after these answers, repeated for so many hours of its own waiting."""
    made = Delivery(attempt(), "http://127.0.0.1:1", Tokens("token"), Timing(), client(answers))
    found: list[float] = []

    async def play() -> None:
        while sum(found) < 3600 * hours:
            assert not await made._send()
            found.append(made._retry_delay())

    asyncio.run(play())
    return found


def attempt():
    shipper = SimpleNamespace(request=lambda *_, **__: SimpleNamespace(model_dump_json=lambda: "{}"))
    return SimpleNamespace(shipper=shipper, reports=[], ended=False, folder=SimpleNamespace(id="run_a.1"))


def client(answers):
    given = itertools.cycle(answers)

    def answer(_request):
        found = next(given)
        if isinstance(found, Exception):
            raise found
        return found

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


TROUBLE = {
    "away": [httpx.ConnectError("refused")],
    "garbage": [httpx.Response(200, text="<html>"), httpx.Response(500, text="no")],
    "busy": [httpx.Response(503, headers={"retry-after": "3600"})],
    "an odd date": [httpx.Response(429, headers={"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"})],
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_after_any_outage_the_next_try_comes_within_a_lease(trouble, capsys):
    """It grew to 300 s after ten minutes: a supervisor that lived was called lost, and its run begun again."""
    found = delays(TROUBLE[trouble], hours=3)
    lease = Settings.model_fields["lease_seconds"].default
    assert max(found) + REQUEST_SECONDS < lease
    assert max(found) <= Timing().longest_retry
    assert len({round(each, 3) for each in found[-50:]}) > 25, "no jitter"


def test_a_server_that_asks_for_time_gets_it_within_the_limit():
    found = delays([httpx.Response(503, headers={"retry-after": "5"})], hours=0.01)
    assert min(found) >= 5.0
    assert max(found) <= Timing().longest_retry


def test_jobs_of_earlier_versions_are_read():
    old = {"api": "http://h", "orders": [{"run": "r", "attempt": 1, "spec": {}}]}
    old["timing"] = {"look": 0.3, "patient_after": 600.0, "patient_retry": 300.0}
    assert Job.model_validate(old).timing.look == 0.3


@pytest.mark.parametrize(
    ("state", "cause", "ended"), [("TIMEOUT", "time_limit", "timed_out"), ("NODE_FAIL", None, "failed_infra")]
)
def test_the_end_of_a_batch_job_says_whether_its_time_was_up(state, cause, ended):
    found = outside(Line("7", state, "None", "n1", "hooke", ""))
    report = judge(Evidence(ranks=2, status=None, outside=found))
    assert (report.state, report.cause) == (ended, cause)
    assert ("cause" in report.model_dump_json()) == (cause is not None)
