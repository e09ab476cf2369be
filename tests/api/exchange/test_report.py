"""The report of an experiment: whole, without anything active, and with the figures of the comparison."""

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import pytest
from hooke.cli.group import app
from hooke_api.comparisons.schemas import SpeedUp
from hooke_api.exchange.report import figures, formats, markup
from hooke_api.exchange.report.markup import tag
from hooke_api.metrics.schemas import Band
from PIL import ImageFont
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import HOSTILE, TWO, exported, imported, measured
from tests.api.test_experiments import problem

pytestmark = ONE_KIND  # what they read is read on both kinds by other tests

HEBREW = "\u05e8\u05e9\u05ea"
VIRTUAL = {"name": "paper", "computed_on": "local", "workers": [2], "seeds": 3, "virtual": {}}


class Page(HTMLParser):
    """The elements of a page, each with its attributes and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == [], "elements that do not end"

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))
        if name != "meta":
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, *names: str) -> str:
        return "".join(data for name, data in self.texts if not names or name in names)

    def count(self, name: str) -> int:
        return sum(found == name for found, _ in self.found)


def report(service, experiment: str) -> tuple[Page, str, str]:
    answer = service.client.get(f"/experiments/{experiment}/report.html")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Page(answer.text), answer.text, answer.headers["content-security-policy"]


def test_the_figures_are_those_of_the_comparison(service):
    made = measured(service)
    page, text, _ = report(service, made["id"])
    answer = service.get(f"/experiments/{made['id']}/comparison")
    for sentence in answer["sentences"]:
        assert sentence in page.text("p")
    slow = answer["rows"][1]
    ratio = slow["speed_up"]
    told = f"{formats.number(ratio['ratio'])} ({formats.number(ratio['low'])} to {formats.number(ratio['high'])})"
    assert f"{told}, slower" in page.text("td") and "1 (baseline)" in page.text("td")
    assert f"{formats.number(slow['time_to_target']['mean'])} (3 of 3 reached)" in page.text("td")
    assert "Time to target, s" in page.text("th") and "simulated" not in page.text("span")
    assert page.count("svg") == 6, "a forest plot, curves, and a piece of each line in table and legend"
    assert text.count("fill-opacity") == 2, "a band for each variant"
    assert "target: 90% validation accuracy" in page.text("span")
    assert "cores" in page.text() and "Fingerprint " + made["fingerprint"] in page.text("p")
    assert '"schema": "hooke.experiment/1"' in page.text("pre")


def test_nothing_in_it_is_active_whatever_names_are(service):
    made = measured(service, name=f"{HOSTILE}</title>", description="</style><script>alert(1)</script>")
    service.client.patch(
        f"/experiments/{made['id']}", json={"note": "\"'><svg onload=alert(1)>"}
    ).raise_for_status()
    page, text, policy = report(service, made["id"])
    names = {name for name, _ in page.found}
    assert names.isdisjoint({"script", "img", "a", "iframe", "object", "link", "base", "form"}), names
    attributes = {name for _, own in page.found for name in own}
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "href", "src")]
    assert "http:" not in text.replace("http-equiv", "") and "https:" not in text and "url(" not in text
    assert HOSTILE in page.text("th") and f"{HOSTILE}</title> \u00b7 Hooke" == page.text("title")
    assert "</style><script>alert(1)</script>" in page.text("p")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
    held = next(own["content"] for name, own in page.found if own.get("http-equiv"))
    assert policy.startswith(held), "a file opened from a disk has the same policy"
    assert "@media print" in style


def test_what_is_simulated_says_so(service):
    made = measured(service, clusters=[VIRTUAL])
    page, _, _ = report(service, made["id"])
    assert page.text("span").count("simulated") >= 1
    assert "Time to target, virtual s" in page.text("th") and "Samples per virtual s" in page.text("th")
    assert "Times are virtual seconds of a simulation, not measured ones." in page.text("p")
    assert "train clock, virtual s" in page.text("text")


def test_names_that_run_from_right_to_left_keep_to_themselves(service):
    variants = [{"name": "sync", "algorithm": "sync-easgd"}, {"name": HEBREW, "algorithm": "sync-sgd"}]
    made = measured(service, variants=variants)
    _, text, _ = report(service, made["id"])
    answer = service.client.get(f"/experiments/{made['id']}/comparison")
    (sentence,) = answer.json()["sentences"]
    assert HEBREW in sentence
    assert f"<p>{sentence.replace(HEBREW, f'<bdi>{HEBREW}</bdi>')}</p>" in text
    assert f"<bdi>{HEBREW}</bdi> (3 seeds)" in text
    tables = service.client.get("/runs.csv", params={"experiment": made["id"]})
    assert HEBREW in tables.text
    assert not re.search("[\u2066-\u2069]", answer.text + tables.text), "signs that a program would read"


def test_names_are_isolated_whole_and_others_are_left_alone():
    assert markup.isolated("a <b> c", ["a", "b"]) == "a &lt;b&gt; c"
    longer = f"{HEBREW} {HEBREW}"
    told = markup.isolated(f"{longer} 2x, {HEBREW} 3x", [HEBREW, longer, "x"])
    assert told == f"<bdi>{longer}</bdi> 2x, <bdi>{HEBREW}</bdi> 3x"


def _speed_up(claim, pairs, censored, high=None):
    left = {"low": None, "left_out": 0, "comparisons": 1, "p_adjusted": None, "sentence": ""}
    return SpeedUp(claim=claim, ratio=0.3, high=high, pairs=pairs, censored=censored, **left)


def test_an_end_beside_one_is_not_rounded_to_it():
    found = _speed_up("faster", 5, 0, 1.2).model_copy(update={"ratio": 1.1, "low": 1.0004})
    assert formats.speed_up(found) == "1.1 (1.0004 to 1.2), faster"
    assert [formats.factor(each) for each in (1.0, 0.9996, 2.0, 1.5)] == ["1", "0.9996", "2", "1.5"]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (_speed_up("no claim", 2, 0), "0.3, no claim"),
        (_speed_up("no claim", 2, 1), "no claim"),
        (_speed_up("at most", 3, 3, 0.8), "(up to 0.8), at most"),
        (_speed_up("at most", 3, 2, 0.8), "0.3 (up to 0.8), at most"),
    ],
)
def test_seeds_that_never_reach_the_target_make_no_ratio(found, told):
    assert formats.speed_up(found) == told


def test_an_import_has_the_report_of_its_original(service):
    made = measured(service)
    view = imported(service, exported(service, made["id"]))
    pages = [report(service, each["id"])[0] for each in (made, view)]
    cells = [[data for name, data in page.texts if name in ("td", "text", "pre")] for page in pages]
    assert cells[0] == cells[1]
    assert "imported from" in pages[1].text("span") and "imported from" not in pages[0].text("span")


def test_a_report_before_the_end_says_what_is_missing(service):
    made = service.submit()
    page, _, _ = report(service, made["id"])
    assert "Not all runs have ended" in page.text("p") and "0 of 4 runs ended" in page.text("span")
    assert problem(service.client.get("/experiments/exp_0/report.html"), 404)


def test_a_variant_has_the_color_of_its_name_in_earlier_experiments(service):
    earlier = service.submit(**TWO | {"variants": TWO["variants"][::-1]})
    service.client.post(f"/experiments/{earlier['id']}/cancel").raise_for_status()
    made = measured(service)
    assert made["colors"] == [1, 0]
    _, text, _ = report(service, made["id"])
    legend = re.findall('<li><svg.*?stroke="(#[0-9a-f]{6})".*?</svg>(.*?) \\(3 seeds', text)
    assert legend == [(figures.color(1), "sync"), (figures.color(0), html.escape(HOSTILE))]


def test_the_command(service, monkeypatch, tmp_path):
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    made = measured(service)
    out = tmp_path / "report.html"
    answer = CliRunner().invoke(app, ["experiments", "report", made["id"], "--out", str(out)])
    assert answer.exit_code == 0 and str(out) in answer.output
    assert out.read_text().startswith("<!doctype html>")


def test_texts_are_escaped_and_leaves_of_svg_end():
    assert tag("p", "<b>", title='"') == '<p title="&#34;">&lt;b&gt;</p>'
    assert tag("line", x1=1, stroke_width=2) == '<line x1="1" stroke-width="2"></line>'
    assert tag("p", None, ["a", tag("i", "&")], 1) == "<p>a<i>&amp;</i>1</p>"


FONT = ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", 12)
"""Wider than the usual fonts of systems."""


@pytest.mark.parametrize("name", ["Sync EASGD, overlapped", "period 8, lr 0.1, rho 0.01", HOSTILE])
def test_a_name_that_fits_beside_a_plot_is_left_alone(name):
    assert figures.short(name) == name and FONT.getlength(name) <= figures.LABELS


@pytest.mark.parametrize("letters", ["W", "m", "SGD&", "lr=0.1+", "il", "a\u0301", "e_"])
def test_a_long_name_fits_beside_a_plot_in_a_wide_font(letters):
    found = figures.short(letters * 60)
    assert found.endswith("\u2026") and (letters * 60).startswith(found[:-1])
    assert 0.5 * figures.LABELS < FONT.getlength(found) <= figures.LABELS


def test_names_of_wide_signs_and_from_right_to_left_fit_beside_a_plot():
    assert len(figures.short("\u5206" * 120)) * 12 <= figures.LABELS, "each is as wide as it is high"
    assert len(figures.short("\U0001f680" * 120)) * 12 <= figures.LABELS
    assert figures.short(HEBREW * 40)[0] == "\u2068" and figures.short(HEBREW * 40)[-2:] == "\u2026\u2069"


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (9.3, 10.7, [9.5, 10.0, 10.5]),
        (0, 3000, [0, 500, 1000, 1500, 2000, 2500, 3000]),
    ],
)
def test_ticks_are_round(low, high, wanted):
    assert figures.ticks(low, high, 6 if high != 10.7 else 3) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "\u2013"),
        (0, "0"),
        (1234567, "1,234,567"),
        (0.00012, "1.20e-04"),
        (2.0, "2"),
        (0.98765, "0.988"),
        (100.4, "100"),
    ],
)
def test_numbers_have_three_digits(value, told):
    assert formats.number(value) == told


def test_a_gap_is_left_open_and_a_single_seed_has_no_band():
    shared = {
        "variant": "a",
        "cluster": "c",
        "simulated": False,
        "workers": 1,
        "metric": "train_loss",
        "runs": ["r"],
    }
    x = [0.0, 1.0, 2.0, 3.0, 4.0]
    one = Band(**shared, x=x, mean=[3.0, 2.0, None, 1.0, 0.5], low=[None] * 5, high=[None] * 5, n=[1] * 5)
    drawn = str(figures.curves([one], [0], ("x", "y"), None, of_accuracy=False))
    assert drawn.count("<path") == 2 and "fill-opacity" not in drawn
    assert figures.color(0) != figures.color(1) and figures.dash(0) is None and figures.dash(5) == "7 4"
