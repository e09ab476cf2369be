"""Latency of an evaluation from the rank that wrote it to the browser that draws it.

Runs all of Hooke with a run under MPI, and headless Chromium on the run's page. A point counts as displayed when
the page has received the response that contains it; the chart draws it in the next animation frame.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
from hooke.spec.journal import records
from playwright.sync_api import sync_playwright

NOTE_POINTS = """
window.received = {};
const ask = window.fetch;
window.fetch = async (...request) => {
  const answer = await ask(...request);
  if (answer.url.endsWith("/api/v1/series")) {
    const body = await answer.clone().json();
    for (const series of body.series.filter((one) => one.metric === "validation_accuracy"))
      for (const samples of series.x) window.received[samples] ??= Date.now() / 1000;
  }
  return answer;
};
"""
"""Records the time at which each sample count was first in a response."""

SPEC = {
    "name": "point to screen",
    "workload": {"name": "digits-mlp"},
    "variants": [{"name": "Sync SGD", "algorithm": "sync-sgd"}],
    "baseline": "Sync SGD",
    "clusters": [{"name": "local", "workers": [1], "seeds": 1}],
    "budget": {"samples": 600_000},
    "evaluation": {"every": 20_000},
}


def measure() -> Iterator[tuple[str, float, str, float | None]]:
    browser = shutil.which("chromium")
    if browser is None:
        print("point_to_screen: no chromium in PATH, not measured", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="hk-") as folder:
        home = Path(folder, "home")
        process = subprocess.Popen(
            [Path(sys.executable).with_name("hooke"), "up", "--home", home], stdout=subprocess.PIPE, text=True
        )
        try:
            delays = sorted(_delays(_login_address(process), home, browser))
        finally:
            process.terminate()
            process.wait(30)
    yield "evaluation written to received by the page, median", delays[len(delays) // 2], "s", 1.0
    yield "the same, worst", delays[-1], "s", None


def _login_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if "/login?token=" in line:
            return line[line.index("http") :].strip()
    raise RuntimeError("hooke up ended before it was ready")


def _delays(login: str, home: Path, browser: str) -> list[float]:
    base, token = login.split("/login?token=")
    with httpx.Client(base_url=f"{base}/api/v1", headers={"Authorization": f"Bearer {token}"}) as api:
        experiment = api.post("/experiments", json=SPEC).raise_for_status().json()["id"]
        run = api.get("/runs", params={"experiment": experiment}).raise_for_status().json()["items"][0]["id"]
        with sync_playwright() as playwright:
            page = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
            page.add_init_script(NOTE_POINTS)
            page.goto(login)
            page.goto(f"{base}/runs/{run}?axis=samples")
            while api.get(f"/runs/{run}").json()["state"] != "succeeded":
                page.wait_for_timeout(200)
            page.wait_for_timeout(2000)
            received = {round(float(x)): at for x, at in page.evaluate("received").items()}
    written = dict(_written(next(home.glob("**/journal.0.jsonl"))))
    first = min(received.values())
    return [received[s] - at for s, at in written.items() if s in received and at > first]


def _written(journal: Path) -> Iterator[tuple[int, float]]:
    """Yield (samples, unix time) of every evaluation: its wall time is relative to the start of the loop."""
    found = list(records(journal))
    start = next(r for r in found if r.kind == "start")
    assert all(a.seq < b.seq for a, b in pairwise(found))
    for record in found:
        if record.kind == "evaluation":
            yield record.samples, start.unix + record.wall
