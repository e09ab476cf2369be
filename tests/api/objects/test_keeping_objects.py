"""Objects in backups, the command that checks them, and the way back to earlier versions."""

import shutil
from datetime import timedelta

import pytest
import typer
from alembic import command
from hooke_api.base.settings import Settings
from hooke_api.local import object_commands
from hooke_api.local.backup import Chosen, back_up
from hooke_api.local.restoring import restore
from hooke_api.models import Base, Chunk, CompactedRun, LooseObject
from hooke_api.storage import steps as stored
from hooke_api.storage.database import Database, alembic_config
from hooke_api.storage.stores import store_of
from typer.testing import CliRunner

from tests.api.databases import MIGRATIONS, ONE_KIND
from tests.api.objects.compaction import chunks, compact, objects, served
from tests.api.rows import fill
from tests.api.test_backup import elsewhere

COMMANDS = typer.Typer()
COMMANDS.command("objects")(object_commands.objects)
COMMANDS.command("other")(lambda: None)


def test_a_back_up_brings_the_objects_along(request, kind, service, tmp_path_factory):
    run = served(service)
    wanted = chunks(service, run)
    compact(service)
    (file,) = objects(service)
    (file.parent / ".draft-1-x").write_text("half")
    target = tmp_path_factory.mktemp("backups") / "hooke.backup"
    back_up(service.settings, target, chosen=Chosen(runs=False))
    assert file.exists()
    with elsewhere(request, kind, tmp_path_factory.mktemp("restored") / "home") as there:
        with target.open("rb") as source:
            made = restore(there, source)
        assert [part.name for part in made.parts if "draft" in part.name] == []
        again = Database(there.url, objects=store_of(there))
        with again.read() as session:
            assert session.get(CompactedRun, run) is not None
            assert list(map(tuple, stored.chunks(session, run))) == wanted
        again.close()
        restored = there.home / "objects" / file.parent.name / file.name
        assert restored.stat().st_mode & 0o777 == 0o600
        assert restored.stat().st_ino != file.stat().st_ino


@ONE_KIND
def test_the_command_tells_what_is_missing_or_damaged_and_moves_all_back(service):
    def objects_command(*options: str, status: int = 0) -> str:
        told = CliRunner().invoke(COMMANDS, ["objects", "--home", str(service.settings.home), *options])
        assert told.exit_code == status, (told.output, told.exception)
        return told.output

    runs = [served(service) for _ in range(3)]
    wanted = {run: chunks(service, run) for run in runs}
    compact(service)
    assert "3 objects in the folder" in objects_command()
    damaged, missing = objects(service)[:2]
    content = damaged.read_bytes()
    damaged.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    told = objects_command(status=1)
    assert damaged.name in told and "it is damaged" in told and "1 of them are missing or damaged" in told
    assert "missing or damaged" not in objects_command("--quick"), "its size is right"
    kept = shutil.move(missing, missing.with_name("elsewhere"))
    for options in ((), ("--quick",)):
        told = objects_command(*options, status=1)
        assert f"{missing.parent.name}/{missing.name}: it is missing" in told
    damaged.write_bytes(content)
    shutil.move(kept, missing)
    files = objects(service)
    assert "3 runs are in the database again" in objects_command("--expand")
    assert (service.count(CompactedRun), service.count(LooseObject)) == (0, 0)
    assert not any(file.exists() for file in files)
    assert {run: chunks(service, run) for run in runs} == wanted
    assert service.count(Chunk) == sum(len(each) for each in wanted.values())


def test_earlier_versions_do_not_lose_what_is_in_objects(database):
    with database.write() as session:
        fill(session, Base.metadata)
    with pytest.raises(RuntimeError, match="the steps of 2 runs are in objects"), database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0023")
    assert database.pending(MIGRATIONS) is None
    with database.read() as session:
        assert len(session.query(CompactedRun).all()) == 2


def test_the_time_until_compaction_is_read_from_the_environment(monkeypatch):
    assert Settings().compact_after == timedelta(hours=1)
    for text, time in (("2d", timedelta(days=2)), ("", None)):
        monkeypatch.setenv("HOOKE_COMPACT_AFTER", text)
        assert Settings().compact_after == time
    monkeypatch.setenv("HOOKE_COMPACT_AFTER", "5s")
    with pytest.raises(ValueError, match="5 seconds is less than 1 minute"):
        Settings()
