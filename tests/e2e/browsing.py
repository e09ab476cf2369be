"""A page of a real browser, and everything it complained about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.waiting import LIMIT

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
PATIENCE = 1000 * LIMIT
"""Milliseconds that a busy machine may take for anything."""
expect.set_options(timeout=PATIENCE)
TRANSITIONS_ENDED = """async () => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    const changing = () => document.getAnimations().filter((each) => each instanceof CSSTransition);
    await frame();
    await frame();
    for (let left = changing(); left.length > 0; left = changing()) {
        await Promise.all(left.map((each) => each.finished.catch(() => null)));
        await frame();
    }
}"""
"""Waits until no color is between two others: what was asked for just before begins with the next frames."""


class Browsing:
    """A page, and everything it complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on(
            "console", lambda line: self.hear(line.type, line.text) if line.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.hear("exception", str(error)))
        page.on(
            "response",
            lambda answer: self.hear("answer", f"{answer.status} {answer.url}") if answer.status >= 400 else None,
        )

    def hear(self, kind: str, text: str) -> None:
        self.complaints.append(f"{kind}: {text}")

    def darken(self) -> None:
        """Prefer dark colors, as the system's settings would, and wait until the page has them."""
        self.page.emulate_media(color_scheme="dark")
        expect(self.page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")

    def accessible(self) -> None:
        """Fail with what axe finds on the page, once colors that change have changed."""
        self.page.evaluate(TRANSITIONS_ENDED)
        found = Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()


@contextmanager
def running(executable: str) -> Iterator[Browser]:
    """Run Chromium."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, **options: Any) -> Iterator[Browsing]:
    """Open a page in a context of its own: cookies and storage are those of nobody else."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE)
    yield Browsing(context.new_page())
    context.close()
