"""The figure of survival: it is that of the published records, and says what the page's table says."""

import math
import re

import pytest

from benchmarks.common import records as kept
from benchmarks.evidence.drawing import PALETTE
from benchmarks.unequal import __main__ as command
from benchmarks.unequal.panels import CHANGED, SURVIVED, changing, survival
from benchmarks.unequal.runs import run_of
from benchmarks.unequal.survived import draw
from tests.evidence.test_unequal import complete, made

FASTER, SLOWER = PALETTE[2], PALETTE[0]


def told(text):
    """Return what the title of the figure says of each cluster."""
    title = re.search(r"<title>(.*?)</title>|<dc:title>(.*?)</dc:title>", text, re.DOTALL)
    said = " ".join((title[1] or title[2]).split()).partition("a missed target. ")[2]
    return dict(re.findall(r"(\d CPUs, [^:]+(?: : 1)?(?<! )): (.*?)\.(?= \d CPUs, |$)", said))


def marks(text, color):
    """Return how many filled marks there are, without that of the legend."""
    return len(re.findall(rf'<use [^>]*style="fill: {color};', text)) - 1


def tick(text, label, panel):
    """Return where a label of the axis is in a panel, in points from the left."""
    return float(re.findall(rf'x="([\d.]+)" y="[\d.]+">{label}</text>', text)[panel])


@pytest.fixture(scope="module")
def published():
    return kept.read(command.DATA, run_of)


def test_the_figures_are_those_of_the_published_records(published, tmp_path):
    names = [SURVIVED, *([CHANGED] if changing(published) else [])]
    assert draw(published, tmp_path) == names
    for name in names:
        assert (tmp_path / name).read_text() == (command.DATA.parent / name).read_text()
        assert f"](heterogeneous/{name})" in command.PAGE.read_text()


@pytest.mark.parametrize(("name", "rows_of"), [(SURVIVED, survival), (CHANGED, changing)])
def test_a_published_figure_says_what_the_table_says(published, name, rows_of):
    if not (clusters := sum(map(len, rows_of(published)))):
        pytest.skip("not published")
    drawn = (command.DATA.parent / name).read_text()
    nothing, _, shown = command.PAGE.read_text().partition("Nothing is told apart")[2].partition("| workers |")
    rows = [line.split(" | ") for line in shown.partition("\n\n")[0].splitlines()]
    table = {row[0].strip("| "): row[2].strip(" |") for row in rows if row[1:2] == ["digits"]}
    table |= dict.fromkeys(re.findall(r"digits, ([^;]+?)(?:;|\.\n)", nothing), "none")
    found = told(drawn)
    assert len(found) == clusters
    for cluster, said in found.items():
        at = cluster.removeprefix("8 CPUs, ").replace("2 CPUs", "CPUs")
        assert set(said.replace("none told apart", "none").split("; ")) == set(table[at].split("; ")), cluster
    assert marks(drawn, FASTER) == sum("x (" in each for said in found.values() for each in said.split("; "))
    assert marks(drawn, SLOWER) == 0


def test_clusters_are_in_the_order_of_their_spread_and_marks_are_what_is_told_apart(tmp_path):
    """By hand: one method takes a fifth of the time, one five times as long; without noise both are told apart."""
    assert not draw(complete("ratio-4"), tmp_path)
    assert not (tmp_path / SURVIVED).exists()
    records = complete("one-slow") | complete("ratio-8") | complete("ratio-2") | complete("jitter")
    records |= made("Async SGD", (1, 1.2, 1.4), condition="one-slow")
    records |= made("Local SGD", (25, 30, 35), condition="one-slow")
    records |= made("Async EASGD", (None, None, None), condition="jitter")
    assert survival(records) == [["jitter", "one-slow"], ["ratio-2", "ratio-8"]]
    assert draw(records, tmp_path) == [SURVIVED]
    drawn = (tmp_path / SURVIVED).read_text()
    assert (marks(drawn, FASTER), marks(drawn, SLOWER)) == (1, 1)
    said = told(drawn)["8 CPUs, one of 8 at a quarter"]
    assert re.search(r"Local SGD 0\.20x .*; Async SGD 5\.0x ", said)
    assert told(drawn)["2 CPUs, speeds 8 : 1"] == "none told apart"
    one, four = (tick(drawn, label, 1) for label in ("1x", "4x"))
    for color, ratio in ((FASTER, 5.0), (SLOWER, 0.2)):
        x = float(re.search(rf'<use [^>]*x="([\d.]+)"[^>]*style="fill: {color};', drawn)[1])
        assert math.log(ratio, 4) == pytest.approx((x - one) / (four - one), abs=0.02)


def test_changes_have_a_figure_of_their_own_beside_one_slow_worker(tmp_path):
    records = complete("one-slow") | complete("moving") | made("Async SGD", (1, 1.2, 1.4), condition="moving")
    assert draw(records, tmp_path) == [SURVIVED, CHANGED]
    text = (tmp_path / CHANGED).read_text()
    still, moving = "8 CPUs, one of 8 at a quarter", "8 CPUs, each in turn at a quarter"
    assert list(told(text)) == [still, moving]
    assert told(text)[still] == "none told apart" and re.match(r"Async SGD 5\.0x ", told(text)[moving])
    assert (marks(text, FASTER), marks(text, SLOWER)) == (1, 0)
