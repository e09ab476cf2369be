"""`hooke projects`, and --project of other commands, as they are typed, against a running API."""

import json

import pytest

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, measured
from tests.api.hands import ALONE, SPEC
from tests.api.persons import person, unique
from tests.api.test_people_commands import hooke, remote

__all__ = ["remote"]

pytestmark = ONE_KIND  # the database makes no difference to a command


@pytest.fixture
def document(remote, tmp_path):
    remote.hello()
    path = tmp_path / "first.yaml"
    path.write_text(json.dumps(SPEC | ALONE))
    return str(path)


def test_a_project_from_the_first_member_to_its_archive(remote, document):
    name, ana = unique("vision"), person(remote, "viewer")
    assert "default" in hooke("projects", "list")
    assert f"hooke projects add {name} USER" in hooke("projects", "create", name, "--keep-runs", "90d")
    assert f"{name} has no members" in hooke("projects", "members", name)
    assert hooke("projects", "add", name, ana.name) == f"{ana.name} is researcher in {name}\n"
    assert "Input should be" in hooke("projects", "add", name, ana.name, "--role", "king", status=1)
    assert ana.name in hooke("projects", "members", name)
    address = hooke("submit", document, "--project", name).split()[-1]
    id = address.rpartition("/")[2]
    hooke("submit", document)
    assert id in hooke("experiments", "list", "--project", name)
    assert len(hooke("experiments", "list").splitlines()) == 3
    assert len(hooke("experiments", "list", "--project", name).splitlines()) == 2
    both = hooke("experiments", "list", "--project", name, "--filter", "starred or number > 0")
    assert len(both.splitlines()) == 2
    assert "no experiment matches" in hooke("experiments", "list", "--project", name, "--filter", "starred")
    assert "--project does not apply" in hooke("experiments", "list", "--project", name, "--deleted", status=1)
    assert hooke("projects", "move", "default", id) == f"{id} is in default: first\n"
    hooke("projects", "move", name, id)
    shown = hooke("projects", "change", name, "--archive", "--keep-runs", "never")
    assert shown == f"the project {name} is archived, and keeps runs forever\n"
    assert "is archived" in hooke("submit", document, "--project", name, status=1)
    assert "say what to change" in hooke("projects", "change", name, status=1)
    assert "do not reach" not in hooke("projects", "list")
    assert hooke("projects", "remove", name, ana.name).startswith(f"{ana.name} has no access to {name} any more")
    assert "no project is called" in hooke("submit", document, "--project", "no-such", status=1)


def test_a_bundle_is_imported_into_a_project(remote, tmp_path):
    name = unique("vision")
    hooke("projects", "create", name)
    bundle = tmp_path / "one.hooke.zip"
    bundle.write_bytes(exported(remote, measured(remote)["id"]))
    hooke("experiments", "import", str(bundle), "--project", name)
    assert len(hooke("experiments", "list", "--project", name).splitlines()) == 2
