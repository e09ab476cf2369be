"""Identifiers: a prefix that says what it names, and a UUIDv7 in 32 hexadecimal digits.

UUIDv7 (RFC 9562 section 5.7) sorts by time of creation: the newest rows are adjacent in every index, and `ORDER BY
id` is the order of creation. Ids made by one process within a millisecond keep their order too.
"""

from __future__ import annotations

from uuid_utils import uuid7


def experiment_id() -> str:
    """Return a new id of an experiment."""
    return f"exp_{uuid7().hex}"


def token_id() -> str:
    """Return a new id of a token; not the token."""
    return f"tok_{uuid7().hex}"


def user_id() -> str:
    """Return a new id of a user."""
    return f"usr_{uuid7().hex}"


def project_id() -> str:
    """Return a new id of a project."""
    return f"prj_{uuid7().hex}"


def session_id() -> str:
    """Return a new id of a session; not its cookie."""
    return f"ses_{uuid7().hex}"


def identity_id() -> str:
    """Return a new id of an identity at a provider."""
    return f"idn_{uuid7().hex}"


def webhook_id() -> str:
    """Return a new id of a webhook."""
    return f"whk_{uuid7().hex}"


def delivery_id() -> str:
    """Return a new id of a delivery of a webhook."""
    return f"msg_{uuid7().hex}"


def calibration_id() -> str:
    """Return a new id of a calibration."""
    return f"cal_{uuid7().hex}"


def order_id() -> str:
    """Return a new id of an order to an agent."""
    return f"ord_{uuid7().hex}"


def fetch_id() -> str:
    """Return a new id of a fetched checkpoint."""
    return f"fet_{uuid7().hex}"


def run_id() -> str:
    """Return a new id of a run."""
    return f"run_{uuid7().hex}"


def view_id() -> str:
    """Return a new id of a saved view."""
    return f"viw_{uuid7().hex}"
