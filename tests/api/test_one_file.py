"""An SQLite file that is moved, removed or replaced while a server runs: nothing is acknowledged into it."""

import os
import shutil
from pathlib import Path

import httpx
import pytest
from hooke.errors import ArgumentError
from hooke_api.__main__ import _migrate
from hooke_api.app import create_app
from hooke_api.models import NumberSequence
from hooke_api.storage.database import Database
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from tests.api.conftest import serve
from tests.api.databases import ONE_KIND
from tests.api.test_experiments import problem

pytestmark = ONE_KIND
GONE = "its file was moved, removed or replaced"


def remove(path: Path) -> None:
    path.unlink()


def replace_by_folder(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.mkdir()


def restore_over(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def take(database: Database) -> int:
    with database.write() as session:
        session.execute(update(NumberSequence).values(value=NumberSequence.value + 1))
    with database.read() as session:
        return session.scalars(select(NumberSequence.value)).first()


@pytest.mark.parametrize("change", [remove, replace_by_folder, restore_over])
def test_nothing_is_read_or_written_any_more(settings, change):
    """Connections that exist would go on with a file that nobody finds, and new ones make an empty one."""
    database = Database(settings.url)
    assert take(database) == 1
    change(Path(database.url.database))
    for use in (database.read, database.write):
        for _ in range(2):
            with pytest.raises(OperationalError, match=GONE), use():
                pass
    database.close()


@pytest.mark.parametrize("change", [remove, restore_over])
def test_a_change_during_a_write_is_not_acknowledged(settings, change):
    """A writer may wait for its turn for seconds, in which the file goes."""
    database = Database(settings.url)
    assert take(database) == 1
    with pytest.raises(OperationalError, match=GONE), database.write() as session:
        session.execute(update(NumberSequence).values(value=NumberSequence.value + 1))
        change(Path(database.url.database))
    database.close()


def test_a_file_of_a_snapshot_has_the_same_number_on_another_device(settings, monkeypatch):
    """As of Btrfs: who restores one moves it into the place of the folder."""
    database, real = Database(settings.url), Path.stat
    assert take(database) == 1

    def of_snapshot(path: Path, **more):
        found = real(path, **more)
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]])

    monkeypatch.setattr(Path, "stat", of_snapshot)
    with pytest.raises(OperationalError, match=GONE), database.read():
        pass
    monkeypatch.undo()
    assert take(database) == 2
    database.close()


def test_a_start_beside_a_folder_of_its_name_says_so(settings):
    path = Path(Database(settings.url).url.database)
    replace_by_folder(path)
    with pytest.raises(ArgumentError, match=f"{path} is not a file"):
        _migrate(settings)


def test_requests_are_refused_until_the_file_is_in_its_place_again(settings):
    app = create_app(settings)
    running = serve(app)
    headers = {"authorization": f"Bearer {settings.token}"}
    path = Path(app.state.database.url.database)
    with httpx.Client(base_url=f"{running.url}/api/v1", headers=headers) as client:
        assert client.get("/runs").status_code == 200
        path.rename(path.with_suffix(".old"))
        path.mkdir()
        assert GONE in problem(client.get("/runs"), 503)["detail"]
        assert GONE in problem(client.post("/projects", json={"name": "other"}), 503)["detail"]
        path.rmdir()
        path.with_suffix(".old").rename(path)
        assert client.post("/projects", json={"name": "other"}).status_code == 201
    running.stop()
