"""What real providers do: claims at the userinfo endpoint, any characters in secrets, names of keys used again."""

import pytest
from hooke_api.oidc import keeping
from hooke_api.oidc.admission import Lacking, joined, lacking
from hooke_api.oidc.configuration import Configuration
from hooke_api.oidc.problems import NotSignedIn

from tests.api.databases import ONE_KIND
from tests.api.oidc.provider import Key, b64, send, unsigned

pytestmark = ONE_KIND
SUBJECT = {"sub": "1001"}
MORE = {"preferred_username": "ana", "email": "ana@example.org", "email_verified": True, "groups": ["hooke"]}
RULE = {
    "oidc_domains": '["example.org"]',
    "oidc_groups": '["hooke"]',
    "oidc_roles": '{"hooke": "operator"}',
    "oidc_new_users": "mapped",
}


def test_what_the_token_does_not_say_is_asked_for(site):
    site.idp.person, site.idp.userinfo = SUBJECT, SUBJECT | MORE
    site.configure(**RULE)
    me = site.sign_in().me()
    assert (me["name"], me["role"]) == ("ana", "operator")
    assert site.idp.asked.count("/userinfo") == 1
    site.idp.person = SUBJECT | MORE
    site.sign_in().me()
    assert site.idp.asked.count("/userinfo") == 1, "a token that says all is enough"


def test_what_is_said_of_somebody_else_or_of_nobody_signs_nobody_in(site):
    site.idp.person = SUBJECT
    for told in (MORE, MORE | {"sub": "1002"}, MORE | {"sub": None}, MORE | {"sub": ["1001"]}):
        site.idp.userinfo = told
        site.configure(**RULE)
        assert site.sign_in().problem == "token", told
    for told in (SUBJECT | MORE | {"groups": []}, SUBJECT | MORE | {"email_verified": False}, SUBJECT):
        site.idp.userinfo = told
        assert site.sign_in().problem == "rule", told


def test_an_endpoint_that_fails_matters_only_where_it_is_needed(site):
    site.idp.person, site.idp.userinfo = SUBJECT, {}
    site.idp.replaces["/userinfo"] = lambda request: send(request, 500, {"error": "server_error"})
    site.configure(**RULE)
    assert site.sign_in().problem == "away"
    site.idp.person = SUBJECT | {name: MORE[name] for name in ("email", "email_verified", "groups")}
    assert site.sign_in().me()["name"] == "ana", "nothing of it is needed"
    site.idp.person = {"sub": "1007", "groups": ["hooke"]}
    site.configure(**RULE | {"oidc_domains": None})
    assert site.sign_in().me()["name"] == "user", "a name is only shown"
    site.idp.discovery = {"userinfo_endpoint": "http://idp.example/userinfo"}
    site.configure(**RULE)
    assert site.browser().post("/oidc/start", json={}).status_code == 503, "without TLS nobody is asked"


def test_the_signed_claim_counts_and_an_address_keeps_its_own_verification():
    claims = {"sub": "1", "email": "a@x.org", "groups": ["b"]}
    told = {"sub": "1", "email": "c@x.org", "email_verified": True, "groups": ["admin"], "name": "C"}
    assert joined(claims, told) == claims | {"name": "C"}
    assert joined(claims, told | {"email": "a@x.org"})["email_verified"] is True
    assert (
        joined({"sub": "1", "email_verified": True}, told | {"email_verified": False})["email_verified"] is False
    )
    with pytest.raises(NotSignedIn, match="another person"):
        joined(claims, told | {"sub": "2"})


def test_what_is_lacking_follows_from_the_configuration():
    full = SUBJECT | MORE | {"realm_access": {"roles": []}}
    for changes, claims, wanted in (
        ({}, SUBJECT, Lacking.NAME),
        ({}, SUBJECT | {"email": "a@x.org"}, Lacking.NOTHING),
        ({"domains": frozenset({"x.org"})}, SUBJECT | {"email": "a@x.org"}, Lacking.NEEDED),
        ({"groups": frozenset({"x"})}, {"sub": "1", "name": "A"}, Lacking.NEEDED),
        ({"groups": frozenset({"x"}), "groups_claim": "realm_access.roles"}, full, Lacking.NOTHING),
    ):
        assert lacking(claims, Configuration(issuer="x", client_id="y", **changes)) is wanted, (changes, claims)


@pytest.mark.parametrize("methods", [["client_secret_basic"], ["client_secret_post", "client_secret_basic"]])
@pytest.mark.parametrize("literal", [False, True])
def test_a_secret_with_any_characters_reaches_the_provider(site, literal, methods):
    """Some providers decode what is in the header, as the standard says (RFC 6749, section 2.3.1), some do not."""
    site.idp.literal = literal
    site.idp.discovery = {"token_endpoint_auth_methods_supported": methods}
    for secret in ("the-secret:with+signs/and%more", "a b&c=d~e", "%41"):
        site.idp.secret = secret
        site.secret_file.write_text(f"{secret}\n")
        site.configure(oidc_domains='["example.org"]', oidc_new_users="viewer")
        assert site.sign_in().me()["name"] == "ana", secret


def test_a_new_key_under_the_name_of_the_former_one_is_found(site, monkeypatch):
    """Some providers name their keys always the same, or not at all."""
    monkeypatch.setattr(keeping, "PAUSE", 0.0)

    def sign(key, claims):
        header = {"alg": key.alg} | ({} if key.kid is None else {"kid": key.kid})
        text = unsigned(header, claims)
        return f"{text}.{b64(key.sign(text.encode()))}"

    for kid in ("first", None):
        for _ in range(2):
            key = Key(kid)
            listed = {name: value for name, value in key.public().items() if value is not None}
            site.idp.replaces["/jwks"] = lambda request, listed=listed: send(request, 200, {"keys": [listed]})
            site.idp.forge = lambda claims, key=key: sign(key, claims)
            assert site.sign_in().me()["name"] == "ana", kid
        other = Key(kid)
        site.idp.forge = lambda claims, other=other: sign(other, claims)
        assert site.sign_in().problem == "token", "a key that the provider does not list"
