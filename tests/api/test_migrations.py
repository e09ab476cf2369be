"""Migrations run up, down and up again, and say exactly what the models say."""

import re
import shutil
import subprocess
import sys
import threading

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from hooke_api.models import Base, Experiment, Project, Run, now
from hooke_api.storage import revisions
from hooke_api.storage.database import Database, alembic_config
from sqlalchemy import MetaData, delete, inspect, select

from tests.api.counted import said, true
from tests.api.databases import MIGRATIONS, ONE_KIND
from tests.api.rows import contents, fill
from tests.checkout import ROOT

RELEASED = {"0.1.0": "0001"}
"""Version -> revision of its tables."""
DROPPED = {"attempts": {"token_sha256"}}
"""Columns of released versions that are elsewhere now."""


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


def test_every_released_version_is_known():
    versions = re.findall(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert set(versions) == set(RELEASED), "say which revision the tables of a new version have"


@pytest.mark.parametrize("version", RELEASED)
def test_a_filled_database_of_a_released_version_loses_nothing_up_and_down(database, version):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), RELEASED[version])
    then = MetaData()
    with database.write() as session:
        then.reflect(session.connection())
        then.remove(then.tables["alembic_version"])
        # lines are numbered anew for each attempt on the way down, the position counts all of them
        fill(session, then, serial=False, logs={"seq": 0})
    before = contents(database.engine)
    assert all(len(rows) >= 2 for name, rows in before.items() if name != "alembic_version")

    database.migrate(MIGRATIONS)
    now = contents(database.engine)
    assert differences(database) == []
    for name in before.keys() & now.keys() - {"alembic_version"}:
        kept = sorted(before[name][0].keys() - DROPPED.get(name, set()))
        found = [{column: row[column] for column in kept} for row in now[name]]
        for row in found:
            if name == "projects" and row["id"] == "prj_default":
                assert row["name"] == "default"
                row["name"] = "Default"
            if name == "catalogue":
                row["document"] = row["document"] | {"pace": "free"}
                assert row["document"].pop("coordination") == "lock-free"
        wanted = [{column: row[column] for column in kept} for row in before[name]]
        assert sorted(found, key=repr) == sorted(wanted, key=repr), name
    assert sum(row["n"] for row in now["log_blocks"]) == len(before["logs"])
    assert {row["token_sha256"] for row in now["attempt_tokens"]} == {
        row["token_sha256"] for row in before["attempts"]
    }

    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), RELEASED[version])
    after = contents(database.engine)
    assert after.pop("summaries") == []  # nothing has ever read them
    before.pop("summaries")
    assert after == before
    database.migrate(MIGRATIONS)
    assert differences(database) == []


def test_what_runs_have_is_counted_on_the_way_up(database):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0036")
    then = MetaData()
    with database.write() as session:
        then.reflect(session.connection())
        then.remove(then.tables["alembic_version"])
        fill(session, then, serial=False)
    database.migrate(MIGRATIONS)
    with database.read() as session:
        assert said(session) == true(session)
        assert any(chunks and evaluations for chunks, evaluations in said(session).values())


def test_figures_of_earlier_runs_come_from_what_is_stored(database):
    """Downgrade, store what the version before left, and come back."""
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0002")
    tables_then = MetaData()
    with database.write() as session:
        tables_then.reflect(session.connection())
        owner = {"project_id": "prj_default", "created_by": "me", "created_at": now()}
        text = dict.fromkeys(("name", "description", "workload", "baseline", "fingerprint"), "x")
        lists = {"variants": [], "clusters": [], "spec": {}}
        store(session, tables_then, "experiments", id="e", number=1, **owner, **text, **lists)
        for number, (run, met, state) in enumerate(RUNS_THEN):
            store(
                session, tables_then, "runs", id=run, experiment_id="e", number=number, time_to_target=met,
                state=state, attempt=1, simulated=False, workers=1, servers=0, seed=1, spec={}, budget=1,
                cancel_requested=False, samples=1, clock=9.0, oversubscribed=False, hardware={}, versions={},
                **owner, **dict.fromkeys(("variant", "algorithm", "cluster", "host", "fingerprint"), "x"),
            )  # fmt: skip
        for run, seq, clock, reached in EVALUATIONS_THEN:
            figures = {"step": seq, "samples": 64 * seq, "clock": clock, "wall": clock, "seconds": 0.1}
            place = {"run_id": run, "attempt": 1, "rank": 0, "seq": seq}
            store(session, tables_then, "evaluations", **place, **figures, reached=reached)
        for run, error in (("diverged", "hooke.errors.NumericalError: NaN"), ("raised", "ValueError: rho")):
            why = f"rank 0 raised {error}"
            ended = {"attempt": 1, "state": "failed_user", "at": now(), "who": "supervisor", "why": why}
            store(session, tables_then, "transitions", run_id=run, **ended)
    database.migrate(MIGRATIONS)
    with database.read() as session:
        found = {run.id: (run.target_after, run.diverged) for run in session.scalars(select(Run))}
    assert found == {
        "met": (2.0, False),
        "at once": (0.0, False),
        "missed": (None, False),
        "diverged": (None, True),
        "raised": (None, False),
    }


def test_trials_are_not_turned_into_reported_runs(database):
    """Down to where runs have no rung: refused while there are trials, and nothing is lost then."""
    with database.write() as session:
        owner = {"project_id": "prj_default", "created_by": "me", "created_at": now()}
        text = dict.fromkeys(("name", "description", "workload", "baseline", "fingerprint"), "x")
        names = dict.fromkeys(("variant", "algorithm", "cluster", "host", "fingerprint"), "x")
        session.add(
            Experiment(id="e", number=1, variants=[], clusters=[], spec={}, planning=True, **owner, **text)
        )
        session.flush()
        figures = {"simulated": False, "workers": 1, "servers": 0, "seed": 1, "spec": {}, "budget": 1}
        for number, rung in enumerate((0, None), 1):
            session.add(
                Run(
                    id=f"r{number}", experiment_id="e", number=number, trial=1, rung=rung, state="queued",
                    **owner, **names, **figures,
                )
            )  # fmt: skip
    with pytest.raises(RuntimeError, match="1 runs are trials of a tuning"), database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0006")
    assert differences(database) == []
    with database.write() as session:
        assert {run.id: (run.trial, run.rung) for run in session.scalars(select(Run))} == {
            "r1": (1, 0),
            "r2": (1, None),
        }
        session.execute(delete(Run).where(Run.rung.is_not(None)))
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0006")
    database.migrate(MIGRATIONS)
    with database.read() as session:
        assert [(run.id, run.trial) for run in session.scalars(select(Run))] == [("r2", None)]


RUNS_THEN = (
    ("met", 3.0, "succeeded"),
    ("at once", 1.0, "succeeded"),
    ("missed", None, "succeeded"),
    ("diverged", None, "failed_user"),
    ("raised", None, "failed_user"),
)
EVALUATIONS_THEN = (
    ("met", 1, 1.0, False),
    ("met", 2, 2.0, False),
    ("met", 3, 3.0, True),
    ("met", 4, 4.0, True),
    ("at once", 1, 1.0, True),
    ("missed", 1, 1.0, False),
)


def store(session, metadata, table, **values):
    session.execute(metadata.tables[table].insert().values(**values))


def test_a_failing_migration_leaves_nothing(database, tmp_path):
    folder = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, folder)
    newest = max(path.name for path in (MIGRATIONS / "versions").glob("[0-9]*.py")).partition("_")[0]
    (folder / "versions" / "9999_broken.py").write_text(
        f"from alembic import op\nimport sqlalchemy as sa\nrevision = '9999'\ndown_revision = '{newest}'\n"
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


@ONE_KIND
def test_revisions_are_known_without_alembic(database, tmp_path):
    """They are those that Alembic finds, and to find that nothing is to be done does not import it."""
    of_alembic = ScriptDirectory.from_config(alembic_config(MIGRATIONS)).get_current_head()
    assert revisions.newest(MIGRATIONS) == of_alembic
    with database.read() as session:
        assert revisions.present(session) == of_alembic
    assert revisions.newest(tmp_path) is None
    url = f"sqlite:///{tmp_path / 'new.db'}"
    program = (
        "import sys; from pathlib import Path; from hooke_api.storage.database import Database\n"
        f"database = Database({url!r}); database.migrate(Path({str(MIGRATIONS)!r}))\n"
        "print(database.pending(Path(sys.argv[1])), 'alembic' in sys.modules)"
    )
    for imported in (True, False):
        words = [sys.executable, "-c", program, str(MIGRATIONS)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert said == f"None {imported}\n"


@pytest.mark.parametrize("text", ["revision = 'a'\nrevision = 'b'", None], ids=["two heads", "no folder"])
def test_a_folder_without_one_newest_revision_is_not_up_to_date(database, tmp_path, text):
    if text is not None:
        (tmp_path / "versions").mkdir()
        for i, line in enumerate(text.splitlines()):
            (tmp_path / "versions" / f"{i}.py").write_text(line)
    assert database.pending(tmp_path) is not None
