"""Settings and places that cannot be are told in a sentence, before anything starts."""

import pytest
from hooke.cli.group import app
from hooke.errors import ArgumentError
from hooke_api.base.read_settings import create_home, read_settings
from typer.testing import CliRunner

ELSEWHERE = "192.0.2.1"
"""An address of nobody (RFC 5737)."""


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ALLOWED_HOSTS", "hooke.example.org", 'a JSON list is needed, such as ["hooke.example.org"]'),
        ("WEBHOOK_NETWORKS", "[10.1.0.0/16]", "a JSON list is needed"),
        ("CONNECTIONS", "many", "Input should be a valid integer"),
        ("UNDO", "1m", "1 minute is less than 10 minutes"),
        ("LOG_LEVEL", "loud", "Input should be 'critical', 'error'"),
    ],
)
def test_a_wrong_setting_is_told_with_its_variable(monkeypatch, name, value, said):
    monkeypatch.setenv(f"HOOKE_{name}", value)
    with pytest.raises(ArgumentError) as caught:
        read_settings()
    assert str(caught.value).startswith(f"HOOKE_{name}={value}: {said}")


def test_an_empty_address_of_the_database_is_none(monkeypatch, tmp_path):
    """As in a file of variables that has all of them."""
    monkeypatch.setenv("HOOKE_DATABASE_URL", "")
    assert read_settings(home=tmp_path).url == f"sqlite:///{tmp_path}/hooke.db"


def up(home, **variables):
    ended = CliRunner().invoke(app, ["up", "--home", str(home)], prog_name="hooke", env=variables)
    assert ended.exit_code == 1, ended.output
    return ended.stderr


def test_hooke_up_says_what_is_wrong_and_starts_nothing(tmp_path):
    home = tmp_path / "home"
    assert up(home, HOOKE_UNDO="1m") == "hooke: HOOKE_UNDO=1m: 1 minute is less than 10 minutes\n"
    told = up(home, HOOKE_DATABASE_URL="postgresql://hooke:secret@localhost/hooke")
    assert told.startswith("hooke: HOOKE_DATABASE_URL begins with postgresql+psycopg:// or sqlite://, such as ")
    assert "secret" not in told
    assert "HOOKE_REDIS_URL begins with redis://" in up(home, HOOKE_REDIS_URL="localhost:6379")
    assert not home.exists()
    assert f"hooke: --host {ELSEWHERE}: Cannot assign requested address: " in up(home, HOOKE_HOST=ELSEWHERE)
    home.joinpath("file").write_text("")
    assert f"the home folder {home}/file/x cannot be used: Not a directory: " in up(home / "file" / "x")


def test_a_home_folder_that_cannot_be_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    create_home(tmp_path / "new" / "home")
    with pytest.raises(ArgumentError, match="file/home cannot be used: Not a directory: name another one"):
        create_home(tmp_path / "file" / "home")
