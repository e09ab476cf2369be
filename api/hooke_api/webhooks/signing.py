"""Secrets of webhooks, and the signature of a request by the convention Standard Webhooks.

A secret is not stored: it is the HMAC-SHA256 of the webhook's id under a key in the home folder. What is stored is
its SHA-256, by which the server notices that the key is another one. A copy of the database signs nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

PREFIX = "whsec_"
"""Beginning of every secret, which the convention prescribes and scanners for secrets know."""
_PURPOSE = b"hooke webhook\0"


def secret_of(key: str, webhook_id: str) -> str:
    """Return the secret of a webhook: the prefix and 32 bytes in base64."""
    made = hmac.new(key.encode(), _PURPOSE + webhook_id.encode(), hashlib.sha256).digest()
    return PREFIX + base64.b64encode(made).decode()


def signature(secret: str, message_id: str, at: int, body: bytes) -> str:
    """Return the value of `webhook-signature`: version 1, HMAC-SHA256 of `id.timestamp.body`, in base64."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = hmac.new(key, f"{message_id}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def headers(secret: str, message_id: str, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request that is sent at `at`, seconds since 1970."""
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": signature(secret, message_id, at, body),
    }
