"""`hooke users`, `hooke tokens` and `hooke audit`, as an administrator types them, against a running API."""

import json

import pytest
from hooke.cli.group import app
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.persons import PASSWORD, browser, unique

pytestmark = ONE_KIND  # the database makes no difference to a command


@pytest.fixture
def remote(service, monkeypatch):
    """Set address and token as a user would."""
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    return service


def hooke(*arguments, status=0):
    answer = CliRunner().invoke(app, list(arguments))
    assert answer.exit_code == status, answer.output
    return answer.output


def test_from_one_person_to_a_group(remote, monkeypatch, tmp_path):
    name = unique("ana")
    assert "hooke users add USER" in hooke("users", "list")
    told = hooke("users", "add", name, "--role", "viewer")
    page, _, secret = told.splitlines()[-1].partition("#")
    assert page == f"{remote.url}/invite"
    assert "invited" in hooke("users", "list")
    client = browser(remote)
    client.post("/invites/accept", json={"invite": secret, "password": PASSWORD}).raise_for_status()
    assert hooke("users", "role", name, "researcher") == f"{name} is researcher\n"
    listed = hooke("users", "list")
    assert f"{name}  researcher  active" in listed
    assert "Input should be" in hooke("users", "role", name, "king", status=1)
    token = client.post("/tokens", json={"label": "laptop", "scope": "submit"}).json()["token"]

    monkeypatch.setenv("HOOKE_TOKEN", token)
    assert "needs the role admin" in hooke("users", "list", status=1)
    made = hooke("tokens", "create", "further", "--scope", "read", "--days", "3").strip()
    assert made.startswith("hooke_token_")
    listed = hooke("tokens", "list")
    assert made not in listed
    assert "further" in listed
    id = next(line.split()[0] for line in listed.splitlines() if "further" in line)
    assert hooke("tokens", "revoke", id) == f"{id} (further) is revoked\n"
    assert "needs the role operator" in hooke("tokens", "create", "x", "--scope", "operate", status=1)
    assert "needs the role operator" in hooke("clusters", "token", "hpc", status=1)

    monkeypatch.setenv("HOOKE_TOKEN", remote.settings.token)
    out = tmp_path / "node.token"
    assert "agent:hpc" in hooke("tokens", "create", "node", "--scope", "agent:hpc", "--out", str(out))
    assert out.read_text().startswith("hooke_cluster_")
    assert "an agent" in hooke("tokens", "list")
    assert "/invite#hooke_invite_" in hooke("users", "invite", name)
    assert hooke("users", "sign-out", name) == f"the sessions of {name} have ended\n"
    assert client.get("/me").status_code == 401
    client.post("/sign-in", json={"name": name, "password": PASSWORD}).raise_for_status()
    assert "is disabled" in hooke("users", "disable", name)
    assert client.get("/me").status_code == 401
    assert "signs in again" in hooke("users", "enable", name)

    shown = hooke("audit", "--subject", name)
    assert "role viewer, disabled false" in shown
    assert shown.index("change_user") < shown.index("add_user"), "the newest first"
    assert "no entries match" in hooke("audit", "--actor", "nobody")
    exported = [json.loads(line) for line in hooke("audit", "--subject", name, "--export", "jsonl").splitlines()]
    assert [entry["action"] for entry in exported][:2] == ["add_user", "accept_invite"]
    assert hooke("audit", "--subject", name, "--export", "csv").startswith("id,at,actor,")
    assert "jsonl or csv" in hooke("audit", "--export", "xml", status=1)


def test_a_token_file_that_exists_is_kept(remote, tmp_path):
    out = tmp_path / "token"
    out.write_text("mine")
    assert "File exists" in hooke("tokens", "create", "x", "--out", str(out), status=1)
    assert out.read_text() == "mine"
    out.unlink()
    assert "the request does not fit" in hooke("tokens", "create", "=x", "--out", str(out), status=1)
    assert not out.exists()
