"""What somebody does with a page of many charts, by real pointer events."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from benchmarks.api.server import Server
from benchmarks.dashboard import seeding
from benchmarks.dashboard.browsing import Looking, each_frame

SECONDS = 5.0
STREAM_SECONDS = 10.0
GROWTH = 100
"""Steps of each second of the run that grows."""
CHART = "chart-validation_accuracy"
Act = Callable[[Looking], None]


def point(look: Looking) -> None:
    """Move the pointer over a chart and back, twice."""
    x, y, width, height = look.box(CHART)
    for part in each_frame(SECONDS):
        across = 0.5 - 0.48 * math.cos(4 * math.pi * part)
        look.page.mouse.move(x + across * width, y + height / 2)


def zoom(look: Looking) -> None:
    """Zoom to the middle fifth of a chart."""
    x, y, width, height = look.box(CHART)
    mouse = look.page.mouse
    mouse.move(x + 0.4 * width, y + height / 2)
    mouse.down()
    mouse.move(x + 0.5 * width, y + height / 2, steps=8)
    mouse.move(x + 0.6 * width, y + height / 2, steps=8)
    mouse.up()
    look.page.wait_for_timeout(300)


def unzoom(look: Looking) -> None:
    """Show all again."""
    x, y, width, height = look.box(CHART)
    look.page.mouse.dblclick(x + width / 2, y + height / 2)
    look.page.wait_for_timeout(300)


def pan(look: Looking) -> None:
    """Move what is in view of a zoomed chart to and fro."""
    x, y, width, height = look.box(CHART)
    mouse = look.page.mouse
    mouse.move(x + width / 2, y + height / 2)
    look.page.keyboard.down("Shift")
    mouse.down()
    for part in each_frame(SECONDS):
        mouse.move(x + (0.5 + 0.45 * math.sin(4 * math.pi * part)) * width, y + height / 2)
    mouse.up()
    look.page.keyboard.up("Shift")


def zooms(look: Looking) -> None:
    """Zoom in and out for a while."""
    for _ in range(5):
        zoom(look)
        unzoom(look)


def scroll(look: Looking) -> None:
    """Scroll through all charts, and back."""
    look.page.mouse.move(700, 450)
    for part in each_frame(SECONDS):
        look.page.mouse.wheel(0, 45 if part < 0.5 else -45)


def stream(server: Server, live: seeding.Seeded) -> Act:
    """Return the act of watching while evaluations of a run arrive, one request a second."""

    def act(look: Looking) -> None:
        ended = threading.Event()

        def send() -> None:
            with server.client(live.attempt.token) as supervisor:
                while not ended.wait(1.0):
                    seeding.grow(live, supervisor, GROWTH)

        sender = threading.Thread(target=send)
        sender.start()
        look.page.wait_for_timeout(1000 * STREAM_SECONDS)
        ended.set()
        sender.join()
        live.write(server.home)

    return act
