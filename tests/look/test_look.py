"""Screens of a seeded platform in a browser: as they are kept, with faults put into them, on paper, and scrolled.

`make look` looks at all of them, at three widths, light and dark, with axe (docs/decisions/0074-looks.md).
"""

import json
import re
import zlib
from contextlib import contextmanager
from dataclasses import replace
from html import escape

import pytest

from tests.api.databases import sqlite_template  # fixtures count where they are imported
from tests.look import layout
from tests.look.looking import browser, page_of, probe, see
from tests.look.screens import SCREENS, Screen, go
from tests.look.seeded import platform

__all__ = ["sqlite_template"]
pytestmark = pytest.mark.needs("browser")

BY_NAME = {screen.name: screen for screen in SCREENS}
WITHOUT_A_RULE = """(selector) => {
    const own = [...document.querySelector(selector).classList].map((each) => `.${each}`);
    for (const sheet of document.styleSheets)
        for (let n = 0; n < sheet.cssRules.length; n += 1)
            if (own.includes(sheet.cssRules[n].selectorText)) { sheet.deleteRule(n); return; }
    throw new Error(`no rule for ${own}`);
}"""
"""Removes the first rule for a class of an element."""
WITH = """(text) => { const style = document.createElement("style"); style.textContent = text;
    document.head.append(style); }"""
FAULTS = {
    "wide": "main { min-width: 2000px }",
    "cut": "h1 { width: 40px; overflow: hidden; white-space: nowrap }",
    "over": "[data-testid=answer] { margin-top: -22px !important }",
    "small": "button { height: 14px !important; min-height: 0 !important }",
}


@pytest.fixture(scope="module")
def seeded(sqlite_template):
    with platform(database=sqlite_template) as made:
        yield made


@pytest.fixture(scope="module")
def chromium(program_path):
    with browser(program_path("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def page(chromium, seeded):
    with page_of(chromium, seeded) as page:
        page.platform = seeded
        yield page


def opened(page, name, width):
    page.set_viewport_size({"width": width, "height": 844 if width < 600 else 900})
    page.emulate_media(color_scheme="light")
    screen = BY_NAME[name]
    go(page, page.platform.url, screen, page.platform.path(screen.path))
    return see(page, width, "light")


@contextmanager
def reading(page):
    """Yield what the page that is opened last inside the block reads of the API, as often as it does."""
    found = []

    def hear(request):
        if request.is_navigation_request():
            found.clear()  # the page before it may have been reading, too
        elif "/api/v1/" in request.url:
            found.append((request.method, request.url, request.post_data))

    page.on("request", hear)
    yield found
    page.remove_listener("request", hear)


@pytest.mark.parametrize(("name", "width"), [("experiment", 390), ("home", 1440)])
def test_it_is_as_it_was_and_reads_all_once(page, name, width):
    with reading(page) as asked:
        view, faults = opened(page, name, width)
    before = layout.read(name)
    assert faults == []
    assert len(asked) > 1 and sorted({each[1] for each in asked if asked.count(each) > 1}) == []
    assert layout.told(layout.moved(before[f"{width}"].boxes, view.boxes)) == []
    if f"{width}-light" in before:
        assert layout.told(layout.restyled(before[f"{width}-light"].styles, view.styles)) == []


def test_faults_that_are_put_in_are_seen(page):
    before, faults = opened(page, "home", 1440)
    assert faults == []
    for kind, style in FAULTS.items():
        page.evaluate(WITH, style)
        assert any(each.startswith(f"{kind}:") for each in see(page, 1440, "light")[1]), kind
        page.evaluate("() => document.head.lastElementChild.remove()")
    page.evaluate("() => document.querySelector('h1').remove()")
    assert "gone: h1 Experiments" in layout.moved(before.boxes, see(page, 1440, "light")[0].boxes)


def test_a_rule_that_is_gone_is_seen(page):
    before, _ = opened(page, "home", 1440)
    page.evaluate(WITHOUT_A_RULE, "[data-testid=experiment-item] [class*=_facts_]")
    now, _ = see(page, 1440, "light")
    assert layout.moved(before.boxes, now.boxes) != []
    page.evaluate(WITHOUT_A_RULE, "h1")
    assert any("h1" in each for each in layout.restyled(before.styles, see(page, 1440, "light")[0].styles))


SHEET = 718
"""Width of a sheet of A4 between the margins that Chromium gives it, px."""
A4 = {"format": "A4", "margin": dict.fromkeys(("top", "right", "bottom", "left"), "10mm")}
SHEETS = (A4, A4 | {"landscape": True})
STILL = "window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} };"
"""While a page is printed, no script is told how wide anything has become."""
PAPER = "document.adoptedStyleSheets.length > 1 || !document.querySelector('#root')"
"""The style for paper is there: of the dashboard, beside the font of this test."""
BEYOND = """() => {
    const found = [];
    const right = document.documentElement.clientWidth + 1;
    for (const each of document.querySelectorAll("main :is(table, th, td, canvas, svg, img, pre, section)")) {
        if (!each.checkVisibility() || each.closest("[class*=unseen]")) continue;
        const name = `${each.tagName} ${each.dataset?.testid ?? ""} “${each.textContent.slice(0, 30)}”`;
        const box = each.getBoundingClientRect();
        if (box.right > right || box.left < -1) found.push(`beyond the sheet: ${name}`);
        if (/^(TH|TD)$/.test(each.tagName) && each.scrollWidth > each.clientWidth + 1) found.push(`cut: ${name}`);
        for (let holder = each.parentElement; holder.tagName !== "BODY"; holder = holder.parentElement)
            if (getComputedStyle(holder).overflowX !== "visible" && holder.scrollWidth > holder.clientWidth + 1)
                found.push(`cut by what holds it: ${name}`);
    }
    // but the title of a column, which sorts its table, is printed
    const pressed = "#root > header nav, [aria-haspopup], [role=switch], [class*=Button-root]:not(th > *)";
    for (const each of document.querySelectorAll(pressed))
        if (each.checkVisibility()) found.push(`a control: ${each.textContent}`);
    return [...new Set(found)];
}"""
COLUMNS = "variant.method.cluster.seed.state.started.duration.budget.samples.accuracy.loss.test.test_loss.time"
HOSTILE = {
    "Who reaches 97% first?": "Who-reaches-97%-first-of-all?-" * 4,
    "Original EASGD": "W" * 120,
    "Sync EASGD, overlapped": "\u0634\u0628\u0643\u0629 2 \u0639\u0635\u0628\u064a\u0629 (8) " * 4,
    "Sync SGD": '<img src=x onerror=alert(1)> & "' * 3,
    "Local SGD, period 8": "\U0001f680\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20,
    "SlowMo": "\u5206\u6563\u5b66\u4e60" * 30,
}
"""Names as they may be, by those that they stand for: without a blank, from right to left, HTML, wide signs."""


def renamed(text, as_html=False):
    """Return what the server has said, with such names; not in drawings, for which it shortens them."""
    if as_html:
        parts = re.split("(<text .*?</text>)", text)
        return "".join(part if i % 2 else _named(part, escape) for i, part in enumerate(parts))
    return _named(text, lambda name: json.dumps(name)[1:-1])


def _named(text, written):
    for usual, name in HOSTILE.items():
        text = text.replace(usual, written(name))
    return text


def hostile(route):
    """Answer as the server does, with such names."""
    answer = route.fetch()
    route.fulfill(response=answer, body=renamed(answer.text(), "html" in answer.headers["content-type"]))


WIDE = BY_NAME["leaderboard-wide"]
PRINTED = (
    BY_NAME["experiment"],
    Screen("every column", f"/experiments/{{full}}?columns={COLUMNS}.communication", "[data-testid=run-row]"),
    BY_NAME["compare"],
    Screen("many rows", "/compare?rows=%5B%221%22%2C%222%22%2C%224%22%5D", "[data-testid=compared-row]"),
    replace(WIDE, told=json.loads(renamed(json.dumps(WIDE.told)))),
    BY_NAME["run"],
    Screen("report", "/api/v1/experiments/{full}/report.html", "main"),
)
SCALE = re.compile(rb"\.\d+ 0 0 -\.\d+ 0 [\d.]+ cm\n.{0,200}?\n([\d.]+) 0 0 [\d.]+ ", re.DOTALL)
"""How the drawing of a page begins: the unit of the sheet, and then the scale of its content."""


def scales(document):
    """Return the scale of the content of each page of a PDF."""
    found = []
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\n?endstream", document, re.DOTALL):
        try:
            text = zlib.decompress(stream)
        except zlib.error:
            continue
        if match := SCALE.match(text):
            found.append(float(match[1]))
    return found


@pytest.fixture(scope="module")
def desk(chromium, seeded):
    """Return a page that is laid out for a wide window, and then printed."""
    with page_of(chromium, seeded) as made:
        made.platform = seeded
        made.add_init_script(STILL)
        made.context.route(re.compile("/api/v1/(?!events|readyz)"), hostile)
        yield made


@pytest.fixture(scope="module")
def plain(desk):
    """Return the scales of pages that are no wider than their sheets; of a wider one it is another."""
    desk.set_content("<p>Words</p>")
    found = [scales(desk.pdf(**sheet)) for sheet in SHEETS]
    desk.set_content("<p style='width: 1200px'>Words</p>")
    assert all(scales(desk.pdf(**sheet)) != fits for sheet, fits in zip(SHEETS, found, strict=True))
    return [set(each) for each in found]


@pytest.mark.parametrize("screen", PRINTED, ids=lambda screen: screen.name)
def test_nothing_is_cut_on_paper_whatever_its_name(desk, plain, screen):
    desk.set_viewport_size({"width": 1440, "height": 900})
    desk.emulate_media(media="null", color_scheme="light")  # a PDF of a page for the screen has its style
    go(desk, desk.platform.url, screen, desk.platform.path(screen.path))
    probe(desk)
    desk.evaluate("dispatchEvent(new Event('beforeprint')), dispatchEvent(new Event('afterprint'))")
    desk.wait_for_function(PAPER)
    # a page that is wider than its sheet is made smaller as a whole, and cut where that does not suffice
    assert [set(scales(desk.pdf(**sheet))) for sheet in SHEETS] == plain
    desk.evaluate("dispatchEvent(new Event('beforeprint'))")
    desk.set_viewport_size({"width": SHEET, "height": 900})
    desk.emulate_media(media="print", color_scheme="light")
    assert desk.evaluate(BEYOND) == []
    assert [each for each in probe(desk)["faults"] if each.startswith(("wide", "cut", "over"))] == []
    desk.evaluate("dispatchEvent(new Event('afterprint'))")


MANY, STEP, FRAMES = 1000, 100, 60
SCROLL = """async ([step, frames]) => {
    for (let n = 0; n < frames; n += 1) { window.scrollBy(0, step); await new Promise(requestAnimationFrame); }
    return window.scrollY;
}"""


def test_a_long_list_moves_as_far_as_it_is_scrolled(chromium, seeded):
    with page_of(chromium, seeded, frozen=False) as page:
        headers = {"authorization": f"Bearer {seeded.token}"}
        known = page.request.get(f"{seeded.url}/api/v1/experiments", headers=headers).json()["items"]
        items = [known[n % len(known)] | {"id": f"exp_{n}", "number": MANY - n} for n in range(MANY)]
        page.route(
            "**/api/v1/experiments?*", lambda route: route.fulfill(json={"items": items, "next_cursor": None})
        )
        page.goto(seeded.url)
        page.get_by_test_id("draw-all").wait_for()
        # A row that is measured only when it is above the window, as on a busy machine, moves the page by what it
        # differs from the estimate, so that what is read stays in its place.
        assert page.evaluate(SCROLL, [STEP, FRAMES]) == pytest.approx(STEP * FRAMES, rel=0.05)
