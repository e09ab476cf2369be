"""Lists with a filter read what they show: an index has their condition and their order."""

from datetime import timedelta

import pytest
from hooke.spec.states import RunState
from hooke_api.base.access import Actor, Credential, Role
from hooke_api.base.cursors import Cursors
from hooke_api.base.reach import asking
from hooke_api.experiments import service as experiments
from hooke_api.metrics.pieces import Ahead
from hooke_api.runs.service import Filter, Page, page
from hooke_api.storage.database import Database
from sqlalchemy import event


@pytest.mark.parametrize(
    ("chosen", "index"),
    [
        (Filter(variant="sync"), "ix_runs_variant_id (variant=?"),
        (Filter(cluster="local"), "ix_runs_cluster_id (cluster=?"),
        (Filter(variant="sync", reported=True), "ix_runs_variant_id (variant=?"),
        (Filter(states=(RunState.RUNNING,)), "ix_runs_state_id (state=?"),
    ],
    ids=["variant", "cluster", "reported runs of a variant", "state"],
)
def test_a_filtered_list_is_searched_in_its_order(sqlite_template, chosen, index):
    database, cursors = Database(f"sqlite:///{sqlite_template}"), Cursors("secret")
    asked = []
    event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append(told[2:4]))
    with database.read() as session:
        for cursor in (None, cursors.seal(chosen.listing, "run_x")):
            asked.clear()
            page(session, cursors, chosen, Page(50, cursor), timedelta(seconds=40))
            statement, parameters = next(one for one in asked if "FROM runs" in one[0])
            told = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plan = [row[3] for row in told]
            assert any(step.startswith(f"SEARCH runs USING INDEX {index}") for step in plan), plan
            assert not any("TEMP B-TREE" in step for step in plan), plan
    database.close()


@pytest.mark.parametrize(
    "sender", [None, Actor("ana", Role.VIEWER, Credential.SESSION)], ids=["everything", "the default project"]
)
def test_a_list_of_experiments_is_read_in_its_order(sqlite_template, sender):
    database, cursors, asked = Database(f"sqlite:///{sqlite_template}"), Cursors("secret"), []
    event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append(told[2:4]))
    before = asking.set(sender)
    try:
        with database.read() as session:
            for cursor in (None, cursors.seal(experiments.LISTING, 7)):
                asked.clear()
                experiments.page(session, cursors, experiments.Page(50, cursor), timedelta(seconds=40))
                statement, parameters = next(one for one in asked if "FROM experiments" in one[0])
                told = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                plan = [row[3] for row in told]
                assert any("experiments USING INDEX" in step for step in plan), plan
                assert not any("TEMP B-TREE" in step for step in plan), plan
    finally:
        asking.reset(before)
        database.close()


@pytest.mark.parametrize(
    "asked_for",
    [
        "algorithm ~ easgd",
        "variant = sync",
        "not cluster = local",
        "accuracy.max > 0.98",
        "not time_to_target.min < 60",
        "loss.last < 1",
    ],
)
def test_a_filter_of_experiments_reads_an_index_and_no_runs(sqlite_template, asked_for):
    database, asked = Database(f"sqlite:///{sqlite_template}"), []
    event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append(told[2:4]))
    with database.read() as session:
        experiments.page(session, Cursors("secret"), experiments.Page(50, None, asked_for), timedelta(seconds=40))
        statement, parameters = next(one for one in asked if "FROM experiments" in one[0])
        told = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        steps = [row[3] for row in told if "runs" in row[3]]
        assert steps and all("USING COVERING INDEX ix_runs_filters (experiment_id=?" in step for step in steps), (
            steps
        )
    database.close()


def test_what_is_new_of_runs_is_found_without_their_earlier_steps(sqlite_template):
    database, asked = Database(f"sqlite:///{sqlite_template}"), []
    event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append(told[2:4]))
    with database.read() as session:
        Ahead(session, {"run_a": 5, "run_b": 9})
        statement, parameters = next(one for one in asked if "FROM chunks" in one[0])
        told = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        steps = [row[3] for row in told if "chunks" in row[3]]
        index = "SEARCH chunks USING INDEX ix_chunks_run_id_id (run_id=? AND id>?)"
        assert steps and all(step == index for step in steps), steps
    database.close()
