"""Sign-in in a real browser through a provider that other people have written (`certified.py`)."""

from pathlib import Path

import hooke_api
import httpx
import pytest
from hooke_api.app import create_app
from hooke_api.base.security import CALLBACK
from hooke_api.oidc import keeping

from tests.api.conftest import empty, serve
from tests.api.databases import make_settings
from tests.api.hands import Service
from tests.api.oidc.certified import SECRET, CertifiedProvider, rsa_key, visitor
from tests.api.oidc.conftest import Site
from tests.api.oidc.provider import Key
from tests.e2e.browsing import running
from tests.waiting import LIMIT

pytestmark = pytest.mark.needs("openid", "browser")
GROUPS = {
    "oidc_scopes": "openid profile email groups",
    "oidc_groups": '["hooke", "hooke-admins"]',
    "oidc_roles": '{"hooke": "researcher", "hooke-admins": "admin"}',
    "oidc_new_users": "mapped",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Start an API that serves the dashboard, which that of the other tests does not."""
    home = tmp_path_factory.mktemp("home")
    built = Path(hooke_api.__file__).parent / "dashboard"
    settings = make_settings(home, f"sqlite:///{home / 'hooke.db'}", dashboard=built)
    app = create_app(settings)
    started = serve(app)
    yield app, settings, started
    started.stop()


@pytest.fixture
def service(place):
    app, settings, started = place
    empty(app.state.database)
    headers = {"authorization": f"Bearer {settings.token}"}
    with httpx.Client(base_url=f"{started.url}/api/v1", headers=headers, timeout=LIMIT) as client:
        yield Service(app, settings, started.url, client, started.server.server_state.tasks)


@pytest.fixture(scope="module")
def chromium(program_path):
    with running(program_path("browser")) as browser:
        yield browser


@pytest.fixture
def certified(service, tmp_path):
    """Return the provider, started, and an API that knows it."""
    before = service.app.state.single_sign_on
    secret = tmp_path / "client-secret"
    secret.write_text(f"{SECRET}\n")
    idp = CertifiedProvider(f"{service.url}{CALLBACK}")
    idp.start()
    yield Site(service, idp, secret)
    idp.stop()
    service.app.state.single_sign_on = before
    service.app.state.door.provider = False


@pytest.fixture
def come(certified, chromium):
    """Return a function that lets somebody sign in with a browser of their own."""
    opened = []

    def enter(name=None):
        opened.append(visitor(chromium, certified.service))
        found = opened[-1].__enter__()
        return found.begin().identify(name) if name else found

    yield enter
    for each in opened:
        each.__exit__(None, None, None)


def test_groups_lead_in_and_follow(certified, come):
    certified.configure(**GROUPS)
    ana = come("1001")
    assert ana.me is not None, ana.problem
    assert (ana.me["name"], ana.me["role"]) == ("ana", "researcher")
    eve = come("1002")
    assert eve.me is None and "its e-mail domain or its groups are not admitted" in eve.problem
    certified.idp.accounts["1001"]["groups"] = ["hooke-admins"]
    certified.idp.start()
    assert come("1001").me["role"] == "admin"
    certified.idp.accounts["1001"]["groups"] = []
    certified.idp.start()
    late = come("1001")
    assert late.me is None and "not admitted" in late.problem
    assert ana.me is not None, "a session that began earlier goes on until it ends"


def test_a_domain_counts_if_the_address_is_verified(certified, come):
    certified.configure(oidc_domains='["example.org"]', oidc_new_users="viewer")
    assert come("1001").me["role"] == "viewer"
    for name in ("1002", "1003"):
        assert "not admitted" in come(name).problem


@pytest.mark.parametrize(
    ("method", "signed", "settings"),
    [
        ("client_secret_basic", "RS256", {}),
        ("client_secret_post", "ES256", {"conformIdTokenClaims": False}),
        ("none", "ES256", {}),
    ],
)
def test_ways_to_authenticate_and_to_sign(certified, come, method, signed, settings):
    idp = certified.idp
    idp.keys = [rsa_key("rsa"), Key("ec")]
    idp.client |= {"token_endpoint_auth_method": method, "id_token_signed_response_alg": signed}
    if method == "none":
        del idp.client["client_secret"]
    idp.start(clientAuthMethods=[method], **settings)
    more = {"oidc_client_secret_file": None} if method == "none" else {}
    certified.configure(**GROUPS | more)
    assert come("1001").me["role"] == "researcher"


def test_a_new_key_is_found_while_sessions_go_on(certified, come, monkeypatch):
    monkeypatch.setattr(keeping, "PAUSE", 0.0)
    certified.configure(**GROUPS)
    ana = come("1001")
    certified.idp.keys = [rsa_key("second"), certified.idp.keys[0]]
    certified.idp.start()
    assert come("1001").me["name"] == "ana"
    certified.idp.keys = [rsa_key("second")]  # another key under the name of the former
    certified.idp.start()
    assert come("1001").me["name"] == "ana"
    assert ana.me["name"] == "ana"


def test_who_declines_who_is_unknown_and_who_comes_again(certified, come):
    certified.configure(**GROUPS)
    ana = come().begin()
    ana.page.get_by_role("link", name="Cancel").click()
    assert "you declined" in ana.back().problem
    nobody = come().begin()
    nobody.page.locator("input[name=login]").fill("9999")
    nobody.page.locator("input[name=password]").fill("any")
    nobody.page.get_by_role("button", name="Sign-in").click()
    nobody.page.wait_for_timeout(300)
    assert nobody.me is None
    ana.begin("/sign-in?problem=denied").identify("1001")
    assert ana.me["name"] == "ana"
    ana.page.request.post(f"{ana.service.url}/api/v1/sign-out", headers={"origin": ana.service.url})
    assert ana.me is None
    ana.page.goto(f"{ana.service.url}/sign-in")
    ana.page.get_by_test_id("provider").click()
    ana.page.wait_for_url(f"{ana.service.url}/", wait_until="commit")
    assert ana.me["name"] == "ana", "the provider still knows this browser"


def test_a_provider_that_is_away_with_other_clocks_or_other_names(certified, come, monkeypatch):
    monkeypatch.setattr(keeping, "PAUSE", 0.0)
    idp = certified.idp
    certified.configure(**GROUPS)
    for skew, works in ((50, True), (-50, True), (900, False), (-900, False)):
        idp.skew = skew
        idp.start()
        ana = come("1001")
        assert (ana.me is not None) == works, (skew, ana.problem)
        if not works:
            assert "clocks" in ana.problem
    idp.skew = 0
    idp.start()
    ana = come().begin()
    ana.page.locator("input[name=login]").fill("1001")
    ana.page.locator("input[name=password]").fill("any")
    ana.page.get_by_role("button", name="Sign-in").click()
    ana.page.get_by_role("button", name="Continue").wait_for()
    idp.stop()
    away = come()
    certified.configure(**GROUPS)
    away.page.goto(f"{away.service.url}/sign-in")
    away.page.get_by_test_id("provider").click()
    assert "does not answer correctly" in away.problem
    idp.start()
    for changes, why in (
        ({"oidc_client_id": "another"}, None),
        ({"oidc_issuer": f"{idp.issuer}/"}, "does not answer correctly"),
    ):
        certified.configure(**GROUPS | changes)
        wrong = come()
        wrong.page.goto(f"{wrong.service.url}/sign-in")
        wrong.page.get_by_test_id("provider").click()
        if why:
            assert why in wrong.problem
        else:
            wrong.page.get_by_text("invalid_client").wait_for()
    certified.secret_file.write_text("guessed\n")
    certified.configure(**GROUPS)
    assert "does not accept this server" in come("1001").problem


def test_an_algorithm_that_is_not_accepted(certified, come):
    certified.idp.client |= {"id_token_signed_response_alg": "PS256"}
    certified.idp.start()
    certified.configure(**GROUPS)
    ana = come("1001")
    assert ana.me is None and "could not be verified" in ana.problem
