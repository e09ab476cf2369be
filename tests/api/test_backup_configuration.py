"""The files of an installation outside of its home folder, such as /etc/hooke, in backups."""

import grp
import io
import json
import os

import pytest
import typer
from hooke_api.local import backup_commands
from hooke_api.local.archive import BackupError
from hooke_api.local.backup import Chosen, back_up
from hooke_api.local.restoring import restore, restore_configuration
from typer.testing import CliRunner

from tests.api.databases import make_settings
from tests.api.test_backup import opened, packed, write

COMMANDS = typer.Typer()
COMMANDS.command("backup")(backup_commands.backup)
COMMANDS.command("restore")(backup_commands.restore)
FILES = {
    "api.env": ("HOOKE_DATABASE_URL=postgresql+psycopg://hooke@localhost/hooke\n", 0o640),
    "database.password": ("a secret\n", 0o640),
    "tls/key.pem": ("a key\n", 0o600),
}


def files(folder) -> dict[str, tuple[str, int, int]]:
    """Return the files of a folder: name -> text, permissions and group."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    about = {path: path.stat() for path in found}
    return {
        str(path.relative_to(folder)): (path.read_text(), each.st_mode & 0o777, each.st_gid)
        for path, each in about.items()
    }


@pytest.fixture
def configured(tmp_path, sqlite_template):
    """Return the settings of an instance with a configuration; one file of it is a link to elsewhere."""
    home, folder = tmp_path / "home", tmp_path / "etc"
    home.mkdir()
    (home / "hooke.db").write_bytes(sqlite_template.read_bytes())
    write(home / "token", "secret\n").chmod(0o600)
    for name, (text, mode) in FILES.items():
        write(folder / name, text).chmod(mode)
    write(tmp_path / "secrets" / "redis", "another\n").chmod(0o600)
    (folder / "redis.password").symlink_to(tmp_path / "secrets" / "redis")
    if os.geteuid() == 0:
        os.chown(folder / "api.env", -1, grp.getgrall()[-1].gr_gid)
    return make_settings(home, f"sqlite:///{home / 'hooke.db'}", configuration=folder)


def restored(settings, content: bytes, folder) -> None:
    restore_configuration(settings, io.BytesIO(content), folder)


def test_the_configuration_comes_back_as_it_was_and_first(configured, tmp_path):
    made = back_up(configured, tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    there = tmp_path / "restored"
    there.mkdir()
    there.chmod(0o750)
    restored(make_settings(tmp_path / "new", f"sqlite:///{tmp_path}/new/hooke.db"), content, there)
    assert files(there) == files(configured.configuration)
    assert {name: each[:2] for name, each in files(there).items()} == FILES | {
        "redis.password": ("another\n", 0o600)
    }
    assert not (there / "redis.password").is_symlink()
    assert (there / "tls").stat().st_mode & 0o777 == 0o750
    assert not (tmp_path / "new").exists(), "nothing else is restored"
    again = make_settings(tmp_path / "again", f"sqlite:///{tmp_path}/again/hooke.db")
    restore(again, io.BytesIO(content))
    assert sorted(path.name for path in again.home.iterdir()) == ["hooke.db", "token"]
    assert sum(part.name.startswith("configuration/") for part in made.manifest.parts) == 4


def test_it_is_left_out_when_asked_and_restored_over_nothing(configured, tmp_path):
    back_up(configured, tmp_path / "without", chosen=Chosen(configuration=False))
    content = (tmp_path / "without").read_bytes()
    with pytest.raises(BackupError, match="holds no configuration: it was made without HOOKE_CONFIGURATION"):
        restored(configured, content, tmp_path / "there")
    assert not (tmp_path / "there").exists()
    back_up(configured, tmp_path / "with")
    content = (tmp_path / "with").read_bytes()
    before = files(configured.configuration)
    with pytest.raises(BackupError, match="etc is not empty: move its files away"):
        restored(configured, content, configured.configuration)
    assert files(configured.configuration) == before


def test_a_group_that_is_not_there_is_named_and_nothing_is_left(configured, tmp_path):
    back_up(configured, tmp_path / "file")
    (header, text), *rest = opened(tmp_path / "file")
    manifest = json.loads(text)
    for part in manifest["parts"]:
        if part["name"] == "configuration/api.env":
            part["group"] = "hooke-of-elsewhere"
    content = packed([(header, json.dumps(manifest).encode()), *rest])
    with pytest.raises(BackupError, match="belongs to the group 'hooke-of-elsewhere', which does not exist here"):
        restored(configured, content, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("name", ["configuration/../evil", "configuration//evil", "configuration"])
def test_no_part_leaves_the_folder(configured, tmp_path, name):
    back_up(configured, tmp_path / "file")
    (header, text), *rest = opened(tmp_path / "file")
    part = {"name": name, "bytes": 1, "sha256": "0" * 64, "mode": 0o600}
    listed = json.dumps(json.loads(text) | {"parts": [*json.loads(text)["parts"], part]}).encode()
    with pytest.raises(BackupError, match="not valid: parts|does not list|lacks"):
        restored(configured, packed([(header, listed), *rest]), tmp_path / "there")
    assert not (tmp_path / "there").exists()
    assert not (tmp_path / "evil").exists()


def test_a_part_that_is_damaged_is_refused_also_if_it_is_not_wanted(configured, tmp_path):
    back_up(configured, tmp_path / "file")
    members = [
        (header, b"secreT\n" if header.name == "home/token" else content)
        for header, content in opened(tmp_path / "file")
    ]
    with pytest.raises(BackupError, match="'home/token' is not what its manifest says"):
        restored(configured, packed(members), tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_back_up_holds_all_of_it_or_says_why_not(configured, tmp_path):
    absent = configured.model_copy(update={"configuration": tmp_path / "absent"})
    with pytest.raises(BackupError, match="HOOKE_CONFIGURATION=.*absent: No such file .*--without-conf"):
        back_up(absent, tmp_path / "file")
    if os.geteuid() != 0:  # root reads everything
        (configured.configuration / "database.password").chmod(0)
        with pytest.raises(BackupError, match="Permission denied .*database.password"):
            back_up(configured, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_the_commands_say_what_comes_next(configured, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("HOOKE_")]:
        monkeypatch.delenv(name)

    def hooke(*arguments: str) -> str:
        given = {"HOOKE_CONFIGURATION": str(configured.configuration)}
        answer = CliRunner().invoke(COMMANDS, arguments, env=given, catch_exceptions=False)
        assert answer.exit_code == 0, answer.output
        return answer.stderr

    file, there = str(tmp_path / "file"), tmp_path / "there"
    assert "It also holds 4 files of " in hooke("backup", file, "--home", str(configured.home))
    told = hooke("restore", file, "--home", str(tmp_path / "new"), "--configuration", str(there))
    assert "next, with it: the database and the home folder" in told
    assert files(there) == files(configured.configuration)
    told = hooke("restore", file, "--home", str(tmp_path / "new"))
    assert "Restored a sqlite database" in told and "Left out: 4 files of the configuration" in told
