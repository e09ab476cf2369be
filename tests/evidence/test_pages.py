"""Pages from recorded runs: what they say is in the raw data, and what was not measured is not said."""

import csv
import re
import shutil
import statistics
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.evidence import records
from benchmarks.evidence.cells import cells
from benchmarks.evidence.drawing import DARK, INK, PALETTE, PAPER
from benchmarks.evidence.matrix import FULL, QUICK
from benchmarks.evidence.methods import BEST, EASGD3, ORIGINAL
from benchmarks.evidence.pages import BEGIN, END, index, write
from tests.evidence.conftest import SECONDS
from tests.evidence.reading import lines
from tests.evidence.storing import method, pace, stored

COMMAND = "python -m benchmarks.evidence run --only"
SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).resolve().parents[2]
WITHDRAWN = (
    "amd-epyc-2-cores",
    "amd-epyc-family-25-model-1-2-cores",
    "intel-xeon-2-cores",
    "intel-xeon-family-6-model-207-bf16-vectors-2-cores",
)


def geometric(values) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))


def test_a_ratio_is_that_of_the_runs(pages):
    slow, fast = SECONDS[ORIGINAL.label], SECONDS[EASGD3.label]
    factor = geometric(a / b for a, b in zip(slow, fast, strict=True))
    told = lines(pages / "replication.md", f"{EASGD3.label} over {ORIGINAL.label}")
    assert told[0][1:6] == ["5.3x (abstract)", "8 emulated hosts, 1 Gb/s", "", "", "not measured"]
    assert told[1][3].startswith(f"{factor:.2f}x [")
    assert told[1][3].endswith(", n = 5")
    assert told[1][4:6] == ["below 5.3x", "faster"]


def test_the_interval_of_a_ratio_knows_the_grain_of_the_evaluations(pages):
    """Times that hardly differ between seeds, each known to a twentieth: the interval is that wide at least."""
    told = lines(pages / "replication.md", "Sync EASGD2 over Sync EASGD1")[1]
    low, high = map(float, re.search(r"\[(.*), (.*)\]", told[3]).groups())
    assert low < 0.96
    assert high > 1.04
    assert told[5] == "not shown"


def test_a_page_of_the_co_design_has_no_figure_of_the_paper(pages):
    text = (pages / "codesign.md").read_text()
    assert not re.search(r"5\.3x|91\.5|87%|14%|abstract\)|account\)", text)
    (told,) = [row for row in lines(pages / "codesign.md", f"{BEST.label} over PyTorch DDP") if row[2]]
    assert told[0] == f"{BEST.label} over PyTorch DDP"
    assert told[3] == "faster"


def test_each_means_stands_on_both_sides(pages):
    rows = {row[0]: row for row in lines(pages / "codesign.md", "overlap")}
    assert rows["overlap"][1] == "Best Sync EASGD without overlap", "the last table"
    first = lines(pages / "codesign.md", "overlap")[0]
    assert (first[1], first[5]) == ("Sync EASGD3", "PyTorch DDP")
    for means in ("momentum", "period", "wire", "collective", "overlap"):
        assert len(lines(pages / "codesign.md", means)) == 4, "two tables at two places"


def test_why_the_ladder_is_flat_is_shown_by_the_price_of_a_copy(pages):
    (row,) = lines(pages / "replication.md", "links 10 Gb/s, copy to the host at 2 times")
    assert "(simulated)" in row[0]
    assert row[4] == "5.00"
    (paper,) = lines(pages / "replication.md", "**paper**")
    assert paper[1:5] == ["3.7", "1.3", "1.1", "5.3"]


def test_throughputs_are_those_of_the_recorded_runs(pages):
    told = lines(pages / "pace.md", "Hooke, bf16")[0]
    quotients = [(1000 + n) / (990 + n) for n in range(3)]
    assert told[2].startswith(f"{statistics.median(quotients):.3f}x")
    assert told[3] == "3"


def test_what_was_not_measured_says_so(pages, store):
    evidence = store.evidence()
    missing = {cell.key for cell in cells(FULL, evidence.trials)} - evidence.runs.keys()
    assert f"**Incomplete: at least {len(missing)} runs are missing.**" in (pages / "replication.md").read_text()
    eight = lines(pages / "8-hosts.md", ORIGINAL.label)
    assert [row[1] for row in eight[:2]] == ["not measured", "not measured"]
    assert {row[2] for row in lines(pages / "replication.md", "16")} == {"not measured"}


def test_the_runs_that_choose_a_rate_are_shown_and_in_no_figure(pages):
    text = (pages / "2-hosts.md").read_text()
    assert "None of them is in a result." in text
    (chosen,) = [
        row for row in lines(pages / "2-hosts.md", ORIGINAL.label) if row[1:4] == ["300.0 s", "200.0 s", "failed"]
    ]
    assert len(chosen) == 4
    with (pages / "data" / "runs.csv").open(newline="") as file:
        runs = {row["key"]: row for row in csv.DictReader(file)}
    tuning = {key for key, row in runs.items() if row["kind"] == "tuning"}
    assert {runs[key]["seed"] for key in tuning} == {"100", "101", "102"}
    for name in ("replication", "codesign"):
        with (pages / f"{name}.csv").open(newline="") as file:
            used = {key for row in csv.DictReader(file) for key in row["runs"].split()}
        assert used
        assert not used & tuning


def test_every_figure_can_be_traced_to_its_runs(pages):
    with (pages / "data" / "runs.csv").open(newline="") as file:
        runs = {row["key"]: row for row in csv.DictReader(file)}
    found = 0
    for name in ("replication", "codesign"):
        with (pages / f"{name}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                keys = row["runs"].split()
                assert bool(keys) == bool(row["ratio"]), row
                assert all(runs[key]["place"] == row["place"] for key in keys)
                assert all(
                    runs[key]["command"].startswith("python -m benchmarks.evidence run --only") for key in keys
                )
                found += bool(keys)
    assert found > 5


def test_eight_hosts_are_never_shown_without_saying_that_cores_are_short(recorded, tmp_path):
    runs = {}
    for label, times in SECONDS.items():
        runs |= method("8-hosts", label, dict(enumerate(times)))
    write(FULL, stored(tmp_path / "store", runs, recorded[1]), tmp_path / "results" / "a-machine")
    (tmp_path / "results" / "README.md").write_text(f"{BEGIN}\n{END}\n")
    index(tmp_path / "results")
    pages = tmp_path / "results" / "a-machine"
    text = (pages / "8-hosts.md").read_text()
    note = "oversubscribed: 8 emulated hosts on 2 cores"
    headings = [line for line in text.splitlines() if line.startswith("## ") and line not in ("## How",)]
    assert len(headings) >= 3
    assert all(note in line for line in headings if "network" not in line), headings
    for page in ("replication", "codesign"):
        assert note in (pages / f"{page}.md").read_text()
    for name in ("accuracy", "time", "steps"):
        assert note in (pages / "figures" / f"8-hosts-{name}.svg").read_text()
    told = lines(tmp_path / "results" / "machines.md", f"{EASGD3.label} over {ORIGINAL.label}, 8 emulated hosts")
    assert note in told[0][0]
    assert told[0][1].endswith(": faster")


def test_a_quick_look_says_that_it_is_no_evidence(recorded, tmp_path):
    """One rate and one seed: nothing is said of anybody."""
    runs = {}
    for label in (ORIGINAL.label, EASGD3.label):
        runs |= method("2-hosts", label, {0: SECONDS[label][0]}, {0: SECONDS[label][0]}, QUICK)
    runs |= pace("2-hosts", "Sync EASGD3", {0: 900.0}, QUICK)
    write(QUICK, stored(tmp_path / "store", runs, recorded[1]), tmp_path / "pages")
    text = (tmp_path / "pages" / "replication.md").read_text()
    assert "**A quick look, not the evidence**" in text
    assert lines(tmp_path / "pages" / "replication.md", f"{EASGD3.label} over")[0][5] == "no claim"


def test_the_network_is_told_once_for_all_sessions(recorded, tmp_path):
    sessions = recorded[1]
    found = [session["calibrations"]["2-hosts"] for session in sessions.values()]
    assert len(found) > 1
    runs = dict(recorded[0])
    key = next(key for key, run in runs.items() if run["cell"]["place"] == "2-hosts")
    runs[key] = runs[key] | {"session": list(sessions)[1]}
    write(FULL, stored(tmp_path / "store", runs, sessions), tmp_path / "pages")
    page = tmp_path / "pages" / "2-hosts.md"
    assert f"before each of {len(found)} sessions" in page.read_text()
    (latency,) = lines(page, "latency")
    took = sorted(calibration["pair"]["latency_seconds"] * 1e6 for calibration in found)
    assert latency[1] == f"{statistics.median(took):.0f} us [{took[0]:.0f}, {took[-1]:.0f}]"
    (halving,) = lines(page, "all-reduce of 1.72 MB, halving")
    sums = np.array([calibration["collectives"]["seconds"]["halving"] for calibration in found]) * 1e3
    least, middle, most = sums[:, 0].min(), np.median(sums[:, 1]), sums[:, 2].max()
    # 2 (P - 1) / P of 1.72 MB with headers of TCP, over 1 Gb/s
    assert halving[1:3] == [f"{middle:.1f} ms [{least:.1f}, {most:.1f}]", "14.4 ms"]
    assert len(lines(page, "1.72 MB between two hosts")) == 3


def test_the_raw_data_say_what_was_stored(pages, recorded):
    evidence = records.read(pages / "data")
    assert evidence.runs.keys() == recorded[0].keys()
    for key, run in evidence.runs.items():
        result = recorded[0][key]["result"]
        assert run.time_to_target == (
            pytest.approx(result["time_to_target"], rel=1e-5) if run.time_to_target else None
        )
        assert (run.diverged == "yes") == bool(result.get("diverged"))
        if run.kind != "pace":
            accuracies = [score["accuracy"] for score in result["evaluations"]]
            assert [point[2] for point in evidence.curves.get(key, [])] == accuracies
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


def test_what_was_withdrawn_is_not_there(pages):
    """No page, figure or raw data of it, and no sentence elsewhere that quotes it."""
    results = ROOT / "docs" / "results"
    assert "(withdrawn.md)" in (results / "README.md").read_text()
    text = (results / "withdrawn.md").read_text()
    for name in WITHDRAWN:
        assert f"`{name}`" in text, "it is said what was withdrawn"
        assert not list((results / name).glob("claims.*"))
    assert not list(results.glob("*/claims.*"))
    for why in (
        "Clock",
        "Rule of verdict",
        "Settings",
        "Tuned and reported on the same seed",
        "No validation part",
    ):
        assert f"**{why}.**" in text
    for page in (ROOT / "docs" / "decisions").glob("*.md"):
        assert "claims.md" not in page.read_text(), page.name


@pytest.mark.parametrize(
    "name, axes",
    [
        ("2-hosts-accuracy", ("time of training, s", "validation accuracy, %")),
        ("2-hosts-time", ("s; bar: median",)),
        ("2-hosts-steps", ("ms per step",)),
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
