"""A server that signs users in through a provider of the tests, and browsers for it."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hooke_api.oidc.single_sign_on import SingleSignOn

from tests.api.hands import Service
from tests.api.oidc.provider import CLIENT, Key, OpenIdProvider
from tests.api.persons import browser


@pytest.fixture(scope="session")
def rsa_key() -> Key:
    return Key("rsa", rsa.generate_private_key(public_exponent=65537, key_size=2048))


@pytest.fixture
def idp() -> Iterator[OpenIdProvider]:
    made = OpenIdProvider()
    yield made
    made.close()


@dataclass
class Site:
    """A running API with a provider."""

    service: Service
    idp: OpenIdProvider
    secret_file: object
    changes: dict = field(default_factory=dict)

    def configure(self, **changes) -> SingleSignOn:
        """Configure the API anew, as a start would; nothing of the provider is kept then."""
        settings = {"oidc_issuer": self.idp.issuer, "oidc_client_id": CLIENT, "oidc_name": "the institute"}
        settings |= {"oidc_client_secret_file": self.secret_file} | changes
        single = SingleSignOn(self.service.settings.model_copy(update=settings))
        self.service.app.state.single_sign_on = single
        self.service.app.state.door.provider = single.provider is not None
        return single

    def browser(self, address: str | None = None) -> httpx.Client:
        return browser(self.service, address)

    def begin(self, client: httpx.Client, path: str = "/oidc/start", **body) -> str:
        """Begin in a browser, identify at the provider, and return where the provider sends the browser."""
        answer = client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return self.idp.identify(answer.json()["address"])

    def sign_in(self, client: httpx.Client | None = None, **body) -> "Came":
        """Sign a browser in."""
        client = client or self.browser()
        return Came(client, client.get(self.begin(client, **body)))


@dataclass
class Came:
    """A browser that came back from the provider."""

    client: httpx.Client
    answer: httpx.Response

    @property
    def onward(self) -> str:
        """Return the page that the answer leads to."""
        assert self.answer.status_code == 200, self.answer.text
        assert self.answer.headers["cache-control"] == "no-store"
        found = re.search(r'<meta http-equiv="refresh" content="0;url=([^"]*)">', self.answer.text)
        assert found, self.answer.text
        return html.unescape(found[1])

    @property
    def problem(self) -> str:
        """Return why nobody was signed in."""
        page, _, query = self.onward.partition("?problem=")
        assert page in ("/sign-in", "/account"), self.onward
        return query.partition("&")[0]

    def me(self) -> dict:
        answer = self.client.get("/me")
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def site(service, idp, tmp_path) -> Iterator[Site]:
    """Return an API whose provider is `idp`; whoever has a verified address at example.org becomes a viewer."""
    before = service.app.state.single_sign_on
    secret = tmp_path / "client-secret"
    secret.write_text(f"{idp.secret}\n")
    made = Site(service, idp, secret)
    made.configure(oidc_domains='["example.org"]', oidc_new_users="viewer")
    yield made
    service.app.state.single_sign_on = before
    service.app.state.door.provider = False
