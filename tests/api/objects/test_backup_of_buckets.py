"""Backups of an instance whose objects are in a bucket: they come along, and go where they are to be."""

import pytest
import typer
from hooke_api.local import backup_commands
from hooke_api.local.archive import BackupError
from hooke_api.local.backup import Chosen, back_up
from hooke_api.local.restoring import restore
from hooke_api.storage import s3
from hooke_api.storage.database import Database
from hooke_api.storage.objects import ObjectError
from hooke_api.storage.steps import STORE
from hooke_api.storage.stores import store_of
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND, make_settings
from tests.api.objects.bucket import BUCKET, KEY_ID, REGION, SECRET, Bucket
from tests.api.objects.compaction import chunks, compact, served
from tests.api.rows import contents
from tests.api.test_backup import elsewhere

COMMANDS = typer.Typer()
COMMANDS.command("backup")(backup_commands.backup)
COMMANDS.command("restore")(backup_commands.restore)


def place(bucket: Bucket, prefix: str) -> dict[str, str]:
    """Return the settings with which objects are below a prefix of a bucket."""
    told = {"objects": f"s3://{BUCKET}/{prefix}", "s3_endpoint": bucket.url, "s3_region": REGION}
    return told | {"s3_key_id": KEY_ID, "s3_secret": SECRET}


@pytest.fixture
def bucket(monkeypatch):
    monkeypatch.setattr(s3, "PAUSES", (0.0, 0.0))
    made = Bucket()
    yield made
    if not made.closed:
        made.close()


@pytest.fixture
def filled(service, bucket):
    """Let the API keep its objects in a bucket, and compact two runs; return its settings and their chunks."""
    settings = service.settings.model_copy(update=place(bucket, "lab"))
    database, before = service.database, service.database.objects
    database.objects = database._info[STORE] = store_of(settings)
    runs = [served(service), served(service)]
    wanted = {run: chunks(service, run) for run in runs}
    compact(service)
    assert len(bucket.objects) == 2
    assert {run: chunks(service, run) for run in runs} == wanted
    yield settings, wanted
    database.objects.close()
    database.objects = database._info[STORE] = before


def restored_chunks(settings, runs):
    database = Database(settings.url, objects=store_of(settings))
    try:
        with database.read() as session:
            from hooke_api.storage import steps

            found = {run: list(map(tuple, steps.chunks(session, run))) for run in runs}
        return found, contents(database.engine)
    finally:
        database.close()


def test_they_are_restored_into_another_bucket(request, kind, service, filled, bucket, tmp_path_factory):
    settings, wanted = filled
    target = tmp_path_factory.mktemp("backups") / "hooke.backup"
    assert back_up(settings, target, chosen=Chosen(runs=False)).faults == []
    other = Bucket()
    with elsewhere(request, kind, tmp_path_factory.mktemp("restored") / "home") as made:
        there = made.model_copy(update=place(other, "elsewhere"))
        with target.open("rb") as source:
            restore(there, source)
        assert other.objects == {
            key.replace("lab/", "elsewhere/", 1): each for key, each in bucket.objects.items()
        }
        assert not (there.home / "objects").exists()
        found, rows = restored_chunks(there, wanted)
        assert found == wanted
        assert rows == contents(service.database.engine)
    other.close()


@ONE_KIND
def test_without_a_bucket_they_are_restored_into_the_folder(request, kind, filled, bucket, tmp_path_factory):
    settings, wanted = filled
    target = tmp_path_factory.mktemp("backups") / "hooke.backup"
    back_up(settings, target, chosen=Chosen(runs=False))
    bucket.close()
    with elsewhere(request, kind, tmp_path_factory.mktemp("restored") / "home") as there:
        with target.open("rb") as source:
            restore(there, source)
        assert restored_chunks(there, wanted)[0] == wanted


@ONE_KIND
def test_the_bucket_of_the_server_that_works_is_only_looked_at(request, kind, filled, bucket, tmp_path_factory):
    """To look into a backup beside it, with a key that may only read."""
    settings, wanted = filled
    target = tmp_path_factory.mktemp("backups") / "hooke.backup"
    back_up(settings, target, chosen=Chosen(runs=False))
    kept, home = dict(bucket.objects), tmp_path_factory.mktemp("restored") / "home"
    with elsewhere(request, kind, home) as made:
        there = made.model_copy(update=place(bucket, "lab"))
        bucket.requests.clear()
        with target.open("rb") as source:
            restore(there, source)
        assert [method for method, _ in bucket.requests] == ["HEAD", "HEAD"]
        assert bucket.objects == kept
        assert restored_chunks(there, wanted)[0] == wanted
    key = sorted(bucket.objects)[0]
    bucket.objects[key] = b"another content"
    beside = home.with_name("beside")
    there = make_settings(beside, f"sqlite:///{beside / 'hooke.db'}", **place(bucket, "lab"))
    with target.open("rb") as source, pytest.raises(BackupError, match="has another object .* of 15 bytes"):
        restore(there, source)
    assert not beside.exists()
    assert bucket.objects[key] == b"another content"


@ONE_KIND
def test_what_is_missing_or_damaged_is_told_and_the_rest_is_backed_up(filled, bucket, tmp_path_factory):
    settings, _ = filled
    folder = tmp_path_factory.mktemp("backups")
    first, second = sorted(bucket.objects)
    whole = bucket.objects.pop(first)
    bucket.objects[second] = bytes([bucket.objects[second][0] ^ 1]) + bucket.objects[second][1:]
    made = back_up(settings, folder / "a", chosen=Chosen(runs=False))
    names = [key.removeprefix("lab/") for key in (first, second)]
    assert sorted(made.faults) == [f"{names[0]}: it is missing", f"{names[1]}: it is not what was written"]
    assert [part.name for part in made.manifest.parts if "objects/" in part.name] == []
    bucket.objects[first] = whole
    made = back_up(settings, folder / "b", chosen=Chosen(runs=False))
    assert [part.name for part in made.manifest.parts if "objects/" in part.name] == [f"home/objects/{names[0]}"]
    bucket.close()
    with pytest.raises(BackupError, match=r"does not answer: .*without the objects of .*: --without-bucket"):
        back_up(settings, folder / "c")
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]


@ONE_KIND
def test_the_command_says_what_it_left_out(filled, bucket, tmp_path_factory):
    settings, _ = filled
    given = {f"HOOKE_{name.upper()}": value for name, value in place(bucket, "lab").items()}
    file = tmp_path_factory.mktemp("backups") / "file"
    bucket.objects.pop(sorted(bucket.objects)[0])
    options = ["--home", str(settings.home), "--without-runs"]

    def run(*more: str) -> str:
        answer = CliRunner().invoke(COMMANDS, ["backup", str(file), *options, *more], env=given)
        assert answer.exit_code == 0, (answer.output, answer.exception)
        return answer.stderr

    assert run().count("An object is not in it, ") == 1
    told = run("--without-bucket", "--force")
    assert f"The objects in s3://{BUCKET}/lab are not in it" in told
    assert "An object" not in told


def test_the_size_of_an_object_is_asked_for_without_it(bucket, tmp_path):
    settings = make_settings(tmp_path, "sqlite://", **place(bucket, "lab"))
    store, folder = store_of(settings), store_of(make_settings(tmp_path / "home", "sqlite://"))
    with folder.draft() as file:
        file.write(b"12345")
        folder.put("ab/run_1.x", file)
        store.put("ab/run_1.x", file)
    assert [each.size("ab/run_1.x") for each in (store, folder)] == [5, 5]
    assert [each.size("ab/run_2.x") for each in (store, folder)] == [None, None]
    bucket.busy = 3
    with pytest.raises(ObjectError, match="answers 503"):
        store.size("ab/run_1.x")
    store.close()
