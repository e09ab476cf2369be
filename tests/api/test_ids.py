"""Ids: their order is that of creation, within a millisecond too, and between threads."""

import threading
import time

from hooke_api.base.ids import experiment_id, run_id


def test_ids_of_one_process_ascend():
    made = [run_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {len(each) for each in made} == {len("run_") + 32}
    assert {each[4 + 12] for each in made} == {"7"}, "the version that RFC 9562 gives to ids in order of time"


def test_threads_never_make_the_same_id():
    made: list[list[str]] = []

    def work():
        made.append([experiment_id() for _ in range(5_000)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for own in made for each in own}) == 4 * 5_000
    assert all(own == sorted(own) for own in made)


def test_an_id_begins_with_the_milliseconds_since_1970():
    """As those of every version before: what is stored sorts before what is new."""
    before = time.time_ns() // 1_000_000
    made = int(run_id()[4:16], 16)
    assert before <= made <= time.time_ns() // 1_000_000
    assert run_id() > "run_0197c9d1f0007000a1971cccf516789c", "one that was made in the summer of 2025"
