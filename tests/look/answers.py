"""Answers of the API in place of its own: what the seeded experiments do not have."""

from __future__ import annotations

from typing import Any

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


def _fetch(state: str, **more: Any) -> dict[str, Any]:
    return MADE | {
        **{"id": f"fet_{state}", "run_id": "run_1", "cluster": "local", "attempt": 1, "samples": 96000},
        **{"state": state, "why": "", "size": 179_200_006, "received": 67_108_864, "files": []},
        **{"ended_at": None, "expires_at": None, **more},
    }


def _fetches(*items: dict[str, Any]) -> dict[str, Any]:
    return {"**/api/v1/runs/*/fetches": {"items": list(items)}}


FETCHED = _fetches(_fetch("ready", received=179_200_006, expires_at="2026-05-05T15:00:00Z"))
FETCHING = _fetches(_fetch("sending"))
NOT_FETCHED = _fetches(
    _fetch(
        "failed",
        why="on node1: checkpoint 96000 of attempt 1 is not there: an attempt keeps its newest two",
    )
)


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


def _span(hour: int, minute: int) -> dict[str, Any]:
    at = {"at": minute, "earliest": minute - 3, "latest": minute + 9}
    return {name: f"2026-05-04T{hour}:{when:02}:00Z" for name, when in at.items()}


def _entry(number: int, name: str, user: str, reason: str, **more: Any) -> dict[str, Any]:
    told = {"cluster": "local", "position": number - 5, "experiments_ahead": number - 6, "runs_ahead": 3}
    told |= {"experiment": f"exp_{number}", "number": number, "name": name, "user": user, "reason": reason}
    told |= {"runs": 4 * number, "ranks": 5, "priority": 0, "begun": False, "run_seconds": 130.0}
    told |= {"likeness": "3 runs of the same workload and cluster", "submitted_at": "2026-05-04T15:00:00Z"}
    return told | {"starts": _span(16, 10 * (number - 5)), "ends": _span(17, 10 * (number - 5))} | more


UNKNOWN = {"run_seconds": None, "likeness": None, "starts": None, "ends": None}
QUEUE = {
    "**/api/v1/clusters/*/queue": {
        **{"cluster": "local", "online": True, "drained": False, "slots": 64, "free": 59},
        "policy": {
            **{"order": "priority", "ageing_minutes": 60.0, "half_life_hours": 24.0, "patience_hours": 24.0},
            **{"max_waiting_runs": 400, "max_active_runs": None},
        },
        "active": [
            {"experiment": "exp_5", "number": 5, "user": "ana", "runs": 2, "ranks": 5, "ends": _span(16, 9)}
        ],
        "entries": [
            _entry(6, "Momentum of the center", "ben", "behind 1 experiment (2 runs)", begun=True, priority=10),
            _entry(7, "From 2 to 16 workers", "ana", "behind 2 experiments (26 runs)"),
            _entry(
                8,
                "A comparison with a name that is too long for one line of a phone",
                "cem",
                "behind 3 experiments (54 runs)",
                **UNKNOWN,
            ),
        ],
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
