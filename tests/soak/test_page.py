"""The page says what the records hold, and the records under version control are those it says."""

import json

from benchmarks.soak.counting import KINDS, LOST
from benchmarks.soak.faults import KINDS as KINDS_OF_FAULTS
from benchmarks.soak.page import page, publish, read
from benchmarks.soak.planned import SCENARIOS
from benchmarks.soak.tried import FAULTS
from tests.checkout import ROOT

RECORD = {
    "schema": "hooke.soak/1",
    "unix": 1_700_000_000.0,
    "commit": "abcdef0123",
    "seed": 7,
    "minutes": 5.0,
    "every": 6.0,
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
PLANNED = {
    **{key: RECORD[key] for key in ("unix", "commit", "hardware")},
    "scenario": "ranks",
    "failed": "",
    "runs": {"succeeded": 1},
    "attempts": 2,
    "steps": 100,
    "evaluations": 5,
    "violations": [{}],
    "told": ["it went on"],
    "log": [{"fault": "rank 1 killed", "at": 12.3}],
}
STOP = {"world": "virtual", "method": "sync-sgd"}
STOPS = {
    **{key: RECORD[key] for key in ("unix", "commit")},
    "load": 1.0,
    "stops": [
        STOP | {"resumed": "", "checkpoint_seconds": 1.5, "seconds": 1.0},
        STOP | {"resumed": "resuming at 64 of 100 samples", "checkpoint_seconds": None, "seconds": 3.0},
    ],
}
WRONG = {"kind": LOST, "run": "run_x", "attempt": 2, "text": "1 steps of rank 0: 5", "faults": ["3.0 s kill rank"]}


def test_a_soak_without_a_violation():
    text = page([RECORD])
    assert "**6 faults and 10 runs in one soak; the latest one (6 faults, 10 runs): no violation.**" in text
    row = "| 2023-11-14 22:13 | abcdef0123 | 7 | 5 | 6 | 6 | 4 | 1 cancelled, 9 succeeded | 15 | 12,345 | 50 |"
    assert f"{row} 31 | 0 |" in text
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
    for folder, record in (("", RECORD), ("planned", PLANNED), ("stops", STOPS)):
        (tmp_path / "measured" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "measured" / folder / "1.json").write_text(json.dumps(record))
    path = publish(tmp_path / "measured", tmp_path)
    (kept,) = read(tmp_path / "soak")
    assert "log" not in kept and kept["violations"] == []
    (planned,) = read(tmp_path / "soak" / "planned")
    assert planned["strikes"] == ["rank 1 killed (12 s)"]
    assert path.read_text() == page([RECORD], [planned], [STOPS])
    assert publish(tmp_path / "none", tmp_path).read_text() == page([RECORD], [planned], [STOPS])
    assert json.loads(next((tmp_path / "soak").glob("*.json")).read_text()) == kept


def test_planned_faults_and_stops_are_told():
    text = page([RECORD], [PLANNED | {"strikes": ["rank 1 killed (12 s)"]}], [STOPS])
    assert "| rank killed |" in text and "| 4 | ranks: 1 violation |" in text
    assert "| ranks | abcdef0123 | 1 succeeded | 2 | 100 | 5 | 1 violation |" in text
    assert "- done (seconds from the beginning): rank 1 killed (12 s)\n- it went on" in text
    assert "| virtual | sync-sgd | 2 | 1 | 1 | 1.5 (1.5 to 1.5) | 2.0 (1.0 to 3.0) |" in text
    assert "API away for 15 minutes: not run" in text


def test_every_test_kind_and_scenario_that_is_named_exists():
    for fault in FAULTS:
        assert fault.tests or fault.kinds or fault.planned, fault.what
        assert set(fault.kinds) <= KINDS_OF_FAULTS.keys() and set(fault.planned) <= SCENARIOS.keys(), fault.what
        for test in fault.tests:
            path, name = test.split("::")
            assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text(), test
    named = {kind for fault in FAULTS for kind in fault.kinds}
    assert named == KINDS_OF_FAULTS.keys(), "a kind of the soaks that the table does not tell"
    assert {name for fault in FAULTS for name in fault.planned} == SCENARIOS.keys()
