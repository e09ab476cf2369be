"""Who sent what to whom, and whom the others wait for: against traces whose times are known."""

import math

import pytest
from hooke_api.timeline.columns import columns
from hooke_api.timeline.messages import meetings_of, messages_of
from hooke_api.timeline.straggler import at_least, straggler_of

from tests.api.holding import blocks
from tests.api.timeline.traces import Made, lockstep


def trace_of(*made):
    return columns([each.trace() for each in made], len(made))


def found_in(*made):
    trace = trace_of(*made)
    return straggler_of(trace, meetings_of(trace))


def test_the_nth_send_is_the_nth_receive_of_that_pair():
    one = Made(0, 3)
    for peer, size in ((1, 10), (2, 20), (1, 30)):
        one.call("send", 1, peer=peer, size=size)
    two = Made(1, 3).call("receive", 2, peer=0, size=10).call("receive", 3, peer=0, size=30)
    three = Made(2, 3).call("receive", 4, peer=0, size=20).call("receive", 9, peer=0)  # the second is never sent
    found = messages_of(trace_of(one, two, three))
    assert list(zip(found.sender, found.receiver, found.sent, found.received, found.bytes, strict=True)) == [
        (0, 1, 0, 2, 10),
        (0, 2, 1, 4, 20),
        (0, 1, 2, 5, 30),
    ]
    assert sum(blocks(found).values()) == 3 * 5 * 8, "nothing else stays in memory with them"


def test_subgroups_are_left_out_and_so_is_what_arrives_before_it_is_sent():
    one = Made(0).call("send", 1, peer=1, part=1).spend("compute", 5).call("send", 1, peer=1)
    two = Made(1).call("receive", 1, peer=0, part=1).call("receive", 1, peer=0)
    assert len(messages_of(trace_of(one, two))) == 0


def test_the_last_to_enter_is_the_one_the_others_wait_for():
    # steps: rank 1 is last by 1 s, rank 0 by 3 s, then both at once
    one, two = lockstep([1.0, 5.0, 2.0], [2.0, 2.0, 2.0], message=0.5)
    meetings = meetings_of(trace_of(one, two))
    assert meetings.ranks[meetings.last].tolist() == [1, 0, 0]
    assert meetings.waits.tolist() == [pytest.approx([1, 0]), pytest.approx([0, 3]), pytest.approx([0, 0])]


def test_meetings_end_where_ranks_differ():
    one = Made(0).call("all-reduce", 1).call("barrier", 1).call("all-reduce", 1)
    two = Made(1).call("all-reduce", 1).call("all-reduce", 1).call("barrier", 1)
    assert len(meetings_of(trace_of(one, two))) == 1
    assert meetings_of(trace_of(one, Made(1).spend("compute", 1))) is None
    assert meetings_of(trace_of(Made(0).call("barrier", 1), Made(1).call("all-reduce", 1))) is None


def test_a_slow_rank_is_named_with_its_steps_and_what_the_others_waited():
    slow, steps = 2.0, 30
    found = found_in(*lockstep([1.0] * steps, [1.0] * steps, [slow] * steps, [1.0] * steps, message=0.0))
    assert (found.rank, found.longest, found.steps, found.consistent) == (2, steps, steps, True)
    assert found.waited == pytest.approx(0.5)  # of each 2 s, the others computed 1 s


def test_equal_ranks_have_no_straggler_beyond_chance():
    # each of three ranks is slowest in a third of the steps
    steps = 30
    compute = [[1.1 if step % 3 == rank else 1.0 for step in range(steps)] for rank in range(3)]
    found = found_in(*lockstep(*compute))
    assert (found.longest, found.steps, found.consistent) == (10, 30, False)


@pytest.mark.parametrize("extra", [0, 1])
def test_the_limit_of_chance(extra):
    steps, workers = 48, 4
    tails = [
        sum(math.comb(steps, k) * 3 ** (steps - k) for k in range(count, steps + 1)) / 4**steps
        for count in (21, 22)
    ]
    assert workers * tails[0] > 0.01 > workers * tails[1]
    assert [at_least(count, steps, 1 / workers) for count in (21, 22)] == pytest.approx(tails)
    mine = 21 + extra
    order = [0] * mine + [1 + i % 3 for i in range(steps - mine)]
    found = found_in(*lockstep(*[[2.0 if each == rank else 1.0 for each in order] for rank in range(workers)]))
    assert (found.rank, found.longest, found.consistent) == (0, mine, extra == 1)


@pytest.mark.parametrize(("workers", "steps"), [(2, 7), (8, 2), (16, 1), (100, 2)])
def test_few_steps_name_nobody_although_somebody_is_always_the_slowest(workers, steps):
    """One of 16 equal workers is the slowest in one of one step: with certainty."""
    by_chance = workers * (1 / workers) ** steps
    found = found_in(*lockstep([2.0] * steps, *[[1.0] * steps] * (workers - 1)))
    assert (found.rank, found.longest) == (0, steps)
    assert found.consistent == (by_chance < 0.01)


def test_tails_of_many_steps():
    """Against sums of exact terms, and the ends."""
    for count, trials, parts in ((1, 1, 11), (3, 10, 7), (60, 500, 16), (500, 500, 2)):
        exact = sum(math.comb(trials, k) * (parts - 1) ** (trials - k) for k in range(count, trials + 1))
        assert at_least(count, trials, 1 / parts) == pytest.approx(exact / parts**trials, rel=1e-9)
    assert at_least(0, 5, 0.5) == 1
    assert 0 <= at_least(50_000, 100_000, 0.01) < 1e-300
    assert at_least(1, 100_000, 0.01) == pytest.approx(1)


def test_the_most_awaited_counts_and_not_the_one_that_is_slowest_most_often():
    # rank 0 is slowest in four steps by little, rank 1 in one by much
    found = found_in(*lockstep([1.1] * 4 + [1.0], [1.0] * 4 + [9.0], message=0.0))
    assert (found.rank, found.longest, found.steps) == (1, 1, 5)
    assert found.waited == pytest.approx(8 / (4 * 1.1 + 9))


def test_evaluations_are_no_part_of_the_time():
    ranks = lockstep([1.0] * 4, [2.0] * 4, message=0.0)
    for rank in ranks:
        rank.spend("evaluate", 100)
    assert found_in(*ranks).waited == pytest.approx(0.5)


def test_without_collective_operations_nothing_is_said_of_waiting():
    one = Made(0).spend("compute", 2).spend("compute", 0.0).spend("update", 1)
    found = found_in(one, Made(1).spend("compute", 1).spend("update", 1))
    assert (found.rank, found.longest, found.steps, found.waited) == (0, 1, 1, None)


def test_one_worker_has_nobody_who_waits():
    assert found_in(Made(0, 1).spend("compute", 1)) is None
    assert found_in(Made(0).spend("compute", 1), Made(1, role="server").spend("idle", 1)) is None
    assert found_in(Made(0).spend("idle", 1), Made(1).spend("compute", 1)) is None
