"""The order of a queue: first come, priority with ageing, fair share, shortest service; and what always holds."""

from dataclasses import replace

import pytest
from hooke_api.queue.policies import following, ordered
from hooke_api.queue.prediction import Prediction
from hooke_api.queue.settings import Order, QueuePolicy
from hooke_api.queue.state import Active, Batch, Entry, QueueState
from hypothesis import assume, given, settings
from hypothesis import strategies as st

HOUR = 3600.0
NOW = 1_000 * HOUR


def entry(name, user="ada", at=0.0, seconds=10.0, runs=1, ranks=2, **more):
    """Return an entry submitted `at` seconds after the first, with runs of a known duration."""
    batch = Batch(runs, ranks, None if seconds is None else Prediction(seconds))
    return Entry(name, user, at, (batch,), **more)


def queue(*entries, order=Order.FIRST_COME, now=NOW, usage=None, active=(), **policy):
    return QueueState("c", 4, now, tuple(entries), tuple(active), QueuePolicy(order=order, **policy), usage or {})


def names(state):
    return "".join(each.experiment for each in ordered(state))


def test_first_come_first_served():
    assert names(queue(entry("b", at=5), entry("a", at=7), entry("c", at=1))) == "cba"


def test_of_two_submitted_at_once_the_older_id_is_first():
    assert names(queue(entry("b"), entry("a"))) == "ab"


def test_priority_and_waiting_are_compared():
    old, urgent = entry("a", at=0), entry("b", at=2 * HOUR, priority=3)
    assert names(queue(old, urgent, order=Order.PRIORITY)) == "ba"  # 2 hours of waiting are 2 points
    assert names(queue(old, replace(urgent, priority=1), order=Order.PRIORITY)) == "ab"
    assert names(queue(old, replace(urgent, priority=1), order=Order.PRIORITY, ageing_minutes=None)) == "ba"


def test_first_come_first_served_ignores_priorities():
    assert names(queue(entry("a", at=0), entry("b", at=1, priority=9))) == "ab"


def test_shortest_service_counts_duration_times_ranks_of_all_runs():
    long, wide, short = entry("a", seconds=100), entry("b", seconds=30, ranks=4), entry("c", seconds=1, runs=50)
    state = queue(long, wide, short, order=Order.SHORTEST_SERVICE, now=60.0)
    assert [each.service for each in ordered(state)] == [100, 120, 200]
    assert names(state) == "cba"


def test_an_unknown_service_counts_as_the_median_of_the_known_ones():
    known = [entry(name, seconds=seconds) for name, seconds in zip("abc", (1, 10, 100), strict=True)]
    state = queue(*known, entry("d", at=1, seconds=None), order=Order.SHORTEST_SERVICE, now=60.0)
    assert names(state) == "abdc"
    assert (
        names(queue(entry("b", seconds=None), entry("a", at=1, seconds=None), order=Order.SHORTEST_SERVICE))
        == "ba"
    )


def test_patience_ends_the_rule_of_the_shortest():
    long, short = entry("a", at=NOW - 5 * HOUR, seconds=1e6), entry("b", at=NOW - HOUR)
    assert names(queue(long, short, order=Order.SHORTEST_SERVICE)) == "ba"
    assert names(queue(long, short, order=Order.SHORTEST_SERVICE, patience_hours=5)) == "ab"
    assert names(queue(long, short, order=Order.SHORTEST_SERVICE, patience_hours=None)) == "ba"


def test_fair_share_takes_turns_and_pays_back_earlier_use():
    entries = [entry(f"{user}{i}", user, at=i, seconds=10) for user in "ab" for i in range(2)]
    assert names(queue(*entries, order=Order.FAIR_SHARE)) == "a0b0a1b1"
    assert names(queue(*entries, order=Order.FAIR_SHARE, usage={"a": 15.0})) == "b0a0b1a1"
    assert names(queue(*entries, order=Order.FAIR_SHARE, usage={"a": 45.0})) == "b0b1a0a1"


def test_fair_share_charges_the_whole_cluster_where_a_launch_has_it_to_itself():
    """Runs of 1 rank and of 4 keep others off the cluster alike: two users who always wait get half of it each."""
    used, served = {"ada": 0.0, "bob": 0.0}, []
    for number in range(40):
        waiting = (entry(f"a{number}", "ada", ranks=1), entry(f"b{number}", "bob", ranks=4))
        first = ordered(queue(*waiting, order=Order.FAIR_SHARE, usage=used))
        alone = queue(*waiting, order=Order.FAIR_SHARE)
        served.append(first[0].user)
        used[first[0].user] += alone.charge(first[0])
    assert served.count("ada") == served.count("bob") == 20


def test_fair_share_charges_what_is_active_before_its_user_is_served_again():
    waiting = [entry("a", "ada", at=0), entry("b", "bob", at=1)]
    assert names(queue(*waiting, order=Order.FAIR_SHARE)) == "ab"
    active = [Active("x", "ada", 1, left=(100.0, 0.0))]
    assert names(queue(*waiting, order=Order.FAIR_SHARE, active=active)) == "ba"


def test_fair_share_charges_what_the_active_run_has_taken_before_it_ends():
    """It is part of the use once it has ended: the order that is shown meanwhile must be the one to come."""
    waiting = [entry("a", "ada", at=0), entry("b", "bob", at=1)]
    for left in ((1.0, 0.0), None):
        active = [Active("x", "ada", 1, left=left, taken=1000.0)]
        before = queue(*waiting, order=Order.FAIR_SHARE, active=active, usage={"bob": 3000.0})
        after = queue(*waiting, order=Order.FAIR_SHARE, usage={"bob": 3000.0, "ada": 4 * 1001.0})
        assert names(before) == names(after) == "ba"


def test_priority_counts_within_a_user_under_fair_share():
    entries = [entry("a", at=0), entry("b", at=1, priority=1), entry("c", "bob", at=2)]
    assert names(queue(*entries, order=Order.FAIR_SHARE)) == "bca"


def test_an_experiment_that_has_begun_goes_on_first():
    for order in Order:
        state = queue(entry("a", at=0, seconds=1), entry("b", at=9, seconds=99, begun=True), order=order)
        assert names(state) == "ba", order


def test_only_a_higher_priority_goes_between_the_launches_of_another():
    begun, higher, same = entry("a", at=5, begun=True), entry("b", at=6, priority=1), entry("c", at=0)
    assert names(queue(begun, higher, same, order=Order.PRIORITY)) == "bac"
    assert names(queue(begun, higher, order=Order.FAIR_SHARE)) == "ab"
    late = replace(higher, submitted_at=3 * HOUR)  # its one point is an hour
    assert names(queue(begun, late, order=Order.PRIORITY)) == "ab"


def test_a_user_at_the_limit_is_held_and_others_pass():
    active = [Active("x", "ada", 2, runs=3)]
    state = replace(queue(entry("a"), entry("b", "bob", at=1), active=active, max_active_runs=3), exclusive=False)
    assert names(state) == "ba"
    assert following(state) == (state.waiting[1], 3)
    under = replace(state, policy=QueuePolicy(max_active_runs=5))
    assert following(under) == (state.waiting[0], 2)


def test_nothing_starts_on_a_cluster_that_is_taken_drained_or_offline():
    state = queue(entry("a"))
    assert following(state) == (state.waiting[0], None)
    assert following(replace(state, online=False)) is None
    assert following(replace(state, drained=True)) is None
    assert following(replace(state, active=(Active("x", "ada", 1),))) is None
    assert following(queue()) is None


def test_nothing_overtakes_an_entry_that_waits_for_slots():
    wide, narrow = entry("a", ranks=3), entry("b", at=1, ranks=1)
    state = replace(queue(wide, narrow, active=[Active("x", "ada", 2)]), exclusive=False)
    assert state.free == 2
    assert following(state) is None
    assert following(replace(state, active=(Active("x", "ada", 1),))) == (wide, None)


entries = st.lists(
    st.builds(
        lambda number, user, at, seconds, ranks, priority, begun: entry(
            f"e{number:03d}", user, float(at), seconds, ranks=ranks, priority=priority, begun=begun
        ),
        st.integers(0, 999),
        st.sampled_from(["ada", "bob", "eve"]),
        st.integers(0, 50 * 3600),
        st.one_of(st.none(), st.floats(0.1, 1e5)),
        st.integers(1, 4),
        st.integers(-3, 3),
        st.booleans(),
    ),
    max_size=9,
    unique_by=lambda each: each.experiment,
)
orders = st.sampled_from(list(Order))
few = settings(max_examples=60, deadline=None)


@few
@given(entries, orders, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_the_queue_is_listed(found, order, random):
    state = queue(*found, order=order, now=60 * HOUR, usage={"ada": 1e4})
    shuffled = list(found)
    random.shuffle(shuffled)
    assert ordered(replace(state, waiting=tuple(shuffled))) == ordered(state)
    assert sorted(names(state)) == sorted("".join(each.experiment for each in found))


@few
@given(entries, orders)
def test_experiments_that_have_begun_are_not_passed_by_equals(found, order):
    state = queue(*found, order=order, now=60 * HOUR)
    begun = [each for each in found if each.begun]
    highest = max((each.priority for each in begun), default=0)
    for passing in ordered(state)[: max((ordered(state).index(each) for each in begun), default=0)]:
        assert passing.begun or (order is Order.PRIORITY and passing.priority > highest)


@few
@given(entries, st.integers(0, 8))
def test_ageing_bounds_by_whom_an_experiment_is_passed(found, which):
    """No starvation: who comes later than the difference in priority x ageing never passes, whatever comes."""
    assume(found)
    one = found[which % len(found)]
    state = queue(*found, order=Order.PRIORITY, now=60 * HOUR)
    ahead = ordered(state)[: ordered(state).index(one)]
    passed_by = [e for e in ahead if e.submitted_at > one.submitted_at and not e.begun]
    assert all(e.submitted_at - one.submitted_at <= (e.priority - one.priority) * HOUR for e in passed_by)


@few
@given(st.lists(st.integers(1, 60), min_size=1, max_size=60), st.integers(1, 5))
def test_ageing_serves_everyone_though_urgent_work_never_ends(services, urgency):
    """One experiment of priority 0, and an urgent one at every launch: the first is served in `urgency` hours."""
    waiting = [entry("old", at=0.0)]
    now, number = 0.0, 0
    while any(each.experiment == "old" for each in waiting):
        number += 1
        waiting.append(entry(f"u{number:05d}", at=now, priority=urgency))
        first = following(queue(*waiting, order=Order.PRIORITY, now=now))[0]
        waiting.remove(first)
        now += 60.0 * services[number % len(services)]
    assert now <= urgency * HOUR + 2 * 60 * max(services)


@few
@given(st.data())
def test_fair_share_keeps_users_who_always_wait_within_one_service(data):
    users = ["ada", "bob", "eve"][: data.draw(st.integers(2, 3))]
    size = data.draw(st.integers(1, 6))
    found = [
        entry(f"{user}{i}", user, at=i, seconds=data.draw(st.floats(1, 100)), ranks=data.draw(st.integers(1, 4)))
        for user in users
        for i in range(size)
    ]
    largest = max(each.service for each in found)
    used = dict.fromkeys(users, 0.0)
    left = dict.fromkeys(users, size)
    for each in ordered(replace(queue(*found, order=Order.FAIR_SHARE), exclusive=False)):
        used[each.user] += each.service
        left[each.user] -= 1
        if not all(left.values()):
            break  # from here on somebody has nothing that waits
        assert max(used.values()) - min(used.values()) <= largest + 1e-6


BAD = (
    {"order": "random"},
    {"ageing_minutes": 0},
    {"max_active_runs": 0},
    {"other": 1},
    {"ageing_minutes": float("nan")},
    {"patience_hours": "nan"},
    {"half_life_hours": float("inf")},
    {"half_life_hours": -1},
)


@pytest.mark.parametrize("bad", BAD)
def test_a_wrong_policy_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        QueuePolicy.model_validate(bad)
