"""What a researcher does with results, in a real browser over one real platform: every step by what is seen."""

import csv
import io
import math
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import opened, running
from instances import Running, runs, submit
from journeys import (
    COMPARED,
    DARKEST,
    METHODS,
    WITHOUT_DATA,
    Finger,
    axis,
    choose_view,
    copied,
    ended,
    export,
    order_of_runs,
    printed_whole,
    saved,
    zoom,
)
from playwright.sync_api import expect

from tests import warm_ranks
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = pytest.mark.needs("browser")


@pytest.fixture(scope="module")
def stack(tmp_path_factory, sqlite_template):
    """Start a platform on which one run fails at once, and then twelve are compared."""
    home = tmp_path_factory.mktemp("journeys") / "home"
    more = {"database": sqlite_template, "environment": warm_ranks.environment()}
    up = Running(home, "up", port=free_port(), **more)
    try:
        with up.ready() as client:
            failing = submit(client, WITHOUT_DATA)
            compared = submit(client, COMPARED)
            yield SimpleNamespace(url=up.url, token=up.token, client=client, failing=failing, compared=compared)
    finally:
        up.stop()
        up.sweep()


@pytest.fixture(scope="module")
def chromium(program_path):
    with running(program_path("browser")) as browser:
        yield browser


@pytest.fixture
def signed_in(chromium, stack):
    """Open a page that is signed in, and may use the clipboard; it must have nothing to complain about."""
    with opened(chromium, permissions=["clipboard-read", "clipboard-write"]) as found:
        found.page.goto(f"{stack.url}/login?token={stack.token}")
        yield found
        assert found.complaints == []


@pytest.fixture
def page(signed_in):
    return signed_in.page


def test_an_admin_revokes_a_token_and_its_holder_is_refused_at_once(stack, page):
    page.get_by_role("button", name=re.compile("^Account of")).click()
    page.get_by_role("menuitem", name="Administration").click()
    tokens = page.get_by_role("region", name="Tokens")
    tokens.get_by_role("textbox", name="Label").fill("a laptop that was lost")
    tokens.get_by_role("button", name="Create token").click()
    shown = tokens.get_by_role("status")
    expect(shown).to_contain_text("is not shown again")
    token = shown.locator("pre").inner_text()
    with httpx.Client(
        base_url=f"{stack.url}/api/v1",
        headers={"authorization": f"Bearer {token}"},
        timeout=LIMIT,
        trust_env=False,
    ) as holder:
        assert holder.get("/experiments").status_code == 200
        row = tokens.get_by_role("row").filter(has_text="a laptop that was lost")
        row.get_by_role("button", name="Revoke").click()
        page.get_by_role("button", name="Revoke the token").click()
        expect(row).to_contain_text("revoked")
        refused = holder.get("/experiments")
        assert refused.status_code == 401, refused.text
    assert stack.client.get("/experiments").status_code == 200, "only this one"


def test_why_a_run_failed_is_found_from_home(stack, page):
    ended(stack, stack.failing)
    page.reload()
    item = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Letters"))
    expect(item.get_by_role("img", name="1 of 1 runs ended: 1 failed")).to_be_visible()
    item.get_by_role("link", name="Letters").click()
    row = page.get_by_role("region", name="Runs", exact=True).get_by_role("row").filter(has_text="failed: code")
    row.get_by_role("link", name=re.compile(r"^#\d")).click()

    why = page.get_by_role("region", name="Why it failed")
    expect(why).to_contain_text("DataMissing: text-transformer reads a text from files")
    expect(why).to_contain_text("Put the files where the message says")
    expect(why.get_by_text("raise DataMissing")).not_to_be_visible()  # the traceback is folded
    why.get_by_role("link", name="Log of").click()
    log = page.get_by_role("log", name="Log lines")
    expect(log).to_be_in_viewport()
    page.get_by_role("region", name="Log", exact=True).get_by_role("button", name="Errors").click()
    error = log.locator("[aria-current=true]")
    expect(error).to_contain_text("DataMissing")
    expect(error).to_be_in_viewport()

    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_text("attempt 2", exact=True)).to_be_visible()
    (run,) = ended(stack, stack.failing, attempt=2)
    assert run["attempt"] == 2
    expect(page.get_by_test_id("run-state")).to_have_attribute("data-state", "failed_user")


def test_two_clusters_are_compared_pair_by_pair_of_seeds(stack, page):
    found = ended(stack, stack.compared)
    times = {(run["variant"], run["cluster"], run["seed"]): run["time_to_target"] for run in found}
    page.goto(f"{stack.url}/experiments/{stack.compared}")
    page.get_by_role("link", name="Compare with…").click()
    table = page.get_by_role("region", name="Ratios of times to the target")
    expect(table.get_by_role("row")).to_have_count(1 + len(METHODS))
    for method in METHODS:
        row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name=method))
        slow_first = "slow-net" in row.get_by_role("rowheader").inner_text()
        logs = [math.log(times[method, "slow-net", n] / times[method, "fast-net", n]) for n in range(3)]
        expected = math.exp(sum(logs) / 3 * (1 if slow_first else -1))
        ratio, seeds = (row.get_by_role("cell").nth(i).inner_text() for i in (1, 2))
        assert float(re.match(r"([\d.,]+)×", ratio)[1].replace(",", "")) == pytest.approx(expected, abs=0.006)
        assert seeds.strip() == "3"
        assert (expected > 1) == slow_first, "the slower network takes longer"

    page.get_by_role("combobox", name="Clusters of").click()
    page.get_by_role("option", name="fast-net", exact=True).click()
    expect(page.get_by_role("region", name="Cluster against cluster")).to_contain_text("two clusters")
    expect(table).to_have_count(0)


def test_results_leave_for_a_paper(stack, page, chromium, tmp_path):
    ended(stack, stack.compared)
    page.goto(f"{stack.url}/experiments/{stack.compared}")
    drawing = ElementTree.fromstring(saved(page, "Validation accuracy", "Save as SVG"))
    words = [each.text for each in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Validation accuracy", *METHODS} <= set(words)

    rows = list(csv.DictReader(io.StringIO(saved(page, "Validation accuracy", "Save as CSV"))))
    bands = stack.client.get(f"/experiments/{stack.compared}/bands", params={"metric": "validation_accuracy"})
    for method in METHODS:
        mine = [float(row["Validation accuracy"]) for row in rows if row["curve"] == method]
        means = [band["mean"][: len(mine)] for band in bands.json()["bands"] if band["variant"] == method]
        assert len(mine) > 2
        assert pytest.approx(mine) in means

    export(page, "Comparison", "Copy as LaTeX")
    expect(page.get_by_role("button", name="Copied: Comparison")).to_be_visible()
    lines = copied(page).replace("\r", "").split("\n")
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])[1]
    body = [line for line in lines[1:] if line.endswith(r"\\")]
    assert (lines[1], lines[-2:]) == (r"\toprule", [r"\bottomrule", r"\end{tabular}"])
    assert [line.split(" & ")[0] for line in body] == ["Variant", *METHODS]
    assert {line.count(" & ") for line in body} == {len(columns) - 1}
    assert r"\%" in body[1] and not re.search(r"(?<!\\)%", "".join(body)), "a bare % begins a comment"

    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_popup() as popup:
        page.get_by_role("menuitem", name="Report, to read and print").click()
    report = tmp_path / "report.html"
    report.write_bytes(page.request.get(popup.value.url).body())
    popup.value.close()
    with opened(chromium, offline=True) as away:
        asked = []
        away.page.on("request", lambda request: asked.append(request.url))
        away.page.goto(report.as_uri())
        expect(away.page.get_by_role("heading", level=1)).to_contain_text("Two networks")
        expect(away.page.locator("svg").first).to_be_visible()
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert away.complaints == []
    printed_whole(page)


def test_a_view_is_shared_by_its_address_and_kept_under_a_name(stack, page, chromium):
    ended(stack, stack.compared)
    page.goto(f"{stack.url}/experiments/{stack.compared}")
    whole = axis(page)
    assert whole[1] == list(METHODS)
    usual = order_of_runs(page)
    zoom(page)
    curves = page.get_by_role("region", name="Curves")
    expect(curves.get_by_role("button", name="Show all")).to_be_visible()
    table = page.get_by_role("toolbar", name="Variants of Validation accuracy")
    table.get_by_role("button", name=METHODS[1]).click()
    by_time = page.get_by_role("columnheader", name="Time to target").get_by_role("button")
    by_time.last.click()
    by_time.last.click()
    seen = axis(page), order_of_runs(page)
    assert seen[0][0] != whole[0]
    assert seen[0][1] == [METHODS[0]]
    assert seen[1] != usual
    choose_view(page, "Copy the link to this view")
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    address = copied(page)

    page.get_by_role("link", name="Experiments", exact=True).click()
    page.get_by_role("button", name="Name", exact=True).click()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitemcheckbox", name="Variants").click()
    page.get_by_role("menuitemcheckbox", name="Duration").click()
    page.keyboard.press("Escape")
    choose_view(page, "Save this view…")
    page.get_by_role("textbox", name="Name").fill("By name")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)

    with opened(chromium) as other:
        there = other.page
        there.goto(f"{stack.url}/login?token={stack.token}")
        names = there.get_by_role("main").get_by_role("listitem").get_by_role("link")
        expect(names).to_have_text(["Two networks", "Letters"])  # the newest first
        there.goto(address)
        expect(there.get_by_role("region", name="Curves").get_by_role("button", name="Show all")).to_be_visible()
        assert (axis(there), order_of_runs(there)) == seen

        there.get_by_role("link", name="Experiments", exact=True).click()
        choose_view(there, "By name")
        expect(names).to_have_text(["Letters", "Two networks"])
        sorts = there.get_by_role("group", name="Sort by")
        expect(sorts.get_by_role("button", name="Duration")).to_be_visible()
        expect(sorts.get_by_role("button", name="Name, A to Z")).to_be_visible()
        item = there.get_by_role("listitem").filter(has=there.get_by_role("link", name="Two networks"))
        expect(item.get_by_text(METHODS[1], exact=True)).to_have_count(0)
        assert other.complaints == []


def test_a_finger_zooms_a_chart_then_moves_it_and_always_scrolls_the_page(stack, page):
    """Whether chart or page gets a gesture is decided by the browser (`touch-action`), which jsdom is not."""
    ended(stack, stack.compared)
    page.goto(f"{stack.url}/experiments/{stack.compared}")
    finger = Finger(page)
    assert finger.scrolls()
    assert finger.zoom() is None
    finger.drag((0.2, 0.5), (0.7, 0.5))
    first = finger.zoom()
    finger.drag((0.7, 0.5), (0.5, 0.5))
    second = finger.zoom()
    width = first[1] - first[0]
    assert second[1] - second[0] == pytest.approx(width, rel=1e-3)
    assert second[0] - first[0] == pytest.approx(0.2 * width, rel=0.05)
    assert finger.scrolls()
    assert finger.zoom() == second


def test_a_dark_page_is_legible_on_paper(stack, page):
    ended(stack, stack.compared)
    page.emulate_media(color_scheme="dark")
    page.goto(f"{stack.url}/experiments/{stack.compared}")
    chart = page.get_by_role("img", name=re.compile("^Validation accuracy")).locator("canvas")
    page.get_by_test_id("curves").scroll_into_view_if_needed()  # out of view, it is not drawn
    wait_for(lambda: 110 < chart.evaluate(DARKEST) < 255, "a chart with pale words")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(color_scheme="dark", media="print")
    assert chart.evaluate(DARKEST) < 110
    found = Axe().run(page, options={"runOnly": ["color-contrast"]})
    assert found.violations_count == 0, found.generate_report()
    page.emulate_media(color_scheme="dark", media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    wait_for(lambda: chart.evaluate(DARKEST) > 110, "the chart as it was")


def test_the_tuned_comparison_is_launched_from_its_preset(stack, page):
    page.goto(f"{stack.url}/new")
    page.get_by_role("button", name="Start from").click()
    page.get_by_role("menuitem", name=re.compile("^Tuned comparison")).click()
    expect(page.get_by_test_id("plan-total")).to_have_text(re.compile(r"trial runs at most, 25 reported runs$"))
    page.get_by_test_id("start").click()
    expect(page).to_have_url(re.compile(r"/experiments/exp_"))
    expect(page.get_by_test_id("tuning-state")).to_be_visible()
    experiment = page.url.rpartition("/")[2].partition("?")[0]
    spec = stack.client.get(f"/experiments/{experiment}").json()["spec"]
    assert (spec["tuning"]["trials"], len(spec["variants"])) == (12, 5)
    wait_for(lambda: any(run["samples"] for run in runs(stack.client, experiment)), "the first trials")
    page.get_by_test_id("cancel-experiment").click()
    page.get_by_role("button", name="Cancel the runs").click()
    expect(page.get_by_test_id("experiment-state")).to_have_attribute("data-state", "cancelled")


def test_a_comparison_is_rerun_changed_and_gets_another_seed(stack, page):
    ended(stack, stack.compared)
    page.goto(f"{stack.url}/experiments/{stack.compared}")
    page.get_by_role("link", name="Clone").click()
    page.locator('[data-field="/name"]').fill("Two networks, more often evaluated")
    page.locator('[data-field="/evaluation/every"]').fill("500")
    for cluster in (0, 1):
        page.locator(f'[data-field="/clusters/{cluster}/seeds"]').fill("1")
    expect(page.get_by_test_id("plan")).to_have_attribute("data-settled", "true")
    page.get_by_role("tab", name=re.compile("^Changes")).click()
    changes = page.get_by_role("region", name="Changes from the original")
    expect(changes.get_by_test_id("change")).to_have_count(4)
    page.get_by_test_id("start").click()
    expect(page.get_by_test_id("experiment-name")).to_have_text("Two networks, more often evaluated")
    expect(page.get_by_test_id("progress")).to_have_text("4 of 4 runs")
    experiment = page.url.rpartition("/")[2].partition("?")[0]
    before, now = (
        stack.client.get(f"/experiments/{each}").json()["spec"] for each in (stack.compared, experiment)
    )
    assert now["evaluation"]["every"] == 500
    assert {name for name in before if before[name] != now[name]} == {"name", "evaluation", "clusters"}

    page.get_by_test_id("add-seeds").click()
    page.get_by_test_id("further-seeds").fill("1")
    expect(page.get_by_test_id("further-runs")).to_contain_text("4 additional runs, seed 1.")
    page.get_by_role("button", name="Add 1 seed").click()
    expect(page.get_by_test_id("progress")).to_have_text("8 of 8 runs")
    expect(page.get_by_test_id("version")).to_have_text("version 2")
    assert sorted(run["seed"] for run in ended(stack, experiment)) == [0] * 4 + [1] * 4


def test_an_experiment_is_deleted_and_brought_back_and_imported_from_its_bundle(stack, page):
    ended(stack, stack.failing)
    page.goto(f"{stack.url}/experiments/{stack.failing}")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Bundle, to import elsewhere").click()
    bundle = download.value.path().read_bytes()

    page.goto(stack.url)
    item = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Letters"))
    page.get_by_role("button", name="Actions for Letters").click()
    page.get_by_role("menuitem", name="Delete").click()
    note = page.get_by_role("status").filter(has_text="“Letters” is deleted.")
    expect(item).to_have_count(0)
    assert stack.client.get(f"/experiments/{stack.failing}").status_code == 404
    note.get_by_role("button", name="Undo").click()
    expect(item).to_have_count(1)
    assert stack.client.get(f"/experiments/{stack.failing}").status_code == 200

    page.get_by_label("File of an exported experiment").set_input_files(
        {"name": "letters.zip", "mimeType": "application/zip", "buffer": bundle}
    )
    expect(page).to_have_url(re.compile(r"/experiments/exp_"))
    imported = page.url.rpartition("/")[2].partition("?")[0]
    assert imported != stack.failing
    expect(page.get_by_test_id("experiment-name")).to_have_text("Letters")
    expect(page.get_by_test_id("origin")).to_be_visible()
    (mine,), (there,) = (runs(stack.client, each) for each in (imported, stack.failing))
    assert [mine[key] for key in ("state", "seed", "attempt")] == [
        there[key] for key in ("state", "seed", "attempt")
    ]
