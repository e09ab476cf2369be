"""A real Chromium, its processes as the operating system sees them, and what happens to its frames."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PROBE = Path(__file__).with_name("probe.js").read_text()
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
TICK = os.sysconf("SC_CLK_TCK")
FRAME = 1 / 60


@dataclass
class Chromium:
    """A running browser, and the mark by which its processes are found."""

    browser: Browser
    mark: str

    def processes(self) -> dict[int, str]:
        """Return its processes, each with its type: `browser`, `renderer`, `gpu-process`, `utility`..."""
        parents: dict[int, int] = {}
        commands: dict[int, bytes] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    commands[int(entry.name)] = (entry / "cmdline").read_bytes()
                except OSError:  # it has ended
                    continue
                parents[int(entry.name)] = int(fields[1])
        found = {pid for pid, words in commands.items() if self.mark.encode() in words}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return {pid: _type(commands[pid]) for pid in found}

    def cpu(self) -> float:
        """Return the processor seconds that its processes have used."""
        total = 0.0
        for pid in self.processes():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += (int(fields[11]) + int(fields[12])) / TICK
        return total

    def memory(self) -> dict[str, float]:
        """Return MB of proportional memory of its renderers, and of all its processes."""
        sizes = {pid: _pss(pid) for pid in self.processes()}
        kinds = self.processes()
        renderers = sum(size for pid, size in sizes.items() if kinds.get(pid) == "renderer")
        return {"renderers": renderers, "all": sum(sizes.values())}


def _type(command: bytes) -> str:
    for word in command.replace(b"\0", b" ").split(b" "):
        if word.startswith(b"--type="):
            return word.removeprefix(b"--type=").decode()
    return "browser"


def _pss(pid: int) -> float:
    """Return the proportional set size of a process, MB: memory shared by n processes counts an n-th."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) * 1024 / 1e6 for line in text.splitlines() if line.startswith("Pss:"))


@contextmanager
def running(executable: str) -> Iterator[Chromium]:
    """Run Chromium without a window and without a GPU."""
    mark = f"--bench-mark={uuid.uuid4().hex}"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=executable, args=[*ARGUMENTS, mark])
        try:
            yield Chromium(browser, mark)
        finally:
            browser.close()


class Looking:
    """A page, signed in, of a browser that has stored nothing yet."""

    def __init__(self, chromium: Chromium, url: str, token: str) -> None:
        self.chromium, self.url = chromium, url
        self.context = chromium.browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        self.context.set_default_timeout(120_000)
        self.context.add_init_script(PROBE)
        self.context.request.get(f"{url}/login?token={token}", max_redirects=0)
        self.page: Page = self.context.new_page()
        self.cdp = self.context.new_cdp_session(self.page)
        # processor time of the page's main thread: others on the machine make it wait, and do not change that
        self.cdp.send("Performance.enable", {"timeDomain": "threadTicks"})

    def close(self) -> None:
        """Close the page, and forget what it stored."""
        self.context.close()

    def open(self, path: str) -> dict[str, float]:
        """Open a page and scroll to its curves at once; return ms until the charts in view are drawn, and more."""
        self.page.goto(self.url + path, wait_until="commit")
        self.page.wait_for_function("() => bench.opened !== null")
        found: dict[str, float] = self.page.evaluate("() => bench.times()")
        return found | {"task_ms": 1e3 * self._metrics()["TaskDuration"]}

    def heap(self) -> float:
        """Return MB of the page's JavaScript heap after a collection."""
        self.cdp.send("HeapProfiler.collectGarbage")
        return self._metrics()["JSHeapUsedSize"] / 1e6

    def _metrics(self) -> dict[str, float]:
        return {each["name"]: each["value"] for each in self.cdp.send("Performance.getMetrics")["metrics"]}

    def during(self, act: Any) -> dict[str, Any]:
        """Do something, and return what became of the frames meanwhile."""
        before, cpu = self._metrics(), self.chromium.cpu()
        self.page.evaluate("() => bench.begin()")
        act(self)
        found: dict[str, Any] = self.page.evaluate("() => bench.end()")
        after = self._metrics()
        frames = max(1, found["frames"])
        names = {"task_ms": "TaskDuration", "script_ms": "ScriptDuration", "layout_ms": "LayoutDuration"}
        found |= {key: 1e3 * (after[name] - before[name]) / frames for key, name in names.items()}
        return found | {"cpu_ms": 1e3 * (self.chromium.cpu() - cpu) / frames}

    def box(self, chart: str) -> tuple[float, float, float, float]:
        """Return place and size of the drawing area of a chart, px."""
        over = self.page.locator(f"[data-testid={chart}] .u-over").first
        box = over.bounding_box()
        assert box is not None, f"{chart} is not drawn"
        return box["x"], box["y"], box["width"], box["height"]

    def profile(self, path: Path, act: Any) -> None:
        """Write a profile of the page's script, for the browser's own tools, while something is done."""
        import json

        self.cdp.send("Profiler.enable")
        self.cdp.send("Profiler.setSamplingInterval", {"interval": 200})
        self.cdp.send("Profiler.start")
        act(self)
        path.write_text(json.dumps(self.cdp.send("Profiler.stop")["profile"]))


def each_frame(seconds: float) -> Iterator[float]:
    """Yield the share of the time that has passed, 60 times a second."""
    began = time.perf_counter()
    number = 0
    while (passed := time.perf_counter() - began) < seconds:
        yield passed / seconds
        number += 1
        time.sleep(max(0.0, began + number * FRAME - time.perf_counter()))
