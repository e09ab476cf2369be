"""Bodies are parsed and validated in threads of their own, with a deadline, and answered as FastAPI answers."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from hooke_api.app import ROOMS
from hooke_api.base import checked
from hooke_api.base.checked import SMALL, THREADS, CheckedRoute, Checks
from hooke_api.base.endable import Endable
from hooke_api.base.errors import MOST_FAULTS, TooLarge, Unavailable
from pydantic import AfterValidator, BaseModel

from tests.api.databases import ONE_KIND
from tests.waiting import LIMIT

PADDING = " " * SMALL
names: list[str] = []


def note(text: str) -> str:
    names.append(threading.current_thread().name)
    return text


class Asked(BaseModel):
    text: Annotated[str, AfterValidator(note)]
    numbers: list[int] = []


router = APIRouter(route_class=CheckedRoute)


@router.post("/")
def answer(asked: Asked) -> Asked:
    return asked


async def post(body: str, **headers: str) -> httpx.Response:
    app = FastAPI()
    app.state.checks = Checks()
    app.include_router(router)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        return await client.post("/", content=body, headers={"content-type": "application/json"} | headers)


def test_every_operation_with_a_document_has_it_checked():
    routes = [route for room in ROOMS for route in room.routes if isinstance(route, APIRoute)]
    with_body = [route for route in routes if route.body_field is not None]
    assert len(with_body) > 20
    assert [route.operation_id for route in with_body if not isinstance(route, CheckedRoute)] == []


@pytest.mark.parametrize(
    ("body", "thread"),
    [('{"text": "a"}', "MainThread"), ('{"text": "a"}' + PADDING, "bodies_0")],
    ids=["small", "large"],
)
def test_a_body_that_is_not_small_is_validated_in_a_thread(body, thread):
    names.clear()
    found = asyncio.run(post(body))
    assert (found.status_code, found.json()) == (200, {"text": "a", "numbers": []})
    assert names[0] == thread


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/series", "{"),
        ("/series", "[]"),
        ("/series", "null"),
        ("/series", '{"runs": ["x", 3], "metrics": ["loss"], "points": -1, "more": {}}'),
        ("/series", '{"runs": ["no"], "metrics": ["train_loss"]}'),
        ("/experiments", '{"name": 7}'),
        ("/experiments/dry-run", '{"name": "x", "variants": [1, {}]}'),
        ("/tokens", '{"label": "x", "scope": "all", "days": 1000}'),
        ("/runs/no/retry", '{"attempts": "x"}'),
        ("/runs/no/retry", "null"),
    ],
)
@ONE_KIND
def test_faults_are_told_as_those_of_a_small_body(service, path, body):
    small, large = (
        service.client.post(path, content=text, headers={"content-type": "application/json"})
        for text in (body, PADDING + body)
    )
    told = [{k: v for k, v in each.json().items() if k != "request_id"} for each in (small, large)]
    if told[0]["type"] == "/problems/malformed":  # the place is behind the padding
        for each in told:
            each.pop("errors")
    assert (small.status_code, told[0]) == (large.status_code, told[1])


@ONE_KIND
def test_another_kind_of_content_is_refused_as_before(service):
    headers = {"content-type": "text/plain"}
    answers = [service.client.post("/series", content=text, headers=headers) for text in ("{}", "{}" + PADDING)]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert answers[0].json()["errors"] == answers[1].json()["errors"]


def test_of_very_many_faults_only_the_number_is_told():
    body = '{"text": "a", "numbers": [' + ",".join(['"x"'] * (MOST_FAULTS + 1)) + "]}"
    (fault,) = asyncio.run(post(body)).json()["detail"]
    assert (fault["loc"], fault["msg"]) == (["body"], f"has {MOST_FAULTS + 1} faults")


def test_what_takes_too_long_is_refused_and_what_cannot_begin_may_be_sent_again():
    free = threading.Event()

    async def both() -> None:
        checks = Checks(seconds=0.05)
        results = await asyncio.gather(
            *(checks.run(lambda: free.wait(LIMIT)) for _ in range(THREADS + 1)), return_exceptions=True
        )
        free.set()
        checks.close()
        assert [type(result) for result in results] == [TooLarge] * THREADS + [Unavailable]

    asyncio.run(both())


def test_what_takes_too_long_leaves_its_thread_to_others():
    def endless() -> None:
        while True:
            pass

    async def after() -> object:
        checks = Checks(seconds=0.2)
        try:
            results = await asyncio.gather(*(checks.run(endless) for _ in range(THREADS)), return_exceptions=True)
            assert [type(result) for result in results] == [TooLarge] * THREADS
            checks._seconds = LIMIT
            return await checks.run(lambda: "answer")
        finally:
            checks.close()

    assert asyncio.run(after()) == "answer"


def test_what_nobody_waits_for_any_more_is_ended():
    """As at the end of the process, which waits for its threads."""

    def endless() -> None:
        while True:
            pass

    async def cancelled() -> None:
        checks = Checks(seconds=LIMIT)
        try:
            asked = [asyncio.create_task(checks.run(endless)) for _ in range(THREADS)]
            await asyncio.sleep(0.1)
            for each in asked:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            assert await asyncio.wait_for(checks.run(lambda: "answer"), LIMIT / 2) == "answer"
        finally:
            checks.close()

    asyncio.run(cancelled())


def test_what_is_ended_before_it_begins_does_not_begin():
    piece = Endable(lambda: "done")
    piece.end()
    assert piece() is None
    again = Endable(lambda: "done")
    assert again() == "done"
    again.end()


def test_ending_what_is_over_does_not_reach_the_next_work_of_the_thread():
    """Ended at any moment around its end, whatever the thread does next is left alone."""
    with ThreadPoolExecutor(1) as threads:
        for turn in range(300):
            piece = Endable(lambda turn=turn: sum(range(turn * 20)))
            running = threads.submit(piece)
            while turn % 2 and not running.done():
                pass
            piece.end()
            assert running.result(LIMIT) in (None, sum(range(turn * 20)))
            assert threads.submit(lambda turn=turn: turn).result(LIMIT) == turn


@pytest.mark.parametrize("body", [b'{"text": "\xff"}', b"[" + b"1" * 5_000 + b"]"], ids=["not UTF-8", "digits"])
def test_a_body_that_python_does_not_read_is_malformed(body):
    with pytest.raises(checked.Malformed):
        checked.read(None, body)
