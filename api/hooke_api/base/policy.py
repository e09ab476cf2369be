"""Who may do what: every operation of the API and the least role that it needs.

An operation that is not listed is refused to everybody, and a test fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from hooke_api.base.access import Role


class Other(StrEnum):
    """Who calls an operation that is not of users."""

    ANYBODY = "anybody"
    """No credential is needed."""
    AGENT = "agent"
    """The agent of a cluster, with its token."""
    ATTEMPT = "attempt"
    """The supervisor of an attempt, with its token."""


VIEWER, RESEARCHER, OPERATOR, ADMIN = Role

LEAST: Mapping[str, Role | Other] = {
    "livez": Other.ANYBODY,
    "readyz": Other.ANYBODY,
    "version": Other.ANYBODY,
    "sign_in": Other.ANYBODY,
    "accept_invite": Other.ANYBODY,
    "read_provider": Other.ANYBODY,
    "start_oidc": Other.ANYBODY,
    "finish_oidc": Other.ANYBODY,
    # what everybody reads
    "list_experiments": VIEWER,
    "read_experiment": VIEWER,
    "read_comparison": VIEWER,
    "read_tuning": VIEWER,
    "read_leaderboard": VIEWER,
    "compare_rows": VIEWER,
    "read_bands": VIEWER,
    "list_metrics": VIEWER,
    "query_series": VIEWER,
    "read_workers": VIEWER,
    "list_runs": VIEWER,
    "read_run": VIEWER,
    "read_logs": VIEWER,
    "read_timeline": VIEWER,
    "read_system": VIEWER,
    "stream_events": VIEWER,
    "list_clusters": VIEWER,
    "read_cluster": VIEWER,
    "read_queue": VIEWER,
    "read_trace": VIEWER,
    "list_calibrations": VIEWER,
    "list_algorithms": VIEWER,
    "list_workloads": VIEWER,
    "list_filter_fields": VIEWER,
    "export_points": VIEWER,
    "export_workers": VIEWER,
    "export_runs": VIEWER,
    "export_runs_parquet": VIEWER,
    "export_points_parquet": VIEWER,
    "export_bundle": VIEWER,
    "read_report": VIEWER,
    "list_deleted_experiments": VIEWER,
    # one's own account; a token gets no more than its maker has
    "read_me": VIEWER,
    "sign_out": VIEWER,
    "change_password": VIEWER,
    "list_identities": VIEWER,
    "link_identity": VIEWER,
    "unlink_identity": VIEWER,
    "list_tokens": VIEWER,
    "create_token": VIEWER,
    "revoke_token": VIEWER,
    # one's own experiments; those of others need an operator: `Actor.check_owner`
    "validate_experiment": RESEARCHER,
    "create_experiment": RESEARCHER,
    "import_experiment": RESEARCHER,
    "change_experiment": RESEARCHER,
    "delete_experiment": RESEARCHER,
    "restore_experiment": RESEARCHER,
    "set_priority": RESEARCHER,
    "cancel_experiment": RESEARCHER,
    "cancel_run": RESEARCHER,
    "retry_run": RESEARCHER,
    "checkpoint_run": RESEARCHER,
    # clusters, and what may harm the runs of others
    "abandon_run": OPERATOR,
    "drain_cluster": OPERATOR,
    "resume_cluster": OPERATOR,
    "remove_cluster": OPERATOR,
    "set_policy": OPERATOR,
    "start_calibration": OPERATOR,
    "cancel_calibration": OPERATOR,
    "list_cluster_tokens": OPERATOR,
    "make_cluster_token": OPERATOR,
    "revoke_cluster_token": OPERATOR,
    "list_users": ADMIN,
    "add_user": ADMIN,
    "change_user": ADMIN,
    "invite_user": ADMIN,
    "end_sessions": ADMIN,
    "list_webhooks": ADMIN,
    "create_webhook": ADMIN,
    "change_webhook": ADMIN,
    "delete_webhook": ADMIN,
    "test_webhook": ADMIN,
    "list_deliveries": ADMIN,
    "redeliver": ADMIN,
    "list_audit": ADMIN,
    "export_audit": ADMIN,
    "ingest": Other.ATTEMPT,
    "agent_hello": Other.AGENT,
    "agent_claim": Other.AGENT,
    "agent_proof": Other.AGENT,
    "agent_failed_launch": Other.AGENT,
    "agent_calibration": Other.AGENT,
    "agent_forgotten": Other.AGENT,
}
"""Operation -> least role."""


class Called(NamedTuple):
    """The operation that a request calls, with the identifiers in its address."""

    operation: str
    parameters: dict[str, str]


class Operations:
    """The operations of some routers, found by method and path as FastAPI finds them."""

    def __init__(self, routers: Iterable[APIRouter], prefix: str) -> None:
        found = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
        self._known = [
            (route.methods or set(), compile_path(prefix + route.path)[0], route.operation_id or route.name)
            for route in found
        ]
        self.names = frozenset(name for _, _, name in self._known)

    def of(self, method: str, path: str) -> Called | None:
        """Return what a request calls; None if there is no such operation."""
        for methods, pattern, name in self._known:
            if method in methods and (match := pattern.match(path)):
                return Called(name, match.groupdict())
        return None
