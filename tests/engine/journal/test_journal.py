"""The journal: numbered without gaps, in blocks, readable while it grows and after a kill."""

import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hooke.errors import JournalError
from hooke.spec.events import STEP_COLUMNS, Done, Evaluation, Start
from hooke.spec.journal import BLOCK_SECONDS, BLOCK_STEPS, JournalWriter, parse, read_new, records, unpack
from hypothesis import example, given
from hypothesis import strategies as st


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def row(step: int, **values: float) -> tuple[float, ...]:
    given_values = {"step": step, "samples": 32 * step, "staleness": math.nan, "worker": -1, "joined": -1}
    given_values |= values
    return tuple(given_values.get(name, 0) for name in STEP_COLUMNS)


def scored(seq: int, loss: float = 0.5) -> Evaluation:
    return Evaluation(
        seq=seq, step=3, samples=96, clock=1.0, wall=1.5, loss=loss, accuracy=0.25, seconds=0.5, reached=False
    )


def start(seq: int, host: str = "node7") -> Start:
    return Start(
        seq=seq,
        role="worker",
        host=host,
        pid=1,
        unix=0.0,
        monotonic=0.0,
        world="mpi",
        ranks=2,
        oversubscribed=False,
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "attempt" / "journal.0.jsonl"


def test_a_block_is_written_when_it_is_full(path, clock):
    journal = JournalWriter(path, clock)
    for step in range(BLOCK_STEPS - 1):
        journal.step(row(step))
    assert list(records(path)) == []
    journal.step(row(BLOCK_STEPS - 1))
    (block,) = records(path)
    assert block.n == BLOCK_STEPS
    assert unpack("step", block.columns["step"]) == list(range(BLOCK_STEPS))
    journal.close()


def test_a_block_is_written_when_its_time_has_come(path, clock):
    journal = JournalWriter(path, clock)
    journal.step(row(1))
    clock.now = BLOCK_SECONDS * 0.99
    journal.step(row(2))
    assert list(records(path)) == []
    clock.now = BLOCK_SECONDS
    journal.step(row(3))
    assert [block.n for block in records(path)] == [3]
    clock.now = BLOCK_SECONDS * 1.9  # counted from the last block, not from the start
    journal.step(row(4))
    assert [block.n for block in records(path)] == [3]
    journal.close()
    assert [block.n for block in records(path)] == [3, 1]


def test_other_records_are_written_at_once_behind_the_steps_before_them(path, clock):
    journal = JournalWriter(path, clock)
    journal.record(start)
    journal.step(row(1))
    journal.record(scored)
    kinds = [(record.seq, record.kind) for record in records(path)]
    assert kinds == [(0, "start"), (1, "steps"), (2, "evaluation")]
    journal.close()


@given(st.lists(st.sampled_from(["step", "flush", "record", "wait", "reopen"]), max_size=60))
def test_numbers_have_no_gap_and_no_step_is_lost(tmp_path_factory, events):
    path = tmp_path_factory.mktemp("journal") / "journal.0.jsonl"
    clock = Clock()
    journal = JournalWriter(path, clock)
    steps = 0
    for event in events:
        if event == "step":
            journal.step(row(steps))
            steps += 1
        elif event == "flush":
            journal.flush()
        elif event == "record":
            journal.record(scored)
        elif event == "wait":
            clock.now += BLOCK_SECONDS
        else:
            journal.close()
            journal = JournalWriter(path, clock)
    journal.close()
    found = list(records(path))
    assert [record.seq for record in found] == list(range(len(found)))
    blocks = [record for record in found if record.kind == "steps"]
    assert sum((unpack("step", block.columns["step"]) for block in blocks), []) == list(range(steps))
    assert all(len(unpack(name, text)) == block.n for block in blocks for name, text in block.columns.items())


def test_staleness_is_left_out_only_where_it_has_no_meaning(path, clock):
    journal = JournalWriter(path, clock)
    journal.step(row(1))
    journal.flush()
    journal.step(row(2))
    journal.step(row(3, staleness=4.0))
    journal.close()
    without, with_it = records(path)
    assert set(STEP_COLUMNS) - set(without.columns) == {"rebuild", "staleness", "worker", "joined"}
    values = unpack("staleness", with_it.columns["staleness"])
    assert math.isnan(values[0])
    assert values[1] == 4.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_records_carry_nan_and_infinity(path, clock, value):
    journal = JournalWriter(path, clock)
    journal.record(lambda seq: scored(seq, value))
    journal.step(row(1, loss=value))
    journal.close()
    evaluation, block = records(path)
    for loss in (evaluation.loss, unpack("loss", block.columns["loss"])[0]):
        assert loss == value or (math.isnan(loss) and math.isnan(value))


def test_only_a_newline_ends_a_line(path, clock):
    odd = "node\u2028seven\x85\x0b\x1c"  # all of them end a line for str.splitlines
    journal = JournalWriter(path, clock)
    journal.record(lambda seq: start(seq, odd))
    journal.close()
    (record,) = records(path)
    assert record.host == odd


def test_a_missing_file_is_empty(tmp_path):
    assert read_new(tmp_path / "none", 0) == ([], 0)
    assert list(records(tmp_path / "none")) == []


def _whole_journal(path: Path) -> bytes:
    journal = JournalWriter(path, Clock())
    journal.record(lambda seq: start(seq, "ж\u2028"))
    for step in range(40):
        journal.step(row(step))
        if step % 7 == 0:
            journal.record(scored)
    journal.close()
    return path.read_bytes()


@given(cuts=st.lists(st.integers(0, 10**6), max_size=12))
@example(cuts=[])
def test_a_reader_that_follows_gets_every_line_once(tmp_path_factory, cuts):
    folder = tmp_path_factory.mktemp("follow")
    whole = _whole_journal(folder / "whole")
    growing = folder / "growing"
    lines: list[str] = []
    offset = 0
    for cut in sorted(c % (len(whole) + 1) for c in cuts) + [len(whole)]:
        growing.write_bytes(whole[:cut])
        new, offset = read_new(growing, offset)
        lines += new
        assert offset <= cut
    assert lines == whole.decode().split("\n")[:-1]
    assert offset == len(whole)
    assert [parse(line).seq for line in lines] == list(range(len(lines)))


@given(cut=st.integers(1, 10**6))
def test_a_torn_line_is_invisible_and_is_cut_by_the_next_writer(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("torn") / "journal.0.jsonl"
    whole = _whole_journal(path)
    path.write_bytes(whole[: cut % len(whole)])
    before = list(records(path))
    journal = JournalWriter(path, Clock())
    journal.record(scored)
    journal.close()
    after = list(records(path))
    assert after[:-1] == before
    assert [record.seq for record in after] == list(range(len(after)))


KILLED = """
import sys
from pathlib import Path
from hooke.spec.journal import JournalWriter
from hooke.spec.events import STEP_COLUMNS
journal = JournalWriter(Path(sys.argv[1]), lambda: 0.0)
print("ready", flush=True)
step = 0
while True:
    journal.step(tuple(step if name == "step" else 0 for name in STEP_COLUMNS))
    step += 1
"""


def test_a_killed_writer_leaves_a_journal_that_goes_on(path):
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "ready\n"
        while len(read_new(path, 0)[0]) < 5:
            assert writer.poll() is None
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    with path.open("ab") as file:
        file.write(b'{"kind":"steps","seq":')  # a kill inside the write itself is too rare to wait for
    journal = JournalWriter(path, Clock())
    journal.record(scored)
    journal.close()
    found = list(records(path))
    assert [record.seq for record in found] == list(range(len(found)))
    steps = sum((unpack("step", record.columns["step"]) for record in found[:-1]), [])
    assert steps == list(range(len(steps)))
    assert len(steps) >= 5 * BLOCK_STEPS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
GOOD = json.loads(scored(0).model_dump_json())


@given(st.text(max_size=80) | JSON.map(json.dumps))
@example("")
@example("[" * 5000)
@example('{"kind":"steps","seq":0,"n":1,"columns":{}} trailing')
@example("\x00" * 64)  # what some file systems leave after a power cut
def test_garbage_is_refused_by_one_error(line):
    with pytest.raises(JournalError, match="not a journal record"):
        parse(line)


@given(st.sampled_from([*GOOD, "extra"]), JSON)
def test_a_damaged_field_is_refused_or_means_what_it_says(field, value):
    document = GOOD | {field: value}
    try:
        record = parse(json.dumps(document))
    except JournalError:
        return
    assert record.kind == "evaluation"
    assert field != "extra"
    again = parse(record.model_dump_json())
    assert repr(again) == repr(record)  # repr: NaN is NaN


@given(st.binary(max_size=200))
@example(b"\xff\xfe\n")
def test_damaged_bytes_never_hide_a_good_line(tmp_path_factory, damage):
    path = tmp_path_factory.mktemp("damage") / "journal.0.jsonl"
    good = scored(0).model_dump_json().encode()
    path.write_bytes(damage + b"\n" + good + b"\n")
    lines, offset = read_new(path, 0)
    assert offset == len(damage) + len(good) + 2
    assert parse(lines[-1]) == scored(0)


def test_a_block_cannot_claim_no_steps(clock, path):
    JournalWriter(path, clock).close()
    assert path.read_bytes() == b""
    with pytest.raises(JournalError):
        parse('{"kind":"steps","seq":0,"n":0,"columns":{}}')


def test_an_ending_is_read_back_whole(path, clock):
    done = Done(
        seq=0,
        reason="target",
        step=10,
        samples=320,
        clock=1.5,
        wall=2.0,
        phases={"compute": 1.0},
        hidden=0.25,
        payload=10,
        wire=20,
        messages=3,
        final_loss=None,
        final_accuracy=0.9,
    )
    journal = JournalWriter(path, clock)
    journal.record(lambda seq: done.model_copy(update={"seq": seq}))
    journal.close()
    assert list(records(path)) == [done]
