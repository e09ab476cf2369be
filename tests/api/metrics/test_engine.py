"""The table of runs that the engine really made, against the totals that its ranks wrote themselves."""

import numpy as np
import pytest
from hooke.catalogue.algorithm import ranks_of, servers_of
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.spec.journal import records
from hooke_api.metrics.table import COLUMNS, RankColumns, aggregate
from hooke_api.storage.blocks import decode

WORKERS, BATCH = 3, 16


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [("sync-easgd", {"overlap": True}), ("async-easgd", {"period": 2}), ("original-easgd", {})],
)
def test_the_last_row_agrees_with_the_totals_of_the_ranks(tmp_path, algorithm, parameters):
    spec = validate_run(
        {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": algorithm, "parameters": parameters},
            "workers": WORKERS,
            "batch": BATCH,
            "world": "virtual",
            "virtual": {"compute_jitter": 0.3},  # workers drift apart
            "budget": {"samples": 1200},
            "evaluation": {"every": 600},
        }
    )
    run_spec_virtual(spec, tmp_path)
    ranks, dones = [], []
    for number in range(ranks_of(spec)):
        written = list(records(tmp_path / f"journal.{number}.jsonl"))
        blocks = [decode(record.n, record.columns) for record in written if record.kind == "steps"]
        columns = {
            name: np.concatenate([b.get(name, np.full(len(b["step"]), np.nan)) for b in blocks])
            for name in COLUMNS
        }
        ranks.append(RankColumns(number, number >= WORKERS, columns))
        dones.append(written[-1])
    table = aggregate(ranks, WORKERS, BATCH, lockstep=servers_of(spec) == 0, ended=True)

    gradients = sum(done.step for done in dones[:WORKERS])
    assert table.samples[-1] == gradients * BATCH == 1200
    assert table.bytes[-1] == sum(done.wire for done in dones)
    assert table.wall[-1] == pytest.approx(max(done.wall for done in dones), rel=0.02)
    exposed = [d.phases["communicate"] / (d.wall - d.phases["evaluate"]) for d in dones[:WORKERS]]
    assert table.fraction[-1] == pytest.approx(np.mean(exposed), rel=0.05)  # ranks end with one more message
    assert np.mean(table.loss) == pytest.approx(np.mean(np.concatenate([r["loss"] for r in ranks[:WORKERS]])))
    for name in ("samples", "clock", "wall", "bytes"):
        assert (np.diff(getattr(table, name)) >= 0).all()
    if servers_of(spec):
        exchanges = sum(np.isfinite(ranks[-1]["staleness"]))
        assert len(table.staleness) <= exchanges and table.staleness.min() >= 0
