"""What a machine without power leaves of the files of an agent: whoever takes over goes on with what is whole."""

import json
import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.job import Order
from hooke.cluster.places import Home
from hooke.cluster.tail import LogBook, OutputSource, read_own
from hooke.spec.events import StateReport

from tests.cluster.bench import spec

CUT = "a report of läst words".encode()[:13]
"""In the middle of a character."""
NOBODY = 65534
TAILS = {"cut": CUT, "zeros": bytes(4096), "cut and more": CUT + b"\n", "zeros and more": bytes(99) + b"\n"}
tails = pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)


def attempt(home: Home) -> SupervisedAttempt:
    return SupervisedAttempt(home.attempt("run_a", 1), Order(run="run_a", attempt=1, spec=spec()))


@tails
def test_reports_go_on_behind_the_last_whole_one(tmp_path, tail):
    """The first that takes over appends to the file; the second one must be able to read that."""
    home = Home(tmp_path)
    first = attempt(home)
    first.starting()
    first.report(StateReport(state="running", unix=1.0, why="ihre Ränge laufen"))
    whole = first.folder.reports.read_bytes()
    with first.folder.reports.open("ab") as file:
        file.write(tail)
    second = attempt(home)
    assert second.reports == first.reports
    assert second.folder.reports.read_bytes() == whole
    second.report(StateReport(state="failed_infra", unix=2.0, why="its supervisor died"))
    third = attempt(home)
    assert [report.state for report in third.reports] == ["starting", "running", "failed_infra"]


def test_a_damaged_byte_in_a_text_is_damage_too(tmp_path):
    """Read as a sign in its place, which is longer, it would move the place at which the file is cut."""
    home = Home(tmp_path)
    first = attempt(home)
    first.starting()
    whole = first.folder.reports.read_bytes()
    first.report(StateReport(state="running", unix=1.0, why="its ranks run"))
    damaged = first.folder.reports.read_bytes().replace(b"ranks run", b"ranks r\xffn")
    first.folder.reports.write_bytes(damaged + CUT)
    assert [report.state for report in attempt(home).reports] == ["starting"]
    assert first.folder.reports.read_bytes() == whole


def test_what_cannot_be_read_is_not_cut():
    with tempfile.TemporaryDirectory() as name:  # others may pass to it, but not to what pytest makes
        folder = Path(name)
        folder.chmod(0o711)
        path = folder / "reports.jsonl"
        path.write_text("7\n")
        taken: list[str] = []
        path.chmod(0o200)
        if os.geteuid() == 0:  # who reads everything
            os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            read_own(path, taken.append)
        finally:
            os.seteuid(os.getuid())
        path.chmod(0o600)
        assert taken == []
        assert path.read_text() == "7\n"


@tails
def test_numbered_output_goes_on_without_a_gap_and_what_was_lost_is_read_again(tmp_path, tail):
    output = OutputSource(tmp_path / "runs" / "a" / "1" / "rank.0.log", 0, "stdout")
    output.path.parent.mkdir(parents=True)
    output.path.write_text("one\ntwö\nthree\n")
    book = LogBook(tmp_path / "log.jsonl")
    lines = list(output.read())
    for text, offset in lines[:2]:
        book.add(output, text, offset)
    with book.path.open("ab") as file:
        file.write(tail)
    again = LogBook(book.path)
    assert again.next_seq == 2
    output.offset = again.offsets[output.name]
    for text, offset in output.read():
        again.add(output, text, offset)
    entries = [json.loads(line)["line"] for line in book.path.read_text().splitlines()]
    assert [(entry["seq"], entry["text"]) for entry in entries] == [(0, "one"), (1, "twö"), (2, "three")]


def test_a_line_in_the_middle_that_is_damaged_ends_what_is_believed(tmp_path):
    book = LogBook(tmp_path / "log.jsonl")
    for text in ("one", "two", "three"):
        book.say(text)
    lines = book.path.read_bytes().splitlines(keepends=True)
    lines[1] = bytes(len(lines[1]) - 1) + b"\n"
    book.path.write_bytes(b"".join(lines))
    assert LogBook(book.path).next_seq == 1
    assert book.path.read_bytes() == lines[0]


def test_more_output_than_fits_in_memory_is_taken_over(tmp_path):
    """A run of days may leave gigabytes of numbered lines: who takes over must not end by reading them."""
    book = LogBook(tmp_path / "log.jsonl")
    line = {"rank": 0, "stream": "stdout", "unix": 1.0, "text": "x" * 500}
    entry = {"source": "run_a/1/rank.0.log", "line": line}
    with book.path.open("w") as file:
        for seq in range(5_000):
            line["seq"], entry["offset"] = seq, 501 * (seq + 1)
            file.write(json.dumps(entry) + "\n")
    tracemalloc.start()
    again = LogBook(book.path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (again.next_seq, again.offsets) == (5_000, {"run_a/1/rank.0.log": 501 * 5_000})
    assert peak < book.path.stat().st_size / 10


def test_a_hole_in_a_file_of_the_agent_is_cut_without_reading_it(tmp_path):
    book = LogBook(tmp_path / "log.jsonl")
    book.say("one")
    whole = book.path.read_bytes()
    with book.path.open("ab") as file:
        file.truncate(2 << 30)
    assert LogBook(book.path).next_seq == 1
    assert book.path.read_bytes() == whole
