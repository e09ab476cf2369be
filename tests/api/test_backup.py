"""`hooke backup` and `hooke restore`: everything comes back, from one moment, and nothing else is let in."""

import gzip
import io
import json
import os
import sys
import tarfile
import threading
import uuid
import zlib
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
import typer
from hooke_api.base.settings import Settings
from hooke_api.local import archive, backup_commands
from hooke_api.local.archive import BackupError, Manifest, Part
from hooke_api.local.backup import back_up
from hooke_api.local.restoring import restore
from hooke_api.models import Base, Event, LogBlock, NumberSequence
from hooke_api.storage.database import Database
from typer.testing import CliRunner

from tests.api.databases import MIGRATIONS, ONE_KIND, make_settings, postgres_url, run_sql
from tests.api.rows import contents, fill
from tests.waiting import wait_for

HOME = {
    "token": ("start-up token\n", 0o600),
    "agent-token": ("agents\n", 0o600),
    "agent-id": ("agt_1\n", 0o600),
    "runs/run_a/1/journal.0.jsonl": ('{"kind": "start"}\n{"ki', 0o644),
    "runs/run_a/1/supervisor.lock": ("", 0o644),
    "jobs/run_a.1-0/tokens.json": ("{}", 0o600),
}
COMMANDS = typer.Typer()
COMMANDS.command("backup")(backup_commands.backup)
COMMANDS.command("restore")(backup_commands.restore)
PASSING = ("up.lock", "up.json", "agent.lock", "logs/api.log", ".token.7.draft")


@pytest.fixture
def home(settings):
    """Return the folder of an instance with a filled database, and with files that are kept or not."""
    for name, (text, mode) in HOME.items():
        write(settings.home / name, text).chmod(mode)
    for name in PASSING:
        write(settings.home / name, "of the moment")
    (settings.home / "link").symlink_to(settings.home / "token")
    return settings.home


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def kept(home: Path) -> dict[str, tuple[str, int]]:
    """Return the files of a home folder, without the database: name -> text and permissions."""
    files = [path for path in home.rglob("*") if path.is_file() and not path.name.startswith("hooke.db")]
    return {str(p.relative_to(home)): (p.read_text(), p.stat().st_mode & 0o777) for p in files}


@contextmanager
def elsewhere(request, kind: str, folder: Path):
    """Yield the settings of an instance that does not exist yet, with an empty database."""
    if kind == "sqlite":
        yield make_settings(folder, f"sqlite:///{folder / 'hooke.db'}")
        return
    sockets, name = request.getfixturevalue("postgres"), f"test_{uuid.uuid4().hex}"
    run_sql(sockets, f"CREATE DATABASE {name}")
    yield make_settings(folder, postgres_url(sockets, name))
    run_sql(sockets, f"DROP DATABASE {name} WITH (FORCE)")


class Writer:
    """Adds events in transactions of two changes each, until told to end."""

    def __init__(self, url: str) -> None:
        self.written = 0
        self._database = Database(url)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        while not self._end.is_set():
            at = self.written + 100
            with self._database.write() as session:
                session.add(Event(position=at, kind="run", data={"n": at}, at=datetime.now(UTC)))
                session.execute(sa.update(NumberSequence).where(NumberSequence.name == "events").values(value=at))
            self.written += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._database.close()


def test_everything_comes_back_as_it_was_at_one_moment_of_the_writing(
    request, kind, settings, database, home, tmp_path_factory
):
    with database.write() as session:
        fill(session, Base.metadata)
    file = tmp_path_factory.mktemp("backups") / "hooke.backup"

    def overlapped() -> bool:
        before = writer.written
        back_up(settings, file, force=True)
        return writer.written > before

    with Writer(settings.url) as writer:
        wait_for(lambda: writer.written > 3, "events")
        wait_for(overlapped, "a backup during which something was written")
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
    with elsewhere(request, kind, tmp_path_factory.mktemp("restored") / "home") as there:
        with file.open("rb") as source:
            made = restore(there, source)
        assert kept(there.home) == HOME
        assert {path.stat().st_mode & 0o777 for path in there.home.rglob("*") if path.is_dir()} == {0o700}
        again = Database(there.url)
        before, after = contents(database.engine), contents(again.engine)
        events = [{"position": at, "data": {"n": at}} for at in range(100, 100 + len(after["events"]) - 2)]
        told = [{name: row[name] for name in ("position", "data")} for row in after["events"]]
        assert [row for row in sorted(told, key=lambda row: row["position"]) if row["position"] >= 100] == events
        counters = {row["name"]: row["value"] for row in after["counters"]}
        assert counters["events"] == events[-1]["position"], "both changes of a transaction, or none"
        assert len(before.pop("events")) > len(after.pop("events"))
        for each in (before, after):
            each["counters"] = [row for row in each["counters"] if row["name"] != "events"]
        assert after == before
        assert all(len(rows) >= 2 for name, rows in after.items() if name not in ("alembic_version", "counters"))
        assert again.pending(MIGRATIONS) is None
        assert made.migration == after["alembic_version"][0]["version_num"]
        with again.write() as session:  # numbers go on behind those that were restored
            block = LogBlock(run_id=after["runs"][0]["id"], attempt=1, n=0, size=0, data=b"")
            session.add(block)
            session.flush()
            assert block.id > max(row["id"] for row in after["log_blocks"])
        again.close()


@pytest.fixture
def made(tmp_path, sqlite_template):
    """Return the settings of an instance on SQLite, and its backup."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "hooke.db").write_bytes(sqlite_template.read_bytes())
    write(home / "token", "secret\n").chmod(0o600)
    settings = make_settings(home, f"sqlite:///{home / 'hooke.db'}")
    back_up(settings, tmp_path / "file")
    return settings, tmp_path / "file"


def refused(content: bytes, folder: Path, match: str) -> None:
    """Restore into a folder that is not there yet; afterwards it must not be there, nor anything beside it."""
    beside = set(folder.parent.rglob("*"))
    with pytest.raises(BackupError, match=match):
        restore(make_settings(folder, f"sqlite:///{folder / 'hooke.db'}"), io.BytesIO(content))
    assert set(folder.parent.rglob("*")) == beside


def unzipped(content: bytes) -> bytes | None:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return None


def test_a_damaged_file_is_refused_whatever_byte_it_is(made, tmp_path):
    content = made[1].read_bytes()
    whole, found = unzipped(content), 0
    for place in (*range(10, len(content), len(content) // 16), len(content) - 6):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        if unzipped(bytes(damaged)) != whole:  # another repetition of the same zeros is no damage
            refused(bytes(damaged), tmp_path / "there", "backup")
            found += 1
    assert found > 8
    for length in (0, 9, len(content) // 2, len(content) - 1):
        refused(content[:length], tmp_path / "there", "backup")
    refused(b"SQLite format 3\0" * 1000, tmp_path / "there", "not a backup")


def packed(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    target = io.BytesIO()
    with gzip.open(target, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
        for header, content in members:
            header.size = len(content) if header.isreg() else 0
            tar.addfile(header, io.BytesIO(content))
    return target.getvalue()


def opened(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(file) as tar:
        return [(member, tar.extractfile(member).read()) for member in tar]


def with_manifest(file: Path, **changes) -> bytes:
    """Return a backup with another manifest."""
    (header, text), *rest = opened(file)
    return packed([(header, json.dumps(json.loads(text) | changes).encode()), *rest])


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"version": "99.0"}, "made by version 99.0 .* install that version or a newer one"),
        ({"migration": "9999"}, "with migration 9999; this is version .*, which does not know it"),
        ({"version": "later"}, "'later', which is not a version"),
        ({"database": "postgresql"}, "holds a database of postgresql: set HOOKE_DATABASE_URL"),
        ({"parts": []}, "holds no database"),
        ({"format": "hooke.backup/2"}, "manifest.json of the backup is not valid: format"),
    ],
)
def test_a_back_up_that_does_not_fit_is_refused(made, tmp_path, changes, match):
    refused(with_manifest(made[1], **changes), tmp_path / "there", match)


@pytest.mark.parametrize(
    "name", ["home/../evil", "../evil", "/evil", "home//evil", "home/a/../../../evil", "evil"]
)
def test_no_part_leaves_the_folder(made, tmp_path, name):
    member = (tarfile.TarInfo(name), b"x")
    members = opened(made[1])
    refused(packed([*members, member]), tmp_path / "there", "does not list this")
    part = {"name": name, "bytes": 1, "sha256": "0" * 64, "mode": 0o600}
    manifest = json.loads(members[0][1])
    listed = json.dumps(manifest | {"parts": [*manifest["parts"], part]}).encode()
    refused(packed([(members[0][0], listed), *members[1:], member]), tmp_path / "there", "not valid: parts")


@pytest.mark.parametrize("kind_of_member", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_links_and_devices_are_refused(made, tmp_path, kind_of_member):
    members = opened(made[1])
    for header, _ in members:
        if header.name == "home/token":
            header.type, header.linkname = kind_of_member, "/etc/passwd"
    refused(packed(members), tmp_path / "there", "does not list this 'home/token'")


def test_nothing_is_written_over_anything(made, tmp_path):
    settings, file = made
    before = file.read_bytes()
    with pytest.raises(BackupError, match=r"file exists: name another file, or replace it with --force"):
        back_up(settings, file)
    assert file.read_bytes() == before
    with pytest.raises(BackupError, match="is in the folder that is backed up"):
        back_up(settings, settings.home / "file")
    with pytest.raises(BackupError, match=r"home is not empty: move it away"), file.open("rb") as source:
        restore(settings, source)
    database = tmp_path / "other" / "hooke.db"
    write(database, "mine")
    outside = make_settings(tmp_path / "there", f"sqlite:///{database}")
    with pytest.raises(BackupError, match="nothing is restored over a database"), file.open("rb") as source:
        restore(outside, source)
    assert database.read_text() == "mine"
    with pytest.raises(BackupError, match=r"there is no database .*absent/hooke.db: --home names"):
        back_up(make_settings(tmp_path / "absent", f"sqlite:///{tmp_path}/absent/hooke.db"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.needs("postgres")
def test_postgresql_is_neither_filled_twice_nor_left_half_filled(made, request, tmp_path, monkeypatch):
    settings, file = made
    sockets = request.getfixturevalue("postgres")
    full = make_settings(tmp_path / "there", postgres_url(sockets, request.getfixturevalue("postgres_template")))
    with pytest.raises(BackupError, match=r"has \d+ tables: restore into an empty one"), file.open("rb") as source:
        restore(full, source)
    with elsewhere(request, "postgres", tmp_path / "there") as empty:
        with pytest.raises(BackupError, match="of sqlite: unset HOOKE_DATABASE_URL"), file.open("rb") as source:
            restore(empty, source)
        broken = io.BytesIO()
        text = b"PGDMP and no more"
        part = Part(name="database", bytes=len(text), sha256=archive.copied(io.BytesIO(text), None)[1], mode=0o600)
        archive.write(
            broken,
            Manifest(
                version="0.1.0", migration="0001", database="postgresql", made_at=datetime.now(UTC), parts=[part]
            ),
            {"database": write(tmp_path / "text", text.decode())},
        )
        with pytest.raises(BackupError, match="pg_restore failed: "):
            restore(empty, io.BytesIO(broken.getvalue()))
        assert not (tmp_path / "there").exists()
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(BackupError, match="pg_dump is not installed: install the client programs"):
            back_up(full, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def hooke(*arguments: str, status: int = 0, given: bytes = b"", **environment: str):
    answer = CliRunner().invoke(COMMANDS, arguments, input=given, env=environment, catch_exceptions=False)
    assert answer.exit_code == status, answer.output
    return answer


def test_the_commands_also_speak_to_standard_output_and_input(made, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("HOOKE_")]:
        monkeypatch.delenv(name)
    settings, _ = made
    secret = write(tmp_path / "token-file", "from elsewhere\n")
    told = hooke("backup", "-", "--without-runs", HOOKE_HOME=str(settings.home), HOOKE_TOKEN_FILE=str(secret))
    assert "Backed up a sqlite database at migration" in told.stderr
    there = tmp_path / "there"
    again = hooke("restore", "-", "--home", str(there), given=told.stdout_bytes)
    assert "Restored a sqlite database" in again.stderr
    assert Settings(home=there).token == "from elsewhere"
    assert (there / "token").stat().st_mode & 0o777 == 0o600
    assert list(settings.home.glob(".hooke-*")) == [], "a draft is left"
    with pytest.raises(BackupError, match=r"nowhere: No such file or directory"):
        hooke("restore", str(tmp_path / "nowhere"), "--home", str(tmp_path / "new"))


@ONE_KIND
def test_a_full_disk_is_told_with_what_has_to_fit_where(home, settings, monkeypatch):
    """/dev/full is the system's own device without space."""
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=full))
        with pytest.raises(BackupError) as told:
            back_up(settings, None)
    assert str(told.value).startswith("No space left on device (ENOSPC); the parts have to fit on the disk of /")
    assert "where standard output leads: free some space there" in str(told.value)
    assert not list(home.glob(".hooke-backup-*"))
