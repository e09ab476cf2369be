"""Experiments that were stored while a tree was the default collective keep it; only new ones have halving."""

from alembic import command
from hooke.spec.specification import ExperimentSpec, RunSpec, Variant, fingerprint
from hooke_api.experiments.inherited import with_collective
from hooke_api.models import Experiment, Run
from hooke_api.storage.database import alembic_config
from sqlalchemy import MetaData, select
from sqlalchemy.orm import undefer

from tests.api.databases import MIGRATIONS, ONE_KIND
from tests.api.exchange.measured import exported, imported
from tests.api.rows import contents, fill
from tests.api.test_extending import THIRD, TWO, ended, extend, finish, preview
from tests.api.test_migrations import RELEASED

THEN = {
    "packing": "one",
    "bucket_bytes": 1048576,
    "collective": "tree",
    "wire": "fp32",
    "error_feedback": True,
}
"""What version 0.1.0 stored of a variant that says nothing of its communication."""


EXPERIMENT_THEN = {
    "schema": "hooke.experiment/1",
    "name": "then",
    "description": "",
    "workload": {"name": "digits-mlp", "parameters": {}, "hash": None},
    "batch": 32,
    "sharding": "iid",
    "variants": [{"name": "sync", "algorithm": "sync-easgd", "parameters": {"lr": 0.1}, "communication": THEN}],
    "baseline": "sync",
    "clusters": [{"name": "local", "on": None, "workers": [2], "seeds": 2, "virtual": None}],
    "first_seed": 0,
    "budget": {"samples": 10000, "max_seconds": None},
    "target": {"metric": "test_accuracy", "value": 0.9, "of": "center"},
    "evaluation": {"every": 1000},
    "compute": {"device": "auto", "precision": "fp32", "threads": 1, "placement": "none"},
    "checkpoint_every": None,
    "on_bad_worker": "fail",
}
"""A stored experiment of version 0.1.0."""


def test_a_filled_database_of_version_0_1_0_keeps_its_tree(database):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), RELEASED["0.1.0"])
    then = MetaData()
    with database.write() as session:
        then.reflect(session.connection())
        then.remove(then.tables["alembic_version"])
        run = {"communication": THEN}
        fill(
            session, then, serial=False, logs={"seq": 0}, experiments={"spec": EXPERIMENT_THEN}, runs={"spec": run}
        )
    database.migrate(MIGRATIONS)
    now = contents(database.engine)
    assert [row["spec"] for row in now["runs"]] == [run] * 2
    specs = [ExperimentSpec.model_validate(row["spec"]) for row in now["experiments"]]
    assert [each.variants[0].communication.collective for each in specs] == ["tree"] * 2
    added = [Variant(name="more", algorithm="local-sgd")]
    assert [each.communication.collective for each in with_collective(EXPERIMENT_THEN, added)] == ["tree"]


def stored(service):
    """Return the collectives in stored specifications: of variants, of earlier versions, and of runs."""
    with service.database.read() as session:
        experiments = session.scalars(select(Experiment)).all()
        runs = session.scalars(select(Run).options(undefer(Run.spec)).order_by(Run.number)).all()
        specs = [each.spec for each in experiments]
        earlier = [version["spec"] for each in experiments for version in each.earlier]
        return (
            [variant["communication"]["collective"] for spec in specs for variant in spec["variants"]],
            [variant["communication"]["collective"] for spec in earlier for variant in spec["variants"]],
            [run.spec["communication"]["collective"] for run in runs],
        )


def of_an_earlier_version(service):
    """Return the id of an experiment that has ended, stored as an earlier version stored it."""
    experiment = ended(service)
    with service.database.write() as session:
        row = session.get_one(Experiment, experiment)
        row.spec = row.spec | {"variants": [each | {"communication": THEN} for each in row.spec["variants"]]}
        row.fingerprint = fingerprint(ExperimentSpec.model_validate(row.spec))
        for run in session.scalars(select(Run).options(undefer(Run.spec))):
            run.spec = run.spec | {"communication": THEN}
            run.fingerprint = fingerprint(RunSpec.model_validate(run.spec))
    return experiment


def test_what_is_stored_names_its_collective(service):
    """So another default changes no stored specification, and no migration has to write one into it."""
    service.submit(**TWO)
    assert stored(service) == (["halving"] * 2, [], ["halving"] * 4)


def test_an_earlier_experiment_keeps_its_tree(service):
    experiment = of_an_earlier_version(service)
    asked = {"seeds": 1, "variants": [THIRD, THIRD | {"name": "own", "communication": {"collective": "ring"}}]}
    path = f"/experiments/{experiment}"
    told = preview(service, experiment, **asked).json()["warnings"]
    assert [each for each in told if "collective" in each["pointer"]] == [
        {
            "pointer": "/variants/0/communication/collective",
            "message": "tree, as the existing variants: name another collective to compare it",
        }
    ]
    extend(service, experiment, **asked).raise_for_status()
    variants, earlier, runs = stored(service)
    assert (variants, earlier) == (["tree", "tree", "tree", "ring"], ["tree", "tree"])
    assert sorted(runs) == ["ring"] * 3 + ["tree"] * (4 + 2 + 3)
    finish(service)
    again = service.client.post("/experiments", json=service.get(path)["spec"] | {"name": "a clone"})
    assert [each["communication"]["collective"] for each in again.json()["spec"]["variants"]] == variants


def test_variants_that_differ_in_their_collective_lend_none(service):
    """Then the comparison is one of collectives, and a further variant has the default."""
    experiment = of_an_earlier_version(service)
    ring = THIRD | {"name": "own", "communication": {"collective": "ring"}}
    extend(service, experiment, variants=[ring]).raise_for_status()
    finish(service)
    extend(service, experiment, variants=[THIRD]).raise_for_status()
    assert stored(service)[0] == ["tree", "tree", "ring", "halving"]


@ONE_KIND
def test_a_bundle_of_an_earlier_version_keeps_its_tree(service):
    experiment = of_an_earlier_version(service)
    bundle = exported(service, experiment)
    before = service.get(f"/experiments/{experiment}")["spec"]
    view = imported(service, bundle)
    assert view["spec"] == before
    assert stored(service)[2] == ["tree"] * 8
    assert imported(service, bundle, 200)["id"] == view["id"], "the same measurement: its digest has not changed"
