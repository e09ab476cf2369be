"""The virtual cluster like the workers of a run (`hooke runs cluster`), of a folder or of a server's run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hooke.comparison.measured_speeds import Work, cluster_like, error_of
from hooke.errors import ArgumentError

if TYPE_CHECKING:
    from hooke.catalogue.algorithm import Algorithm
    from hooke.cli.remote import Remote


def of_server(remote: Remote, run: str) -> dict[str, Any]:
    """Return the cluster like a run of a server. Raises ArgumentError with the reason why there is none."""
    found = remote.get(f"/runs/{quote(run, safe='')}/workers")
    if found["virtual_cluster"] is None:
        raise ArgumentError(found["no_virtual_cluster"])
    return dict(found["virtual_cluster"])


def of_folder(folder: Path) -> dict[str, Any]:
    """Return the cluster like the run in a folder (`hooke run --run-dir`), computed on the cluster `local`.

    Raises ArgumentError if it is simulated, or a worker has computed nothing; LaunchError if there is no run.
    """
    from hooke.catalogue.algorithm import algorithm
    from hooke.loop.replay import recorded

    spec = recorded(folder)
    if spec.world == "virtual":
        raise ArgumentError(f"the run in {folder} is simulated: its speeds are those of its specification")
    method = algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)
    work = [_work(folder, worker, spec.batch, method, spec.workers) for worker in range(spec.workers)]
    groups = [spec.group(worker) for worker in range(spec.workers)]
    return cluster_like(work, groups, spec.batch, f"the run in {folder.resolve().name}", "local")


def _work(folder: Path, worker: int, batch: int, method: Algorithm, workers: int) -> Work:
    """Return what a worker has computed; of one that did not end as far as its steps are written."""
    from hooke.spec.events import Done, Steps
    from hooke.spec.journal import records, unpack

    rows: list[float] = []
    done: Done | None = None
    for record in records(folder / f"journal.{worker}.jsonl"):
        if isinstance(record, Steps):
            rows += unpack("compute", record.columns["compute"])
        elif isinstance(record, Done):
            done = record
    batches = method.batches_of(worker, workers)
    if done is None:
        return Work(len(rows) * batch * batches, sum(rows), error_of(rows))
    return Work(done.step * batch * (done.batches or batches), done.phases["compute"], error_of(rows))


def text(cluster: dict[str, Any], as_json: bool) -> str:
    """Return a cluster as an entry of an experiment's `clusters`."""
    if as_json:
        import json

        return json.dumps(cluster)
    import yaml

    return str(yaml.safe_dump([cluster], sort_keys=False, default_flow_style=None, width=110)).rstrip()
