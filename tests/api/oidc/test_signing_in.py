"""Sign-in through a provider as it should be: new users, invitations, linked accounts, roles, the audit trail."""

import threading
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, urlsplit

import httpx
from hooke_api.models import Base, BrowserSession, User, UserIdentity
from hooke_api.oidc import flows
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.oidc.provider import SECRET
from tests.api.persons import PASSWORD, invite, person, unique
from tests.api.test_audit_trail import told
from tests.api.test_experiments import problem
from tests.waiting import LIMIT


def named(site, name="ana"):
    """Give the person at the provider a name and a subject that no other test has."""
    name = unique(name)
    site.idp.person = {
        "sub": f"subject-{name}",
        "preferred_username": name,
        "email": f"{name}@example.org",
        "email_verified": True,
    }
    return name


def test_a_first_sign_in_makes_a_user_and_a_second_one_finds_it(site):
    name = named(site)
    came = site.sign_in(next="/runs?state=running")
    assert came.onward == "/runs?state=running"
    me = came.me()
    assert me.pop("projects") == {}
    assert me == {"name": name, "role": "viewer", "credential": "session", "is_user": True, "users": True}
    site.idp.person["email"], site.idp.person["preferred_username"] = "other@example.org", "other"
    assert site.sign_in().me()["name"] == name, "the account is known by issuer and subject"
    found = next(user for user in site.service.get("/users")["items"] if user["name"] == name)
    assert (found["has_password"], found["linked"], found["created_by"]) == (False, True, "oidc")
    problem(came.client.post("/sign-in", json={"name": name, "password": PASSWORD}), 401)
    assert [(actor, action) for actor, action, _, _ in told(site.service, name)][:3] == [
        ("oidc", "add_user"),
        (name, "sign_in"),
        (name, "sign_in"),
    ]
    entry = told(site.service, name)[1][3]
    assert entry == {"issuer": site.idp.issuer, "subject": f"subject-{name}", "label": f"{name}@example.org"}


def test_a_session_ends_by_sign_out_as_any_other(site):
    named(site)
    came = site.sign_in()
    assert came.client.post("/sign-out").status_code == 204
    problem(came.client.get("/me"), 401)


def test_of_two_first_sign_ins_at_a_time_both_find_one_user(site):
    name = named(site)
    clients = [site.browser() for _ in range(2)]
    returns = [site.begin(client) for client in clients]
    pairs = zip(clients, returns, strict=True)
    threads = [threading.Thread(target=client.get, args=(address,)) for client, address in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [client.get("/me").json()["name"] for client in clients] == [name, name]


@ONE_KIND
def test_a_name_that_is_taken_or_reserved_is_no_way_into_another_account(site):
    ana = person(site.service, "admin")
    site.idp.person = {"sub": ana.name, "preferred_username": ana.name, "email_verified": True}
    site.idp.person["email"] = f"{ana.name}@example.org"
    me = site.sign_in().me()
    assert (me["name"], me["role"]) == (f"{ana.name}-2", "viewer")
    site.idp.person = {"sub": "root", "preferred_username": "Owner", "email": "owner@example.org"}
    site.idp.person["email_verified"] = True
    assert site.sign_in().me()["name"] == "owner-2"


@ONE_KIND
def test_who_is_not_admitted_is_told_so(site):
    named(site)
    for changes in ({"email": "ana@example.com"}, {"email_verified": False}, {"email": None}):
        site.idp.changes = changes
        assert site.sign_in().problem == "rule"
    site.idp.changes = {}
    site.configure()
    assert site.sign_in().problem == "uninvited", "nobody becomes a user unless the configuration says so"
    site.configure(oidc_groups='["hooke"]', oidc_groups_claim="realm_access.roles", oidc_new_users="researcher")
    site.idp.changes = {"realm_access": {"roles": ["others"]}}
    assert site.sign_in().problem == "rule"
    site.idp.changes = {"realm_access": {"roles": ["others", "hooke"]}}
    assert site.sign_in().me()["role"] == "researcher"


@ONE_KIND
def test_the_role_of_a_user_whom_a_sign_in_made_follows_the_groups(site):
    name = named(site)
    roles = '{"crew": "researcher", "chiefs": "admin"}'
    site.configure(oidc_roles=roles, oidc_new_users="mapped")
    assert site.sign_in().problem == "rule", "no group with a role"
    for groups, role in ((["crew"], "researcher"), (["crew", "chiefs"], "admin"), ("crew", "researcher")):
        site.idp.changes = {"groups": groups}
        came = site.sign_in()
        assert came.me()["role"] == role
    site.idp.changes = {"groups": []}
    assert site.sign_in().problem == "rule"
    changes = [(before, after) for _, action, before, after in told(site.service, name) if action == "change_user"]
    assert [(before["role"], after["role"]) for before, after in changes] == [
        ("researcher", "admin"),
        ("admin", "researcher"),
    ]


@ONE_KIND
def test_an_invitation_is_accepted_by_an_account_and_keeps_its_role(site):
    site.configure(oidc_roles='{"chiefs": "admin"}')
    named(site, "someone-else")
    site.idp.changes = {"groups": ["chiefs"]}
    name = unique("eva")
    secret = invite(site.service, name, "operator")
    came = site.sign_in(invite=secret)
    assert came.me() | {"name": name, "role": "operator"} == came.me()
    assert site.sign_in(invite=secret).problem == "invitation"
    assert site.sign_in().me()["role"] == "operator", "an administrator gave it, the provider does not take it"
    assert [action for _, action, _, _ in told(site.service, name)] == ["add_user", "accept_invite", "sign_in"]
    second = invite(site.service, unique("ben"))
    assert site.sign_in(invite=second).problem == "taken"


@ONE_KIND
def test_a_user_links_an_account_signs_in_by_it_and_unlinks_it(site):
    site.configure()
    ana = person(site.service, "researcher")
    named(site, "elsewhere")
    assert site.sign_in().problem == "uninvited"
    client = ana.client
    returned = client.get(site.begin(client, "/me/identities/link"))
    assert "url=/account" in returned.text
    assert "set-cookie" not in returned.headers or "session" not in returned.headers["set-cookie"]
    assert site.idp.prompts[-1] == "login", "who links may have another account than the browser's"
    listed = client.get("/me/identities").json()
    assert listed["has_password"] is True
    assert [(item["usable"], item["last_way"]) for item in listed["items"]] == [(True, False)]
    other = site.sign_in()
    assert other.me()["name"] == ana.name
    assert client.delete(f"/me/identities/{listed['items'][0]['id']}").status_code == 204
    problem(other.client.get("/me"), 401)
    assert client.get("/me").status_code == 200
    assert site.sign_in().problem == "uninvited"
    actions = [action for _, action, _, _ in told(site.service, ana.name)]
    assert actions[-3:] == ["link_identity", "sign_in", "unlink_identity"]


@ONE_KIND
def test_the_last_way_in_is_not_unlinked(site):
    named(site)
    came = site.sign_in()
    (item,) = came.client.get("/me/identities").json()["items"]
    assert item["last_way"] is True
    path = f"/me/identities/{item['id']}"
    assert "could not sign in" in problem(came.client.delete(path), 409)["detail"]
    named(site, "second")
    came.client.get(site.begin(came.client, "/me/identities/link"))
    items = came.client.get("/me/identities").json()["items"]
    assert [each["last_way"] for each in items] == [False, False]
    site.configure(oidc_issuer=f"{site.idp.issuer}/elsewhere")
    assert [each["last_way"] for each in came.client.get("/me/identities").json()["items"]] == [True, True]
    problem(came.client.delete(path), 409)
    site.configure()
    assert came.client.delete(path).status_code == 204
    problem(came.client.delete(path), 404)


@ONE_KIND
def test_accounts_are_linked_only_from_a_session_that_goes_on(site):
    ana = person(site.service)
    named(site)
    problem(site.service.client.post("/me/identities/link"), 409)
    token = {"authorization": f"Bearer {ana.token('read')}"}
    problem(httpx.post(f"{site.service.url}/api/v1/me/identities/link", headers=token), 409)
    address = site.begin(ana.client, "/me/identities/link")
    assert ana.client.post("/sign-out").status_code == 204
    assert "problem=session" in ana.client.get(address).text
    assert site.service.count(UserIdentity) == 0
    ben = person(site.service, name="ben")
    site.sign_in()
    assert "problem=taken" in ben.client.get(site.begin(ben.client, "/me/identities/link")).text


@ONE_KIND
def test_a_disabled_user_does_not_come_in(site):
    name = named(site)
    site.sign_in()
    site.service.client.patch(f"/users/{name}", json={"disabled": True}).raise_for_status()
    assert site.sign_in().problem == "disabled"


WAYS = (
    *("//evil.example", "/\\evil.example", "https://evil.example/", "/\t/evil.example", "javascript:alert(1)"),
    *("/ ", "/é", "/" + "x" * 1500, ""),
)


@ONE_KIND
def test_the_way_back_is_a_page_of_this_server(site):
    named(site)
    client = site.browser()
    assert {way: site.sign_in(client, next=way).onward for way in WAYS} == dict.fromkeys(WAYS, "/")


@ONE_KIND
def test_the_way_back_is_no_markup(site):
    named(site)
    came = site.sign_in(next='/"><script>alert(1)</script>')
    assert "<script>" not in came.answer.text
    assert came.onward == '/"><script>alert(1)</script>'


@ONE_KIND
def test_the_cookies_of_a_sign_in(site):
    """Lax until the provider has answered, for ten minutes and this browser; Strict afterwards."""
    named(site)
    client = site.browser()
    begun = client.post("/oidc/start", json={})
    lax = begun.headers["set-cookie"].lower()
    assert all(part in lax for part in ("httponly", "samesite=lax", "max-age=600", "path=/"))
    assert begun.headers["cache-control"] == "no-store"
    asked = {name: value[0] for name, value in parse_qs(urlsplit(begun.json()["address"]).query).items()}
    value = next(iter(SimpleCookie(begun.headers["set-cookie"]).values())).value
    assert len(asked["state"]) == len(asked["nonce"]) == len(asked["code_challenge"]) == 43
    assert "code_verifier" not in asked
    assert SECRET not in value
    came = client.get(site.begin(client))
    cookies = came.headers.get_list("set-cookie")
    ended = next(each.lower() for each in cookies if "oidc" in each)
    assert "max-age=0" in ended
    strict = next(each.lower() for each in cookies if "hooke-session" in each)
    assert "samesite=strict" in strict and "httponly" in strict
    encrypted = client.post(
        "/oidc/start", json={}, headers={"x-forwarded-proto": "https", "origin": site.service.url}
    )
    assert encrypted.headers["set-cookie"].startswith("__Host-hooke-oidc-")
    assert "secure" in encrypted.headers["set-cookie"].lower()
    assert "redirect_uri=https%3A%2F%2F127.0.0.1" in encrypted.json()["address"]


@ONE_KIND
def test_no_secret_of_a_sign_in_is_stored(site):
    named(site)
    client = site.browser()
    address = site.begin(client)
    came = client.get(address)
    assert came.status_code == 200
    asked = parse_qs(urlsplit(address).query)
    with site.service.database.read() as session:
        stored = "".join(
            repr(row) for table in Base.metadata.sorted_tables for row in session.execute(select(table))
        )
    assert site.idp.person["sub"] in stored
    for secret in (SECRET, asked["code"][0], asked["state"][0], next(iter(client.cookies.values()))):
        assert secret not in stored


@ONE_KIND
def test_a_browser_is_led_to_the_sign_in_also_before_the_first_user(site):
    with httpx.Client(base_url=site.service.url, timeout=LIMIT) as client:
        assert client.get("/runs/run_1").headers["location"] == "/sign-in?next=/runs/run_1"
        assert client.get("/api/v1/oidc").json() == {"name": "the institute", "problem": None}
        said = client.get("/api/v1/oidc", params={"problem": "denied"}).json()["problem"]
        assert said.startswith("the institute did not sign you in")


@ONE_KIND
def test_a_public_client_and_one_whose_secret_is_in_the_form(site):
    name = named(site)
    site.idp.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    site.configure(oidc_domains='["example.org"]', oidc_new_users="viewer")
    assert site.sign_in().me()["name"] == name
    site.idp.secret = None
    site.configure(oidc_client_secret_file=None)
    assert site.sign_in().me()["name"] == name


@ONE_KIND
def test_a_public_address_is_the_only_one(site):
    site.configure(public_url="https://hooke.example.org/")
    told = problem(site.browser().post("/oidc/start", json={}), 409)["detail"]
    assert "at https://hooke.example.org" in told


@ONE_KIND
def test_without_a_provider_everything_else_goes_on(site):
    site.configure(oidc_issuer=None)
    client = site.browser()
    assert client.get("/oidc").json() == {"name": None, "problem": None}
    problem(client.post("/oidc/start", json={}), 409)
    assert "problem=off" in client.get("/oidc/callback").text
    assert person(site.service).sign_in().status_code == 200


@ONE_KIND
def test_a_sign_in_that_began_too_long_ago_is_over(site, monkeypatch):
    named(site)
    client = site.browser()
    address = site.begin(client)
    monkeypatch.setattr(flows, "SECONDS", -1)
    assert "problem=state" in client.get(address).text
    assert site.service.count(User) == site.service.count(BrowserSession) == 0
