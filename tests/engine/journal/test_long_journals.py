"""Journals of days, and files that users' code makes as large as it likes: a part is in memory at a time."""

import tracemalloc

import pytest
from hooke.errors import JournalError
from hooke.spec import journal
from hooke.spec.events import STEP_COLUMNS
from hooke.spec.invariants import faults
from hooke.spec.journal import JournalWriter, records

from tests.engine.journal.test_journal import row, scored, start

STEPS = 20_000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let a part be an eighth of what it is, so that journals need not be long."""
    monkeypatch.setattr(journal, "PORTION", journal.PORTION // 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the journal of a rank with many steps of 1 ms, most of which is training."""
    place = tmp_path_factory.mktemp("long")
    writer = JournalWriter(place / "journal.0.jsonl", lambda: 0.0)
    writer.record(start)
    values = list(row(0))
    at = {name: list(STEP_COLUMNS).index(name) for name in ("step", "clock", "wall", "compute")}
    for step in range(1, STEPS + 1):
        values[at["step"]], values[at["compute"]] = step, 0.0009
        values[at["clock"]] = values[at["wall"]] = step / 1000
        writer.step(values)
    writer.close()
    return place


def peak_of(work):
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_reading_takes_the_memory_of_a_part(folder):
    path = folder / "journal.0.jsonl"
    size = path.stat().st_size
    assert size > 10 * journal.PORTION
    count, peak = peak_of(lambda: sum(1 for _ in records(path)))
    assert count == 1 + -(-STEPS // journal.BLOCK_STEPS)
    assert peak < size / 2
    found, peak = peak_of(lambda: faults(folder))
    assert found == []
    assert peak < size / 2 + 4 * 8 * STEPS


def test_a_predecessor_s_journal_is_continued_without_reading_it_whole(folder):
    path = folder / "journal.0.jsonl"
    last = list(records(path))[-1].seq
    writer, peak = peak_of(lambda: JournalWriter(path, lambda: 0.0))
    assert writer.next_seq() == last + 1
    writer.close()
    assert peak < path.stat().st_size / 2


def test_a_hole_of_two_gigabytes_is_damage(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "LONGEST_LINE", 2 * journal.PORTION)
    path = tmp_path / "journal.0.jsonl"
    path.write_text(scored(0).model_dump_json() + "\n")
    with path.open("ab") as file:
        file.truncate(2 << 30)
    found = records(path)
    assert next(found) == scored(0)
    with pytest.raises(JournalError, match=r"journal\.0\.jsonl: a line of more than"):
        next(found)
    told, peak = peak_of(lambda: faults(tmp_path))
    assert len(told) == 1 and "a line of more than" in told[0]
    assert peak < 16 * journal.PORTION


def test_lines_that_end_at_the_end_of_a_part_are_read_once(tmp_path, monkeypatch):
    path = tmp_path / "journal.0.jsonl"
    lines = [scored(seq).model_dump_json() + "\n" for seq in range(40)]
    path.write_text("".join(lines) + "half a record")
    for portion in (1, len(lines[0]) - 1, len(lines[0]), len(lines[0]) + 1, 1000):
        monkeypatch.setattr(journal, "PORTION", portion)
        assert [record.seq for record in records(path)] == list(range(40)), portion
