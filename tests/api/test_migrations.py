"""Migrations run up, down and up again, and say exactly what the models say."""

import shutil
import threading

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hooke_api.database import Database, alembic_config
from hooke_api.models import Base, Project
from sqlalchemy import inspect, select

from tests.api.databases import MIGRATIONS


def tables(database):
    return set(inspect(database.engine).get_table_names()) - {"alembic_version"}


def differences(database):
    with database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": True})
        return compare_metadata(context, Base.metadata)


def test_models_and_migrations_say_the_same(database):
    assert differences(database) == []
    assert tables(database) == set(Base.metadata.tables)
    assert database.pending(MIGRATIONS) is None


def test_down_and_up_again(database):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "base")
    assert tables(database) == set()
    assert database.pending(MIGRATIONS)
    database.migrate(MIGRATIONS)
    assert differences(database) == []
    with database.read() as session:
        assert session.scalars(select(Project.id)).all() == ["prj_default"]


def test_a_failing_migration_leaves_nothing(database, tmp_path):
    folder = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, folder)
    (folder / "versions" / "9999_broken.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\nrevision = '9999'\ndown_revision = '0003'\n"
        "branch_labels = depends_on = None\n"
        "def upgrade():\n    op.create_table('half', sa.Column('id', sa.Integer()))\n"
        "    raise RuntimeError('no')\n"
    )
    with pytest.raises(RuntimeError, match="no"):
        database.migrate(folder)
    assert tables(database) == set(Base.metadata.tables)
    assert database.pending(folder) == "9999"


def test_instances_that_start_together_migrate_once(database, settings):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "base")
    failures = []

    def migrate():
        another = Database(settings.url)
        try:
            another.migrate(MIGRATIONS)
        except Exception as error:
            failures.append(error)
        finally:
            another.close()

    threads = [threading.Thread(target=migrate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert database.pending(MIGRATIONS) is None
