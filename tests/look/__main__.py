"""`make look`: look at every screen at three widths, light and dark, and say what is not as it was, or faulty.

Faults need no comparison: what axe finds, text that is cut or lies on other text, a page wider than its window,
blank charts, targets below 24 px. Places, sizes and styles are compared with `expected/`; `--keep` makes what is
seen the expectation. `--pictures FOLDER` keeps pictures, for people alone. Exit status 1: there is something.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, Page

from tests.conftest import find_program
from tests.look import layout
from tests.look.looking import browser, page_of, see
from tests.look.screens import SCHEMES, SCREENS, WIDTHS, Screen, go
from tests.look.seeded import Platform, platform
from tests.look.seeded_more import fill


def main() -> int:
    """Look; return 1 if something is not as it should be."""
    asked = _arguments()
    chosen = [each for each in SCREENS if not asked.screens or each.name in asked.screens]
    executable = find_program("browser")
    if executable is None:
        sys.exit("no Chromium on this machine: install it, or `.venv/bin/playwright install chromium`")
    status = 0
    with ExitStack() as stack:
        running = stack.enter_context(browser(executable))
        pages: dict[tuple[bool, bool], tuple[Platform, Page]] = {}
        for empty, more in sorted({(each.empty, each.more) for each in chosen}):
            made = stack.enter_context(platform(fill if more else None, empty=empty))
            pages[empty, more] = made, stack.enter_context(page_of(running, made))
        for screen in chosen:
            made, page = pages[screen.empty, screen.more]
            for line in _looked(screen, made, page, asked):
                print(line, flush=True)
                status = 1
    print("something is not as it should be" if status else f"{len(chosen)} screens are as they should be")
    return status


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.look", description=__doc__)
    parser.add_argument("screens", nargs="*", help="names of screens, by default all")
    parser.add_argument("--keep", action="store_true", help="what is seen becomes the expectation")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of each view")
    parser.add_argument("--no-axe", action="store_true", help="leave axe out, which takes most of the time")
    return parser.parse_args()


def _looked(screen: Screen, made: Platform, page: Page, asked: Any) -> Iterator[str]:
    """Look at a screen at all widths and in both schemes; yield what is wrong."""
    before = layout.read(screen.name)
    seen: dict[str, layout.View] = {}
    for width in screen.widths:
        # the width first: what has opened closes when the window changes
        page.set_viewport_size({"width": width, "height": 844 if width < 600 else 900})
        page.emulate_media(color_scheme=SCHEMES[0])
        try:
            go(page, made.url, screen, made.path(screen.path))
        except Error as error:
            yield f"{screen.name} {width}: cannot be reached: {error.message.splitlines()[0]}"
            return
        for scheme in SCHEMES:
            where = f"{screen.name} {width} {scheme}"
            view, faults = see(page, width, scheme)
            found = [*faults]
            if not asked.no_axe and width != 1024:
                found += _axe(page)
            if scheme == SCHEMES[0]:
                seen[f"{width}"] = layout.View(view.boxes)
                if not asked.keep and f"{width}" in before:
                    found += layout.moved(before[f"{width}"].boxes, view.boxes)
            else:
                found += [
                    f"in the other scheme, {each}" for each in layout.moved(seen[f"{width}"].boxes, view.boxes)
                ]
            if width == WIDTHS[0]:
                seen[f"{width}-{scheme}"] = layout.View({}, view.styles)
                if not asked.keep and f"{width}-{scheme}" in before:
                    found += layout.restyled(before[f"{width}-{scheme}"].styles, view.styles)
            yield from (f"{where}: {each}" for each in layout.told(found))
            if asked.pictures:
                asked.pictures.mkdir(parents=True, exist_ok=True)
                path = asked.pictures / f"{screen.name}-{width}-{scheme}.png"
                page.screenshot(path=path, full_page=screen.act is None)  # the whole page would move what is open
    if asked.keep:
        layout.write(screen.name, seen)
    elif not before:
        yield f"{screen.name}: nothing is expected of it yet: look at its pictures, then --keep"


def _axe(page: Page) -> list[str]:
    """Return what axe finds, a line for each rule: its name, what it says, and the elements."""
    found = Axe().run(page).response["violations"]
    return [
        f"axe: {each['id']}: {each['help']}: "
        + "; ".join(" ".join(map(str, node["target"])) for node in each["nodes"][:3])
        for each in found
    ]


if __name__ == "__main__":
    sys.exit(main())
