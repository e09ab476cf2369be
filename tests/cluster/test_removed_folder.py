"""What is delivered, and obeyed, of an attempt whose folder was removed, or cannot be written to any more."""

import asyncio
import errno

from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.delivery import Delivery, Tokens, make_client
from hooke.cluster.job import Order
from hooke.cluster.places import Home
from hooke.cluster.supervisor import Supervisor
from hooke.spec.events import StateReport

from tests.cluster.bench import FAST, spec

KEY = ("run_a", 1)


def started(path, api) -> SupervisedAttempt:
    attempt = SupervisedAttempt(Home(path).attempt(*KEY), Order(run="run_a", attempt=1, spec=spec()))
    attempt.starting()
    api.tokens[KEY] = "secret"
    return attempt


def deliver(attempt, api, work) -> None:
    """Let `work` use the delivery of an attempt."""

    async def delivering() -> None:
        async with make_client(api.url) as client:
            await work(Delivery(attempt, api.url, Tokens("secret"), FAST, client))

    asyncio.run(delivering())


def test_a_cancel_is_obeyed_although_its_marker_cannot_be_written(tmp_path, api):
    """No space for a further file ends a delivery as little: the run would be lost, and go on."""
    attempt = started(tmp_path, api)
    attempt.folder.path.rename(tmp_path / "gone")
    api.cancel.add(KEY)

    async def work(delivery) -> None:
        assert await delivery._send()
        assert attempt.must_end and not attempt.folder.cancel.exists()
        assert attempt.end_unstarted() and attempt.reports[-1].state == "cancelled"
        assert await delivery.run()

    deliver(attempt, api, work)
    assert attempt.delivered
    assert api.states(*KEY) == ["starting", "cancelled"]


def test_a_disk_that_fails_for_a_while_ends_no_delivery(tmp_path, api, monkeypatch):
    attempt = started(tmp_path, api)
    attempt.report(StateReport(state="failed_user", unix=1.0, why="it raised"))
    request, failures = attempt.shipper.request, [OSError(errno.EIO, "Input/output error"), None]

    def failing(*arguments, **options):
        if (error := failures.pop(0) if failures else None) is not None:
            raise error
        return request(*arguments, **options)

    monkeypatch.setattr(attempt.shipper, "request", failing)

    async def work(delivery) -> None:
        assert await delivery.run()

    deliver(attempt, api, work)
    assert api.states(*KEY) == ["starting", "failed_user"]


def test_a_job_is_over_when_all_of_it_was_delivered_wherever_its_folders_are(bench, monkeypatch):
    """Else the next agent would start the attempt again, beside whatever runs by then."""
    job = bench.job(["run_a"], specs={"run_a": {"nothing": "valid"}})
    real = SupervisedAttempt.end_unstarted

    def removed(attempt) -> bool:
        ended = real(attempt)
        attempt.folder.path.rename(bench.home.path / "gone")
        return ended

    monkeypatch.setattr(SupervisedAttempt, "end_unstarted", removed)
    asyncio.run(Supervisor(bench.home, job).run())
    assert bench.api.states("run_a") == ["starting", "failed_user"]
    assert job.delivered.exists() and not job.tokens.exists()
