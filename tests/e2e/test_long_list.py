"""A long list of experiments in a real browser: scrolling goes as far as the wheel does."""

import pytest

from tests.look.looking import browser, page_of
from tests.look.seeded import platform

pytestmark = pytest.mark.needs("browser")

MANY, NOTCH, NOTCHES = 400, 300, 8
PAUSE = 200
"""Milliseconds after which scrolling counts as ended, and rows are drawn and left out anew."""


def test_the_wheel_moves_a_long_list_as_far_as_a_short_one(program_path):
    with platform() as made, browser(program_path("browser")) as running, page_of(running, made) as page:
        headers = {"authorization": f"Bearer {made.token}"}
        known = page.request.get(f"{made.url}/api/v1/experiments", headers=headers).json()["items"]
        items = [known[n % len(known)] | {"id": f"exp_{n}", "number": MANY - n} for n in range(MANY)]
        page.route("**/api/v1/experiments?*", lambda route: route.fulfill(json={"items": items, "next_cursor": None}))
        page.goto(made.url)
        page.get_by_test_id("draw-all").wait_for()
        page.mouse.move(600, 500)
        for n in range(1, NOTCHES + 1):
            page.mouse.wheel(0, NOTCH)
            page.wait_for_timeout(PAUSE)
            page.wait_for_function("(y) => window.scrollY > y", arg=(n - 1) * NOTCH)
        page.wait_for_function("(y) => Math.abs(window.scrollY - y) < 2", arg=NOTCHES * NOTCH, timeout=5000)
