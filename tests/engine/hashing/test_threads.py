"""Threads over ranges: every range once, whoever takes it, and no thread left behind."""

import gc
import os
import threading
import time
from contextlib import suppress

import pytest
from hooke.errors import ArgumentError
from hooke.hashing.threads import Threads


@pytest.mark.parametrize("count", [1, 2, 5, 16])
@pytest.mark.parametrize(("n", "grain"), [(0, 1), (1, 1), (3, 1), (7, 4), (1000, 1), (1000, 300)])
def test_ranges_cover_everything_once(count, n, grain):
    threads, taken = Threads(count), []
    for _ in range(20):
        taken.clear()
        threads.over(n, lambda begin, end: taken.append((begin, end)), grain)
        assert sorted(i for begin, end in taken for i in range(begin, end)) == list(range(n))
        assert len(taken) == 1 or min(end - begin for begin, end in taken) >= min(grain, n)


def test_a_forked_process_has_threads_of_its_own():
    """Those of its parent are not there: calls would pile up at a queue where nobody waits."""
    threads = Threads(3)
    threads.over(12, lambda begin, end: None)
    child = os.fork()
    if not child:
        barrier, status = threading.Barrier(3, timeout=60), 1
        with suppress(threading.BrokenBarrierError):
            threads.over(3, lambda begin, end: barrier.wait())
            status = 0
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_several_threads_work_at_once():
    """Each of three waits for the two others: with fewer, the barrier would break."""
    barrier = threading.Barrier(3, timeout=60)
    with_three = Threads(3)
    for _ in range(5):
        with_three.over(3, lambda begin, end: barrier.wait())


def test_an_exception_comes_when_all_ranges_are_over():
    done = []

    def work(begin, end):
        if begin == 0:
            raise ValueError("the first range")
        time.sleep(0.01)
        done.append((begin, end))

    threads = Threads(2)
    with pytest.raises(ValueError, match="the first range"):
        threads.over(8, work)
    assert len(done) == 7
    threads.over(8, lambda begin, end: done.append((begin, end)))
    assert len(done) == 15, "it works on"


def test_calls_from_several_threads_do_not_mix():
    threads, wrong = Threads(3), []

    def caller(number):
        for _ in range(200):
            seen = []
            threads.over(12, lambda begin, end: seen.append((number, begin)))  # noqa: B023 - over before the next
            if {who for who, _ in seen} != {number} or len(seen) != 12:
                wrong.append(seen)

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(4)]
    for each in callers:
        each.start()
    for each in callers:
        each.join(20)
    assert not wrong


def test_a_call_inside_a_call_ends():
    threads, seen = Threads(2), []
    threads.over(4, lambda begin, end: threads.over(4, lambda first, last: seen.append((begin, first))))
    assert len(seen) == 16


def test_threads_end_with_their_instance():
    before = set(threading.enumerate())
    threads = Threads(4)
    threads.over(100, lambda begin, end: None)
    own = set(threading.enumerate()) - before
    assert len(own) == 3
    del threads
    gc.collect()
    for each in own:
        each.join(10)
    assert not any(each.is_alive() for each in own)


def test_there_is_at_least_one():
    with pytest.raises(ArgumentError, match="it must be at least 1"):
        Threads(0)
