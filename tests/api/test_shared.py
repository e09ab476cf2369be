"""Work that several threads ask for at the same moment: done once for all who asked before it began."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hooke_api.base.errors import ApiError, Conflict
from hooke_api.base.shared import Shared

from tests.waiting import wait_for


class Work:
    """Work that waits until it may end, and returns what is true when it begins."""

    def __init__(self) -> None:
        self.truth, self.begun, self.begun_at = 0, 0, threading.Event()
        self.may_end = threading.Event()

    def __call__(self) -> int:
        self.begun += 1
        found = self.truth
        self.begun_at.set()
        assert self.may_end.wait(30)
        return found


@pytest.fixture
def threads():
    with ThreadPoolExecutor(16) as pool:
        yield pool


def waiting(shared: Shared, key: str) -> int:
    """Return how many wait for work of a key that has not begun."""
    with shared._lock:
        future = shared._next.get(key)
    return 0 if future is None else len(future._condition._waiters)


def test_of_many_at_once_at_most_two_are_worked_for_and_nobody_gets_what_is_older_than_the_question(threads):
    shared, work = Shared[int](), Work()
    first = threads.submit(shared.get, "a", work)
    assert work.begun_at.wait(30)
    work.truth = 1  # an event that those who ask from now on have been told of
    later = [threads.submit(shared.get, "a", work) for _ in range(12)]
    wait_for(lambda: waiting(shared, "a") == 11, "those that wait for the next time")
    work.may_end.set()
    assert first.result(30) == 0
    assert [each.result(30) for each in later] == [1] * 12
    assert work.begun == 2
    assert not shared._next and not shared._turns, "nothing is kept"
    work.truth = 2
    assert shared.get("a", work) == 2, "nothing is remembered"


def test_an_error_is_told_to_all_who_waited_and_to_nobody_later(threads):
    shared, work = Shared[int](), Work()
    first = threads.submit(shared.get, "a", work)
    assert work.begun_at.wait(30)

    def fail() -> int:
        raise Conflict("the experiment is gone")

    later = [threads.submit(shared.get, "a", fail) for _ in range(3)]
    wait_for(lambda: waiting(shared, "a") == 2, "those that wait for the next time")
    work.may_end.set()
    assert first.result(30) == 0
    for each in later:
        with pytest.raises(ApiError, match="is gone"):
            each.result(30)
    assert shared.get("a", lambda: 7) == 7
    assert not shared._next and not shared._turns


def test_other_keys_wait_for_nobody(threads):
    shared, work = Shared[int](), Work()
    first = threads.submit(shared.get, "a", work)
    assert work.begun_at.wait(30)
    assert shared.get("b", lambda: 5) == 5
    work.may_end.set()
    assert first.result(30) == 0
