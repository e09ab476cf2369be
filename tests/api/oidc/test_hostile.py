"""What a provider, or somebody between it and the server, may answer; and what may be sent to the callback.

Whatever it is, nobody is signed in, the person is told what to do, and a password still signs in.
"""

import base64
import hashlib
import hmac
import json
import time
from typing import NamedTuple

import httpx
import pytest
from hooke_api.models import BrowserSession, UserIdentity
from hooke_api.oidc import keeping, transport
from hooke_api.people import signing_in

from tests.api.databases import ONE_KIND
from tests.api.oidc.provider import CLIENT, Key, b64, send, signed, unsigned
from tests.api.persons import person
from tests.api.test_audit_trail import entries
from tests.api.test_experiments import problem
from tests.waiting import LIMIT

pytestmark = ONE_KIND  # what depends on the database is in test_signing_in.py


class In(NamedTuple):
    """A time, so many seconds from when the token is made."""

    seconds: int


def at_present(changes: dict) -> dict:
    now = int(time.time())
    return {name: now + value.seconds if isinstance(value, In) else value for name, value in changes.items()}


WRONG_CLAIMS = {
    "another issuer": ({"iss": "https://evil.example"}, "token"),
    "no issuer": ({"iss": None}, "token"),
    "another audience": ({"aud": "another-client"}, "token"),
    "no audience": ({"aud": None}, "token"),
    "several audiences without an authorized party": ({"aud": [CLIENT, "another-client"]}, "token"),
    "another authorized party": ({"aud": [CLIENT, "another-client"], "azp": "another-client"}, "token"),
    "another nonce": ({"nonce": "x" * 43}, "token"),
    "no nonce": ({"nonce": None}, "token"),
    "no subject": ({"sub": None}, "token"),
    "an empty subject": ({"sub": ""}, "token"),
    "a subject that is a number": ({"sub": 1001}, "token"),
    "a subject with a zero byte": ({"sub": "a\0b"}, "token"),
    "a long subject": ({"sub": "a" * 256}, "token"),
    "an access token of somebody else": ({"at_hash": b64(b"x" * 16)}, "token"),
    "expired": ({"exp": In(-120)}, "clock"),
    "no expiry": ({"exp": None}, "token"),
    "an expiry that is not a number": ({"exp": "tomorrow"}, "clock"),
    "issued in the future": ({"iat": In(600)}, "clock"),
    "issued long ago": ({"iat": In(-3600)}, "clock"),
    "issued before all time": ({"iat": -(10**400)}, "clock"),
    "not valid yet": ({"nbf": In(600)}, "clock"),
}


def test_a_token_with_wrong_claims_signs_nobody_in(site, monkeypatch):
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 1000)
    client, found = site.browser(), {}
    for name, (changes, _) in WRONG_CLAIMS.items():
        site.idp.changes = at_present(changes)
        found[name] = site.sign_in(client).problem
    assert found == {name: why for name, (_, why) in WRONG_CLAIMS.items()}
    problem(client.get("/me"), 401)
    assert site.service.count(UserIdentity) == site.service.count(BrowserSession) == 0


def test_a_token_within_the_rules_signs_in(site):
    for changes in (
        {"aud": [CLIENT]},
        {"aud": [CLIENT, "other"], "azp": CLIENT},
        {"exp": In(-30), "iat": In(-90)},
    ):
        site.idp.changes = at_present(changes)
        assert site.sign_in().me()["role"] == "viewer", changes


def test_both_algorithms_sign_in(site, rsa_key):
    assert site.sign_in().me()["name"] == "ana"
    site.idp.keys = [rsa_key]
    site.idp.signing = rsa_key
    site.configure(oidc_domains='["example.org"]')
    assert site.sign_in().me()["name"] == "ana"


def hmac_with(secret: bytes, claims: dict, kid: str) -> str:
    text = unsigned({"alg": "HS256", "kid": kid}, claims)
    return f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def forgeries(idp, rsa_key):
    """Return name -> what makes a token that the provider's key has not signed as it must."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = rsa_key.private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    other = Key("first")
    other_rsa_kid = {"kid": "rsa"}

    def tampered(claims):
        head, _, signature = signed(idp.signing, claims).split(".")
        body = b64(json.dumps(claims | {"email": "chief@example.org"}).encode())
        return f"{head}.{body}.{signature}"

    return {
        "none": lambda claims: f"{unsigned({'alg': 'none'}, claims)}.",
        "None": lambda claims: f"{unsigned({'alg': 'None', 'kid': 'first'}, claims)}.",
        "no signature": lambda claims: f"{unsigned({'alg': 'ES256', 'kid': 'first'}, claims)}.",
        "HS256 with the public key": lambda claims: hmac_with(pem, claims, "rsa"),
        "HS256 with the secret of the client": lambda claims: hmac_with(idp.secret.encode(), claims, "first"),
        "another key under the same name": lambda claims: signed(other, claims),
        "another key in its own header": lambda claims: signed(other, claims, kid="own", jwk=other.public()),
        "a key of another type": lambda claims: signed(other, claims, **other_rsa_kid),
        "RS256 with the name of the other key": lambda claims: signed(rsa_key, claims, kid="first"),
        "an algorithm that is a list": lambda claims: signed(idp.signing, claims, alg=["ES256"]),
        "a critical extension": lambda claims: signed(idp.signing, claims, crit=["x"], x=1),
        "changed after it was signed": tampered,
        "no token": lambda claims: "no token",
        "claims that are a list": lambda claims: signed(idp.signing, [claims]),
        "deep claims": lambda claims: signed_text(idp.signing, b"[" * 60_000),
        "a long token": lambda claims: signed(idp.signing, claims | {"x": "x" * 150_000}),
    }


def signed_text(key: Key, payload: bytes) -> str:
    text = f"{b64(json.dumps({'alg': key.alg, 'kid': key.kid}).encode())}.{b64(payload)}"
    return f"{text}.{b64(key.sign(text.encode()))}"


def test_a_token_that_is_not_signed_as_it_must_be_signs_nobody_in(site, rsa_key, monkeypatch):
    site.idp.keys.append(rsa_key)
    monkeypatch.setattr(keeping, "PAUSE", 0.0)
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 1000)
    found = {}
    client = site.browser()
    for name, forge in forgeries(site.idp, rsa_key).items():
        site.idp.forge = forge
        found[name] = site.sign_in(client).problem
    assert set(found.values()) == {"token"}, found
    assert site.service.count(UserIdentity) == site.service.count(BrowserSession) == 0
    site.idp.forge = lambda claims: signed(site.idp.signing, claims)
    assert site.sign_in(client).me()["name"] == "ana", "the same browser, as it must be"


def test_keys_that_may_not_sign_are_not_used(site, rsa_key):
    """Symmetric, for encryption, short, on another curve, damaged: left out, and no harm to the others."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    short = Key("short", rsa.generate_private_key(public_exponent=65537, key_size=1024))
    good = site.idp.signing.public()
    keys = [
        {"kty": "oct", "kid": "oct", "k": b64(b"x" * 32)},
        rsa_key.public() | {"use": "enc"},
        short.public(),
        good | {"crv": "P-521", "kid": "curve"},
        good | {"x": "AA", "kid": "damaged"},
        good | {"kid": ["list"]},
        {"kty": "RSA", "kid": "empty"},
        *(None, "text", {}),
    ]
    for signing in (rsa_key, short):
        site.configure(oidc_domains='["example.org"]', oidc_new_users="viewer")
        site.idp.replaces["/jwks"] = lambda request: send(request, 200, {"keys": [*keys, good]})
        site.idp.forge = lambda claims, key=signing: signed(key, claims)
        assert site.sign_in().problem == "token"
    site.idp.forge = lambda claims: hmac_with(b"x" * 32, claims, "oct")
    assert site.sign_in().problem == "token"
    site.idp.forge = lambda claims: signed(site.idp.signing, claims)
    assert site.sign_in().me()["name"] == "ana"


def test_a_new_key_is_asked_for_once_in_a_while(site, monkeypatch):
    assert site.sign_in().me()["name"] == "ana"
    old, new = site.idp.signing, Key("second")
    site.idp.signing = new
    asked = site.idp.asked.count("/jwks")
    assert [site.sign_in().problem for _ in range(3)] == ["token"] * 3
    assert site.idp.asked.count("/jwks") == asked, "not in a hurry"
    monkeypatch.setattr(keeping, "PAUSE", 0.0)
    assert site.sign_in().problem == "token", "the provider does not list it"
    site.idp.keys = [new]
    assert site.sign_in().me()["name"] == "ana"
    site.idp.signing = old
    assert site.sign_in().problem == "token", "the former key is of no use any more"


DOCUMENTS = {
    "another issuer": {"issuer": "https://evil.example"},
    "no issuer": {"issuer": None},
    "an endpoint without TLS": {"token_endpoint": "http://idp.example/token"},
    "an endpoint that is a program": {"authorization_endpoint": "javascript:alert(1)"},
    "no keys": {"jwks_uri": 7},
    "unusable algorithms": {"id_token_signing_alg_values_supported": ["HS256", "none"]},
}


def drip(request, seconds: float = 0.02) -> None:
    """Answer a byte at a time, without an end."""
    request.send_response(200)
    request.send_header("content-length", "1000000")
    request.end_headers()
    try:
        while True:
            request.wfile.write(b" ")
            time.sleep(seconds)
    except OSError:
        request.close_connection = True


def floods(request) -> None:
    """Answer 10 MB, or as much as is read."""
    request.send_response(200)
    request.send_header("content-length", str(10 * 2**20))
    request.end_headers()
    try:
        for _ in range(160):
            request.wfile.write(b" " * 2**16)
    except OSError:
        request.close_connection = True


ANSWERS = {
    "a redirect to another issuer": lambda request: send(request, 302, {}, location="https://evil.example/"),
    "an error": lambda request: send(request, 500, {"error": "server_error"}),
    "a list": lambda request: send(request, 200, []),
    "compressed": lambda request: send(request, 200, {}, content_encoding="gzip"),
    "10 MB": floods,
    "slowly": drip,
}


def test_a_discovery_document_that_cannot_be_right_begins_nothing(site):
    client = site.browser()
    for name, changes in DOCUMENTS.items():
        site.idp.discovery = changes
        site.configure()
        answer = client.post("/oidc/start", json={})
        assert "Sign in with a password until then" in problem(answer, 503)["detail"], name
        assert "set-cookie" not in answer.headers
        warnings = httpx.get(f"{site.service.url}/readyz").json()["warnings"]
        assert any(each.startswith("nobody signs in through the institute: it") for each in warnings), name


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_none_at_every_endpoint(site, name, monkeypatch):
    ana, client = person(site.service), site.browser()
    for path in ("/token", "/jwks"):
        address = site.begin(client)
        site.idp.replaces = {path: ANSWERS[name]}
        with monkeypatch.context() as patch:
            if name == "slowly":
                patch.setattr(transport, "SECONDS", 0.6)
            assert "problem=away" in client.get(address).text, path
    site.configure()
    site.idp.replaces = {"/.well-known/openid-configuration": ANSWERS[name]}
    if name == "slowly":
        monkeypatch.setattr(transport, "SECONDS", 0.1)
    problem(client.post("/oidc/start", json={}), 503)
    assert ana.sign_in().status_code == 200


def test_a_provider_that_is_away_is_not_asked_in_a_hurry_and_is_found_again(site, monkeypatch):
    site.idp.replaces["/.well-known/openid-configuration"] = ANSWERS["an error"]
    client = site.browser()
    answers = [client.post("/oidc/start", json={}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503] * 3
    assert answers[0].headers["retry-after"] == "10"
    assert site.idp.asked.count("/.well-known/openid-configuration") == 1
    site.idp.replaces = {}
    monkeypatch.setattr(keeping, "PAUSE", 0.0)
    assert site.sign_in().me()["name"] == "ana"
    warnings = httpx.get(f"{site.service.url}/readyz").json()["warnings"]
    assert not any("institute" in each for each in warnings)


def test_what_the_token_endpoint_refuses(site):
    client = site.browser()
    for error, why in (("invalid_grant", "code"), ("invalid_client", "client"), ("server_error", "away")):
        site.idp.replaces["/token"] = lambda request, error=error: send(request, 400, {"error": error})
        assert site.sign_in(client).problem == why
    site.idp.replaces["/token"] = lambda request: send(request, 200, {"access_token": "x"})
    assert site.sign_in(client).problem == "token"
    site.idp.replaces, site.idp.secret = {}, "another"
    assert site.sign_in(client).problem == "client"


def test_a_person_who_declines_is_not_counted(site, monkeypatch):
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 1)
    client = site.browser()
    site.idp.denies = "access_denied"
    came = site.sign_in(client, next="/runs")
    assert came.onward == "/sign-in?problem=denied&next=%2Fruns"
    site.idp.denies = "temporarily_unavailable"
    assert site.sign_in(client).problem == "away"
    site.idp.denies = None
    assert site.sign_in(client, again=True).me()["name"] == "ana"
    assert site.idp.prompts == [None, None, "login"]


def test_an_answer_belongs_to_one_sign_in_of_one_browser(site):
    mine, other = site.browser(), site.browser()
    address = site.begin(mine)
    assert "problem=state" in other.get(address).text, "a browser without a sign-in"
    site.begin(other)
    assert "problem=state" in other.get(address).text, "a browser with another sign-in"
    kept = dict(mine.cookies)
    assert mine.get(address).status_code == 200
    assert mine.get("/me").status_code == 200
    mine.post("/sign-out")
    assert "problem=state" in mine.get(address).text, "it has ended"
    mine.cookies.update(kept)
    assert "problem=code" in mine.get(address).text, "the provider gave the code once"
    problem(mine.get("/me"), 401)
    kept = {name: value[:-2] + ("AA" if not value.endswith("AA") else "BB") for name, value in kept.items()}
    mine.cookies.clear()
    mine.cookies.update(kept)
    assert "problem=state" in mine.get(site.begin(other)).text, "a cookie that this server has not signed"


def test_what_else_may_come_to_the_callback(site):
    client = site.browser()
    address = httpx.URL(site.begin(client))
    wrong = address.copy_merge_params({"iss": "https://evil.example"})
    assert "problem=token" in client.get(wrong).text, "of another provider (RFC 9207)"
    address = httpx.URL(site.begin(client))
    assert "problem=state" in client.get(address.copy_remove_param("code")).text
    assert "problem=state" in client.get("/oidc/callback", params={"code": "\ud7ff" * 300, "state": "é"}).text
    assert client.post("/oidc/callback", content=b"code=x").status_code == 405


def test_failures_count_for_an_address_as_those_of_passwords_do(site, monkeypatch):
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 2)
    ana, client = person(site.service), site.browser()
    site.idp.changes = {"aud": "another-client"}
    assert [site.sign_in(client).problem for _ in range(3)] == ["token", "token", "blocked"]
    site.idp.changes = {}
    assert site.sign_in(client).problem == "blocked"
    problem(ana.sign_in(client=client), 429)
    assert site.sign_in().me()["name"] == "ana", "from elsewhere"
    (first, second) = entries(site.service, subject="oidc:token")[-2:]
    assert (first["actor"], first["action"]) == ("oidc", "sign_in_failed")
    assert "aud" in second["after"]["why"]


def test_other_sites_cannot_use_up_the_failures_of_an_address(site, monkeypatch):
    """A page elsewhere may open the callback in this browser; without a sign-in that began here nothing counts."""
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 1)
    client = site.browser()
    for _ in range(3):
        assert "problem=state" in client.get("/oidc/callback", params={"state": "x", "code": "x"}).text
    for origin in ("http://evil.example", "null"):
        answer = client.post("/oidc/start", json={}, headers={"origin": origin})
        problem(answer, 403)
        assert "set-cookie" not in answer.headers
    assert site.sign_in(client).me()["name"] == "ana"


def test_a_verifier_of_another_sign_in_is_refused_by_the_provider(site):
    """The provider of the tests checks PKCE, so that a code without its verifier is worth nothing."""
    address = httpx.URL(site.begin(site.browser()))
    form = {"grant_type": "authorization_code", "code": address.params["code"], "code_verifier": "x" * 43}
    form["redirect_uri"] = str(address.copy_with(query=None))
    basic = base64.b64encode(f"{CLIENT}:{site.idp.secret}".encode()).decode()
    headers = {"authorization": f"Basic {basic}"}
    answer = httpx.post(f"{site.idp.issuer}/token", data=form, headers=headers, timeout=LIMIT)
    assert answer.json() == {"error": "invalid_grant"}
