"""The summary: its figures are those of the runs, seconds are never pooled, and it says what its settings are."""

import math
import re
import shutil
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from benchmarks.evidence import records, summary_figures
from benchmarks.evidence.drawing import INK
from benchmarks.evidence.matrix import FULL
from benchmarks.evidence.methods import BEST, DDP_OVERLAP, EASGD1, EASGD2, EASGD3, METHODS, ORIGINAL
from benchmarks.evidence.pages import BEGIN, END, index, machines
from benchmarks.evidence.settings import others, settings_of
from benchmarks.evidence.summary import Summary
from benchmarks.evidence.view import view_of
from tests.evidence.conftest import SECONDS
from tests.evidence.reading import lines
from tests.evidence.storing import method, pace, stored
from tests.evidence.test_machines import on

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "results"
WHOLE = f"{EASGD3.label} over {ORIGINAL.label}"


@pytest.fixture(scope="module")
def several(recorded, tmp_path_factory):
    """Return the folder of three kinds of machines: one, one half as fast, one that gains less from EASGD3."""
    folder = tmp_path_factory.mktemp("several")
    for number, (slower, gain) in enumerate(((1, 1.0), (2, 1.0), (1, 1.3))):
        runs = {}
        for label in (ORIGINAL.label, EASGD3.label):
            factor = slower * (gain if label == EASGD3.label else 1)
            runs |= method("2-hosts", label, {s: factor * t for s, t in enumerate(SECONDS[label])})
        store = stored(folder / f"store{number}", runs, on(f"Processor{number}", recorded[1]))
        records.write(folder / f"machine{number}" / "data", store.evidence())
    (folder / "README.md").write_text(f"{BEGIN}\n{END}\n")
    index(folder)
    return folder


@pytest.fixture(scope="module")
def published() -> Summary:
    return Summary({f.name: view_of(FULL, records.read(f / "data")) for f in machines(PUBLISHED)})


def test_three_machines_are_pooled_by_ratio(several):
    """By hand: lower and upper ends of each time, t with two degrees of freedom."""
    table = np.array([np.log(np.divide(SECONDS[ORIGINAL.label], SECONDS[EASGD3.label]))] * 3)
    table[2] -= math.log(1.3)
    grain = -math.log(1 - 1 / 20)
    error = math.sqrt(
        stats.sem(table.mean(1)) ** 2 + stats.sem(table.mean(0)) ** 2 + (2 * grain) ** 2 / 12 / table.shape[1]
    )
    half, mean = stats.t.ppf(0.975, 2) * error, table.mean()
    low, high = math.exp(mean - grain - half), math.exp(mean + grain + half)
    (row,) = [cells for cells in lines(several / "machines.md", WHOLE) if "2 emulated" in cells[0]]
    assert row[4].startswith(f"{math.exp(mean):.2f}x [{low:.2f}, {high:.2f}], 3 kinds, n = 5")
    tau2 = np.log(1.3) ** 2 / 3  # of 0, 0 and log 1.3; seeds differ alike on all of them
    assert row[5] == f"{tau2:.2g}, 100%"
    further = math.exp(mean - grain - stats.t.ppf(0.975, 1) * math.sqrt(tau2 + error**2))
    assert row[6].startswith(f"[{further:.2f}, ")


def test_seconds_of_machines_have_columns_of_their_own(several):
    header, *rows = lines(several / "paper.md", "")[:4]
    assert header[:2] == ["method", "settings"]
    assert header[2:] == [f"{letter}: 2 hosts, s" for letter in "ABC"]
    assert [row[0][:13] for row in lines(several / "README.md", "") if row[0][1:2] == ":"] == [
        "A: Processor0", "B: Processor1", "C: Processor2"
    ]  # fmt: skip
    told = {row[0]: [float(cell.split(" ")[0]) for cell in row[2:]] for row in rows if len(row) == 5}
    first, second, third = told[ORIGINAL.label]
    assert second == pytest.approx(2 * first, rel=0.01)
    assert third == first
    assert first == pytest.approx(stats.gmean(SECONDS[ORIGINAL.label]), rel=0.001)


def test_one_machine_is_not_pooled_and_has_the_verdicts_of_its_page(pages):
    text = (pages.parent / "README.md").read_text()
    assert "The paper's methods were measured on one kind of machine: nothing is pooled" in text
    with_ratio = [row for row in lines(pages / "replication.md", WHOLE) if row[3]]
    (row,) = [row for row in lines(pages.parent / "machines.md", WHOLE) if "2 emulated" in row[0]]
    assert with_ratio[0][3] in row[1]
    assert row[1].endswith(f": {with_ratio[0][5]}")
    assert len(row) == 2, "nothing pooled"


def test_open_on_one_machine_is_open_in_all(recorded, several, tmp_path):
    shutil.copytree(several / "machine0", tmp_path / "machine0")
    runs = method("2-hosts", ORIGINAL.label, dict(enumerate((100.0, 101.0, 99.0))))
    runs |= method("2-hosts", EASGD3.label, {0: 200.0, 1: None, 2: 210.0})
    records.write(
        tmp_path / "unstable" / "data", stored(tmp_path / "store", runs, on("P", recorded[1])).evidence()
    )
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    index(tmp_path)
    (row,) = [cells for cells in lines(tmp_path / "machines.md", WHOLE) if "2 emulated" in cells[0]]
    assert row[3].endswith("open: diverges with other seeds at the rate that was chosen (1 of 2 machines)")


def test_the_conclusion_counts_the_table_and_both_say_their_limits(published):
    """In the index before the table of statements; on the page of the paper's methods first."""
    text = (PUBLISHED / "README.md").read_text().partition("## What did not reproduce?\n\n")[2]
    conclusion, limits = text.split("\n\n")[:2]
    assert "learning rates were tried for each method" in limits
    assert "is not refuted" in limits
    behind = (PUBLISHED / "paper.md").read_text()
    assert conclusion in behind.partition("\n## ")[0]
    assert "**Limits.** These are verdicts on settings, not on methods" in behind.partition("\n## ")[0]
    total = int(re.search(r"Of (\d+) tests", conclusion)[1])
    (*rows,) = [row for row in lines(PUBLISHED / "paper.md", "") if len(row) == 4 and "(a" in row[1]]
    cells = [cell.split(":")[0] for row in rows if not row[0].startswith("blocked") for cell in row[2:]]
    assert total == len(cells)
    counted = Counter(cells)
    for told, said in (("as stated", "came out as stated"), ("the opposite", "the other way"), ("open", "open")):
        assert f"{counted[told]} {said}" in conclusion
    for shown in published.which:
        if shown.measured and shown.said == "faster":
            assert f"{shown.claim.what} {shown.text}" in behind.partition("\n## ")[0]


def test_the_page_is_read_in_five_minutes_and_has_a_figure_and_a_table_for_each_question():
    text = (PUBLISHED / "README.md").read_text()
    prose = [line for line in text.splitlines() if not line.startswith(("|", "![", "<!--"))]
    assert len(" ".join(prose).split()) < 560
    assert len(text.split()) <= 1_200, "with tables and their lines"
    for question in ("Which method?", "How much communication?", "Does it scale?", "What did not reproduce?"):
        section = text.partition(f"## {question}\n")[2].partition("\n## ")[0]
        assert len(re.findall(r"^!\[", section, re.M)) == 1, question
        assert len(re.findall(r"^\|---", section, re.M)) == 1, question
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert (PUBLISHED / target).exists(), target


def test_settings_say_whether_they_were_searched(recorded, published):
    assert others(BEST) == "40 settings searched"
    assert others(DDP_OVERLAP) == "default, not searched"
    assert others(ORIGINAL) == others(EASGD1) == "as published"
    assert others(METHODS["Async SGD, period 16"]) == "period 16, not searched; else as published"
    assert others(METHODS["PyTorch DDP, Nesterov, bf16 hook"]) == "one value, not searched"
    view = next(iter(published.views.values()))
    tried = len(view.tuning("8-hosts", EASGD3.label))
    assert settings_of(view, "8-hosts", EASGD2.label) == f"rate: best of {tried} for {EASGD3.label}; as published"


def test_what_is_simulated_is_labelled_and_not_pooled(recorded, tmp_path):
    for name in ("a", "b"):
        runs = {}
        for label in (ORIGINAL.label, EASGD3.label):
            runs |= method("virtual", label, dict(enumerate(SECONDS[label])))
        store = stored(tmp_path / f"store-{name}", runs, on(f"Rootless {name}", recorded[1]))
        records.write(tmp_path / name / "data", store.evidence())
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    index(tmp_path)
    header = lines(tmp_path / "paper.md", "method")[0]
    assert all(cell.endswith("8 workers, simulated, virtual s") for cell in header[2:])
    (row,) = lines(tmp_path / "machines.md", WHOLE)
    assert "(simulated)" in row[0]
    assert row[3] == "simulated: not pooled"


def test_figures_have_units_intervals_and_both_themes(recorded, tmp_path):
    """Two machines, all four questions."""
    for name in ("Processor0", "Processor1"):
        runs = dict(recorded[0])
        for label, rate in (("Sync EASGD3", 900.0), ("communication off", 4000.0)):
            runs |= pace("8-hosts", label, {n: rate * (1 + n / 100) for n in range(3)})
        records.write(
            tmp_path / name / "data", stored(tmp_path / f"s{name}", runs, on(name, recorded[1])).evidence()
        )
    drawn = summary_figures.draw(index(tmp_path), tmp_path / "figures")
    axes = ("ratio of times", "% of a worker's time", "% of samples/s", "ratio; above 1")
    for path, unit in zip(drawn, axes, strict=True):
        text = path.read_text()
        root = ElementTree.fromstring(text)  # noqa: S314 - our own file
        words = ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert any(word.startswith(unit) for word in words), path
        assert "prefers-color-scheme: dark" in text
        assert INK in text
    assert "pooled over machines" in drawn[0].read_text()
    assert "simulated, range over five costs" in drawn[3].read_text()
    assert {path.name for path in drawn} == {path.name for path in (PUBLISHED / "figures").iterdir()}


def test_the_page_behind_the_index_has_every_question_of_the_paper(published):
    """The index has no times of the paper's methods; that page has, and all limits."""
    text, index_text = (PUBLISHED / "paper.md").read_text(), (PUBLISHED / "README.md").read_text()
    for question in ("Which method?", "How much communication?", "Does it scale?", "What did not reproduce?"):
        section = text.partition(f"## {question}\n")[2].partition("\n## ")[0]
        assert len(re.findall(r"^!\[", section, re.M)) == len(re.findall(r"^\|---", section, re.M)) == 1, question
    assert "(paper.md)" in index_text
    for label in (EASGD3.label, "Async MEASGD, period 16"):
        assert any(row[0] == label and "rate: best of" in row[1] for row in lines(PUBLISHED / "paper.md", label))
    for shown in published.which:
        if shown.measured and not shown.said.startswith("faster"):
            assert f"{shown.claim.what} ({published.place(shown.place)}): {shown.said}" in text
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert (PUBLISHED / target).exists(), target
