"""What a rank notes: nothing is lost, nothing is invented, and no fault of the trace becomes one of the run."""

import json

import pytest
from hooke.catalogue.validation import validate_run
from hooke.cluster import local_run
from hooke.comm.virtual.communicator import run_virtual
from hooke.errors import JournalError, NumericalError
from hooke.trace.export import align, write
from hooke.trace.phases import PHASES, Ledger, Phase
from hooke.trace.reading import RankTrace, read
from hooke.trace.recording import BUFFER, Trace, TracedLedger
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.contract.objective import Behaviour
from tests.engine.trace.cases import RANKS, STEPS, play, spec_of
from tests.engine.trace.rules import check, track

ABOUT = {"rank": 0, "ranks": 1, "role": "worker", "world": "mpi", "host": "here"}


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def traced_ledger(path, **options):
    clock = Clock()
    ledger = TracedLedger(clock, Trace(path, ABOUT, **options))
    ledger.begin()
    return ledger, clock


def end(ledger):
    ledger.train()
    ledger.trace.finish()
    ledger.trace.close()


def totals(slices):
    found = dict.fromkeys(map(str, PHASES), 0.0)
    for piece in slices:
        found[piece.phase] += piece.ended - piece.began
    return found


@pytest.mark.parametrize("bare", [False, True])
def test_the_ledger_charges_alike_with_and_without_a_trace(tmp_path, bare):
    if bare:
        ledger, clock = Ledger(Clock()), None
        clock = ledger.clock
        ledger.begin()
    else:
        ledger, clock = traced_ledger(tmp_path / "trace.0.bin")
    for phase, spent in ((Phase.DATA, 1.0), (Phase.COMPUTE, 2.0), (Phase.COMMUNICATE, 4.0), (Phase.IDLE, 8.0)):
        before = ledger.enter(phase)
        clock.now += spent
        ledger.enter(before)
        clock.now += 0.5
    ledger.move(3.0, Phase.COMMUNICATE, Phase.EVALUATE)
    assert ledger.train() == 17.0 - 3.0
    assert ledger.wall() == 17.0
    seconds = {str(p): s for p, s in ledger.seconds.items()}
    assert seconds == {
        "data": 1,
        "compute": 2,
        "rebuild": 0,
        "communicate": 1,
        "update": 2,
        "evaluate": 3,
        "idle": 8,
    }
    if not bare:
        end(ledger)
        found = read(tmp_path / "trace.0.bin")
        assert totals(found.phases) == seconds
        waits = [
            (s.phase, s.began - 100, s.ended - 100) for s in found.phases if s.phase in ("communicate", "evaluate")
        ]
        assert waits == [("communicate", 4.0, 5.0), ("evaluate", 5.0, 8.0)], "the end of the wait is given away"


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(PHASES), st.integers(0, 1000), st.integers(0, 9)), min_size=1, max_size=60
    )
)
def test_slices_sum_to_the_ledger_whatever_happens(tmp_path, steps):
    """Any order of phases, moved seconds among them (never more than there are)."""
    ledger, clock = traced_ledger(tmp_path / "trace.0.bin")
    for phase, ticks, share in steps:
        ledger.enter(phase)
        clock.now += ticks / 1024
        ledger.enter(Phase.IDLE)
        if share:
            ledger.move(ledger.seconds[phase] * share / 10, phase, Phase.EVALUATE)
    end(ledger)
    found = read(tmp_path / "trace.0.bin")
    assert totals(found.phases) == pytest.approx({str(p): s for p, s in ledger.seconds.items()}, abs=1e-9)
    for before, after in zip(found.phases, found.phases[1:], strict=False):
        assert before.ended == after.began


def spin(ledger, clock, steps):
    """Change phases as a step does, with a message in each."""
    for _ in range(steps):
        for phase in (Phase.DATA, Phase.COMPUTE, Phase.COMMUNICATE, Phase.UPDATE, Phase.IDLE):
            if phase is Phase.COMMUNICATE:
                before, began = ledger.interrupt(phase), clock.now
                ledger.trace.peer = 1
                clock.now += 0.125
                ledger.resume(before)
                ledger.trace.operated("send", 0, before, phase, began, clock.now, None, (8, 0, 0))
            else:
                ledger.enter(phase)
                clock.now += 0.125


def test_more_than_a_buffer_is_kept(tmp_path):
    path = tmp_path / "trace.0.bin"
    ledger, clock = traced_ledger(path)
    steps = 3 * BUFFER // 100
    spin(ledger, clock, steps)
    assert path.stat().st_size > 2 * BUFFER, "it is written while the run goes on"
    end(ledger)
    found = read(path)
    assert len(found.phases) == 5 * steps
    assert sum(o.payload for o in found.operations) == 8 * steps
    assert found.footer["stopped"] is None


def test_at_the_limit_the_rest_is_one_slice_that_says_so(tmp_path):
    path = tmp_path / "trace.0.bin"
    limit = 64 << 10
    ledger, clock = traced_ledger(path, limit=limit)
    spin(ledger, clock, 5000)
    end(ledger)
    assert path.stat().st_size < limit + 4096
    written = write(tmp_path, 1, tmp_path / "trace.json")
    (remark,) = written.remarks
    assert "rank 0" in remark
    assert "limit" in remark
    document = json.loads((tmp_path / "trace.json").read_text())
    check(document)
    assert document["otherData"]["remarks"] == [remark]
    *before, gap = track(document, 0, "phases")
    assert gap["name"] == "not recorded"
    assert len(before) > 100
    for phase, spent in ledger.seconds.items():
        drawn = sum(s["dur"] for s in before if s["name"] == phase) * 1e-6
        assert drawn + gap["args"]["seconds"][phase] == pytest.approx(spent), phase
    assert gap["ts"] + gap["dur"] == pytest.approx(ledger.wall() * 1e6)


def test_a_full_disk_ends_the_trace_and_not_the_run(tmp_path):
    path = tmp_path / "trace.0.bin"
    ledger, clock = traced_ledger(path)
    spin(ledger, clock, 10)
    ledger.trace._file.close()
    ledger.trace._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115, PTH123 - the trace closes it
    spin(ledger, clock, 5000)
    assert not ledger.trace.on
    end(ledger)
    assert sum(ledger.seconds.values()) == pytest.approx(5 * 0.125 * 5010)
    assert read(path).footer is None


def test_a_file_that_is_cut_off_says_what_it_has(tmp_path):
    path = tmp_path / "trace.0.bin"
    ledger, clock = traced_ledger(path)
    spin(ledger, clock, 2)
    end(ledger)
    whole, first = path.read_bytes(), len(path.read_bytes().splitlines(keepends=True)[0])
    everything = read(path)
    for length in range(first, len(whole) - 2, 3):
        path.write_bytes(whole[:length])
        found = read(path)
        assert found.footer is None
        assert found.phases == everything.phases[: len(found.phases)]
    (remark,) = write(tmp_path, 1, tmp_path / "trace.json").remarks
    assert "breaks off" in remark


def test_what_is_no_trace_is_refused(tmp_path):
    path = tmp_path / "trace.0.bin"
    with pytest.raises(JournalError, match="no rank has written a trace"):
        write(tmp_path, 2, tmp_path / "trace.json")
    ledger, clock = traced_ledger(path)
    spin(ledger, clock, 3)
    end(ledger)
    whole, first = path.read_bytes(), len(path.read_bytes().splitlines(keepends=True)[0])
    for damage, why in (
        (b"not json\n", "is not a trace"),
        (b"[]\n", "is not a trace"),
        (whole.replace(b"hooke.trace/2", b"hooke.trace/9", 1), "hooke.trace/9"),
        (whole[:first] + b"\xee" + whole[first + 1 :], "no record begins with 238"),
    ):
        path.write_bytes(damage)
        with pytest.raises(JournalError, match=why):
            read(path)


def test_without_a_trace_nothing_is_noted(tmp_path):
    network = spec_of("parameter server", "virtual").virtual
    run_virtual(RANKS, network, lambda comm: play(comm, "parameter server", tmp_path, "virtual", traced=False))
    assert len(list(tmp_path.glob("journal.*"))) == RANKS
    assert not list(tmp_path.glob("trace*"))


def test_a_rank_that_fails_leaves_what_it_noted(tmp_path):
    bad = Behaviour(poison=(STEPS // 2, float("nan")))
    with pytest.raises(NumericalError):
        run_virtual(
            RANKS,
            spec_of("synchronous", "virtual").virtual,
            lambda comm: play(comm, "synchronous", tmp_path, "virtual", bad if comm.rank == 1 else Behaviour()),
        )
    written = write(tmp_path, RANKS + 1, tmp_path / "trace.json")
    assert written.ranks == RANKS
    assert sum("breaks off" in remark for remark in written.remarks) == RANKS
    assert "rank 3 has no trace" in written.remarks[0]
    document = json.loads((tmp_path / "trace.json").read_text())
    check(document)
    assert len([s for s in track(document, 1, "phases") if s["name"] == "compute"]) == STEPS // 2 + 1


def of(rank, clock, began):
    header = {"rank": rank, "clock": clock, "began": began}
    return RankTrace(header)


def test_ranks_of_one_clock_keep_their_distance_and_hosts_meet_at_the_barrier():
    here, there = [of(0, "a", 50.25), of(2, "a", 50.0)], [of(1, "b", 9000.0), of(3, "b", 9000.5)]
    origins, spread = align([here[0], there[0], here[1], there[1]])
    assert origins == {0: 50.0, 2: 50.0, 1: 9000.0, 3: 9000.0}
    assert spread == 0.5
    assert align([here[0], there[0]]) == ({0: 50.25, 1: 9000.0}, None)


def test_a_resumed_run_does_not_mix_its_trace_with_the_earlier_one(tmp_path):
    spec = validate_run(spec_of("synchronous", "mpi").model_dump(mode="json", by_alias=True))
    (tmp_path / "checkpoints/8").mkdir(parents=True)
    (tmp_path / "checkpoints/8/complete.json").write_text("{}")
    (tmp_path / "trace.0.bin").write_bytes(b"earlier")
    local_run.prepare(tmp_path, spec, resume=True)
    assert not list(tmp_path.glob("trace.*"))
    assert (tmp_path / "before.1/trace.0.bin").read_bytes() == b"earlier"


def test_a_compressed_trace_is_the_same(traced, tmp_path):
    import gzip

    run = traced("synchronous", "virtual")
    write(run.folder, RANKS, tmp_path / "trace.json.gz")
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes())) == run.document


@pytest.mark.parametrize("bare", [False, True])
def test_a_clock_may_have_started_before_the_rank_learned_of_it(tmp_path, bare):
    """What it waited for its core is idle time, and part of its wall seconds."""
    clock = Clock()
    ledger = Ledger(clock) if bare else TracedLedger(clock, Trace(tmp_path / "trace.0.bin", ABOUT))
    ledger.begin(None, clock.now - 2.0)
    ledger.enter(Phase.COMPUTE)
    clock.now += 1.0
    assert ledger.train() == ledger.wall() == 3.0
    assert (ledger.seconds[Phase.IDLE], ledger.seconds[Phase.COMPUTE]) == (2.0, 1.0)
    if not bare:
        end(ledger)
        found = read(tmp_path / "trace.0.bin").phases
        assert [(s.phase, s.began, s.ended) for s in found] == [("idle", 98.0, 100.0), ("compute", 100.0, 101.0)]
