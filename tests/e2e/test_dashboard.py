"""The dashboard in a real browser, over a real platform: form, launch, moving curves, verdict."""

import re
import time

import psutil
import pytest
from browsing import opened, running
from instances import Running
from playwright.sync_api import Page, expect

from tests import warm_ranks
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = pytest.mark.needs("browser")

LOOKS = 0.2
ENDED = ("succeeded", "failed", "cancelled")


@pytest.fixture(scope="module")
def chromium(program_path):
    with running(program_path("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def platform(tmp_path_factory, sqlite_template):
    """Return a running `hooke up` without experiments, for a stranger and then for the first users."""
    home = tmp_path_factory.mktemp("up") / "home"
    more = {"database": sqlite_template, "environment": warm_ranks.environment()}
    up = Running(home, "up", port=free_port(), **more)
    up.ready().close()
    yield up
    up.stop()
    up.sweep()


@pytest.fixture
def browsing(chromium):
    with opened(chromium) as found:
        yield found


def points(page: Page) -> int:
    return int(page.get_by_test_id("chart-validation_accuracy").get_attribute("data-points") or 0)


def watch(page: Page) -> list[int]:
    """Return the different numbers of points that the accuracy chart showed until all runs had ended."""
    seen: list[int] = []
    end = time.monotonic() + 2 * LIMIT
    while time.monotonic() < end:
        now = points(page)
        if not seen or now != seen[-1]:
            seen.append(now)
        if page.get_by_test_id("experiment-state").get_attribute("data-state") in ENDED:
            return seen
        page.wait_for_timeout(LOOKS * 1000)
    raise AssertionError(f"the runs did not end; points seen: {seen}")


def field(page: Page, pointer: str):
    """Return the input that edits this place of the document."""
    return page.locator(f'[data-field="{pointer}"]')


def fill_in(page: Page) -> None:
    """Describe two variants on this machine, and on a virtual cluster, in the form."""
    for pointer, text in (
        ("/name", "Seen in a browser"),
        ("/budget/samples", "24000"),
        ("/evaluation/every", "1000"),
        ("/target/value", "0.9"),
        ("/clusters/0/workers", "2"),
        ("/clusters/0/seeds", "1"),
    ):
        field(page, pointer).fill(text)
    page.get_by_test_id("add-virtual-cluster").click()
    page.get_by_role("menuitem").first.click()
    field(page, "/clusters/1/workers").fill("4")
    field(page, "/clusters/1/seeds").fill("3")


OVERFLOWING = """table => [...table.querySelectorAll("th, td")].filter(cell => cell.scrollWidth > cell.clientWidth)
    .map(cell => cell.innerText)"""
"""The cells of a table whose content reaches into the next cell."""


def corner(page: Page, box: dict[str, float], right: bool) -> bytes:
    """Return the picture of a few pixels below the text of a table's last row, at one end of it."""
    x = box["x"] + (box["width"] - 6 if right else 2)
    return page.screenshot(clip={"x": x, "y": box["y"] + box["height"] - 4, "width": 4, "height": 3})


def scrolls_in_its_place(page: Page) -> None:
    """In a narrow window every column of the comparison can be reached, and a shade says that more follow."""
    page.set_viewport_size({"width": 820, "height": 900})
    table, place = page.get_by_test_id("comparison-table"), page.get_by_role("region", name="Comparison")
    last = table.get_by_role("columnheader").last
    place.scroll_into_view_if_needed()
    assert table.evaluate(OVERFLOWING) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    expect(last).not_to_be_in_viewport(ratio=1)
    assert corner(page, place.bounding_box(), right=True) != corner(page, place.bounding_box(), right=False)

    place.evaluate("place => place.scrollTo({ left: place.scrollWidth })")
    expect(last).to_be_in_viewport(ratio=1)
    expect(table.get_by_role("columnheader").first).to_be_in_viewport(ratio=1)
    assert corner(page, place.bounding_box(), right=True) == corner(page, place.bounding_box(), right=False)
    page.set_viewport_size({"width": 1280, "height": 900})


def seven_tabs_are_live(page: Page) -> None:
    """HTTP/1.1 allows six connections to a server: a stream per tab would leave nothing for the seventh."""
    tabs = [page.context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto(page.url)
    for tab in tabs:
        expect(tab.get_by_test_id("connection")).to_have_attribute("data-state", "live")
        tab.close()


SMALL = """() => [...document.querySelectorAll("button, select, summary, nav a, [role=tab], label[data-active]")]
    .filter(each => each.checkVisibility() && !each.disabled)
    .filter(each => { const box = each.getBoundingClientRect(); return box.right > 0 && box.height < 23.5; })
    .map(each => each.outerHTML.slice(0, 120))"""
"""What is touched, in view or by scrolling, and is less than 24 px high."""


def fits_a_telephone(page: Page) -> None:
    """At 390 px the form is as wide as the window, Start stands at its foot, and all can be hit by a finger."""
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    expect(page.get_by_test_id("start-here")).to_be_in_viewport(ratio=1)
    assert page.evaluate(SMALL) == []
    page.set_viewport_size({"width": 1280, "height": 900})


def leaves(page: Page, chart: str, how: str) -> bytes:
    """Take a chart away; return the file."""
    page.get_by_role("button", name=f"Export: {chart}").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=how).click()
    return download.value.path().read_bytes()


def test_a_stranger_sees_how_to_sign_in_and_nothing_else(platform, browsing):
    browsing.page.goto(f"{platform.url}/new")
    expect(browsing.page.locator("body")).to_contain_text("token")
    assert browsing.page.get_by_test_id("form").count() == 0
    browsing.page.goto(f"{platform.url}/login?token=wrong")
    expect(browsing.page.locator("body")).to_contain_text("token")
    assert browsing.page.context.cookies() == []
    browsing.accessible()


def test_from_the_form_to_the_verdict(platform, browsing):
    up, page = platform, browsing.page

    page.goto(f"{up.url}/login?token={up.token}")
    expect(page).to_have_url(f"{up.url}/")
    expect(page.get_by_test_id("start-example")).to_be_visible()
    browsing.accessible()

    page.get_by_role("link", name=re.compile("new", re.IGNORECASE)).first.click()
    fill_in(page)
    expect(page.get_by_test_id("plan-total")).to_have_text("8 runs")
    browsing.accessible()
    fits_a_telephone(page)

    field(page, "/budget/samples").fill("0")
    expect(page.get_by_test_id("fault")).to_have_attribute("data-pointer", "/budget/samples")
    expect(page.get_by_test_id("start")).to_be_disabled()
    field(page, "/budget/samples").fill("24000")
    assert browsing.complaints
    assert all("422" in complaint for complaint in browsing.complaints), "the fault is the only complaint"
    browsing.complaints.clear()

    page.get_by_test_id("start").click()
    expect(page).to_have_url(re.compile(r"/experiments/exp_"))
    expect(page.get_by_test_id("experiment-name")).to_have_text("Seen in a browser")
    seen = watch(page)
    assert len(seen) >= 3, f"curves move while runs go on; points seen: {seen}"
    seven_tabs_are_live(page)

    sentences = page.get_by_test_id("verdict-sentences")
    expect(sentences).to_have_attribute("data-complete", "true")
    expect(sentences).to_contain_text("simulated")
    expect(page.get_by_test_id("progress")).to_have_text("8 of 8 runs")
    page.get_by_test_id("verdict").get_by_test_id("group-picker").get_by_text("simulated").click()
    rows = page.get_by_test_id("comparison-row")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text(re.compile(r"\d(\.\d+)?×"))
    browsing.accessible()

    assert leaves(page, "Validation accuracy", "Save as PNG").startswith(b"\x89PNG")
    assert leaves(page, "Validation accuracy", "Save as CSV").count(b"\r\n") > 9
    scrolls_in_its_place(page)
    address = page.url
    page.reload()
    expect(page).to_have_url(address)
    expect(rows).to_have_count(2)

    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.type("sync-easgd")
    expect(page.get_by_role("option", selected=True)).to_have_text(re.compile("^Sync EASGD"))
    browsing.accessible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{up.url}/algorithms/sync-easgd")
    expect(page.get_by_test_id("verified-table")).to_be_visible()
    browsing.accessible()
    assert browsing.complaints == []


def sleep_until_the_end(up: Running, experiment: str) -> None:
    """Stop every process of the browser, as a laptop that is closed does, until an experiment has ended."""
    browser = [each for each in psutil.Process().children(recursive=True) if "chrom" in each.name()]
    with up.ready() as api:
        assert api.get(f"/experiments/{experiment}").json()["finished_at"] is None
        for each in browser:
            each.suspend()
        try:
            wait_for(lambda: api.get(f"/experiments/{experiment}").json()["finished_at"], "the end of it")
        finally:
            for each in browser:
                each.resume()


def tune(page: Page) -> None:
    """Have two methods tuned on a virtual cluster by four trials each, of which one parameter is searched."""
    for pointer, text in (("/budget/samples", "12000"), ("/evaluation/every", "1000"), ("/target/value", "0.8")):
        field(page, pointer).fill(text)
    page.get_by_test_id("add-virtual-cluster").click()
    page.get_by_role("menuitem").first.click()
    page.get_by_test_id("cluster-card").first.get_by_role("button", name="Remove").click()
    field(page, "/clusters/0/workers").fill("2")
    field(page, "/clusters/0/seeds").fill("3")
    page.get_by_test_id("has-tuning").check(force=True)
    field(page, "/tuning/trials").fill("4")
    for edit in page.get_by_test_id("edit-variant").all():  # one is open at a time
        edit.click()
        rows = page.get_by_test_id("search-spaces").get_by_test_id("space-row")
        others = rows.filter(has_not_text="Learning rate")
        searched = others.get_by_role("button", name="Keep default")
        while searched.count():  # one that is kept may leave another without effect, whose row goes
            searched.first.click()
    field(page, "/variants/1/search/lr/low").fill("0.05")


def test_a_tuned_experiment_from_the_form_to_its_clone(platform, browsing):
    up, page = platform, browsing.page
    page.goto(f"{up.url}/login?token={up.token}")
    page.goto(f"{up.url}/new")
    tune(page)
    expect(page.get_by_test_id("plan-total")).to_have_text("8 trial runs at most, 6 reported runs")
    expect(page.get_by_test_id("plan")).to_have_attribute("data-settled", "true")  # it is pale until then
    browsing.accessible()
    page.get_by_test_id("start").click()
    expect(page).to_have_url(re.compile(r"/experiments/exp_"))
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
    page.evaluate("window.opened = true")
    sleep_until_the_end(up, page.url.rpartition("/")[2])
    expect(page.get_by_test_id("tuning-state")).to_have_text("Complete: 8 trial runs")
    assert page.evaluate("window.opened") is True, "it was loaded anew"
    expect(page.get_by_test_id("verdict-sentences")).to_have_attribute("data-complete", "true")
    expect(page.get_by_test_id("effort")).to_contain_text("best of 4 trials per variant")
    expect(page.get_by_test_id("progress")).to_have_text("14 of 14 runs")
    expect(page.get_by_test_id("run-row").first).to_contain_text("setting of trial")

    searches = page.get_by_test_id("search")
    expect(searches).to_have_count(2)
    searches.nth(1).locator("summary").click()
    expect(searches.nth(1).get_by_test_id("trial")).to_have_count(4)
    browsing.accessible()
    browsing.darken()
    browsing.accessible()
    page.set_viewport_size({"width": 820, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")

    page.get_by_role("link", name="Leaderboard").click()
    expect(page.get_by_test_id("method")).to_have_count(2)
    browsing.accessible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.go_back()

    page.get_by_test_id("compare").click()
    expect(page.get_by_test_id("compared-row")).to_have_count(2)
    expect(page.get_by_test_id("front")).to_be_visible()
    browsing.accessible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.go_back()

    page.get_by_test_id("clone").click()
    expect(page.get_by_test_id("plan-bar")).to_have_text(re.compile("8 trial runs at most, 6 reported"))
    expect(page.get_by_test_id("plan")).to_have_attribute("data-settled", "true")
    browsing.accessible()
    page.get_by_test_id("edit-variant").nth(1).click()
    expect(field(page, "/variants/1/search/lr/low")).to_have_value("0.05")
    expect(page.get_by_test_id("plan-total")).to_have_text("8 trial runs at most, 6 reported runs")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browsing.complaints == []
