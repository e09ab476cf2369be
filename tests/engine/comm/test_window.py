"""Windows and counters in both worlds; cases in `window_cases.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hooke.comm.base import Comm
from hooke.comm.conformance import conformance
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.errors import CommError
from hooke.spec.specification import VirtualCluster

from tests.engine.comm.window_cases import WINDOW_CASES, constant
from tests.engine.comm.worlds import NETWORK, ONE_HOST, A, B, exchange_answers, virtual

SIZES = (1, 2, 3, 4, 5)
N = 1600
MESSAGE = A + 4 * N * B
ADDITION = 3 * 4 * N / 100e9  # two loads and a store at the default memory bandwidth


@pytest.mark.parametrize("network", [NETWORK, ONE_HOST], ids=["messages", "one host"])
@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("name", WINDOW_CASES)
def test_case_in_the_virtual_world(name, size, network):
    first = virtual(size, WINDOW_CASES[name], network=network)
    assert virtual(size, WINDOW_CASES[name], network=network) == first


@pytest.mark.parametrize("size", SIZES)
def test_every_case_holds_under_mpi(size):
    found = exchange_answers(size)
    assert set(WINDOW_CASES) <= set(found)
    assert all(len(each) == size for each in found.values())
    assert found["one_sided_traffic"] == virtual(size, WINDOW_CASES["one_sided_traffic"], network=ONE_HOST)


def test_real_processes_lose_plain_additions_and_no_atomic_one(record_property):
    """How much is lost is the machine's business; the program has checked that nothing appears from nowhere."""
    for size in SIZES[1:]:
        plain = exchange_answers(size)["plain_additions_may_be_lost"]
        assert len({each["lost"] for each in plain}) == 1  # all ranks read the same sum
        assert 0 <= plain[0]["lost"] < 1 - 1 / size
        record_property(f"lost_of_{size}_ranks", plain[0]["lost"])
        record_property(f"torn_reads_of_{size}_ranks", max(each["torn"] for each in plain))
        slowest = max(exchange_answers(size)["atomic_additions_are_never_lost"])
        record_property(f"seconds_per_accumulate_of_{size}_ranks", slowest)


@pytest.mark.parametrize("size", SIZES)
def test_the_conformance_test_takes_a_moment(size, record_property):
    taken = exchange_answers(size)["conformance_is_quick"]
    record_property("seconds", max(each["seconds"] for each in taken))
    # Measured on 2 idle cores: 1 ms for 2 ranks, 10 ms for 4. Processor time, because others may want the cores.
    assert max(each["processor"] for each in taken) < 0.3


@pytest.mark.parametrize("size", SIZES)
def test_a_part_of_the_ranks_keeps_its_communicator_of_mpi_until_it_is_closed(size):
    members = [[r for r in range(size) if r % 2 == rank % 2] for rank in range(size)]
    assert exchange_answers(size)["ranks_of_the_world_of_a_part"] == members
    assert exchange_answers(size)["freed_with_its_part"] == size * [True]


@pytest.mark.parametrize("size", SIZES[1:])
def test_ranks_that_disagree_are_told_by_mpi(size):
    for lengths, owners in exchange_answers(size)["ranks_that_disagree_are_told"]:
        assert "offers" in lengths and "another of rank" in owners


def test_a_window_that_does_not_fit_in_shared_memory_is_refused_on_every_rank():
    assert all(
        "--shm-size" in said for said in exchange_answers(2)["a_window_larger_than_shared_memory_is_refused"]
    )


def test_ranks_that_disagree_are_told_in_the_virtual_world():
    for disagree in (
        lambda comm: comm.window(constant(0, 3 + comm.rank)),
        lambda comm: comm.window(constant(0), comm.rank),
        lambda comm: comm.counter() if comm.rank else comm.window(constant(0)),
        lambda comm: comm.barrier() if comm.rank else comm.counter(),
        lambda comm: comm.counter() if comm.rank else None,
    ):
        with pytest.raises(CommError):
            virtual(2, disagree)


# -- virtual time ---------------------------------------------------------------------------------------------


def timed(size: int, operation: Callable[[Comm, Any], None], network: VirtualCluster = NETWORK) -> list[float]:
    def main(comm: Comm) -> float:
        window = comm.window(constant(0, N))
        operation(comm, window)
        return comm.clock()

    return virtual(size, main, network=network)


@pytest.mark.parametrize("size", range(1, 6))
@pytest.mark.parametrize(("name", "after"), [("get", 0), ("accumulate", ADDITION), ("put", ADDITION * 2 / 3)])
def test_one_sided_messages_share_the_link_of_the_windows_place(name, after, size):
    """The owner pays like everybody: nobody has the window on its own host."""
    times = timed(size, lambda comm, window: getattr(window, name)(constant(0, N)))
    assert times == pytest.approx([k * MESSAGE + after for k in range(1, size + 1)])


@pytest.mark.parametrize(("name", "passes"), [("get", 2), ("put", 2), ("accumulate", 3), ("add", 3)])
def test_in_shared_memory_everybody_pays_his_own_passes(name, passes):
    times = timed(3, lambda comm, window: getattr(window, name)(constant(0, N)), ONE_HOST)
    assert times == pytest.approx([passes * 4 * N / 100e9] * 3)


def test_plain_stores_are_refused_where_messages_take_time():
    for add in (
        lambda comm: comm.window(constant(0)).add(constant(1)),
        lambda comm: comm.window(constant(0)).iexchange(constant(0), lambda: constant(1), 0.5),
    ):
        with pytest.raises(CommError, match="share no memory"):
            virtual(2, add)


def test_an_exchange_hides_behind_computation_to_the_last_bit_of_it():
    """One rank, one read and one addition; then several, whose messages share the links of the window's place."""
    whole = 2 * MESSAGE + ADDITION

    def main(comm: Comm, compute: float) -> tuple[float, float]:
        window, into = comm.window(constant(0, N)), constant(0, N)
        pending = window.iexchange(into, lambda: constant(1, N))
        comm.charge(compute)
        pending.wait()
        return comm.clock(), pending.hidden

    assert virtual(1, lambda comm: main(comm, 10 * whole)) == [pytest.approx((10 * whole, whole))]
    assert virtual(1, lambda comm: main(comm, whole / 4)) == [pytest.approx((whole, whole / 4))]
    ends = [k * MESSAGE + MESSAGE + ADDITION for k in range(1, 4)]  # both directions of the link carry at once
    assert virtual(3, lambda comm: main(comm, 0.0)) == [pytest.approx((end, 0.0)) for end in ends]


def test_an_exchange_adds_to_what_others_have_made_of_it_meanwhile():
    """Rank 0 reads first and answers by what it has read; rank 1 has stored in between, and nothing is locked."""

    def main(comm: Comm) -> list[float]:
        window, into = comm.window(constant(1, N)), constant(0, N)
        if comm.rank == 0:
            window.iexchange(into, lambda: 10 * into).wait()
        else:
            window.get(into)
            window.accumulate(constant(100, N))
        comm.barrier()
        last = constant(0, N)
        window.get(last)
        return [float(into[0]), float(last[0])]

    assert virtual(2, main) == [[1.0, 111.0], [1.0, 111.0]]


def test_gets_and_accumulates_use_the_two_directions_of_the_link():
    def operation(comm: Comm, window: Any) -> None:
        (window.get if comm.rank == 1 else window.accumulate)(constant(0, N))

    assert timed(2, operation) == pytest.approx([MESSAGE + ADDITION, MESSAGE])


def test_a_plain_addition_takes_the_time_of_memory():
    times = timed(3, lambda comm, window: window.add(constant(0, N), 0.5), ONE_HOST)
    assert times == pytest.approx([ADDITION] * 3, rel=1e-6)


def test_plain_additions_that_overlap_lose_updates_and_those_that_do_not_lose_none():
    def main(comm: Comm, delay: float) -> np.ndarray:
        window = comm.window(constant(0, N))
        comm.charge(comm.rank * delay)
        window.add(constant(comm.rank + 1, N))
        comm.barrier()
        x = constant(0, N)
        window.get(x)
        return x

    at_once = virtual(2, lambda comm: main(comm, 0.0), network=ONE_HOST)[0]
    assert np.all((at_once == 1) | (at_once == 2))  # the later store undoes the other, piece by piece
    apart = virtual(2, lambda comm: main(comm, 2 * ADDITION), network=ONE_HOST)[0]
    assert np.all(apart == 3)


def test_the_losses_of_random_pauses_are_those_of_the_seed():
    def main(comm: Comm, seed: int) -> tuple[float, bool]:
        rng = np.random.default_rng([seed, comm.rank])
        window, one, x, torn = comm.window(constant(0, N)), constant(1, N), constant(0, N), False
        for _ in range(30):
            comm.charge(ADDITION * rng.exponential())
            window.add(one)
            if comm.rank == 0:
                window.get(x)
                torn |= bool(x.min() != x.max())
        comm.barrier()
        window.get(x)
        return float(x.mean()) / (30 * comm.size), torn

    first = virtual(4, lambda comm: main(comm, 1), network=ONE_HOST)
    assert first == virtual(4, lambda comm: main(comm, 1), network=ONE_HOST)
    assert 0.3 < first[0][0] < 0.999 and first[0][1]
    assert virtual(4, lambda comm: main(comm, 2), network=ONE_HOST)[0][0] != first[0][0]


def test_a_get_finds_the_vector_as_it_leaves_its_place():
    """Rank 1 asks when the link is free; what rank 0 stores has arrived by then, or it has not."""

    def main(comm: Comm, when: float) -> float:
        window, x = comm.window(constant(0, N)), constant(1, N)
        if comm.rank == 0:
            window.put(x)
        else:
            comm.charge(when)
            window.get(x)
        return float(x[0])

    assert virtual(2, lambda comm: main(comm, 1.1 * MESSAGE))[1] == 1
    assert virtual(2, lambda comm: main(comm, 0.9 * MESSAGE))[1] == 0


def test_a_counter_is_free_and_follows_virtual_time():
    def main(comm: Comm) -> tuple[list[int], float]:
        counter = comm.counter()
        taken = []
        for _ in range(2):
            comm.charge(1.0 + comm.rank)
            taken.append(counter.take())
        return taken, comm.clock()

    # at 1 s, 2 s twice (ties to the lower rank), 3 s, 4 s, 6 s
    assert virtual(3, main) == [([0, 1], 2.0), ([2, 4], 4.0), ([3, 5], 6.0)]


# -- a conformance test that can fail ---------------------------------------------------------------------------


class Broken(Wrapper):
    """A library with one bug."""

    def __init__(self, inner: Comm, bug: str) -> None:
        super().__init__(inner)
        self.bug = bug
        self.implementation = "Broken MPI 0.1"

    def window(self, initial, owner=0):
        window = self.inner.window(initial, owner)
        sound = {name: getattr(window, name) for name in ("get", "accumulate", "add")}
        calls = dict.fromkeys(sound, 0)

        def sometimes(name: str, *arguments: object) -> None:
            calls[name] += 1
            if calls[name] % 7 or self.rank != self.size - 1:
                sound[name](*arguments)

        def not_atomic(delta: np.ndarray) -> None:
            x = np.zeros_like(delta)
            sound["get"](x)
            self.inner.charge(1e-4)
            window.put(x + delta)

        def off_by_one_element(into: np.ndarray) -> None:
            sound["get"](into)
            into[-1] = into[0] - 1

        def stale_first(delta: np.ndarray, alpha: float) -> None:
            sound["add"](delta[::-1].copy(), alpha)

        if self.bug == "lost accumulate":
            window.accumulate = lambda delta: sometimes("accumulate", delta)
        elif self.bug == "lost exchange":
            exchange = window.iexchange

            def forgotten(into, answer, alpha=None):
                calls["get"] += 1
                return exchange(into, (lambda: 0 * answer()) if calls["get"] % 7 == 0 else answer, alpha)

            window.iexchange = forgotten
        elif self.bug == "accumulate is not atomic":
            window.accumulate = not_atomic
        elif self.bug == "get":
            window.get = off_by_one_element
        elif self.bug == "add":
            window.add = stale_first
        return window

    def counter(self):
        counter = self.inner.counter()
        sound, last = counter.take, [-1]

        def twice(amount: int = 1) -> int:
            number = sound(amount)
            last[0] = last[0] if number == 5 and last[0] >= 0 else number
            return last[0]

        if self.bug == "counter":
            counter.take = twice
        return counter


@pytest.mark.parametrize(
    "bug", ["lost accumulate", "lost exchange", "accumulate is not atomic", "get", "add", "counter"]
)
@pytest.mark.parametrize("size", [2, 3])
def test_a_broken_library_is_named_on_every_rank(bug, size):
    said = {}

    def main(comm: Comm) -> None:
        try:
            conformance(Broken(comm, bug))
        except CommError as error:
            said[comm.rank] = str(error)

    virtual(size, main, network=ONE_HOST)
    assert sorted(said) == list(range(size))
    assert all(text.startswith("Broken MPI 0.1 failed the conformance test") for text in said.values())
    assert any("not" in text and "saw it" not in text for text in said.values())


def test_a_sound_library_passes_the_same_way():
    assert all("passed" in said for said in virtual(3, lambda comm: conformance(Broken(comm, "none"))))
