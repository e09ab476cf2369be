"""A browser that sees the same on every machine: one font, one clock, nothing that moves."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from playwright.sync_api import Page, Route, sync_playwright

from tests.look.layout import View
from tests.look.seeded import NOW, Platform

PROBE = Path(__file__).with_name("probe.js").read_text()
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FACES = {
    ("Look Sans", "100 500"): "DejaVuSans.ttf",
    ("Look Sans", "501 900"): "DejaVuSans-Bold.ttf",
    ("Look Mono", "100 500"): "DejaVuSansMono.ttf",
    ("Look Mono", "501 900"): "DejaVuSansMono-Bold.ttf",
}
"""The product uses the fonts of the reader's system. These are wide: what fits here fits elsewhere, too."""
STYLE = "".join(
    f"@font-face {{ font-family: '{name}'; font-weight: {weights}; src: url(/look-fonts/{file}); }}"
    for (name, weights), file in FACES.items()
) + (
    ":root { --mantine-font-family: 'Look Sans' !important; --mantine-font-family-headings: 'Look Sans' "
    "!important; --mantine-font-family-monospace: 'Look Mono' !important; caret-color: transparent; } "
    "math { font-family: 'Look Sans' !important; }"
)
SCRIPT = f"""
const sheet = new CSSStyleSheet();
sheet.replaceSync({json.dumps(STYLE)});
document.adoptedStyleSheets = [sheet];
"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"]
WHOLE = "delete window.IntersectionObserver;"
"""A whole page is looked at, not what a window shows of it: all charts are drawn where a browser cannot tell."""
AFRESH = "try { sessionStorage.clear(); } catch {}"
"""A page that is opened knows nothing of those before it: no draft, no place to which it was scrolled."""
READY = {"ready": True, "reasons": [], "warnings": []}
PAUSE, LONGEST = 0.12, 20.0
"""Seconds between two looks, and until what does not come to rest is a fault."""
SCHEME_IS = "(scheme) => document.documentElement.dataset.mantineColorScheme === scheme"
FONTS_LOADED = "() => Promise.all([...document.fonts].map((each) => each.load())).then(() => true)"


@contextmanager
def browser(executable: str) -> Iterator[Any]:
    """Run Chromium."""
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


@contextmanager
def page_of(running: Any, platform: Platform, *, frozen: bool = True) -> Iterator[Page]:
    """Open a page that is signed in; `frozen`: with the font and the clock of this module."""
    context = running.new_context(
        viewport={"width": 1440, "height": 900},
        **{"locale": "en-US", "timezone_id": "UTC", "reduced_motion": "reduce", "bypass_csp": True},
    )
    context.set_default_timeout(30_000)
    context.add_init_script(WHOLE)
    context.add_init_script(AFRESH)
    page = context.new_page()
    if frozen:
        context.route("**/look-fonts/*", _font)
        context.route("**/readyz", lambda route: route.fulfill(json=READY))  # it would tell that there is no Redis
        context.add_init_script(SCRIPT)
        page.clock.set_fixed_time(NOW)
    page.goto(f"{platform.url}/login?token={platform.token}")
    yield page
    context.close()


def _font(route: Route) -> None:
    route.fulfill(path=FONTS / Path(route.request.url).name, content_type="font/ttf")


def probe(page: Page) -> dict[str, Any]:
    """Return what is to be seen of a page once it has come to rest: twice the same, and nothing is loading."""
    page.evaluate(FONTS_LOADED)
    end = time.monotonic() + LONGEST
    before = None
    while time.monotonic() < end:
        now: dict[str, Any] = page.evaluate(PROBE)
        if now == before and not now["busy"]:
            return now
        before = now
        time.sleep(PAUSE)
    raise AssertionError(f"{page.url} does not come to rest")


def see(page: Page, width: int, scheme: str) -> tuple[View, list[str]]:
    """Return what is seen at a width and in a colour scheme, and the faults that need no comparison."""
    page.set_viewport_size({"width": width, "height": 844 if width < 600 else 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(SCHEME_IS, arg=scheme)  # a busy machine takes a while to follow
    found = probe(page)
    return View.of(found["boxes"]), found["faults"]
