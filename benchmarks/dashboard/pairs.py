"""Processor time per frame of the same page in several builds or with further styles, in turns.

    python -m benchmarks.dashboard.pairs --home FOLDER --build before=FOLDER --build after=FOLDER
        [--style "still=* {animation: none}"] [--acts rest point zooms pan scroll] [--rounds 6]

All pages are open at once, and each round does the same with all of them, one after the other, so that what else
the machine does meets all alike. What is compared is time of the main thread's processor, which does not count
waiting. A style is the first build with these rules. `--home`: data that an earlier measurement with `--home` has
left.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.api.server import Server, check_environment
from benchmarks.dashboard import acts, seeding
from benchmarks.dashboard.__main__ import VIEWS
from benchmarks.dashboard.browsing import Looking, running
from tests.conftest import find_program

SETTLE_MS = 10_000
STILL = "*, *::before, *::after { animation: none !important; }"
"""Of the pages whose turn it is not."""


@dataclass
class Side:
    """A page with further rules of style, and what was measured of it: by act, each round."""

    name: str
    look: Looking
    rules: str
    found: dict[str, list[dict[str, float]]]

    def dress(self, rules: str) -> None:
        """Put rules of style on the page, in place of those before."""
        self.look.page.evaluate(
            """rules => {
                const found = document.getElementById("rules") ?? document.createElement("style");
                found.id = "rules";
                found.textContent = rules;
                document.head.append(found);
            }""",
            rules,
        )
        self.look.page.wait_for_timeout(200)


def main() -> int:
    """Do what the command line says; return the exit status."""
    options = _arguments()
    check_environment()
    acts.SECONDS = options.seconds
    builds = [each.split("=", 1) for each in options.build]
    styles = [each.split("=", 1) for each in options.style]
    server = Server(options.home / "home", None, seeding.PATIENT)
    try:
        with running(find_program("browser") or sys.exit("there is no Chromium")) as chromium:
            sides: list[Side] = []
            for name, folder in builds:
                server.restart({"HOOKE_DASHBOARD": str(Path(folder).resolve())})
                look = Looking(chromium, server.url, server.token)
                look.open(f"/experiments/{_experiment(server.home)}{VIEWS[options.view]}")
                look.page.wait_for_timeout(SETTLE_MS)
                sides.append(Side(name, look, "", {}))
            sides += [Side(name, sides[0].look, rules, {}) for name, rules in styles]
            for number in range(options.rounds):
                for act in options.acts:
                    _round(sides, number, act)
                print(f"after {number + 1} of {options.rounds} rounds:")
                for act in options.acts:
                    _tell(sides, act)
    finally:
        server.close()
    return 0


def _arguments() -> Any:
    parser = argparse.ArgumentParser(
        prog="benchmarks.dashboard.pairs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--build", action="append", required=True, help="NAME=FOLDER of a built dashboard")
    parser.add_argument("--style", action="append", default=[], help="NAME=RULES")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--acts", nargs="+", default=[*ACTS], choices=[*ACTS])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--view", default="20 charts", choices=[*VIEWS])
    return parser.parse_args()


def _experiment(home: Path) -> str:
    return seeding.Seeded.read(home).experiment


def _rest(look: Looking) -> None:
    look.page.wait_for_timeout(1000 * acts.SECONDS)


def _pan(look: Looking) -> None:
    acts.zoom(look)
    acts.pan(look)
    acts.unzoom(look)


ACTS: dict[str, Callable[[Looking], None]] = {
    "rest": _rest,
    "point": acts.point,
    "zooms": acts.zooms,
    "pan": _pan,
    "scroll": acts.scroll,
}


def _round(sides: list[Side], number: int, act: str) -> None:
    """Do something on each side, in an order that changes from round to round."""
    for i in range(len(sides)):
        side = sides[(i + number) % len(sides)]
        page = side.look.page
        page.locator("[data-testid=curves]").evaluate("each => each.scrollIntoView()")
        side.dress(side.rules)
        side.found.setdefault(act, []).append(side.look.during(ACTS[act]))
        page.mouse.move(2, 2)
        side.dress(STILL)


def _tell(sides: list[Side], act: str) -> None:
    print(f"{act}: ms of the main thread per frame, and less than {sides[0].name} (range); frames/s")
    first = [each["task_ms"] for each in sides[0].found[act]]
    for side in sides:
        times = [each["task_ms"] for each in side.found[act]]
        less = sorted(a - b for a, b in zip(first, times, strict=True))
        rate = statistics.median(each["fps"] for each in side.found[act])
        print(
            f"  {side.name:24s} {statistics.median(times):6.2f}   {statistics.median(less):+6.2f} "
            f"({less[0]:+.2f} to {less[-1]:+.2f})   {rate:5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
