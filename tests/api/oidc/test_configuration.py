"""The settings of a provider: what they mean, and that a wrong one is told and blocks nothing."""

import json

import httpx
import pytest
from hooke_api.base.access import Role
from hooke_api.base.policy import LEAST, Other
from hooke_api.base.settings import Settings
from hooke_api.oidc import configuration
from hooke_api.oidc.admission import admitted, free_name, role_of, values
from hooke_api.oidc.configuration import Configuration, read
from hooke_api.oidc.problems import COUNTED, SENTENCES, NotSignedIn, Problem, sentence

from tests.api.databases import ONE_KIND
from tests.api.persons import person

RIGHT = {"HOOKE_OIDC_ISSUER": "https://idp.example/realms/lab", "HOOKE_OIDC_CLIENT_ID": "hooke"}


def given(monkeypatch, tmp_path, **variables):
    """Return what is read from variables of the environment."""
    for name, value in (
        RIGHT | {f"HOOKE_OIDC_{name.upper()}": value for name, value in variables.items()}
    ).items():
        monkeypatch.setenv(name, value)
    return read(Settings(home=tmp_path))


def test_everything_is_read(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("s3cret\n")
    found, faults = given(
        monkeypatch,
        tmp_path,
        client_secret_file=str(tmp_path / "secret"),
        name="the institute",
        scopes="openid  email groups",
        domains='["Example.org", "@lab.example.org"]',
        groups='["hooke"]',
        groups_claim="realm_access.roles",
        roles='{"chiefs": "admin", "crew": "researcher"}',
        new_users="viewer",
    )
    assert faults == []
    assert found == Configuration(
        issuer="https://idp.example/realms/lab",
        client_id="hooke",
        client_secret="s3cret",
        name="the institute",
        scopes="openid email groups",
        domains=frozenset({"example.org", "lab.example.org"}),
        groups_claim="realm_access.roles",
        groups=frozenset({"hooke"}),
        roles={"chiefs": Role.ADMIN, "crew": Role.RESEARCHER},
        makes_users=True,
        usual_role=Role.VIEWER,
    )
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("given_url", "address"),
    [
        ("https://Hooke.example.org:443/", "https://hooke.example.org"),
        ("http://localhost:80", "http://localhost"),
        ("https://hooke.example.org:8443", "https://hooke.example.org:8443"),
        ("https://hooke.example.org:80", "https://hooke.example.org:80"),
    ],
)
def test_a_public_address_is_written_as_browsers_do(monkeypatch, tmp_path, given_url, address):
    """A browser leaves the usual port out of Host: nobody could sign in at an address that has it."""
    monkeypatch.setenv("HOOKE_PUBLIC_URL", given_url)
    found, faults = given(monkeypatch, tmp_path)
    assert faults == [] and found.public_url == address


def test_the_least_is_issuer_and_client(monkeypatch, tmp_path):
    found, faults = given(monkeypatch, tmp_path)
    assert faults == []
    assert (found.name, found.scopes, found.makes_users) == ("idp.example", "openid profile email", False)
    monkeypatch.delenv("HOOKE_OIDC_ISSUER")
    assert read(Settings(home=tmp_path)) == (
        None,
        ["HOOKE_OIDC_ISSUER is not set; without it there is no use for HOOKE_OIDC_CLIENT_ID"],
    )
    monkeypatch.delenv("HOOKE_OIDC_CLIENT_ID")
    assert read(Settings(home=tmp_path)) == (None, [])


FAULTS = {
    "issuer": ["http://idp.example", "idp.example", "https://", "https://a@idp.example", "https://idp.example?x"],
    "client_id": [" ", "é"],
    "client_secret_file": ["absent", "."],
    "name": ["x" * 61, "a\nb"],
    "scopes": ["email", "openid é"],
    "domains": ["example.org", '"example.org"', '["example"]', "[7]", "["],
    "groups": ["{}", "hooke", "[" * 100_000],
    "roles": ["[]", '{"crew": "king"}', '{"crew": 7}', "7"],
    "new_users": ["everybody", "admin", "viewer", "mapped"],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in FAULTS.items() for value in values])
def test_a_fault_switches_the_provider_off_and_names_its_setting(monkeypatch, tmp_path, name, value):
    found, faults = given(monkeypatch, tmp_path, **{name: value})
    assert found is None
    assert [fault.partition(" ")[0] for fault in faults] == [f"HOOKE_OIDC_{name.upper()}"]


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8080/realms/lab", "http://localhost", "http://[::1]:1/"])
def test_this_host_needs_no_tls(monkeypatch, tmp_path, issuer):
    monkeypatch.setitem(RIGHT, "HOOKE_OIDC_ISSUER", issuer)
    assert given(monkeypatch, tmp_path)[1] == []


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(configuration, "PACKAGES", ("no_such_package",))
    assert given(monkeypatch, tmp_path)[1] == [
        "HOOKE_OIDC_ISSUER needs the package no_such_package: pip install -c constraints.txt -e 'api[oidc]' in "
        "the clone of Hooke"
    ]


@ONE_KIND
def test_a_wrong_configuration_is_told_and_passwords_go_on(site):
    ana = person(site.service)
    site.configure(oidc_domains="example.org")
    warnings = httpx.get(f"{site.service.url}/readyz").json()["warnings"]
    assert warnings == [
        "nobody signs in through the provider: HOOKE_OIDC_DOMAINS must be a JSON list of texts such as "
        '["one", "two"]'
    ]
    assert site.browser().get("/oidc").json()["name"] is None
    assert ana.sign_in().status_code == 200


def configured(**changes) -> Configuration:
    return Configuration("https://idp.example", "hooke", **changes)


@pytest.mark.parametrize(
    "claims, admits",
    [
        ({"email": "ana@example.org", "email_verified": True}, True),
        ({"email": "ana@EXAMPLE.ORG", "email_verified": "true"}, True),
        ({"email": "ana@example.org@evil.example", "email_verified": True}, False),
        ({"email": "ana@sub.example.org", "email_verified": True}, False),
        ({"email": "@example.org", "email_verified": True}, False),
        ({"email": "example.org", "email_verified": True}, False),
        ({"email": ["ana@example.org"], "email_verified": True}, False),
        ({"email": "ana@example.org", "email_verified": "yes"}, False),
        ({"email": "ana@example.org"}, False),
        ({}, False),
    ],
)
def test_domains_are_those_of_verified_addresses(claims, admits):
    rule = configured(domains=frozenset({"example.org"}))
    if admits:
        assert admitted(claims | {"sub": "1"}, rule).label == claims["email"]
    else:
        with pytest.raises(NotSignedIn) as raised:
            admitted(claims | {"sub": "1"}, rule)
        assert raised.value.problem is Problem.RULE


@pytest.mark.parametrize(
    "claims, found",
    [
        ({"groups": ["a", 7, None, "b"]}, {"a", "b"}),
        ({"groups": "a"}, {"a"}),
        ({"groups": {"a": 1}}, set()),
        ({"groups": None}, set()),
        ({}, set()),
    ],
)
def test_groups_are_texts_or_lists_of_them(claims, found):
    assert values(claims, "groups") == found


def test_a_claim_may_be_in_an_object_or_have_a_dot_in_its_name():
    assert values({"realm_access": {"roles": ["a"]}}, "realm_access.roles") == {"a"}
    assert values({"https://lab.example/groups": ["a"]}, "https://lab.example/groups") == {"a"}
    assert values({"realm_access": ["roles"]}, "realm_access.roles") == frozenset()


def test_the_greatest_role_of_a_group_counts():
    rule = configured(roles={"crew": Role.RESEARCHER, "chiefs": Role.ADMIN}, usual_role=Role.VIEWER)
    for groups, role in ((["crew", "chiefs"], "admin"), (["crew"], "researcher"), ([], "viewer")):
        assert role_of(admitted({"sub": "1", "groups": groups}, rule), rule) == role


@pytest.mark.parametrize(
    "claims, taken, name",
    [
        ({"preferred_username": "Ana.Müller"}, set(), "ana.muller"),
        ({"preferred_username": "ana"}, {"ana"}, "ana-2"),
        ({"preferred_username": "ana", "email": "a.m@example.org"}, {"ana"}, "a.m"),
        ({"preferred_username": "ana"}, {"ana", "ana-2", "ana-3"}, "ana-4"),
        ({"preferred_username": "owner"}, set(), "owner-2"),
        ({"preferred_username": "machine:ci"}, set(), "machine-ci"),
        ({"name": "Ana Müller"}, set(), "ana-muller"),
        ({"name": "安娜"}, set(), "user"),
        ({"name": "../" * 40}, set(), "user"),
        ({"preferred_username": "a" * 200}, set(), "a" * 50),
    ],
)
def test_a_new_user_has_a_name_of_their_own(claims, taken, name):
    assert free_name(admitted(claims | {"sub": "1"}, configured()), taken) == name


def test_every_problem_has_a_sentence_with_a_way_out():
    assert set(SENTENCES) == set(Problem) >= COUNTED
    ways = ("password", "again", "administrator", "start-up token", "account", "another")
    for each in Problem:
        assert any(way in sentence(each, "X") for way in ways), each
        assert "{" not in sentence(each, "X")
    assert sentence(Problem.DENIED, "{name}").startswith("{name} did not")


def test_what_nobody_needs_a_credential_for():
    assert {name for name in LEAST if "oidc" in name or name == "read_provider"} == {
        *("read_provider", "start_oidc", "finish_oidc")
    }
    assert all(LEAST[name] is Other.ANYBODY for name in ("read_provider", "start_oidc", "finish_oidc"))


def test_settings_are_those_of_a_shell(monkeypatch, tmp_path):
    """Lists and objects stay texts until they are read, so that a wrong one does not end the server."""
    monkeypatch.setenv("HOOKE_OIDC_ROLES", "{")
    assert Settings(home=tmp_path).oidc_roles == "{"
    monkeypatch.setenv("HOOKE_OIDC_ROLES", json.dumps({"a": "viewer"}))
    assert Settings(home=tmp_path).oidc_roles == '{"a": "viewer"}'
