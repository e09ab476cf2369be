"""The page says what the records hold, and the records under version control are those it says."""

import json

from benchmarks.soak.counting import KINDS, LOST
from benchmarks.soak.page import page, publish, read

RECORD = {
    "schema": "hooke.soak/1",
    "unix": 1_700_000_000.0,
    "commit": "abcdef0123",
    "seed": 7,
    "minutes": 5.0,
    "settled": 31.4,
    "hardware": {"cpu": "Some CPU", "cores": 2, "generation": "", "bf16": "emulated"},
    "experiments": 4,
    "runs": {"succeeded": 9, "cancelled": 1},
    "attempts": 15,
    "steps": 12345,
    "evaluations": 50,
    "faults": {"kill rank": 4, "Redis flushed": 2},
    "without_target": {"kill rank": 1},
    "violations": [],
    "log": [{"at": 1.0}],
}
WRONG = {"kind": LOST, "run": "run_x", "attempt": 2, "text": "1 steps of rank 0: 5", "faults": ["3.0 s kill rank"]}


def test_a_soak_without_a_violation():
    text = page([RECORD])
    assert "**6 faults and 10 runs in one soak; the latest one (6 faults, 10 runs): no violation.**" in text
    row = (
        "| 2023-11-14 22:13 | abcdef0123 | 7 | 5 | 6 | 4 | 1 cancelled, 9 succeeded | 15 | 12,345 | 50 | 31 | 0 |"
    )
    assert row in text
    assert "| kill rank | 4 | 1 |" in text and "| all | 6 | 1 |" in text
    assert all(f"| {kind} | 0 |" in text for kind in KINDS)


def test_every_violation_is_told():
    later = RECORD | {"unix": 1_700_001_000.0, "seed": 8, "settled": None, "violations": [WRONG]}
    text = page([RECORD, later])
    assert "in 2 soaks; the latest one (6 faults, 10 runs): 1 violation.**" in text
    assert f"| {LOST} | 0 | 1 |" in text
    assert "- seed 8: points lost, run_x, attempt 2: 1 steps of rank 0: 5" in text
    assert "| not | 1 |" in text


def test_what_is_published_is_read_again(tmp_path):
    path = publish([RECORD], tmp_path)
    (kept,) = read(tmp_path / "soak")
    assert "log" not in kept and kept["violations"] == []
    assert path.read_text() == page([RECORD])
    assert publish([], tmp_path).read_text() == page([RECORD])
    assert json.loads(next((tmp_path / "soak").glob("*.json")).read_text()) == kept
