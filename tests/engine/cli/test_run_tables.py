"""The phase in which hash tables are built, with real processes: against the builds' own clock."""

import pytest
from hooke.spec.journal import records

PARAMETERS = {
    "labels": 3000,
    "features": 500,
    "items": 1500,
    "hidden": 32,
    "validation_items": 50,
    "test_items": 5,
}
PARAMETERS |= {"output": "slide", "active": 100, "first_rebuild": 5, "rebuild_growth": 0.0}


@pytest.mark.usefixtures("warm_ranks")
def test_its_seconds_are_those_of_the_builds(hooke, spec, tmp_path):
    file = spec(
        workload={"name": "xmlc-mlp", "parameters": PARAMETERS},
        algorithm={"name": "sgd", "parameters": {"lr": 0.05, "optimizer": "row-adagrad"}},
        workers=1,
        budget={"samples": 480},
        evaluation={"every": 480},
    )
    ended = hooke("run", file, "--run-dir", tmp_path / "out")
    assert ended.status == 0, ended.err
    assert "rebuild" in ended.out, "a row of the table of phases"
    journal = list(records(tmp_path / "out" / "journal.0.jsonl"))
    last = [record for record in journal if record.kind == "evaluation"][-1].further
    assert last["table_builds"] == 6  # before steps 0, 5, 10, 15, 20 and 25
    spent = journal[-1].phases["rebuild"]
    assert last["table_seconds"] <= spent < 1.5 * last["table_seconds"] + 0.05
    assert journal[-1].phases["compute"] > 0
