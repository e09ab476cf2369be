"""Hands to play users with: invited, signed in, each with a browser of their own."""

import uuid
from dataclasses import dataclass

import httpx

from tests.api.hands import Service
from tests.waiting import LIMIT

PASSWORD = "correct horse battery"


def unique(name: str) -> str:
    """Return a name that no other test has: failed sign-ins in the audit trail count for a name."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def browser(service: Service, address: str | None = None) -> httpx.Client:
    """Return a browser on a page of the server, at an address of its own, as a proxy on this host says."""
    numbers = uuid.uuid4().bytes
    address = address or f"10.{numbers[0]}.{numbers[1]}.{numbers[2]}"
    headers = {"origin": service.url, "x-forwarded-for": address}
    return _opened(service, headers)


def _opened(service: Service, headers: dict[str, str]) -> httpx.Client:
    base = f"{service.url}/api/v1"
    client = httpx.Client(base_url=base, headers=headers, timeout=LIMIT, verify=False)  # no TLS: roots take long
    service.opened.append(client)
    return client


@dataclass
class Person:
    """A user with a session."""

    service: Service
    name: str
    client: httpx.Client

    def sign_in(self, password: str = PASSWORD, client: httpx.Client | None = None) -> httpx.Response:
        return (client or browser(self.service)).post("/sign-in", json={"name": self.name, "password": password})

    def token(self, scope: str = "read", label: str = "laptop", **more) -> str:
        answer = self.client.post("/tokens", json={"label": label, "scope": scope} | more)
        assert answer.status_code == 201, answer.text
        return answer.json()["token"]


def invite(service: Service, name: str, role: str = "researcher") -> str:
    """Add a user; return the secret of the invitation."""
    answer = service.client.post("/users", json={"name": name, "role": role})
    assert answer.status_code == 201, answer.text
    page, _, secret = answer.json()["path"].partition("#")
    assert page == "/invite"
    return secret


def person(service: Service, role: str = "researcher", name: str = "ana") -> Person:
    """Return a user who has accepted an invitation."""
    called = unique(name)
    client = browser(service)
    secret = invite(service, called, role)
    answer = client.post("/invites/accept", json={"invite": secret, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return Person(service, called, client)


def bearing(service: Service, token: str) -> httpx.Client:
    """Return a program with a token."""
    headers = {"authorization": f"Bearer {token}"}
    return _opened(service, headers)
