"""The screens that are looked at, and how each is reached."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, Route

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
    told: dict[str, Any] | None = None
    """Answers of the API, by a pattern of the address, in place of its own."""

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
    page.get_by_test_id("start-from").click()
    page.get_by_test_id("example").nth(3).click()
    page.get_by_role("dialog").wait_for()


def _find(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("sync")
    page.get_by_role("group", name="Algorithms").wait_for()


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
    if page.get_by_test_id("edit-variant").count() == 0:  # a tab keeps its draft
        page.get_by_role("combobox", name="Add variant").click()
        page.get_by_role("option", name="SlowMo").first.click()
    page.locator("[data-testid=plan][data-settled=true]").wait_for()


def _kinds(page: Page) -> None:
    page.locator('[data-field="/name"]').fill("Kinds")
    if page.get_by_label("Devices").count() == 0:  # a tab keeps its draft
        page.get_by_test_id("add-virtual-cluster").click()
        page.get_by_role("menuitem").first.click()
    page.get_by_label("Kinds of workers").fill("hogwild-cpu:8, 2 cpu@0.5")
    page.get_by_label("Devices").fill("2 v100, cpu-28")
    page.get_by_label("Devices").blur()
    page.locator("[data-testid=plan][data-settled=true]").wait_for()


MADE = {"created_at": "2026-05-04T09:00:00Z", "created_by": "owner"}


def _project(
    name: str, keep_runs: str, archived: bool, points: int | None = None, quota: int = 0
) -> dict[str, Any]:
    about = {"description": "", "role": "admin", "id": f"prj_{name}", "points": points, "quota": quota}
    return MADE | about | {"name": name, "keep_runs": keep_runs, "archived": archived}


PROJECTS = {
    "**/api/v1/projects": {
        "items": [
            _project("default", "site", False),
            _project("vision", "90 days", False, 4_200_000, 5_000_000),
            _project("language-models-of-the-second-group", "never", True, 50_003_200, 50_000_000),
        ]
    },
    "**/api/v1/projects/*/members": {
        "items": [
            MADE | {"user": "ana", "role": "operator", "disabled": False},
            MADE | {"user": "ben", "role": "viewer", "disabled": True},
        ]
    },
}
DELETED = {
    "**/api/v1/deleted-experiments*": {
        "items": [
            {
                **{"id": "exp_gone", "number": 7, "deleted_by": "ana", "workload": "digits-mlp"},
                "name": "A first try",
                **{"created_at": "2026-05-02T09:00:00Z", "deleted_at": "2026-05-04T09:00:00Z"},
                "purge_at": "2026-05-11T09:00:00Z",
            },
            {
                **{"id": "exp_long", "number": 3, "deleted_by": "retention", "workload": "cifar10-resnet20"},
                "name": "A comparison with a name that is too long for one line of a window that is as narrow as "
                "a phone's",
                **{"created_at": "2026-04-02T09:00:00Z", "deleted_at": "2026-05-01T09:00:00Z"},
                "purge_at": "2026-05-08T09:00:00Z",
            },
        ],
        "next_cursor": None,
    },
}
USER = {"linked": False, "has_password": True, "signed_in_at": "2026-05-04T12:00:00Z", "invite_until": None}
ADMINISTERED = PROJECTS | {
    "**/api/v1/me": {
        **{"name": "ana", "role": "admin", "credential": "session"},
        **{"is_user": True, "users": True, "projects": {}},
    },
    "**/api/v1/users": {
        "items": [
            USER | MADE | {"name": "ana", "role": "admin", "disabled": False},
            USER | MADE | {"name": "ben", "role": "viewer", "disabled": True},
            USER | MADE | {"name": "cem", "role": "researcher", "disabled": False, "has_password": False},
        ]
    },
}


def _delivery(number: int, state: str, event: str, attempts: int, why: str) -> dict[str, Any]:
    waits = state == "waiting"
    return {
        **{"id": f"msg_0192aa00bb11cc22{number:08}", "webhook_id": "whk_1", "event": event, "position": number},
        **{"state": state, "attempts": attempts, "status": 204 if state == "delivered" else None, "why": why},
        "created_at": f"2026-05-04T1{number}:00:00Z",
        "next_at": "2026-05-04T17:30:00Z" if waits else None,
        "ended_at": None if waits else f"2026-05-04T1{number}:00:02Z",
    }


def _webhook(number: int, url: str, project: str | None, why: str) -> dict[str, Any]:
    return MADE | {
        **{"id": f"whk_{number}", "url": url, "events": ["run.failed", "experiment.succeeded"]},
        **{"project": project, "active": True, "off_why": None, "waiting": 1, "dropped": 0},
        **{"last_at": "2026-05-04T15:00:00Z", "last_delivered": why == "status 204", "last_why": why},
    }


WEBHOOKS = {
    "**/api/v1/webhooks": {
        "items": [
            _webhook(1, "https://hooks.example.org/hooke", None, "status 204"),
            _webhook(
                2, "https://chat.example.org/hooks/a-long-path-that-is-a-secret/0192", "vision", "status 500"
            ),
        ]
    },
    "**/api/v1/webhooks/*/deliveries*": {
        "items": [
            _delivery(5, "waiting", "run.failed", 2, "no answer within 10 s"),
            _delivery(4, "delivered", "experiment.succeeded", 1, "status 204"),
            _delivery(3, "failed", "run.failed", 8, "status 302; redirects are not followed"),
            _delivery(2, "discarded", "webhook.test", 0, ""),
        ],
        "next_cursor": None,
    },
}
OCCUPANCY = {
    "**/api/v1/clusters/*/occupancy*": {
        **{"cluster": "local", "slots": 64, "since": "2026-05-03T16:00:00Z", "seconds": 1800},
        "shares": [None] * 12 + [n * n % 37 / 36 for n in range(36)],
    }
}


def _version(number: int, variants: list[str], seeds: int, user: str) -> dict[str, Any]:
    spec = {"variants": [{"name": name} for name in variants], "clusters": [{"name": "local", "seeds": seeds}]}
    told = {"version": number, "spec": spec, "fingerprint": "f" * 64, "user": user}
    return told | {"created_at": f"2026-05-0{number}T09:00:00Z"}


VERSIONS = {
    "**/api/v1/experiments/*/versions": {
        "items": [
            _version(1, ["Original EASGD", "Sync SGD"], 3, "ana"),
            _version(2, ["Original EASGD", "Sync SGD"], 8, "ana"),
            _version(3, ["Original EASGD", "Sync SGD", "SlowMo", "Local SGD, period 8"], 8, "ben"),
        ]
    }
}


def _ranked(number: int, algorithm: str, workloads: int) -> dict[str, Any]:
    result = {
        **{"variant": f"{algorithm}, tuned", "experiment": "exp_1", "variants": 2, "seconds": 12.34 * number},
        **{"ratio": 1.0 * number, "reached": 4, "seeds": 5},
    }
    rho = [0.0, 1 / number, 1 / number, 1.0]
    profile = {"tau": [1.0, 1.0, 2.0, 2.0], "rho": rho, "results": [result] * workloads}
    return {"algorithm": algorithm, "score": 0.9 / number, "low": 0.8 / number, "high": 1 / number} | profile


def _board(workloads: list[str]) -> dict[str, Any]:
    counted = [{"id": f"exp_{n}", "number": n, "name": f"Comparison {n}"} for n in (12, 131)]
    target = {"target": "97% validation accuracy", "trials": 12, "experiments": counted}
    methods = ["sync-easgd3", "original-easgd", "local-sgd", "slowmo", "async-sgd"]
    return {
        **{"cluster": "hpc-infiniband", "workers": 64, "simulated": True, "oversubscribed": False},
        "workloads": [{"name": name} | target for name in workloads],
        "methods": [_ranked(n, method, len(workloads)) for n, method in enumerate(methods, 1)],
        "unranked": [],
    }


WORKLOADS = ["digits-mlp", "mnist-lenet", "cifar10-resnet20", "a9a-mlp", "w8a-mlp", "xmlc-mlp (hidden: 256)"]
TARGETS = ["97% validation accuracy", "90% validation accuracy"]
CHOICES = [{"workload": name, "targets": TARGETS} for name in WORKLOADS]
LEADERBOARD = {
    "**/api/v1/leaderboard*": {"tau_max": 4.0, "choices": CHOICES, "boards": [_board(WORKLOADS)], "left_out": []}
}
PROVIDER = {
    "**/api/v1/oidc*": {
        "name": "University of Berlin",
        "problem": "The provider does not say which groups you are in: ask whoever administers it.",
    }
}
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
    Screen("experiment-long", "/experiments/{long}", "[data-testid=run-row]"),
    Screen("run", "/runs/{run}", "canvas"),
    Screen("run-settings", "/runs/{run}?spec=defaults&scale=log&smooth=yes", "[data-testid=changed-setting]"),
    Screen("run-failed", "/runs/{failed_run}", "text=NaN"),
    Screen("compare", f"/compare?rows={ROWS}", "[data-testid=compared-row]"),
    Screen("compare-table", f"/compare?rows={ROWS}", "[data-testid=compared-row]", _as_table("trade-offs")),
    Screen("compare-empty", "/compare", "h1"),
    Screen("leaderboard", "/leaderboard", "[data-testid=method], [data-testid=empty]"),
    Screen("leaderboard-wide", "/leaderboard", '[data-testid=ranking] >> text="Async SGD"', told=LEADERBOARD),
    Screen("leaderboard-empty", "/leaderboard", "h1", empty=True),
    Screen("algorithms", "/algorithms", "main a[href^='/algorithms/']"),
    Screen("algorithm", "/algorithms/sync-easgd", "[data-testid=verified-table]"),
    Screen("clusters", "/clusters", "[data-testid=occupancy-summary]", told=OCCUPANCY),
    Screen("clusters-empty", "/clusters", "h1", empty=True),
    Screen("queue", "/clusters/local/queue", "h1"),
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


def go(page: Page, url: str, screen: Screen, path: str) -> None:
    """Open a screen, and do what it is about."""
    page.unroute_all()
    for pattern, answer in (screen.told or {}).items():
        page.route(pattern, partial(_tell, answer))
    page.goto(url + path)
    page.locator(screen.ready).first.wait_for()
    if screen.act is not None:
        screen.act(page)


def _tell(answer: Any, route: Route) -> None:
    if route.request.method == "GET":
        route.fulfill(json=answer)
    else:
        route.fallback()
