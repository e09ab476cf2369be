"""Two screens of a seeded platform in a browser, as they are kept; and that a fault put into them is seen.

`make look` looks at all of them, at three widths, light and dark, with axe (docs/decisions/0074-looks.md).
"""

import pytest

from tests.look import layout
from tests.look.looking import browser, page_of, see
from tests.look.screens import SCREENS, go
from tests.look.seeded import platform

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
def page(program_path):
    with platform() as made, browser(program_path("browser")) as running, page_of(running, made) as page:
        page.platform = made
        yield page


def opened(page, name, width):
    page.set_viewport_size({"width": width, "height": 844 if width < 600 else 900})
    page.emulate_media(color_scheme="light")
    screen = BY_NAME[name]
    go(page, page.platform.url, screen, page.platform.path(screen.path))
    return see(page, width, "light")


@pytest.mark.parametrize(("name", "width"), [("experiment", 390), ("home", 1440)])
def test_it_is_as_it_was(page, name, width):
    view, faults = opened(page, name, width)
    before = layout.read(name)
    assert faults == []
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
