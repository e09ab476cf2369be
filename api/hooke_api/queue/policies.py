"""The order of a queue: a pure function of its state.

Entries are experiments, so that the runs of a comparison stay together. An experiment that has begun goes first
until its waiting runs are through; only under `priority` may one of a higher priority go between its launches.

Shortest service first is the quasi-shortest-service-first of Hu et al. (Characterization and Prediction of Deep
Learning Workloads in Large-Scale GPU Datacenters, SC 2021, arXiv 2109.01313), by experiment: predicted duration x
ranks.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from hooke_api.queue.settings import Order, QueuePolicy
from hooke_api.queue.state import Entry, QueueState

Key = tuple[float, ...]


def age_key(entry: Entry) -> tuple[float, str]:
    """Return the key of first come first served, which also decides ties of the other policies."""
    return entry.submitted_at, entry.experiment


def priority_key(entry: Entry, policy: QueuePolicy) -> Key:
    """Return the key of priority with ageing; the smallest goes first.

    Priority + waiting time / ageing is compared. All waiting times grow alike, so the order of two entries does
    not depend on the time: one is passed only by those submitted at most (difference of priority) x ageing later.
    """
    if policy.ageing_minutes is None:
        return -entry.priority, entry.submitted_at
    return (entry.submitted_at - 60 * policy.ageing_minutes * entry.priority,)


def overdue(entry: Entry, policy: QueuePolicy, now: float) -> bool:
    """Return whether an entry has waited longer than the patience of shortest-service."""
    return policy.patience_hours is not None and now - entry.submitted_at >= 3600 * policy.patience_hours


def typical(services: Iterable[float | None]) -> float | None:
    """Return the median of the services that are known; it stands for the unknown ones."""
    known = [service for service in services if service is not None]
    return statistics.median(known) if known else None


def at_limit(state: QueueState, user: str) -> bool:
    """Return whether a user has as many active runs as the policy allows."""
    limit = state.policy.max_active_runs
    return limit is not None and state.active_runs(user) >= limit


def held(state: QueueState, entry: Entry) -> bool:
    """Return whether the user's limit of active runs lets others pass an entry.

    Where a launch has its cluster to itself, nothing is held: when the cluster is free, no run is active.
    """
    return not state.exclusive and at_limit(state, entry.user)


def ordered(state: QueueState) -> list[Entry]:
    """Return the waiting entries in the order in which they will be served; held ones come last.

    The result depends only on the set of entries, not on their order.
    """
    entries = sorted(state.waiting, key=age_key)
    found = _by_policy(state, entries)
    found = _begun_first(found, state.policy)
    return [e for e in found if not held(state, e)] + [e for e in found if held(state, e)]


def following(state: QueueState) -> tuple[Entry, int | None] | None:
    """Return the entry that may start now and the largest number of its runs (None: any); None if none may.

    Nothing overtakes an entry that waits for slots, so large experiments are not passed forever by small ones.
    """
    if not state.online or state.drained or state.calibration or (state.exclusive and state.active):
        return None
    first = next((entry for entry in ordered(state) if not held(state, entry)), None)
    if first is None or (state.active and state.needed(first.ranks) > state.free):
        return None
    limit = state.policy.max_active_runs
    return first, None if limit is None else limit - state.active_runs(first.user)


def _by_policy(state: QueueState, entries: list[Entry]) -> list[Entry]:
    policy = state.policy
    if policy.order is Order.PRIORITY:
        return sorted(entries, key=lambda entry: (priority_key(entry, policy), age_key(entry)))
    if policy.order is Order.SHORTEST_SERVICE:
        return _shortest_first(entries, policy, state.now)
    if policy.order is Order.FAIR_SHARE:
        return _fair(entries, state)
    return entries


def _shortest_first(entries: list[Entry], policy: QueuePolicy, now: float) -> list[Entry]:
    usual = typical(entry.service for entry in entries) or 0.0

    def key(entry: Entry) -> tuple[bool, float]:
        if overdue(entry, policy, now):
            return False, 0.0
        service = entry.service
        return True, usual if service is None else service

    return sorted(entries, key=key)  # stable: ties, and overdue entries, by age


def _fair(entries: list[Entry], state: QueueState) -> list[Entry]:
    """Take entries one by one, each from the user with the least use, charging what it will take from others."""
    queues: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (-entry.priority, age_key(entry)), reverse=True):
        queues.setdefault(entry.user, []).append(entry)  # the next one at the end
    use = {user: state.usage.get(user, 0.0) for user in queues}
    for each in state.active:  # what it has taken and still takes is charged before its user is served again
        if each.user in use:
            left = 0.0 if each.left is None else each.left[0]
            use[each.user] += state.needed(each.ranks) * (each.taken + left)
    charges = {entry.experiment: state.charge(entry) for entry in entries}
    usual = typical(charges.values()) or 1.0
    found = []
    while queues:
        user = min(queues, key=lambda name: (use[name], age_key(queues[name][-1])))
        entry = queues[user].pop()
        found.append(entry)
        charge = charges[entry.experiment]
        use[user] += usual if charge is None else charge
        if not queues[user]:
            del queues[user]
    return found


def _begun_first(entries: Sequence[Entry], policy: QueuePolicy) -> list[Entry]:
    begun = [entry for entry in entries if entry.begun]
    if not begun:
        return list(entries)
    others = [entry for entry in entries if not entry.begun]
    between: list[Entry] = []
    if policy.order is Order.PRIORITY:
        best, highest = priority_key(begun[0], policy), max(entry.priority for entry in begun)
        between = [e for e in others if e.priority > highest and priority_key(e, policy) < best]
    return [*between, *begun, *(entry for entry in others if entry not in between)]
