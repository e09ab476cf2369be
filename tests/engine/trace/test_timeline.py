"""The file that a run's ranks make together: against the rules of its format, the journals, and known times."""

import numpy as np
import pytest
from hooke.comm.base import Comm
from hooke.comm.wrappers.timed import connect
from hooke.spec.specification import Communication
from hooke.trace.phases import Phase
from hooke.trace.reading import read
from hooke.trace.recording import Trace, TracedLedger

from tests.engine.comm.worlds import A, B, virtual
from tests.engine.trace.cases import CASES, EVALUATION, FAMILY, NETWORK, RANKS, STEPS
from tests.engine.trace.rules import check, span, track
from tests.waiting import LIMIT

BOTH = pytest.mark.parametrize("world", ["virtual", "mpi"])
EVERY = pytest.mark.parametrize("name", CASES)
SERVED = ("parameter server", "in turn")
N = 1000
MESSAGE = A + 4 * N * B


def vector():
    return np.zeros(N, np.float32)


def seconds(slices):
    return sum(ended - began for began, ended in map(span, slices)) * 1e-9


def grain(slices):
    """A slice's ends are rounded to nanoseconds, and what is shorter is left out."""
    return 1e-9 * (len(slices) + 100)


@BOTH
@EVERY
def test_it_keeps_the_rules_of_the_format(traced, name, world):
    run = traced(name, world)
    check(run.document)
    assert run.written.ranks == RANKS
    assert run.written.events == len(run.document["traceEvents"])
    assert run.written.remarks == ()
    about = run.document["otherData"]
    assert about["simulated"] == (world == "virtual")
    assert about["clocks"] == 1
    assert 0 <= about["start_spread_seconds"] < (1 if world == "virtual" else LIMIT)
    titles = [e["args"]["name"] for e in run.document["traceEvents"] if e["name"] == "process_name"]
    assert len(titles) == RANKS
    assert all(("simulated" in title) == (world == "virtual") for title in titles)
    assert ["server" in title for title in titles] == [rank >= CASES[name][2] for rank in range(RANKS)]


@BOTH
@EVERY
def test_phases_tile_the_run_and_sum_to_the_journal(traced, name, world):
    run = traced(name, world)
    for rank, done in enumerate(run.done):
        slices = track(run.document, rank, "phases")
        for before, after in zip(slices, slices[1:], strict=False):
            assert span(before)[1] == span(after)[0]
        assert seconds(slices) == pytest.approx(done.wall, rel=1e-6, abs=2e-9)
        for phase, expected in done.phases.items():
            own = [s for s in slices if s["name"] == phase]
            assert seconds(own) == pytest.approx(expected, rel=1e-6, abs=grain(slices)), phase
        numbers = [s["args"]["gradient"] for s in slices if s["name"] == "compute"]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) == (done.step if rank < CASES[name][2] else 0)


@BOTH
@EVERY
def test_messages_add_up_to_what_was_counted(traced, name, world):
    run = traced(name, world)
    size = 4 * FAMILY.size
    for rank, done in enumerate(run.done):
        slices = track(run.document, rank, "blocked in")
        messages = [s["args"] for s in slices if s["cat"] == "message" and "messages" in s.get("args", {})]
        assert sum(m["payload_bytes"] for m in messages) == done.payload
        assert sum(m["wire_bytes"] for m in messages) == done.wire
        assert sum(m["messages"] for m in messages) == done.messages
        assert {m["bytes"] for m in messages} <= {size}
        exposed = seconds([s for s in slices if s["cat"] == "message"])
        moved = seconds([s for s in track(run.document, rank, "phases") if s["name"] == "communicate"])
        if name in SERVED:  # of what workers waited, the server's evaluations were taken out
            assert exposed >= moved - grain(slices)
        else:
            assert exposed == pytest.approx(moved, rel=1e-6, abs=grain(slices))


@BOTH
def test_every_exchange_is_there(traced, world):
    run = traced("synchronous", world)
    for rank in range(RANKS):
        slices = track(run.document, rank, "blocked in")
        sums = [s for s in slices if s["name"] == "all-reduce"]
        assert [s["args"]["payload_bytes"] for s in sums] == [4 * FAMILY.size] * STEPS
        assert all("peer" not in s["args"] for s in sums)
    run = traced("parameter server", world)
    count = run.done[2].step
    server = [s for s in track(run.document, 2, "blocked in") if s["cat"] == "message"]
    for what in ("send", "receive"):
        peers = [s["args"]["peer"] for s in server if s["name"] == what]
        assert len(peers) == count
        assert [peers.count(worker) for worker in (0, 1)] == [
            len([s for s in track(run.document, worker, "background") if s["name"] == what]) for worker in (0, 1)
        ]
    run = traced("in parts", world)
    parts = {s["args"]["part"] for s in track(run.document, 1, "blocked in") if "part" in s.get("args", {})}
    assert parts == {1}


@BOTH
@EVERY
def test_hidden_time_lies_in_the_background_and_outside_of_waits(traced, name, world):
    run = traced(name, world)
    late = 1 if world == "virtual" else 1e9  # nanoseconds: for how long a process may not run between two looks
    for rank, done in enumerate(run.done):
        hidden, behind = track(run.document, rank, "hidden"), track(run.document, rank, "background")
        assert seconds(hidden) == pytest.approx(done.hidden, rel=1e-6, abs=grain(hidden))
        blocked = [span(s) for s in track(run.document, rank, "blocked in")]
        for slice_ in hidden:
            began, ended = span(slice_)
            assert all(ended <= b + 1 or began + 1 >= e for b, e in blocked if e > b), "hidden, yet blocked"
            name_of = slice_["name"].removeprefix("hidden ")
            # a transfer is timed by those who carry it, a little before the operation that begins it returns
            assert any(
                b <= began + 1 and ended <= e + late for b, e in (span(s) for s in behind if s["name"] == name_of)
            )
        for before, after in zip(hidden, hidden[1:], strict=False):
            assert span(before)[1] <= span(after)[0], "a moment is hidden once"
        for slice_ in behind:
            args = slice_["args"]
            assert args["waited_us"] >= 0
            assert args["waited_from_us"] >= slice_["ts"] - 1e-3
    asynchronous = dict.fromkeys(("behind steps", "parameter server", "in turn", "lock-free"))
    asynchronous |= {"behind the gradient": STEPS}
    count = len(track(run.document, 0, "background"))
    assert (count > 0) == (name in asynchronous)
    if asynchronous.get(name):
        assert count == asynchronous[name]


def test_in_virtual_time_an_exchange_takes_what_it_costs(traced):
    """At least one message, for whoever comes last; what is hidden is hidden behind the gradient."""
    run = traced("behind the gradient", "virtual")
    for rank in range(RANKS):
        for slice_ in track(run.document, rank, "background"):
            assert seconds([slice_]) >= NETWORK["latency"] + 4 * FAMILY.size * NETWORK["seconds_per_byte"] - 1e-9
        assert 0 < run.done[rank].hidden <= phase_seconds(run, rank, "compute") + 1e-9


def phase_seconds(run, rank, phase):
    return seconds([s for s in track(run.document, rank, "phases") if s["name"] == phase])


def test_workers_stand_while_the_server_evaluates(traced):
    """All but the first evaluation, which comes before the clock starts."""
    run = traced("parameter server", "mpi")
    waited = [phase_seconds(run, rank, "evaluate") for rank in range(2)]
    assert min(*waited, phase_seconds(run, 2, "evaluate")) >= 4 * EVALUATION
    assert waited == pytest.approx([run.done[rank].phases["evaluate"] for rank in range(2)], rel=1e-6)


def test_a_round_trip_whose_times_are_known(tmp_path):
    """The round trip of `test_virtual_time`: every slice where arithmetic says."""

    def main(comm: Comm) -> None:
        about = {"rank": comm.rank, "ranks": 2, "role": "worker", "world": "virtual", "host": "here"}
        trace = Trace(tmp_path / f"trace.{comm.rank}.bin", about)
        ledger = TracedLedger(comm.clock, trace)
        timed = connect(comm, Communication(), (), ledger)
        timed.charge(1.0)
        ledger.begin()
        if comm.rank == 1:
            x = vector()
            timed.recv(x, 0)
            timed.charge(0.1)
            timed.control.send((1.0,), 0)
            timed.send(x, 0)
        else:
            parts = [timed.isend(vector(), 1), timed.irecv(vector(), 1)]
            ledger.enter(Phase.COMPUTE)
            timed.charge(0.02)
            ledger.enter(Phase.UPDATE)
            timed.control.recv()
            for p in parts:
                p.wait()
        ledger.enter(Phase.IDLE)
        trace.finish()
        trace.close()

    virtual(2, main)
    found = read(tmp_path / "trace.0.bin")
    words, end = 1 + MESSAGE + 0.1, 1 + 2 * MESSAGE + 0.1
    assert [(s.phase, s.began, s.ended) for s in found.phases] == [
        ("compute", 1.0, pytest.approx(1.02)),
        ("communicate", pytest.approx(1.02), pytest.approx(words)),
        ("communicate", pytest.approx(words), pytest.approx(end)),
    ]
    send, receive = found.transfers
    assert (send.name, send.peer, send.posted, send.completed) == ("send", 1, 1.0, pytest.approx(1 + MESSAGE))
    assert send.hidden == ((1.0, pytest.approx(1 + MESSAGE)),)
    assert (receive.name, receive.posted, receive.completed) == ("receive", 1.0, pytest.approx(end))
    assert receive.hidden == ((pytest.approx(1 + MESSAGE), pytest.approx(1.02)),)
    assert receive.waited_until == pytest.approx(end)
    names = [(o.name, o.peer, o.bytes, o.payload) for o in found.operations]
    size = send.bytes
    assert size == 4 * N
    assert names == [
        ("begin send", 1, size, size), ("begin receive", 1, size, 0), ("words receive", 1, 0, 0),
        ("wait for send", 1, 0, 0), ("wait for receive", 1, 0, 0),
    ]  # fmt: skip
    other = read(tmp_path / "trace.1.bin")
    assert [(o.name, o.peer, o.payload) for o in other.operations] == [
        ("receive", 0, 0), ("words send", 0, 0), ("send", 0, size)
    ]  # fmt: skip
    assert other.operations[0].ended == pytest.approx(1 + MESSAGE)


def test_what_ends_while_the_rank_is_blocked_elsewhere_was_not_hidden_there(tmp_path):
    """5 ms under way: 1 ms behind computation, 3 ms while the rank waits for words, 1 ms behind computation."""

    def main(comm: Comm) -> float:
        about = {"rank": comm.rank, "ranks": 2, "role": "worker", "world": "virtual", "host": "here"}
        ledger = TracedLedger(comm.clock, Trace(tmp_path / f"trace.{comm.rank}.bin", about))
        timed = connect(comm, Communication(), (), ledger)
        ledger.begin()
        if comm.rank == 1:
            arriving = timed.irecv(vector(), 0)
            timed.charge(0.004)
            timed.control.send((1.0,), 0)
            arriving.wait()
        else:
            leaving = timed.isend(vector(), 1)
            timed.charge(0.001)
            timed.control.recv(1)
            timed.charge(0.02)
            leaving.wait()
        ledger.enter(Phase.IDLE)
        ledger.trace.finish()
        ledger.trace.close()
        return ledger.hidden

    assert pytest.approx(0.005) == MESSAGE
    assert virtual(2, main) == pytest.approx([0.002, 0.004])
    (leaving,) = read(tmp_path / "trace.0.bin").transfers
    assert leaving.hidden == (
        (0.0, pytest.approx(0.001)),
        (pytest.approx(0.004), pytest.approx(0.005)),
    )
