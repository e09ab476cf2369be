"""Runs and points as Parquet, read back by other programs: the same figures as in CSV, with types."""

import csv
import io
import math
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hooke_api.base import parquet

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import measured
from tests.api.test_experiments import problem

pytestmark = ONE_KIND  # what they read is read on both kinds by other tests


def both(service, path: str, **query):
    """Return the rows of a table as CSV has them, and the Parquet of it."""
    text = service.client.get(f"{path}.csv", params=query)
    packed = service.client.get(f"{path}.parquet", params=query)
    assert packed.status_code == 200, packed.text
    assert packed.headers["content-type"] == "application/vnd.apache.parquet"
    return list(csv.DictReader(io.StringIO(text.text))), packed.content


def test_points_are_those_of_the_csv(service, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP", 20)
    made = measured(service)
    path = f"/experiments/{made['id']}/points"
    rows, packed = both(service, path)
    assert pq.ParquetFile(io.BytesIO(packed)).num_row_groups > 1
    frame = pd.read_parquet(io.BytesIO(packed))
    assert list(frame.columns) == list(rows[0]) and len(frame) == len(rows) > 30
    for name in ("run", "variant", "cluster", "metric"):
        assert frame[name].astype(str).tolist() == [row[name] for row in rows]
    for name in ("samples", "clock_s", "wall_s", "value"):
        wanted = [float(row[name] or "nan") for row in rows]
        assert frame[name].tolist() == pytest.approx(wanted, nan_ok=True)
    assert str(frame["seed"].dtype) == "int64" and math.isfinite(frame["value"].max())
    some = pd.read_parquet(io.BytesIO(both(service, path, metric="validation_accuracy")[1]))
    assert set(some["metric"]) == {"validation_accuracy"} and len(some) == 18


def test_runs_have_types(service):
    made = measured(service)
    rows, packed = both(service, "/runs", experiment=made["id"])
    frame = pd.read_parquet(io.BytesIO(packed))
    assert list(frame.columns) == list(rows[0]) and frame["id"].tolist() == [row["id"] for row in rows]
    assert frame["time_to_target"].tolist() == [float(row["time_to_target"]) for row in rows]
    assert frame["simulated"].tolist() == [False] * 6 and str(frame["workers"].dtype) == "int64"
    assert [at.isoformat() for at in frame["finished_at"]] == [row["finished_at"] for row in rows]
    assert frame["state"].tolist() == ["succeeded"] * 6 and frame["trial"].isna().all()
    assert frame["parameters"].tolist() == [row["parameters"] for row in rows]


def test_an_empty_table_is_a_table(service):
    made = service.submit()
    for path in (f"/experiments/{made['id']}/points", "/runs"):
        query = {"experiment": "exp_0"} if path == "/runs" else {}
        _, packed = both(service, path, **query)
        assert pd.read_parquet(io.BytesIO(packed)).empty


def test_without_pyarrow_it_says_what_to_install(service, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for path in ("/runs.parquet", "/experiments/exp_0/points.parquet"):
        assert "pip install -e 'api[parquet]'" in problem(service.client.get(path), 409)["detail"]
