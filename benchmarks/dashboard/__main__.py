"""The page of a large experiment in Chromium: time to open, memory, frames, shifts of the layout.

    python -m benchmarks.dashboard [run] [--runs 100] [--points 10000] [--home FOLDER] [--profile FOLDER]
    python -m benchmarks.dashboard publish           write docs/results/dashboard.md

Starts an API on a new folder with SQLite, stores the experiment through ingest (minutes), opens its page in the
Chromium of this machine and uses it by real pointer events. A record is stored in .results/dashboard. `--home`
keeps the data for the next measurement.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import speed
from benchmarks.api.bodies import FURTHER
from benchmarks.api.figures import Figure
from benchmarks.api.running import commit, line
from benchmarks.api.server import Server, check_environment, served
from benchmarks.dashboard import acts, live, page, seeding
from benchmarks.dashboard.browsing import Chromium, Looking, running
from benchmarks.evidence import machine
from benchmarks.evidence.store import ROOT, write
from tests.conftest import find_program

STORE = ROOT / ".results" / "dashboard"
OF_STEPS = ("train_loss", "throughput", "communication_fraction", "bytes_sent")
MORE = ".".join((*OF_STEPS, *FURTHER[:14]))
VIEWS = {"2 charts": "", "20 charts": f"?more={MORE}", "20 charts, each seed": f"?more={MORE}&seeds=each"}
OPEN_MS, FPS, MEMORY_MB, SHIFT = 2000.0, 60.0, 400.0, 0.01
"""The goals."""
FPS_ROUNDING = 0.5
"""Frames per second that the clock of frames may lose in a measurement of seconds."""


def main() -> int:
    """Do what the command line says; return the exit status."""
    options = _arguments()
    if options.do == "publish":
        print(page.publish(page.read(STORE), ROOT / "docs" / "results"))
        return 0
    return _run(options)


def _run(options: Any) -> int:
    check_environment()
    executable = find_program("browser")
    if executable is None:
        sys.exit("benchmarks.dashboard: there is no Chromium on this machine: install it")
    folder = options.home or Path(tempfile.mkdtemp(prefix="hooke-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    built = {"HOOKE_DASHBOARD": str(options.dashboard.resolve())} if options.dashboard else {}
    server = Server(folder / "home", None, seeding.PATIENT | built)
    try:
        server.start()
        live_run = seeding.known(server.home, options.runs, options.points, options.evaluations)
        if live_run is None:
            began = time.monotonic()
            live_run = seeding.seed(server, options.runs, options.points, options.evaluations)
            print(f"stored in {time.monotonic() - began:.0f} s")
        with running(executable) as chromium:
            record = _measured(server, chromium, live_run, options)
    finally:
        server.close()
        if options.home is None:
            shutil.rmtree(folder, ignore_errors=True)
    place = STORE / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(record['unix']))}.json"
    write(place, record)
    print(f"load average {record['load_before']:.1f} before, {record['load_after']:.1f} after; record: {place}")
    return 0


def _arguments() -> Any:
    parser = argparse.ArgumentParser(
        prog="benchmarks.dashboard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", nargs="?", default="run", choices=("run", "publish"))
    parser.add_argument("--runs", type=int, default=100, help="a multiple of 4")
    parser.add_argument(
        "--points", type=int, default=10_000, help="steps of a run, points of its metrics of steps"
    )
    parser.add_argument("--evaluations", type=int, default=10_000, help="of a run, of 20 metrics each")
    parser.add_argument("--home", type=Path, help="a folder that keeps the data")
    parser.add_argument("--views", nargs="*", default=[*VIEWS, live.VIEW], choices=[*VIEWS, live.VIEW])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dashboard", type=Path, help="a built dashboard, by default that of this checkout")
    parser.add_argument("--profile", type=Path, help="a folder for profiles of the page's script")
    return parser.parse_args()


def _measured(server: Server, chromium: Chromium, live_run: seeding.Seeded, options: Any) -> dict[str, Any]:
    hardware = machine.hardware()
    print(
        f"{machine.title_of(hardware)}; Chromium {chromium.browser.version} without a window and a GPU; "
        f"{options.runs} runs x {options.points:,} steps x {options.evaluations:,} evaluations, "
        "20 metrics drawn, one run going on"
    )
    record: dict[str, Any] = {
        **{"schema": "hooke.bench-dashboard/1", "unix": time.time(), "commit": commit(), "hardware": hardware},
        **{
            "chromium": chromium.browser.version,
            "runs": options.runs,
            "points": options.points,
            "evaluations": options.evaluations,
            "rounds": options.rounds,
            "dashboard": "another build" if options.dashboard else "of this checkout",
        },
        **{"load_before": os.getloadavg()[0], "speed_ms": speed.probe(), "figures": [], "acts": {}},
    }
    for view in options.views:
        print(f"{view}:", flush=True)
        for figure in _of(view, server, chromium, live_run, options, record["acts"]):
            record["figures"].append(figure.document(view))
            print(line(record["figures"][-1], None), flush=True)
    return record | {"load_after": os.getloadavg()[0]}


def _of(  # noqa: PLR0913 - what a view is measured with
    view: str,
    server: Server,
    chromium: Chromium,
    live_run: seeding.Seeded,
    options: Any,
    told: dict[str, Any],
) -> list[Figure]:
    if view != live.VIEW:
        return _of_view(server, chromium, live_run, view, options, told)
    with served(None, seeding.PATIENT) as other:
        figures, told[view] = live.measured(other, chromium)
    return figures


def _of_view(  # noqa: PLR0913 - what a view is measured with
    server: Server,
    chromium: Chromium,
    live_run: seeding.Seeded,
    view: str,
    options: Any,
    told: dict[str, Any],
) -> list[Figure]:
    path = f"/experiments/{live_run.experiment}{VIEWS[view]}"
    firsts, later = [], []
    for _ in range(options.rounds):
        server.restart()
        for found in (firsts, later):
            look = Looking(chromium, server.url, server.token)
            found.append(look.open(path))
            look.close()
    look = Looking(chromium, server.url, server.token)
    look.open(path)
    look.page.wait_for_timeout(8000)  # also what is out of view has been read
    shifts = look.page.evaluate("() => bench.shifts")
    memory = {"heap": look.heap(), **chromium.memory()}
    watched = {"point": acts.point, "zooms": acts.zooms, "pan": acts.pan, "scroll": acts.scroll}
    done = {}
    for name, act in watched.items():
        if name == "pan":
            acts.zoom(look)
        if options.profile:
            options.profile.mkdir(parents=True, exist_ok=True)
            look.profile(options.profile / f"{view}-{name}.cpuprofile".replace(" ", "-"), act)
        done[name] = look.during(act)
        if name == "pan":
            acts.unzoom(look)
    look.page.locator("[data-testid=curves]").evaluate("each => each.scrollIntoView()")
    done["stream"] = look.during(acts.stream(server, live_run))
    after = {"heap": look.heap(), **chromium.memory()}
    look.close()
    told[view] = {"first": firsts, "later": later, "memory": memory, "memory_after": after, **done}
    return [
        _ms("charts in view drawn, first look after a start of the API", firsts, "opened", OPEN_MS),
        _ms("the same, later looks of a browser without a cache", later, "opened", OPEN_MS),
        _ms("of it: tasks above 50 ms", later, "long", None),
        _ms("of it: processor time of the main thread", later, "task_ms", None),
        Figure("answers of the API to it", "MB", tuple(each["bytes"] / 1e6 for each in later)),
        Figure("layout shift while it opens", "", (shifts,), None),
        Figure("JavaScript heap", "MB", (memory["heap"],), None),
        Figure("memory of its renderer processes (PSS)", "MB", (memory["renderers"],), MEMORY_MB),
        Figure("the same after all of this", "MB", (after["renderers"],), MEMORY_MB),
        Figure("memory of all processes of the browser (PSS)", "MB", (after["all"],), None),
        *(each for name, found in done.items() for each in _of_frames(name, found)),
        Figure("layout shift while a run grows", "", (done["stream"]["shifts"],), SHIFT),
    ]


def _ms(name: str, found: list[dict[str, float]], key: str, goal: float | None) -> Figure:
    return Figure(name, "ms", tuple(each[key] for each in found), goal)


WORDS = {
    "point": "the pointer moves over a chart",
    "zooms": "zooming in and out",
    "pan": "moving what is in view",
    "scroll": "scrolling through all charts",
    "stream": "a run grows",
}


def _of_frames(name: str, found: dict[str, Any]) -> list[Figure]:
    told = WORDS[name]
    still = name != "scroll"  # what is near the view changes, and is known at the end alone
    figures = [
        Figure(told, "frames/s", (found["fps"],), FPS - FPS_ROUNDING, higher=True),
        Figure(f"{told}: longest frame", "ms", (found["worst_ms"],)),
        Figure(f"{told}: processor time of the main thread per frame", "ms", (found["task_ms"],), 1000 / FPS),
        Figure(f"{told}: processor time of all processes per frame", "ms", (found["cpu_ms"],)),
    ]
    aside = Figure(f"{told}: charts drawn that are not near the view", "charts", (found["drawn_out_of_view"],), 0)
    return [*figures, aside] if still else figures


if __name__ == "__main__":
    sys.exit(main())
