"""An experiment as text in a real browser, over a real API: completion, a fault at its line, and a way out."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.look.looking import browser, page_of
from tests.look.seeded import platform
from tests.waiting import LIMIT

pytestmark = pytest.mark.needs("browser")

expect.set_options(timeout=1000 * LIMIT)
SETTLED = "[data-testid=plan][data-settled=true]"
LEAST_OPEN = 100
"""Milliseconds that proposals are open before a key takes one: CodeMirror ignores those of the first 75."""

BESIDE = """() => {
    const [numbers, lines] = [".cm-lineNumbers .cm-gutterElement", ".cm-line"].map((selector) =>
        [...document.querySelectorAll(selector)].filter((each) => each.offsetHeight > 0)
            .map((each) => Math.round(each.getBoundingClientRect().top)));
    return lines.length > 20 && String(numbers) === String(lines);
}"""
"""Whether the numbers of lines are beside the lines, which are measured in the frame after the first one."""


def with_a_cluster(service):
    service.hello(cores=64)
    return {}


@pytest.fixture(scope="module")
def page(program_path, sqlite_template):
    # with the clock of the machine: the editor measures how long its list has been open
    with (
        platform(fill=with_a_cluster, database=sqlite_template) as made,
        browser(program_path("browser")) as running,
        page_of(running, made, frozen=False) as page,
    ):
        page.address = f"{made.url}/new?example=true&as=yaml"
        yield page


def test_it_is_completed_judged_at_its_line_and_left_by_keyboard(page):
    held = []

    def hold(route):
        held.append(route)

    page.route("**/api/openapi.json", hold)
    page.goto(page.address)
    editor = page.get_by_role("textbox", name="Specification as YAML")
    state = page.get_by_test_id("yaml-editor")
    expect(state).to_have_attribute("data-completes", "false")
    page.wait_for_function(BESIDE)
    editor.press("Control+End")
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()
    expect(state).to_have_attribute("data-completes", "true")

    page.keyboard.type("check")
    option = page.get_by_role("option", name=re.compile("^checkpoint_every"))
    expect(option).to_contain_text("optional")
    page.wait_for_timeout(LEAST_OPEN)
    page.keyboard.press("Enter")
    expect(editor).to_contain_text("checkpoint_every: ")
    page.keyboard.type("often")
    expect(page.get_by_test_id("fault")).to_have_text(re.compile(r"checkpoint every.*\(line \d+\)"))
    expect(page.locator(".cm-lintRange-error")).to_have_text("often")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()

    page.keyboard.press("Shift+Home")
    page.keyboard.press("Backspace")
    expect(page.get_by_test_id("fault")).to_have_count(0)
    expect(page.locator(SETTLED).get_by_test_id("plan-total")).to_have_text(re.compile(r"^\d+ runs"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("radio", name="YAML")).to_be_focused()
    expect(page.locator(".cm-tooltip-autocomplete")).to_have_count(0)
