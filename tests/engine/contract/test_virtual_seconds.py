"""Seconds of the virtual world, where every price is known, and staleness."""

import math
from dataclasses import replace

import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.catalogue.claims import Step, claimed
from hooke.spec.journal import records, unpack

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, NETWORK, Case, play_virtual
from tests.engine.contract.objective import Quadratic, Quadratics
from tests.engine.contract.traffic import seconds

QUIET = (("compute_jitter", 0.0),)
MEMORY = 100e9
"""Bytes per second of the virtual cluster's memory, by default."""
SLOW = 1e-3
"""Latency of a network on which every exchange takes longer than a gradient."""


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


def weight_bytes(case):
    return 4 * case.objective.size


def total(reports, what):
    return sum(report.done[what] for report in reports)


def transfers_of(case, t):
    layout = Quadratic.layout_of(case.objective)
    return claimed(case.kind, "exchange")(case.method, Step(t, case.workers, layout, case.seed))


def pipelined(case):
    return any(each.behind == "period" for t in range(case.steps) for each in transfers_of(case, t))


def late(case):
    return any(isinstance(each.behind, int) for t in range(case.steps) for each in transfers_of(case, t))


def sums_of_all(case):
    """Return whether nothing travels but sums and gathers of all workers, whose time the schedules say."""
    moved = {(each.operation, each.ranks) for t in range(case.steps) for each in transfers_of(case, t)}
    return moved <= {("all-reduce", case.workers), ("all-gather", case.workers)}


TOGETHER = [
    case
    for case in suite.claims("exchange", suite.family((2, 4)))
    if case.kind.coordination == "synchronous" and sums_of_all(case)
]

BETWEEN = [
    case
    for case in suite.claims("exchange", suite.family((2, 4)))
    if case.kind.coordination == "synchronous"
    and {(e.operation, e.begins) for t in range(case.steps) for e in transfers_of(case, t)}
    == {("message", "after")}
]
"""Cases of methods in which workers send to each other after their steps, all of them equally much."""


def quiet(played, case, slow_network):
    """Play a case without jitter and evaluations; return its reports, and (latency, seconds per byte)."""
    network = (*QUIET, ("latency", SLOW)) if slow_network else QUIET
    reports = played(replace(case, network=network, every=10**6), "virtual")
    return reports, (SLOW if slow_network else NETWORK["latency"], NETWORK["seconds_per_byte"])


def prices(case):
    """Return seconds per step of: compute, one message of |W|, and the update of a worker and of a server."""
    compute = BATCH * NETWORK["compute_seconds_per_sample"]
    message = NETWORK["latency"] + weight_bytes(case) * NETWORK["seconds_per_byte"]
    worker = weight_bytes(case) * case.method.vector_accesses(server=False) / MEMORY
    server = weight_bytes(case) * case.method.vector_accesses(server=True) / MEMORY
    return compute, message, worker, server


@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.property("P19")
@pytest.mark.parametrize("case", [c for c in TOGETHER if not pipelined(c) and not late(c)], ids=ids)
def test_time_of_synchronous_methods(played, case, slow_network):
    """A step takes transfers + max(compute, what runs behind it) + update."""
    reports, latency = quiet(played, case, slow_network)
    compute, _, update, _ = prices(case)
    steps = [transfers_of(case, t) for t in range(len(reports[0].picked))]
    shown = [seconds([each for each in step if each.behind == "nothing"], *latency) for step in steps]
    behind = [seconds([each for each in step if each.behind == "gradient"], *latency) for step in steps]
    waiting = sum(max(0.0, each - compute) for each in behind)
    expected = sum(shown) + waiting + len(steps) * (compute + update)
    if case.workers > 1 and any(steps):
        assert (max(map(sum, zip(shown, behind, strict=True))) > compute) == slow_network
    for report in reports:
        assert report.done["clock"] == pytest.approx(expected, rel=1e-3)
        assert report.done["phases"]["communicate"] == pytest.approx(sum(shown) + waiting, rel=1e-3, abs=1e-9)
        hidden = sum(min(compute, each) for each in behind)
        assert report.done["hidden"] == pytest.approx(hidden, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.property("P19")
@pytest.mark.parametrize("case", [c for c in TOGETHER if pipelined(c)], ids=ids)
def test_time_of_a_pipeline(played, case, slow_network):
    """The larger of all compute and update, and of all transfers end to end, which the last step waits for."""
    reports, latency = quiet(played, case, slow_network)
    compute, _, update, _ = prices(case)
    steps, ended = len(reports[0].picked), 0.0
    for t in range(steps):
        for each in transfers_of(case, t):
            # it begins when it is posted and the one before has ended; the end waits for the last of them
            posted = (t + (each.begins == "after")) * (compute + update)
            ended = max(ended, posted) + seconds([each], *latency)
            assert (seconds([each], *latency) > compute + update) == slow_network
    own = steps * (compute + update)
    for report in reports:
        assert report.done["clock"] == pytest.approx(max(own, ended), rel=1e-3)
        exposed = report.done["clock"] - own
        assert report.done["phases"]["communicate"] == pytest.approx(exposed, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.property("P19")
@pytest.mark.parametrize("case", [c for c in TOGETHER if late(c)] + BETWEEN, ids=ids)
def test_time_of_transfers_that_are_due_at_once_or_some_steps_later(played, case, slow_network):
    """They run one after the other behind compute and update; a step waits for those that are due after it."""
    reports, latency = quiet(played, case, slow_network)
    compute, _, update, _ = prices(case)
    now = ended = exposed = 0.0
    due = {}
    steps = len(reports[0].picked)
    for t in range(steps):
        now += compute
        every = transfers_of(case, t)
        # messages between workers: all of them send and receive at the same time
        for each in every[: len(every) // case.workers] if case in BETWEEN else every:
            ended = max(ended, now) + seconds([each], *latency)
            due.setdefault(t + (0 if each.behind == "nothing" else each.behind), []).append(ended)
        waits = max(0.0, max(due.pop(t, [0.0])) - now)
        now, exposed = now + waits + update, exposed + waits
    assert (exposed > 0) == (slow_network or not late(case))
    exposed += max(0.0, ended - now)  # the end waits for what is under way
    for report in reports:
        assert report.done["clock"] == pytest.approx(max(now, ended), rel=1e-3)
        assert report.done["phases"]["communicate"] == pytest.approx(exposed, rel=1e-3, abs=1e-9)


@pytest.mark.property("P19")
@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.parametrize("case", [c for c in TOGETHER + BETWEEN if c.workers == 4], ids=ids)
def test_evaluations_delay_no_method(played, case, slow_network):
    """Evaluated after every step, which takes a while, a method is as fast as evaluated at the end alone.

    Only one that begins an exchange before it waits for the last one waits up to a gradient earlier than without.
    """
    (once, *_), _ = quiet(played, case, slow_network)
    network = (*QUIET, ("latency", SLOW)) if slow_network else QUIET
    often, *_ = played(replace(case, network=network, every=case.workers * BATCH, scoring=0.01), "virtual")
    assert len(often.scores) > len(once.scores) + 5
    early = case.values.get("pipelined", False)
    more = prices(case)[0] * len(often.picked) if early else 0.0
    assert once.done["clock"] * (1 - 1e-9) <= often.done["clock"] <= once.done["clock"] * (1 + 1e-9) + more
    if not early:
        assert often.done["hidden"] == pytest.approx(once.done["hidden"], rel=1e-6, abs=1e-9)
    assert often.clocks == sorted(often.clocks)


LAYERS = ((4, (15_000, 30_000, 5_000, 10_000)), (4, (2_000, 56_000, 1_000, 1_000)), (2, (9, 9_000)))
UNEQUAL = [
    Case(
        "streaming-diloco",
        (("period", period), ("delay", delay), ("fragments", fragments)),
        workers=workers,
        steps=40,
        objective=Quadratics(spread=0.3, layers=layers),
    )
    for period, delay, fragments in ((8, 5, 4), (8, 7, 4), (4, 3, 2), (6, 4, 3))
    for workers, layers in LAYERS
]
"""Fragments of which one is under way when the next ones are sent: their messages follow each other."""


@pytest.mark.property("P19")
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("case", UNEQUAL, ids=ids)
def test_evaluations_do_not_delay_what_is_sent_while_a_transfer_is_under_way(played, case, every):
    """A rank that begins a transfer after an evaluation goes on, and its messages follow those that are owed."""
    (once, *_), _ = quiet(played, case, slow_network=False)
    often = played(replace(case, network=QUIET, every=every * case.workers * BATCH, scoring=0.01), "virtual")
    assert once.done["phases"]["communicate"] + once.done["hidden"] > 0.1 * once.done["clock"]
    for report in often:
        assert report.done["clock"] == pytest.approx(once.done["clock"], rel=1e-9)
        for figure in (report.done["hidden"], report.done["phases"]["communicate"]):
            assert figure >= 0
        assert report.done["hidden"] == pytest.approx(once.done["hidden"], rel=1e-6, abs=1e-9)
        assert report.clocks == sorted(report.clocks)
    assert len(often[0].scores) > len(once.scores) + 5


@pytest.mark.property("P19")
@pytest.mark.parametrize("slow_network", [False, True])
@pytest.mark.parametrize(
    "case", [c for c in suite.claims("exchange", suite.family((1, 4, 8))) if suite.free(c)], ids=ids
)
def test_time_of_methods_without_a_lock(played, case, slow_network):
    """Nobody is nearer to the center than another, and its link carries P vectors per round, each way.

    With overlap max(compute, read + addition) per exchange, else their sum; a saturated link is the limit.
    """
    network = (*QUIET, ("latency", 2e-3)) if slow_network else QUIET
    case = replace(case, network=network, every=10**6, steps=120)
    reports = played(case, "virtual")
    compute, message, update, _ = prices(case)
    message += dict(network).get("latency", NETWORK["latency"]) - NETWORK["latency"]
    period, behind = case.method.exchange_period(), transfers_of(case, 0)[0].behind == "gradient"
    steps = [len(report.picked) for report in reports]
    assert max(steps) - min(steps) <= period
    exchange = 2 * message + 3 * weight_bytes(case) / MEMORY
    own = max(compute, exchange) if behind else compute + exchange
    alone = own + (period - 1) * compute + period * update
    saturated = case.workers * message
    round_ = max(alone, saturated)
    assert reports[0].done["clock"] == pytest.approx(120 / period * round_, rel=0.08, abs=case.workers * message)
    assert reports[0].done["clock"] >= 120 / period * alone * 0.999
    hidden = total(reports, "hidden")
    assert hidden > 0 if behind else hidden == 0


@pytest.mark.parametrize(
    "case", [c for c in suite.claims("exchange", suite.family((1,))) if suite.served(c)], ids=ids
)
def test_what_hides_the_messages_to_and_from_a_server(played, case):
    """One worker alone, whose messages are shorter than a gradient: it waits for them, or they pass meanwhile."""
    reports, latency = quiet(played, case, slow_network=False)
    compute, message, update, server = prices(case)
    steps = [transfers_of(case, t) for t in range(len(reports[0].picked))]
    assert max(seconds(list(step), *latency) for step in steps) < compute
    shown = sum(seconds([each for each in step if each.behind == "nothing"], *latency) for step in steps)
    least = len(steps) * (compute + update) + shown
    most = least + sum(map(bool, steps)) * server
    assert least - 2 * message <= reports[0].done["clock"] <= most + 2 * message


@pytest.mark.parametrize("case", [c for c in suite.family((2, 4)) if c.values.get("mode") == "serial"], ids=ids)
def test_time_of_the_literal_listing(played, case):
    """Nothing overlaps: each turn is center down, gradient, weights up."""
    reports = played(replace(case, network=QUIET, every=10**6), "virtual")
    compute, message, update, server = prices(case)
    turns = len(reports[-1].served)
    assert reports[-1].done["clock"] == pytest.approx(
        turns * (compute + 2 * message + server), rel=0.01, abs=2 * update + server
    )


@pytest.mark.parametrize("case", [c for c in suite.family((4,)) if c.values.get("mode") == "ordered"], ids=ids)
def test_the_one_port_of_the_server_saturates(played, case):
    """Concurrent workers: where messages are dear, the server's own link is the limit, P exchanges per sweep."""
    dear = replace(case, network=(*QUIET, ("latency", 2e-3)), every=10**6, steps=40)
    reports = played(dear, "virtual")
    sweeps = len(reports[-1].served) / case.workers
    assert reports[-1].done["clock"] >= sweeps * case.workers * 2e-3
    literal = replace(dear, parameters=(("mode", "serial"),))
    assert reports[-1].done["clock"] < played(literal, "virtual")[-1].done["clock"]


def _staleness(block):
    """Return the values of a block; a column without any is left out, as of a block that ends early."""
    column = block.columns.get("staleness")
    return [math.nan] * block.n if column is None else unpack("staleness", column)


@pytest.mark.property("P12")
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "name", [c.algorithm for c in suite.claims("exchange", suite.one_slow()) if suite.served(c)]
)
def test_staleness_of_equal_workers_is_one_less_than_their_number(tmp_path, name, workers):
    """Between two exchanges of a worker all others exchange once. The first pushes are fresher: those of Async SGD
    were all pulled before there was any update, so that the k-th has missed k."""
    field = catalogue()[name].period_field
    once = ((field, 1),) if field else ()
    case = Case(name, once, workers, steps=30, journal=True, network=QUIET)
    reports = play_virtual(case, tmp_path)
    blocks = [r for r in records(tmp_path / f"journal.{workers}.jsonl") if r.kind == "steps"]
    measured = [value for block in blocks for value in _staleness(block)]
    assert all(math.isnan(value) for value in measured[:workers])
    fresh = list(range(workers)) if reports[-1].last_words else []
    assert measured[workers : workers + len(fresh)] == fresh
    assert set(measured[workers + len(fresh) :]) == {workers - 1}
