"""A long list of experiments in a real browser: scrolling goes as far as it is asked to."""

import pytest

from tests.look.looking import browser, page_of
from tests.look.seeded import platform

pytestmark = pytest.mark.needs("browser")

MANY, STEP, FRAMES = 1000, 100, 60
SCROLL = """async ([step, frames]) => {
    for (let n = 0; n < frames; n += 1) { window.scrollBy(0, step); await new Promise(requestAnimationFrame); }
    return window.scrollY;
}"""


def test_a_long_list_moves_as_far_as_it_is_scrolled(program_path):
    with (
        platform() as made,
        browser(program_path("browser")) as running,
        page_of(running, made, frozen=False) as page,
    ):
        headers = {"authorization": f"Bearer {made.token}"}
        known = page.request.get(f"{made.url}/api/v1/experiments", headers=headers).json()["items"]
        items = [known[n % len(known)] | {"id": f"exp_{n}", "number": MANY - n} for n in range(MANY)]
        page.route(
            "**/api/v1/experiments?*", lambda route: route.fulfill(json={"items": items, "next_cursor": None})
        )
        page.goto(made.url)
        page.get_by_test_id("draw-all").wait_for()
        # A row that is measured only when it is above the window, as on a busy machine, moves the page by what it
        # differs from the estimate, so that what is read stays in its place.
        assert page.evaluate(SCROLL, [STEP, FRAMES]) == pytest.approx(STEP * FRAMES, rel=0.05)
