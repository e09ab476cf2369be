"""The screens that are looked at, and how each is reached."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, Route

from tests.look.answers import (
    ADMINISTERED,
    DELETED,
    FETCHED,
    FETCHING,
    LEADERBOARD,
    NOT_FETCHED,
    OCCUPANCY,
    PROJECTS,
    PROVIDER,
    QUEUE,
    VERSIONS,
    WEBHOOKS,
)

WIDTHS = (1440, 1024, 390)
SCHEMES = ("light", "dark")


@dataclass(frozen=True)
class Screen:
    """One screen, in one state."""

    name: str
    path: str
    """With the ids of `tests.look.seeded.Platform` in braces."""
    ready: str
    """A selector of what is there when it is."""
    act: Callable[[Page], None] | None = None
    """What a person does then."""
    empty: bool = False
    """Of a platform without experiments."""
    more: bool = False
    """Of that of `tests.look.seeded_more`."""
    told: dict[str, Any] | None = None
    """Answers of the API, by a pattern of the address, in place of its own; None: it refuses."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the widths at which it is looked at: all, but of what is opened the ends alone."""
        return WIDTHS if self.act is None else (WIDTHS[0], WIDTHS[-1])


def _click(selector: str, shown: str, *before: str) -> Callable[[Page], None]:
    """Return how something is opened: clicks, and what then is there."""

    def act(page: Page) -> None:
        for each in (*before, selector):
            page.locator(each).first.click()
        page.locator(shown).first.wait_for()

    return act


def _replace(page: Page) -> None:
    page.locator('[data-field="/name"]').fill("Half done")
    page.locator("[data-testid=plan][data-settled=true]").wait_for()
    page.get_by_test_id("start-from").click()
    page.get_by_test_id("example").nth(3).click()
    page.get_by_role("dialog").wait_for()


def _find(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("sync")
    page.get_by_role("group", name="Algorithms").wait_for()


def _find_runs(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("run 1")
    page.get_by_role("group", name="Runs").get_by_role("option").first.wait_for()


def _complete(page: Page) -> None:
    page.get_by_test_id("filter").fill("sta")
    page.get_by_role("option").first.wait_for()


def _as_table(part: str) -> Callable[[Page], None]:
    """Return how the figures behind a drawing are opened."""

    def act(page: Page) -> None:
        page.get_by_test_id(part).get_by_role("button", name="Export:").first.click()
        page.get_by_role("menuitem", name="Show as a table").click()
        page.get_by_role("dialog").wait_for()

    return act


def _extend(page: Page) -> None:
    page.get_by_role("combobox", name="Add variant").click()
    page.get_by_role("option", name="SlowMo").first.click()
    page.locator("[data-testid=plan][data-settled=true]").wait_for()


def _kinds(page: Page) -> None:
    page.locator('[data-field="/name"]').fill("Kinds")
    page.get_by_test_id("add-virtual-cluster").click()
    page.get_by_role("menuitem").first.click()
    page.get_by_label("Kinds of workers").fill("hogwild-cpu:8, 2 cpu@0.5")
    page.get_by_label("Devices").fill("2 v100, cpu-28")
    page.get_by_label("Devices").blur()
    page.locator("[data-testid=plan][data-settled=true]").wait_for()


def _speeds(page: Page) -> None:
    page.get_by_test_id("add-virtual-cluster").click()
    page.get_by_role("menuitem", name="With the speeds of a run").click()
    page.get_by_label("Network").wait_for()


def _change(page: Page) -> None:
    page.locator('[data-field="/evaluation/every"]').fill("1000")
    page.locator('[data-field="/clusters/0/seeds"]').fill("5")
    page.get_by_test_id("has-target").uncheck(force=True)
    page.locator("[data-testid=plan][data-settled=true]").wait_for()
    page.get_by_role("tab", name="Changes").click()
    page.get_by_test_id("change").first.wait_for()


def _change_yaml(page: Page) -> None:
    page.locator("[data-testid=plan][data-settled=true]").wait_for()
    page.evaluate(LINE_BY_LINE)


LINE_BY_LINE = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    for (const each of [document.documentElement, document.querySelector(".cm-scroller")]) {
        for (let y = 0; y < each.scrollHeight; y += 300) { each.scrollTop = y; await frame(); await frame(); }
        each.scrollTop = 0;
    }
    await frame();
}"""
"""The editor guesses how high lines are that it has not drawn: all are drawn once."""


def _away(page: Page) -> None:
    """The API is not to be reached any more."""
    page.context.set_offline(True)
    page.locator("[data-testid=connection]:not([data-state=live])").wait_for()


def _away_page(page: Page) -> None:
    """A page is asked for that nobody has opened yet, while the API is away."""
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("link", name="Each at its best").click()
    page.get_by_role("button", name="Try again").wait_for()


ROWS = quote(json.dumps(["1/local", "2"]))

SCREENS = (
    Screen("home", "/", "[data-testid=best-curve], [data-testid=experiment-item]"),
    Screen("home-empty", "/", "[data-testid=empty]", empty=True),
    Screen("home-nothing", "/?filter=archived", "[data-testid=nothing-fits]"),
    Screen("home-menu", "/", "[data-testid=item-menu]", _click("[data-testid=item-menu]", "[role=menu]")),
    Screen(
        "home-cancel",
        "/?filter=state+%3D+running",
        "[data-testid=item-menu]",
        _click(
            "role=menuitem[name='Cancel its runs']", "[data-testid=item-cancel-confirm]", "[data-testid=item-menu]"
        ),
    ),
    Screen("home-filter", "/", "[data-testid=experiment-item]", _complete),
    Screen(
        "home-selected",
        "/",
        "[data-testid=experiment-item]",
        _click("[data-testid=experiment-item] input[type=checkbox]", "[data-testid=selection]"),
    ),
    Screen(
        "home-marks",
        "/",
        "[data-testid=item-menu]",
        _click("text=Tags and note", "[role=dialog]", "[data-testid=item-menu]"),
    ),
    Screen(
        "home-sorted",
        "/?sort=-duration&columns=verdict.user.finished.duration.state.progress",
        "[data-testid=experiment-item]",
    ),
    Screen("home-columns", "/", "[data-testid=columns]", _click("[data-testid=columns]", "[role=menu]")),
    Screen("home-projects", "/?project=default", "[data-testid=project]", told=PROJECTS),
    Screen("deleted", "/?show=deleted", "[data-testid=deleted-item]", told=DELETED),
    Screen(
        "home-move",
        "/",
        "[data-testid=project]",
        _click("text=Move to another project", "[data-testid=move-into]", "[data-testid=item-menu]"),
        told=PROJECTS,
    ),
    Screen("person", "/", "[data-testid=person]", _click("[data-testid=person]", "[role=menu]")),
    Screen("palette", "/", "[data-testid=experiment-item]", _find),
    Screen("palette-runs", "/", "[data-testid=experiment-item]", _find_runs),
    Screen("new", "/new", "[data-testid=form]"),
    Screen("new-example", "/new?example=true", "[data-testid=plan][data-settled=true]"),
    Screen("new-examples", "/new", "[data-testid=form]", _click("[data-testid=start-from]", "[role=menu]")),
    Screen(
        "new-variant",
        "/new?example=true",
        "[data-testid=plan][data-settled=true]",
        _click("[data-testid=edit-variant]", "[data-testid=variant-card] fieldset"),
    ),
    Screen("new-replace", "/new", "[data-testid=form]", _replace),
    Screen(
        "new-virtual",
        "/new",
        "[data-testid=form]",
        _click("[data-testid=add-virtual-cluster]", "[role=menu]"),
    ),
    Screen("new-extension", "/new?extend={full}", "[data-testid=present-variants]", _extend),
    Screen("new-clone", "/new?clone={full}", "[data-testid=plan][data-settled=true]"),
    Screen("new-kinds", "/new", "[data-testid=form]", _kinds),
    Screen("new-speeds", "/new", "[data-testid=form]", _speeds),
    Screen("experiment", "/experiments/{full}", "[data-testid=run-row]"),
    Screen("experiment-seeds", "/experiments/{full}?seeds=each&group=variant", "[data-testid=run-group]"),
    Screen(
        "experiment-charts",
        "/experiments/{full}?more=train_loss-samples.bytes_sent&phases=time&columns=variant.method.loss.duration",
        "[data-testid=chart-bytes_sent]:not([data-points='0'])",
    ),
    Screen(
        "experiment-energy", "/experiments/{full}?columns=variant.seed.energy&sort=energy", "[data-testid=run-row]"
    ),
    Screen("experiment-table", "/experiments/{full}", "[data-testid=answer-lines]", _as_table("verdict")),
    Screen(
        "experiment-add-seeds",
        "/experiments/{full}",
        "[data-testid=add-seeds]",
        _click("[data-testid=add-seeds]", "[role=dialog]"),
    ),
    Screen(
        "experiment-rename",
        "/experiments/{full}",
        "[data-testid=rename]",
        _click("[data-testid=rename]", "[data-testid=new-name]"),
    ),
    Screen(
        "experiment-export",
        "/experiments/{full}",
        "[data-testid=run-row]",
        _click("[data-testid=export]", "[role=menu]"),
    ),
    Screen("experiment-versions", "/experiments/{full}?versions=2", "[data-testid=run-row]", told=VERSIONS),
    Screen("experiment-failed", "/experiments/{failed}", "[data-testid=run-row]"),
    Screen("experiment-running", "/experiments/{running}", "[data-testid=run-row]"),
    Screen(
        "experiment-cancel",
        "/experiments/{running}",
        "[data-testid=cancel-experiment]",
        _click("[data-testid=cancel-experiment]", "[role=dialog]"),
    ),
    Screen("experiment-epochs", "/experiments/{full}?axis=epochs", "[data-testid=run-row]"),
    Screen(
        "experiment-fault", "/experiments/{full}", "[data-testid=error]", told={"**/api/v1/experiments/*": None}
    ),
    Screen(
        "algorithm-fault", "/algorithms/sync-easgd", "[data-testid=error]", told={"**/api/v1/algorithms*": None}
    ),
    Screen("new-fault", "/new", "[data-testid=error]", told={"**/api/v1/workloads*": None}),
    Screen("run-fault", "/runs/{run}", "[data-testid=error]", told={"**/api/v1/runs/*": None}),
    Screen("experiment-long", "/experiments/{long}", "[data-testid=run-row]"),
    Screen("found-runs", "/runs?filter=state%20%3D%20succeeded&sort=-accuracy", "[data-testid=found-run]"),
    Screen("found-runs-fault", "/runs?filter=worker%20%3D%208", "[data-testid=filter][aria-invalid=true]"),
    Screen("run", "/runs/{run}", "canvas"),
    Screen("run-settings", "/runs/{run}?spec=defaults&scale=log&smooth=yes", "[data-testid=changed-setting]"),
    Screen("run-fetching", "/runs/{run}", "[data-testid=fetch] progress", told=FETCHING),
    Screen("run-fetched", "/runs/{run}", "[data-testid=fetch] a", told=FETCHED),
    Screen("run-not-fetched", "/runs/{run}", "[data-testid=fetch] [role=alert]", told=NOT_FETCHED),
    Screen("run-failed", "/runs/{failed_run}", "text=NaN"),
    Screen("compare", f"/compare?rows={ROWS}", "[data-testid=compared-row]"),
    Screen("compare-table", f"/compare?rows={ROWS}", "[data-testid=compared-row]", _as_table("trade-offs")),
    Screen("compare-runs", "/compare?rows=%5B%22{run}%22%2C%22{failed_run}%22%5D", "[data-testid=compared-row]"),
    Screen("compare-empty", "/compare", "h1"),
    Screen("leaderboard", "/leaderboard", "[data-testid=method], [data-testid=empty]"),
    Screen("leaderboard-wide", "/leaderboard", '[data-testid=ranking] >> text="Async SGD"', told=LEADERBOARD),
    Screen("leaderboard-empty", "/leaderboard", "h1", empty=True),
    Screen("algorithms", "/algorithms", "main a[href^='/algorithms/']"),
    Screen("algorithm", "/algorithms/sync-easgd", "[data-testid=verified-table]"),
    Screen("clusters", "/clusters", "[data-testid=occupancy-summary]", told=OCCUPANCY),
    Screen("clusters-empty", "/clusters", "h1", empty=True),
    Screen("queue", "/clusters/local/queue", "[data-testid=queue-table]", told=QUEUE),
    Screen("account", "/account", "h1"),
    Screen("administration", "/administration", "h1"),
    Screen(
        "projects",
        "/administration",
        "[data-testid=projects]",
        _click("[data-testid=project-vision] [data-testid=members]", "[data-testid=project-members] table"),
        told=ADMINISTERED,
    ),
    Screen(
        "projects-change",
        "/administration",
        "[data-testid=projects]",
        _click("[data-testid=project-vision] [data-testid=change]", "[data-testid=change-project]"),
        told=ADMINISTERED,
    ),
    Screen(
        "webhooks",
        "/administration",
        "[data-testid=webhooks]",
        _click("[data-testid=show-deliveries]", "[data-testid=delivery-list]"),
        told=WEBHOOKS,
    ),
    Screen("calibration", "/clusters/local/calibration", "h1"),
    Screen("invite", "/invite", "[data-testid=no-invite]"),
    Screen("not-found", "/nowhere", "h1"),
    Screen("sign-in", "/sign-in", "h1"),
    Screen("sign-in-provider", "/sign-in?problem=groups", "[data-testid=provider]", told=PROVIDER),
)


MORE = (
    Screen("tuned", "/experiments/{tuned}", "[data-testid=search]", more=True),
    Screen("scaling", "/experiments/{scaling}", "[data-testid=scaling-chart] canvas", more=True),
    Screen("run-timeline", "/runs/{traced_run}", "[data-testid=timeline-drawing]", more=True),
    Screen(
        "calibration-filled", "/clusters/local/calibration", "[data-testid=calibration-table], table", more=True
    ),
    Screen("new-yaml", "/new?clone={scaling}&as=yaml", ".cm-content", _change_yaml, more=True),
    Screen("new-changed", "/new?clone={scaling}", "[data-testid=plan][data-settled=true]", _change, more=True),
    Screen("new-twenty", "/new?clone={twenty}", "[data-testid=plan][data-settled=true]", more=True),
    Screen("home-more", "/", "[data-testid=experiment-item]", more=True),
    Screen("compare-more", "/compare?rows=%5B%221%22%2C%222%22%5D", "[data-testid=compared-row]", more=True),
    Screen("runs-more", "/runs?filter=state%20%3D%20succeeded", "[data-testid=found-run]", more=True),
    Screen("away", "/experiments/{scaling}", "[data-testid=run-row]", _away, more=True),
    Screen("away-page", "/", "[data-testid=experiment-item]", _away_page, more=True),
)
SCREENS = (*SCREENS, *MORE)


CONNECTING = "[data-testid=connection]:not([data-state=live])"
"""What a page has at first that is about to follow the server; those before the sign-in have no such note."""


def go(page: Page, url: str, screen: Screen, path: str) -> None:
    """Open a screen that is connected, and do what it is about. What was done before leaves nothing behind."""
    page.unroute_all()
    page.mouse.move(0, 0)
    page.context.set_offline(False)
    for pattern, answer in (screen.told or {}).items():
        page.route(pattern, partial(_tell, answer))
    page.goto(url + path)
    page.locator(screen.ready).first.wait_for()
    page.locator(CONNECTING).wait_for(state="detached")
    if screen.act is not None:
        screen.act(page)


REFUSED = {"title": "Forbidden", "status": 403, "detail": "this session may not read it: sign in as another user"}


def _tell(answer: Any, route: Route) -> None:
    if answer is None:
        route.fulfill(status=403, json=REFUSED, content_type="application/problem+json")
    elif route.request.method == "GET":
        route.fulfill(json=answer)
    else:
        route.fallback()
