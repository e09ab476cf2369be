"""Pages from recorded real runs: what they say is in the raw data, and what was not measured is not said."""

import csv
import re
import shutil
import statistics
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.evidence import records
from benchmarks.evidence.cells import count
from benchmarks.evidence.conditions import BEST, EASGD3, FULL, ORIGINAL
from benchmarks.evidence.drawing import DARK, INK, PALETTE, PAPER
from benchmarks.evidence.pages import BEGIN, END, index, write
from tests.evidence.reading import lines
from tests.evidence.storing import as_others, moved, stored

SVG = "{http://www.w3.org/2000/svg}"


def test_a_quotient_is_that_of_the_recorded_runs(pages, recorded):
    times = {
        run["cell"]["label"]: (run["result"]["time_to_target"], run["result"]["train_seconds"])
        for run in recorded[0].values()
        if run["cell"]["kind"] == "target"
    }
    slow, fast = times[ORIGINAL.label], times[BEST.label]
    assert fast[0] is not None
    factor = (slow[0] if slow[0] is not None else slow[1]) / fast[0]
    bound = "" if slow[0] is not None else "≥ "
    told = lines(pages / "claims.md", f"{BEST.label} over {ORIGINAL.label}")
    assert told[0][4] == "", "8 hosts"
    doubts = "one run: spread not known; not all rates tried; the server oversubscribed the cores"
    assert told[1][4] == f"{bound}{factor:.2f}x, {doubts}"
    assert told[0][5] == "not measured"
    assert told[1][5] == "open"


def test_a_claim_is_judged_once_every_rate_has_been_tried(store, recorded, tmp_path):
    """The recorded runs as a grid of one rate: nothing is left to try."""
    write(replace(FULL, rates=(0.1,)), store, tmp_path)
    told = lines(tmp_path / "claims.md", f"{BEST.label} over {ORIGINAL.label}")
    assert "rates" not in told[1][4]
    assert told[1][5].endswith("(so far: 1 of 3)")


def test_each_of_two_methods_is_compared_at_its_better_period(recorded, tmp_path):
    runs, sessions = recorded
    run = next(run for run in runs.values() if run["cell"]["label"] == BEST.label)
    seconds = {
        "Async EASGD": 90.0,
        "Async EASGD, period 16": 25.0,
        "Async SGD": 60.0,
        "Async SGD, period 16": None,
    }
    told = {}
    for number in (4, 3):
        kept = dict(list(seconds.items())[:number])
        store = stored(tmp_path / f"{number}", as_others(run, kept, "8-hosts"), sessions)
        write(replace(FULL, rates=(0.1,)), store, tmp_path / f"{number}" / "pages")
        found = lines(tmp_path / f"{number}" / "pages" / "claims.md", "Async EASGD over Async SGD")
        told[number] = {cells[0]: cells[4:] for cells in found}
    each = "Async EASGD over Async SGD, each at its better period, time to target"
    assert told[4][each] == ["2.40x, one run: spread not known", "faster (so far: 1 of 3)"]
    assert told[3][each] == ["", "not measured"], "the fourth might have been the better one"
    assert told[3]["Async EASGD over Async SGD, time to target"][0].startswith("0.67x")
    failed = [cells[1] for cells in lines(tmp_path / "4" / "pages" / "8-hosts.md", "Async SGD, period 16")]
    assert failed[:2] == ["failed", "failed"], "neither was it not measured"


def test_throughputs_are_those_of_the_recorded_runs(pages, recorded):
    found = {
        (run["cell"]["label"], run["cell"]["seed"]): run["result"]["samples_per_second"]
        for run in recorded[0].values()
        if run["cell"]["place"] == "here"
    }
    repeats = {seed for label, seed in found if label == "Hooke, bf16"}
    quotients = [found["Hooke, bf16", n] / found["plain PyTorch, bf16", n] for n in sorted(repeats)]
    told = lines(pages / "pace.md", "Hooke, bf16")[0]
    assert told[2].startswith(f"{statistics.median(quotients):.3f}x")
    assert told[3] == str(len(repeats))


def test_what_was_not_measured_says_so(pages, recorded):
    said = f"**Incomplete: {len(recorded[0])} of {count(FULL)} runs so far.**"
    assert said in (pages / "claims.md").read_text()
    eight = lines(pages / "8-hosts.md", "")
    assert {cells[1] for cells in eight if cells[0] == ORIGINAL.label} == {"not measured", "not run"}
    for cells in lines(pages / "claims.md", "16 parts"):
        assert cells[4:] == ["", "not measured"]


def test_every_figure_can_be_traced_to_its_runs(pages):
    with (pages / "data" / "runs.csv").open(newline="") as file:
        runs = {row["key"]: row for row in csv.DictReader(file)}
    with (pages / "claims.csv").open(newline="") as file:
        claims = list(csv.DictReader(file))
    measured = [row for row in claims if row["measured"]]
    assert len(measured) > 5
    for row in measured:
        keys = row["runs"].split()
        assert keys, row
        assert all(runs[key]["place"] == row["place"] for key in keys)
        assert all(runs[key]["command"].startswith("python -m benchmarks.evidence run --only") for key in keys)


def test_eight_hosts_are_never_shown_without_saying_that_cores_are_short(recorded, tmp_path):
    """The recorded runs of two hosts on two cores, as if they had been eight: every heading says so."""
    runs, sessions = recorded
    store = stored(tmp_path / "store", moved(runs, "8-hosts"), sessions)
    write(FULL, store, tmp_path / "results" / "a-machine")
    (tmp_path / "results" / "README.md").write_text(f"{BEGIN}\n{END}\n")
    index(tmp_path / "results")
    pages = tmp_path / "results" / "a-machine"
    text = (pages / "8-hosts.md").read_text()
    note = "oversubscribed: 8 emulated hosts on 2 cores"
    headings = [line for line in text.splitlines() if line.startswith("## ") and line not in ("## How",)]
    assert len(headings) >= 3
    assert all(note in line for line in headings if "network" not in line), headings
    assert note in (pages / "claims.md").read_text()
    for name in ("accuracy", "time", "steps"):
        assert note in (pages / "figures" / f"8-hosts-{name}.svg").read_text()
    (eight,) = [
        cells
        for cells in lines(tmp_path / "results" / "README.md", f"{BEST.label} over {ORIGINAL.label}")
        if "8 emulated hosts" in cells[1]
    ]
    assert note in eight[1]
    assert "x" in eight[3]


def test_the_network_is_told_once_for_all_sessions(pages, recorded):
    found = [session["calibrations"]["2-hosts"] for session in recorded[1].values()]
    assert len(found) > 1
    text = (pages / "2-hosts.md").read_text()
    assert f"before each of {len(found)} sessions" in text
    (latency,) = lines(pages / "2-hosts.md", "latency")
    took = sorted(calibration["pair"]["latency_seconds"] * 1e6 for calibration in found)
    assert latency[1] == f"{statistics.median(took):.0f} us [{took[0]:.0f}, {took[-1]:.0f}]"
    (halving,) = lines(pages / "2-hosts.md", "all-reduce of 1.72 MB, halving")
    sums = np.array([calibration["collectives"]["seconds"]["halving"] for calibration in found]) * 1e3
    least, middle, most = sums[:, 0].min(), np.median(sums[:, 1]), sums[:, 2].max()
    # 2 (P - 1) / P of 1.72 MB with headers of TCP, over 1 Gb/s
    assert halving[1:3] == [f"{middle:.1f} ms [{least:.1f}, {most:.1f}]", "14.4 ms"]
    assert len(lines(pages / "2-hosts.md", "1.72 MB between two hosts")) == 3


def test_the_raw_data_say_what_was_stored(pages, recorded):
    evidence = records.read(pages / "data")
    assert evidence.runs.keys() == recorded[0].keys()
    for key, run in evidence.runs.items():
        result = recorded[0][key]["result"]
        assert run.time_to_target == (
            pytest.approx(result["time_to_target"], rel=1e-5) if run.time_to_target else None
        )
        assert run.communicate == pytest.approx(result["phases"]["communicate"], rel=1e-5)
        if run.kind == "target":
            accuracies = [score["accuracy"] for score in result["evaluations"]]
            assert [point[2] for point in evidence.curves[key]] == accuracies
    assert sum(path.stat().st_size for path in (pages / "data").iterdir()) < 60_000


def test_pages_are_made_of_the_raw_data_alone(pages, tmp_path):
    shutil.copytree(pages / "data", tmp_path / "data")
    write(FULL, None, tmp_path)
    for made in sorted(tmp_path.rglob("*.*")):
        assert made.read_bytes() == (pages / made.relative_to(tmp_path)).read_bytes(), made.name


def test_links_of_the_pages_resolve(pages):
    linked = 0
    for page in pages.glob("*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
            linked += 1
    assert linked > 15


@pytest.mark.parametrize(
    "name, axes",
    [
        ("2-hosts-accuracy", ("time of training, s", "test accuracy, %")),
        ("2-hosts-time", ("s; bar: median",)),
        ("2-hosts-steps", ("ms per step",)),
        ("scaling", ("hosts", "efficiency, %")),
    ],
)
def test_figures_are_svg_with_units_on_their_axes(pages, name, axes):
    text = (pages / "figures" / f"{name}.svg").read_text()
    root = ElementTree.fromstring(text)  # noqa: S314 - our own file
    assert root.tag == f"{SVG}svg"
    words = ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]
    for label in axes:
        assert any(word.startswith(label) for word in words), words
    assert "prefers-color-scheme: dark" in text
    assert INK in text
    assert PAPER in text
    assert not re.search(r"<dc:date>|20\d\d-\d\d-\d\d|matplotlib\.org", text)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""

    def light(color: str) -> float:
        parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", [PAPER, DARK[PAPER]])
def test_colours_can_be_told_from_light_and_dark_pages(paper):
    assert all(contrast(color, paper) >= 3 for color in PALETTE)
    assert contrast(INK if paper == PAPER else DARK[INK], paper) >= 7


def test_methods_named_in_recorded_runs_are_still_there(recorded):
    labels = {run["cell"]["label"] for run in recorded[0].values()}
    assert {BEST.label, ORIGINAL.label, EASGD3.label} <= labels
