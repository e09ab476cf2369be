"""The page of the dashboard's speed follows from its records, and tells every missed goal."""

import json
import re

import pytest

from benchmarks.dashboard.page import DATA, PAGE, page, publish, read
from benchmarks.evidence.store import ROOT

RESULTS = ROOT / "docs" / "results"


def figure(scenario, name, median, unit="ms", goal=None, higher=False):
    values = [median] if unit != "ms" else [median - 1, median, median + 1]
    return {"scenario": scenario, "name": name, "unit": unit, "median": median, "values": values} | {
        "goal": goal,
        "higher": higher,
    }


RECORD = {
    "unix": 1_700_000_000.0,
    "commit": "abcdef0123",
    "hardware": {"cpu": "Some CPU", "cores": 2, "generation": "", "bf16": "emulated"},
    "chromium": "156.0.1",
    "runs": 100,
    "points": 10_000,
    "evaluations": 1000,
    "rounds": 3,
    "load_before": 1.5,
    "load_after": 1.6,
    "figures": [
        figure("2 charts", "opens", 1324.0, goal=2000.0),
        figure("2 charts", "zooming", 114.2, "frames/s", 59.5, True),
        figure("20 charts", "opens", 7100.0, goal=2000.0),
        figure("20 charts", "zooming", 54.27, "frames/s", 59.5, True),
        figure("20 charts, each seed", "opens", 6508.0, goal=2000.0),
        figure("20 charts, each seed", "zooming", 110.2, "frames/s", 59.5, True),
        figure("20 charts, each seed", "layout shift while it opens", 0.0239, ""),
    ],
}


def test_each_view_has_its_own_column_and_missed_goals_are_told_first():
    text = page([RECORD])
    head = text.split("\n\n")[2]
    assert head == (
        "**3 of 6 goals are met. Missed: opens (≤ 2.00 s): 7.10 s in *20 charts*, "
        "6.51 s in *20 charts, each seed*; "
        "zooming (≥ 59.5 frames/s): 54.3 frames/s in *20 charts*.**"
    )
    assert "| | 2 charts | 20 charts | 20 charts, each seed | goal |" in text
    assert (
        "| zooming | 114.2 frames/s | **54.3 frames/s** | 110.2 frames/s | ≥ 59.5 frames/s, **missed** |" in text
    )
    assert "| layout shift while it opens |  |  | 0.0239 |  |" in text


def test_the_latest_record_is_told_and_earlier_ones_are_listed():
    later = RECORD | {"unix": 1_700_100_000.0, "commit": "later", "figures": RECORD["figures"][:2]}
    text = page([RECORD, later])
    assert "**2 of 2 goals are met.**" in text and "commit later" in text
    assert "| 2023-11-14 22:13 | abcdef0123 | 1,000 | 3 of 6 |" in text


def test_what_is_published_is_read_again(tmp_path):
    path = publish([RECORD], tmp_path)
    assert read(tmp_path / DATA) == [RECORD]
    assert path.read_text() == page([RECORD]) == publish([], tmp_path).read_text()
    with pytest.raises(ValueError, match="make bench-dashboard"):
        page([])


def test_the_published_page_is_that_of_its_records():
    records = read(RESULTS / DATA)
    text = (RESULTS / PAGE).read_text()
    assert text == page(records)
    # independent of the writer: each figure of the newest file, looked for in its view's column
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    columns = rows[0]
    newest = json.loads(max((RESULTS / DATA).glob("*.json")).read_text())
    for each in newest["figures"]:
        (row,) = [row for row in rows if row[0] == each["name"]]
        found = float(re.sub(r"[*,]", "", row[columns.index(each["scenario"])].split(" ")[0]).strip("*"))
        scale = 1000 if " s" in row[columns.index(each["scenario"])] else 1
        assert found * scale == pytest.approx(each["median"], rel=0.01, abs=0.006)
        good = each["goal"] is None or (
            each["median"] >= each["goal"] if each["higher"] else each["median"] <= each["goal"]
        )
        assert good or each["name"] in text.split("\n\n")[2]
