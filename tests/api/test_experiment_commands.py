"""`hooke experiments`, as a user types it, against a running API."""

import pytest
from hooke.cli.group import app
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE

pytestmark = ONE_KIND  # the database makes no difference to a command


def hooke(*arguments, status=0):
    answer = CliRunner().invoke(app, ["experiments", *arguments])
    assert answer.exit_code == status, answer.output
    return answer.output


@pytest.fixture
def remote(service, monkeypatch):
    """Set address and token as a user would."""
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    return service


def test_names_of_others_are_no_commands_to_a_terminal(remote):
    """The list of another user would set the title of the window, or clear it."""
    remote.submit(**ALONE, name="\x1b]0;mine\x07\x1b[2J\u202edigits")
    assert "�]0;mine��[2J�digits" in hooke("list")


def test_experiments_are_marked_found_deleted_and_restored(remote):
    first, second = (remote.submit(**ALONE, name=name)["id"] for name in ("digits", "letters"))
    assert hooke("mark", first, "--star", "--tag", "paper", "--note", "why") == f"{first}: starred, tag paper\n"
    header, row = hooke("list", "--filter", "starred and tag = paper").splitlines()
    assert header.split() == ["EXPERIMENT", "NUMBER", "NAME", "STATE", "RUNS", "TAGS", "ANSWER"]
    assert row.split() == [first, "1", "*", "digits", "queued", "0/1", "paper"]
    assert [line.split()[0] for line in hooke("list").splitlines()[1:]] == [second, first]
    assert [line.split()[0] for line in hooke("list", "--limit", "1").splitlines()[1:]] == [second]
    assert "cancel it" in hooke("delete", first, status=1)
    remote.client.post(f"/experiments/{first}/cancel").raise_for_status()
    assert f"hooke experiments restore {first}" in hooke("delete", first)
    assert [line.split()[0] for line in hooke("list").splitlines()[1:]] == [second]
    assert hooke("list", "--deleted").splitlines()[1].split()[:3] == [first, "1", "digits"]
    assert hooke("restore", first) == f"{first} is back: digits\n"
    assert hooke("list", "--deleted") == "no deleted experiments\n"


def test_an_experiment_is_renamed(remote):
    made = remote.submit(**ALONE, name="digits")["id"]
    assert hooke("rename", "1", "Digits, again") == f"{made} is number 1: Digits, again\n"
    assert hooke("rename", made, "--", "-20% in time") == f"{made} is number 1: -20% in time\n"
    assert hooke("list", "--filter", "name = digits") == "no experiment matches the filter\n"
    assert "name" in hooke("rename", "1", " ", status=1)
    assert "no experiment has the number 2" in hooke("rename", "2", "x", status=1)
    assert remote.get(f"/experiments/{made}")["name"] == "-20% in time"


def test_an_experiment_is_given_by_its_number_as_well(remote):
    first, second = (remote.submit(**ALONE, name=name)["id"] for name in ("digits", "letters"))
    assert hooke("mark", "2", "--archive") == f"{second}: archived\n"
    assert hooke("mark", "2", first, "--star") == f"{second}: starred, archived\n{first}: starred\n"
    assert "has not ended" in hooke("extend", "1", "--seeds", "2", status=1)
    for each in (first, second):
        remote.client.post(f"/experiments/{each}/cancel").raise_for_status()
    assert "1 runs were added" in hooke("extend", "1", "--seeds", "1")
    assert f"{second} is deleted" in hooke("delete", "2")
    assert "no experiment has the number 2" in hooke("delete", "2", status=1)
    assert hooke("restore", "2") == f"{second} is back: letters\n"
    assert "no deleted experiment has the number 2" in hooke("restore", "2", status=1)


def test_what_cannot_be_done_is_said_in_a_sentence(remote):
    words = "column 1: no field is called 'stat'; did you mean state?"
    assert words in hooke("list", "--filter", "stat = x", status=1)
    assert "does not apply" in hooke("list", "--deleted", "--filter", "starred", status=1)
    assert hooke("list", "--filter", "starred") == "no experiment matches the filter\n"
    assert "say what to change" in hooke("mark", "exp_x", status=1)
    assert "no experiment has the id exp_x" in hooke("mark", "exp_x", "--unstar", status=1)
