"""What a window and a counter promise, in both worlds; see `cases.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hooke.comm.base import Comm, Window
from hooke.comm.conformance import conformance
from hooke.comm.wrappers.packed import Packed
from hooke.comm.wrappers.timed import connect
from hooke.errors import CommError
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger, Phase

N = 1001


def constant(value: float, elements: int = N) -> np.ndarray:
    return np.full(elements, value, np.float32)


def found(window: Window) -> np.ndarray:
    x = constant(np.nan)
    window.get(x)
    return x


def accumulates_lose_nothing(comm: Comm) -> Any:
    """All ranks hammer on one window of every owner: integers, so the sum is exact whatever the order."""
    pattern = np.arange(N, dtype=np.float32) % 7
    for owner in {0, comm.size - 1}:
        window = comm.window(constant(comm.rank), owner)
        comm.barrier()
        for k in range(200):
            window.accumulate(pattern * (k % 3) + comm.rank)
        comm.barrier()
        ranks = comm.size * (comm.size - 1) / 2
        assert np.array_equal(found(window), owner + comm.size * 199 * pattern + 200 * ranks)
        window.close()
    return None


def the_owners_copy_is_where_a_window_begins(comm: Comm) -> Any:
    owner = comm.size // 2
    mine = constant(comm.rank)
    window = comm.window(mine, owner)
    mine.fill(-1)
    assert np.array_equal(found(window), constant(owner))
    comm.barrier()
    if comm.rank == comm.size - 1:
        window.put(constant(5))
    comm.barrier()
    assert np.array_equal(found(window), constant(5))
    window.close()
    for use in (lambda: window.get(mine), lambda: window.add(mine), window.close):
        try:
            use()
        except CommError as error:
            assert "closed" in str(error)
        else:
            raise AssertionError("a closed window was used")
    return None


def a_lone_plain_addition_has_the_bits_of_a_servers(comm: Comm) -> Any:
    if comm.size > 2:
        return None  # torch takes long to import in every rank
    import torch

    rng = np.random.default_rng(5)
    c, delta = (torch.from_numpy(rng.standard_normal(431_081).astype(np.float32)) for _ in range(2))
    window = comm.window(c)
    if not window.shared:
        return None
    if comm.rank == comm.size - 1:
        window.add(delta, 0.1)
        window.add(delta.numpy(), -0.3)  # an array, not a tensor: multiplied, then added
    comm.barrier()
    into = torch.empty_like(c)
    window.get(into)
    c.add_(delta, alpha=0.1)
    expected = c.numpy() + np.float32(-0.3) * delta.numpy()
    assert into.numpy().tobytes() == expected.tobytes()
    window.close()
    return None


def a_counter_hands_out_each_number_once(comm: Comm) -> Any:
    counter = comm.counter()
    mine = [counter.take() for _ in range(100)]
    assert mine == sorted(set(mine))
    taken = np.zeros(100 * comm.size, np.float32)
    taken[mine] = 1
    comm.allreduce(taken)
    assert taken.min() == taken.max() == 1
    comm.barrier()
    blocks = [counter.take(3) for _ in range(10)]
    assert all((b - 100 * comm.size) % 3 == 0 for b in blocks)
    comm.barrier()
    assert counter.take(0) == 130 * comm.size
    counter.close()
    return None


def one_sided_traffic(comm: Comm) -> Any:
    """A vector that crosses from rank to rank is a message; plain additions ask to move bytes and send none."""
    window = comm.window(constant(0), 0)
    counts = []
    for operation in (window.get, window.accumulate, window.put, *([window.add] if window.shared else [])):
        before = (comm.traffic.payload, comm.traffic.wire, comm.traffic.messages)
        operation(constant(0))
        now = (comm.traffic.payload, comm.traffic.wire, comm.traffic.messages)
        counts.append([b - a for a, b in zip(before, now, strict=True)])
    travels = comm.rank != 0 or not window.shared
    window.close()
    away = [4 * N, 4 * N * travels, int(travels)]
    assert counts == [away, away, away, [4 * N, 0, 0]][: len(counts)]
    return counts


def one_sided_time_is_communication(comm: Comm) -> Any:
    ledger = Ledger(comm.clock)
    timed = connect(Packed(comm, "one", ()), Communication(packing="buckets", bucket_bytes=1024), (), ledger)
    window, counter = timed.window(constant(0)), timed.counter()
    x = constant(1)
    for _ in range(20):
        window.get(x)  # type: ignore[arg-type]
        window.put(x)  # type: ignore[arg-type]
        if window.shared:
            window.add(x, 0.5)  # type: ignore[arg-type]
        window.accumulate(x)  # type: ignore[arg-type]
        counter.take()
    window.close()
    counter.close()
    ledger.enter(Phase.IDLE)
    assert ledger.seconds[Phase.COMMUNICATE] > 0
    assert abs(sum(ledger.seconds.values()) - (ledger.since - ledger.began)) < 1e-9
    return None


def exchanges_in_the_background_read_then_add(comm: Comm) -> Any:
    """Each adds what it makes of what it reads; additions of constants are exact whatever the order."""
    window, into, answered = comm.window(constant(3)), constant(np.nan), constant(0)
    comm.barrier()
    for k in range(30):

        def answer(k: int = k) -> np.ndarray:
            assert into.min() >= 3  # elements may be of different ages: others add meanwhile
            answered.fill(k + comm.rank)
            return answered

        pending = window.iexchange(into, answer)
        comm.charge(1e-3)
        pending.wait()
        pending.wait()  # only the first counts
        assert pending.hidden >= 0
        assert answered[0] == k + comm.rank
    comm.barrier()
    ranks = comm.size * (comm.size - 1) / 2
    assert np.array_equal(found(window), constant(3 + comm.size * 435 + 30 * ranks))
    comm.barrier()
    if comm.rank == comm.size - 1 and window.shared:
        window.iexchange(into, lambda: answered, 0.5).wait()
        assert np.array_equal(found(window), into + answered / 2)
    window.close()
    return None


def what_an_answer_raises_is_raised_by_wait(comm: Comm) -> Any:
    window, into = comm.window(constant(7)), constant(0)
    comm.barrier()

    def refuse() -> np.ndarray:
        raise ArithmeticError("not this one")

    for alpha in (None, 0.5) if window.shared else (None,):
        pending = window.iexchange(into, refuse, alpha)
        try:
            pending.wait()
        except ArithmeticError as error:
            assert "not this one" in str(error)
        else:
            raise AssertionError("nothing was raised")
        assert np.array_equal(into, constant(7))
    comm.barrier()
    assert np.array_equal(found(window), constant(7))
    window.close()
    return None


def time_behind_a_window_is_hidden_once(comm: Comm) -> Any:
    """What goes on behind a gradient is hidden, the rest is communication; together no more than the wall."""
    ledger = Ledger(comm.clock)
    timed = connect(comm, Communication(), (), ledger)
    window, x, delta = timed.window(constant(0)), constant(1), constant(1)
    for _ in range(10):
        pending = window.iexchange(x, lambda: delta)  # type: ignore[arg-type]
        ledger.enter(Phase.COMPUTE)
        comm.charge(1.0)
        ledger.enter(Phase.UPDATE)
        pending.wait()
    window.close()
    ledger.enter(Phase.IDLE)
    exposed = ledger.seconds[Phase.COMMUNICATE]
    assert exposed > 0 or comm.clock() == 10.0
    assert 0 <= ledger.hidden + exposed <= ledger.since - ledger.began + 1e-9
    return None


def operations_on_some_elements(comm: Comm) -> Any:
    """Elements that are not named keep their values; those that are, the owner's and each rank's additions."""
    at, none = np.array([0, 1, 2, 500, 700, 701, N - 1]), np.zeros(0, np.int64)
    expected = np.arange(N, dtype=np.float32)
    window = comm.window(expected, 0)
    comm.barrier()
    part = constant(np.nan, len(at))
    window.get(part, at)
    assert np.array_equal(part, at)
    comm.barrier()
    window.accumulate(constant(comm.rank + 1, len(at)), at)
    window.accumulate(constant(0, 0), none)
    window.get(constant(0, 0), none)
    comm.barrier()
    expected[at] += comm.size * (comm.size + 1) / 2
    assert np.array_equal(found(window), expected)
    comm.barrier()
    if comm.rank == comm.size - 1:
        sent = comm.traffic.payload
        window.iexchange(part, lambda: 10 * part, None, at).wait()
        assert comm.traffic.payload - sent == 2 * 4 * len(at)
        assert np.array_equal(part, expected[at])
        expected[at] *= 11
        if window.shared:
            window.add(constant(2, len(at)), 0.5, at)
            expected[at] += 1
        assert np.array_equal(found(window), expected)
    comm.barrier()
    window.close()
    return None


def faults_of_windows_are_named(comm: Comm) -> Any:
    window, x = comm.window(constant(0)), constant(0)
    for wrong, says in (
        (lambda: window.get(constant(0, 3)), "offers 3 elements"),
        (lambda: window.get(x, np.arange(3)), "expects 3"),
        (lambda: window.accumulate(np.zeros(N)), "float32, not float64"),
        (lambda: window.iexchange(np.zeros(N), lambda: x), "float32, not float64"),
        (lambda: comm.window(constant(0), comm.size), "no rank"),
        (lambda: comm.window(np.zeros(N)), "float32, not float64"),
    ):
        try:
            wrong()
        except CommError as error:
            assert says in str(error), error
        else:
            raise AssertionError(says)
    return None


def this_world_conforms(comm: Comm) -> Any:
    window = comm.window(constant(0))
    sharing = comm.size if window.shared else 0
    window.close()
    said = conformance(comm)
    assert "passed" in said and f"{comm.size} rank(s), {sharing} of" in said
    return None


WINDOW_CASES: dict[str, Callable[[Comm], Any]] = {
    case.__name__: case
    for case in (
        accumulates_lose_nothing,
        the_owners_copy_is_where_a_window_begins,
        a_lone_plain_addition_has_the_bits_of_a_servers,
        a_counter_hands_out_each_number_once,
        one_sided_traffic,
        one_sided_time_is_communication,
        exchanges_in_the_background_read_then_add,
        what_an_answer_raises_is_raised_by_wait,
        time_behind_a_window_is_hidden_once,
        operations_on_some_elements,
        faults_of_windows_are_named,
        this_world_conforms,
    )
}
