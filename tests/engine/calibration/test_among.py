"""All-reduces that were measured among gradients: constants from them, against a simulation of ranks in NumPy."""

import numpy as np
import pytest
from hooke.calibration.among import among_neighbours, drift, greatest
from hooke.calibration.constants import constants
from hooke.calibration.documents import Duration, Exchanging
from hooke.calibration.exchanging import done
from hooke.calibration.paths import critical
from hooke.comm.virtual.communicator import run_virtual
from hooke.loop.compute_time import ComputeTime
from hooke.spec.specification import VirtualCluster, WorkloadChoice

from tests.engine.calibration.documents_for_tests import curve, made
from tests.engine.calibration.test_jitter import spec

DIGITS = WorkloadChoice(name="digits-mlp")
PERIOD = 16


def exchanging(wait=0.0, **seconds) -> Exchanging:
    return Exchanging(
        **{
            name: Duration(seconds=s, error=s / 100, samples=3)
            for name, s in ({"accessed": 1e-4} | seconds).items()
        },
        wait=wait,
        period=PERIOD,
    )


def with_exchanging(found: Exchanging, **changes):
    """Return a calibration; its all-reduces in the background take 1e-5 s per message and 2e-9 s per byte."""
    plain = made()
    rate = plain.compute[0].model_copy(update={"exchanging": found})
    behind = curve("background", 1e-5, 2e-9, "halving")
    return made(compute=[rate], curves=[*plain.curves, behind], **changes)


def simulated(ranks: int, spread: float, operation: float, mean=1e-3, rounds=20_000) -> Exchanging:
    """Return what is measured if gradients are normal and independent, and the last rank begins the operation."""
    random = np.random.default_rng(7)
    added = {}
    for name, period in (("added", 1), ("late", PERIOD)):
        sums = random.normal(period * mean, spread * period**0.5, (rounds, ranks))
        added[name] = float(sums.max(axis=1).mean()) + operation - period * mean
    return exchanging(alone=mean, after=mean, last=operation, behind=added["added"], **added)


@pytest.mark.parametrize(("ranks", "expected"), [(2, 0.5642), (3, 0.8463), (4, 1.0294), (8, 1.4236)])
def test_the_greatest_of_normal_numbers(ranks, expected):
    """Order statistics as tabulated (Harter 1961)."""
    assert greatest(ranks) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_differences_of_ranks_are_told_from_the_operation(ranks):
    found = simulated(ranks, spread=2e-4, operation=5e-4)
    assert drift(found, ranks) == pytest.approx(2e-4, rel=0.03)


def test_where_ranks_share_cores_the_operation_is_what_the_last_one_takes():
    calibration = with_exchanging(simulated(2, spread=2e-4, operation=5e-4), oversubscribed=True)
    virtual = VirtualCluster.model_validate(constants(calibration, "lab", DIGITS))
    messages, path = critical("all-reduce", "halving", 2, 4 * calibration.compute[0].elements)
    cost = virtual.operations["halving"]
    priced = messages * cost.seconds_per_message + path * cost.seconds_per_byte
    assert priced == pytest.approx(5e-4, rel=0.03)
    assert virtual.compute_jitter == pytest.approx(0.2, rel=0.05)  # 2e-4 of 1e-3 s
    assert virtual.compute_seconds_after_exchange == 0


def test_collectives_keep_their_proportions_and_messages_their_price():
    found = exchanging(wait=1e-4, alone=1e-3, after=1.25e-3, last=3e-3, added=4e-3, late=5e-3, behind=2.6e-3)
    calibration = with_exchanging(found)
    plain = constants(made(), "lab", DIGITS)
    virtual = VirtualCluster.model_validate(constants(calibration, "lab", DIGITS))
    factors = {
        name: virtual.operations[name].seconds_per_byte / plain["operations"][name].seconds_per_byte
        for name in ("tree", "halving", "ring", "gather")
    }
    messages, path = critical("all-reduce", "halving", 2, 400_000)
    factor = 3e-3 / (messages * 2e-5 + path * 3e-9)
    assert factors == pytest.approx(dict.fromkeys(factors, factor))
    behind = virtual.operations["background"]
    assert messages * behind.seconds_per_message + path * behind.seconds_per_byte == pytest.approx(5e-4)
    assert virtual.seconds_per_byte == pytest.approx(plain["seconds_per_byte"], rel=0.02)
    assert virtual.compute_seconds_after_exchange == pytest.approx(2.5e-4)
    assert virtual.compute_jitter == plain["compute_jitter"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("oversubscribed", [False, True])
@pytest.mark.parametrize(
    ("blocking", "behind", "hidden"),
    [
        (3e-3, 2.6e-3, 5e-4),  # longer than the gradient: it is waited for, and ends later than a blocking one
        (3e-3, 2.0e-3, 5e-4),  # as long as a blocking one
        (5e-4, 9e-4, 4e-4),  # short, and yet waited for
        (5e-4, 9e-4, 9e-4),  # takes a core from the gradient as a whole
    ],
)
def test_an_all_reduce_in_the_background_takes_what_was_measured(ranks, oversubscribed, blocking, behind, hidden):
    """In virtual time, behind one gradient and behind several."""
    times = {"alone": 1e-3, "after": 1e-3, "last": blocking, "added": blocking, "late": blocking}
    found = exchanging(**times, behind=behind, hidden=hidden)
    virtual = constants(with_exchanging(found, workers=ranks, oversubscribed=oversubscribed), "lab", DIGITS)
    weights = np.zeros(100_000, np.float32)

    def taken(gradients):
        def main(comm):
            mine = weights.copy()
            for _ in range(20):
                pending = comm.iallreduce(mine)
                for _ in range(gradients):
                    comm.charge(1e-3)
                pending.wait()
            return comm.clock()

        return max(run_virtual(ranks, VirtualCluster.model_validate(virtual), main, collective="halving")) / 20

    assert taken(1) == pytest.approx(1e-3 + behind, rel=0.02)
    assert taken(4) == pytest.approx(4e-3 + hidden, rel=0.02)


@pytest.mark.parametrize(("ranks", "expected"), [(2, 0.5642), (3, 0.8463)])
def test_all_ranks_are_neighbours_in_a_small_ring(ranks, expected):
    assert among_neighbours(ranks) == pytest.approx(expected, abs=0.03)


def test_a_rank_of_a_large_ring_waits_longer_than_for_the_greatest_of_three_and_less_than_for_all():
    assert greatest(3) < among_neighbours(8) < greatest(8)


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("spread", [0.0, 2e-4])
def test_where_ranks_share_cores_a_message_to_the_next_takes_what_was_measured(ranks, spread):
    """A ring in NumPy gives the measurement; virtual time repeats it with gradients drawn by the constants."""
    random, ready = np.random.default_rng(3), np.zeros(ranks)
    for _ in range(3000):
        ready += random.normal(1e-3, spread, ranks)
        ready = np.max([np.roll(ready, hop) for hop in (-1, 0, 1)], axis=0) + 7e-4
    blocking = simulated(ranks, spread, operation=5e-4)
    shifted = Duration(seconds=float(ready.mean()) / 3000 - 1e-3, error=1e-6, samples=3)
    calibration = with_exchanging(
        blocking.model_copy(update={"shifted": shifted}), workers=ranks, oversubscribed=True
    )
    virtual = VirtualCluster.model_validate(constants(calibration, "lab", DIGITS))
    message = virtual.latency + 2 * virtual.message_overhead + 400_000 * virtual.seconds_per_byte
    assert message == pytest.approx(7e-4, rel=0.05)

    def main(comm):
        sent, received = np.zeros(100_000, np.float32), np.zeros(100_000, np.float32)
        for _ in range(5):
            comm.charge(1e-3)
            pending = [comm.isend(sent, (comm.rank + 1) % ranks), comm.irecv(received, (comm.rank - 1) % ranks)]
            for each in pending:
                each.wait()
        return comm.clock()

    assert max(run_virtual(ranks, virtual, main)) / 5 == pytest.approx(1e-3 + 7e-4, rel=0.05)


@pytest.mark.parametrize(("ranks", "steps"), [(2, 4), (8, 4), (8, 40)])
def test_steps_from_one_counter_are_counted_when_the_first_rank_finds_none_left(ranks, steps):
    """A window that serves one access after the other, in the order of arrival: two accesses of 1 s per step."""
    left, clock, ended = ranks * steps, 0.0, None
    queue = [(rank, "read") for rank in range(ranks)]
    left -= ranks
    while ended is None:
        rank, access = queue.pop(0)
        clock += 1.0
        if access == "read":
            queue.append((rank, "add"))
        elif left:
            left -= 1
            queue.append((rank, "read"))
        else:
            ended = clock
    assert ended / done(steps, ranks) == pytest.approx(2.0 * ranks)


@pytest.mark.parametrize(("ranks", "added"), [(2, 2e-4), (2, 6e-3), (8, 7e-3)])
def test_a_lock_free_step_takes_what_was_measured(ranks, added):
    """In virtual time, for ranks that wait for the window and for ranks that do not."""
    found = exchanging(alone=1e-3, after=1e-3, last=1e-3, added=1e-3, late=1e-3, behind=0, accessed=added)
    virtual = constants(with_exchanging(found, workers=ranks), "lab", DIGITS) | {"memory_bandwidth": 1e15}
    virtual |= dict.fromkeys(("compute_jitter", "jitter_slow", "jitter_common", "jitter_between_ranks"), 0.0)
    virtual |= {"compute_seconds_per_sample": 1e-3 / 32, "compute_seconds_per_step": 0.0}

    def main(comm):
        weights = np.zeros(100_000, np.float32)
        window, counter = comm.window(weights, 0), comm.counter()
        while counter.take() < 800:
            window.get(weights)
            comm.charge(1e-3)
            window.accumulate(weights)
        return comm.clock()

    taken = run_virtual(ranks, VirtualCluster.model_validate(virtual), main)
    assert min(taken) * ranks / 800 == pytest.approx(1e-3 + added, rel=0.1)


def test_a_message_of_all_weights_takes_what_its_size_took():
    """Between 131,072 bytes, on the line, and 2 MB, ten times as long: log-log, as long as geometry says."""
    plain = with_exchanging(exchanging(alone=1e-3, after=1e-3, last=1e-3, added=1e-3, late=1e-3, behind=0))
    curves = []
    for each in plain.curves:
        slow = [p.model_copy(update={"seconds": 10 * p.seconds}) if p.bytes > 1 << 20 else p for p in each.points]
        curves.append(each.model_copy(update={"points": slow}) if each.kind == "message" else each)
    found = constants(plain.model_copy(update={"curves": curves}), "lab", DIGITS)
    (short, at_short), (long, at_long) = ((p.bytes, p.seconds) for p in curves[0].points[2:])
    power = np.log(at_long / at_short) / np.log(long / short)
    expected = at_short * (400_000 / short) ** power
    priced = found["latency"] + 2 * found["message_overhead"] + 400_000 * found["seconds_per_byte"]
    assert priced == pytest.approx(expected)


def test_a_gradient_after_an_exchange_takes_longer_also_after_a_restart():
    chosen = spec(compute_jitter=0, compute_seconds_after_exchange=1e-3)
    times = ComputeTime(chosen, 0)
    plain = 10 * 1e-5
    assert [times.seconds(sent=s) for s in (0, 8, 8, 16)] == pytest.approx(
        [plain, plain + 1e-3, plain, plain + 1e-3]
    )
    for sent, expected in ((16, plain), (24, plain + 1e-3)):
        again = ComputeTime(chosen, 0)
        again.restore(times.state(sent), sent=100)
        assert again.seconds(sent=100) == pytest.approx(expected)
