"""Who may do what: every operation of the API, the least role that it needs, and which role counts for it.

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
    "list_versions": VIEWER,
    "read_comparison": VIEWER,
    "read_tuning": VIEWER,
    "read_leaderboard": VIEWER,
    "compare_rows": VIEWER,
    "read_bands": VIEWER,
    "read_phases": VIEWER,
    "list_metrics": VIEWER,
    "query_series": VIEWER,
    "read_workers": VIEWER,
    "list_runs": VIEWER,
    "read_run": VIEWER,
    "list_fetches": VIEWER,
    "read_logs": VIEWER,
    "read_timeline": VIEWER,
    "read_system": VIEWER,
    "stream_events": VIEWER,
    "list_clusters": VIEWER,
    "read_cluster": VIEWER,
    "read_occupancy": VIEWER,
    "read_queue": VIEWER,
    "read_trace": VIEWER,
    "list_calibrations": VIEWER,
    "list_algorithms": VIEWER,
    "list_workloads": VIEWER,
    "list_filter_fields": VIEWER,
    "export_points": VIEWER,
    "export_workers": VIEWER,
    "export_log": VIEWER,
    "export_trace": VIEWER,
    "export_runs": VIEWER,
    "export_runs_parquet": VIEWER,
    "export_points_parquet": VIEWER,
    "export_bundle": VIEWER,
    "read_report": VIEWER,
    "list_deleted_experiments": VIEWER,
    "list_projects": VIEWER,
    "list_members": VIEWER,
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
    "list_views": VIEWER,
    "create_view": VIEWER,
    "change_view": VIEWER,
    "delete_view": VIEWER,
    # one's own experiments; those of others need an operator: `Actor.check_owner`
    "validate_experiment": RESEARCHER,
    "create_experiment": RESEARCHER,
    "import_experiment": RESEARCHER,
    "change_experiment": RESEARCHER,
    "validate_extension": RESEARCHER,
    "extend_experiment": RESEARCHER,
    "delete_experiment": RESEARCHER,
    "restore_experiment": RESEARCHER,
    "set_priority": RESEARCHER,
    "cancel_experiment": RESEARCHER,
    "cancel_run": RESEARCHER,
    "retry_run": RESEARCHER,
    "checkpoint_run": RESEARCHER,
    "move_experiment": RESEARCHER,
    "fetch_checkpoint": RESEARCHER,
    "download_fetch": RESEARCHER,
    "download_fetched_file": RESEARCHER,
    "delete_fetch": RESEARCHER,
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
    "create_project": ADMIN,
    "change_project": ADMIN,
    "set_member": ADMIN,
    "remove_member": ADMIN,
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
    "agent_renew_token": Other.AGENT,
    "agent_claim": Other.AGENT,
    "agent_proof": Other.AGENT,
    "agent_failed_launch": Other.AGENT,
    "agent_calibration": Other.AGENT,
    "agent_forgotten": Other.AGENT,
    "agent_fetch_begin": Other.AGENT,
    "agent_fetch_piece": Other.AGENT,
    "agent_fetch_end": Other.AGENT,
}
"""Operation -> least role."""


class Place(StrEnum):
    """Which role of the sender counts, and so what of projects an operation may touch."""

    ADDRESS = "address"
    """That in the project of the experiment or run, or in the project, whose id or name is in the address."""
    QUERY = "query"
    """That in the project that the parameter `project` names; by default, the default project."""
    REACHED = "reached"
    """That on the site; it reads only what is in projects that the sender reaches (`hooke_api.storage.reach`)."""
    SITE = "site"
    """That on the site; it reads and changes nothing of experiments."""


IDS = frozenset({"experiment_id", "run_id", "project"})
"""Parameters in an address by which the project of a request is found."""

PLACES: Mapping[str, Place] = {
    **dict.fromkeys(("validate_experiment", "create_experiment", "import_experiment"), Place.QUERY),
    "list_experiments": Place.REACHED,
    "list_deleted_experiments": Place.REACHED,
    "list_filter_fields": Place.REACHED,
    "list_projects": Place.REACHED,
    "list_runs": Place.REACHED,
    "export_runs": Place.REACHED,
    "export_runs_parquet": Place.REACHED,
    "query_series": Place.REACHED,
    "read_leaderboard": Place.REACHED,
    "compare_rows": Place.REACHED,
    "stream_events": Place.REACHED,
    "read_queue": Place.REACHED,
    "read_trace": Place.REACHED,
    "list_clusters": Place.SITE,
    "read_cluster": Place.SITE,
    # sums over all runs, as the busy slots of a cluster
    "read_occupancy": Place.SITE,
    "list_calibrations": Place.SITE,
    "list_algorithms": Place.SITE,
    "list_workloads": Place.SITE,
    "read_me": Place.SITE,
    "sign_out": Place.SITE,
    "change_password": Place.SITE,
    "list_identities": Place.SITE,
    "link_identity": Place.SITE,
    "unlink_identity": Place.SITE,
    # of one's own: an address, without what it leads to
    "list_views": Place.SITE,
    "create_view": Place.SITE,
    "change_view": Place.SITE,
    "delete_view": Place.SITE,
    "list_tokens": Place.SITE,
    "create_token": Place.SITE,
    "revoke_token": Place.SITE,
    "drain_cluster": Place.SITE,
    "resume_cluster": Place.SITE,
    "remove_cluster": Place.SITE,
    "set_policy": Place.SITE,
    "start_calibration": Place.SITE,
    "cancel_calibration": Place.SITE,
    "list_cluster_tokens": Place.SITE,
    "make_cluster_token": Place.SITE,
    "revoke_cluster_token": Place.SITE,
    "list_users": Place.SITE,
    "add_user": Place.SITE,
    "change_user": Place.SITE,
    "invite_user": Place.SITE,
    "end_sessions": Place.SITE,
    "create_project": Place.SITE,
    # of administrators, who reach every project
    "list_webhooks": Place.SITE,
    "create_webhook": Place.SITE,
    "change_webhook": Place.SITE,
    "delete_webhook": Place.SITE,
    "test_webhook": Place.SITE,
    "list_deliveries": Place.SITE,
    "redeliver": Place.SITE,
    "list_audit": Place.SITE,
    "export_audit": Place.SITE,
}
"""Operation of users without any of IDS in its address -> which role counts."""


class Called(NamedTuple):
    """The operation that a request calls, with the identifiers in its address."""

    operation: str
    parameters: dict[str, str]

    @property
    def place(self) -> Place | None:
        """Return which role counts for it; None: nobody has classified it."""
        return PLACES.get(self.operation) if IDS.isdisjoint(self.parameters) else Place.ADDRESS


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
