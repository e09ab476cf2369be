"""Stores a bundle as an experiment with new ids, in one transaction: all of it, or nothing.

Its runs have ended, and stay so: nothing schedules, tries again or continues them. Their host has a name that no
cluster of this server has, so that neither queues nor predictions count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from secrets import randbelow
from typing import IO, Any, NamedTuple

from hooke.catalogue.discovery import built_in
from hooke.spec.specification import ExperimentSpec, RunSpec
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.errors import Conflict, Invalid
from hooke_api.exchange.attempt_files import FileRows
from hooke_api.exchange.manifest import (
    FILES,
    LOGS,
    MOST_RUNS,
    TABLES,
    AlgorithmRecord,
    BundleError,
    ExperimentRecord,
    Manifest,
)
from hooke_api.exchange.reading import Bundle, in_part
from hooke_api.exchange.records import CARRIED, HERE, Carried, parsed, read, run_of
from hooke_api.experiments.schemas import ExperimentView
from hooke_api.experiments.service import view
from hooke_api.models import (
    DEFAULT_PROJECT,
    Chunk,
    Experiment,
    ExperimentTag,
    LogBlock,
    Run,
    StoredFilePart,
    database_time,
)
from hooke_api.storage.colors import colors_of
from hooke_api.storage.database import Database
from hooke_api.storage.lines import MOST_LINES, StoredLine, pack
from hooke_api.storage.outbox import announce, take
from hooke_api.storage.present import deleted
from hooke_api.storage.reach import names_of, open_project
from hooke_api.storage.steps import recount
from hooke_api.storage.trail import tell

ROWS, LARGE_ROWS = 500, 20
"""Rows that are stored at a time; of tables with packed columns."""
HELD_BYTES = 8 << 20
"""Bytes of lines of which the rows are held at a time, and one line more."""
MOST_LINE_TEXT = 8192
_UNNUMBERED = 2**31
"""Numbers below zero, of which an experiment has one until all of it is stored; nobody else sees it."""


class Imported(NamedTuple):
    """What an import has led to."""

    view: ExperimentView
    new: bool
    """False: this server had it already."""


def import_bundle(database: Database, file: IO[bytes], who: str, silence: timedelta, project: str) -> Imported:
    """Store the experiment of a bundle in a project; of one that was imported into it before, return that.

    `project`: its name. Raises Invalid with what is wrong with it, Conflict if it was imported before and is
    deleted, and what `hooke_api.storage.reach.open_project` raises.
    """
    with database.read() as session:
        into = open_project(session, project)
    try:
        bundle = Bundle(file)
        experiment, algorithms = bundle.experiment, bundle.algorithms
        _check_experiment(experiment, algorithms)
        digest = bundle.manifest.digest(experiment)
        with database.write() as session:
            if found := _imported_before(session, into, digest):
                return Imported(view(session, found, silence), new=False)
            row = _experiment(experiment, bundle.manifest, algorithms, who, database_time(session))
            row.project_id, row.bundle_sha256 = into, digest
            stored = _store(session, bundle, row, experiment, {each.name for each in algorithms})
            open_project(session, project, counted=False)  # it may have been archived meanwhile
            return Imported(view(session, stored, silence), new=True)
    except BundleError as error:
        raise Invalid(f"the bundle cannot be imported: {error}") from None
    except IntegrityError:
        with database.read() as session:  # perhaps another request has imported it meanwhile
            if found := _imported_before(session, into, digest):
                return Imported(view(session, found, silence), new=False)
        raise Invalid("the bundle cannot be imported: it has two rows with the same numbers") from None


def _imported_before(session: Session, project: str, digest: str) -> Experiment | None:
    """Return the experiment of an earlier import of the same measurement. Raises Conflict if it is deleted."""
    same = (Experiment.project_id == project, Experiment.bundle_sha256 == digest)
    found = session.scalars(select(Experiment).where(*same)).first()
    if found is not None and found.deleted_at is not None:
        raise Conflict(f"it was imported before: {deleted(found)}")
    return found


def _check_experiment(record: ExperimentRecord, algorithms: list[AlgorithmRecord]) -> None:
    """Raise BundleError for what this version does not know, or what a bundle cannot hold."""
    if record.spec.tuning is not None and record.spec.tuning.continues is not None:
        raise BundleError("its experiment continues the tuning of another one, which a bundle does not hold")
    known = built_in("algorithm")
    for each in algorithms:
        if each.built_in and each.name not in known:
            raise BundleError(
                f"its algorithm {each.name!r} is built into the Hooke that made it, and unknown to this one: "
                "import it into a newer one"
            )
    told = {each.name for each in algorithms}
    if unknown := [each for each in record.spec.variants if each.algorithm not in told]:
        known_names = ", ".join(sorted(told)) or "none"
        raise BundleError(
            f"the algorithm {unknown[0].algorithm!r} of its variant {unknown[0].name!r} is unknown: the bundle "
            f"describes {known_names}"
        )


def _store(
    session: Session, bundle: Bundle, experiment: Experiment, record: ExperimentRecord, algorithms: set[str]
) -> Experiment:
    experiment.number = -1 - randbelow(_UNNUMBERED)
    experiment.colors = colors_of(session, experiment.variants)
    session.add(experiment)
    session.flush()
    for tag in dict.fromkeys(record.tags):
        session.add(ExperimentTag(experiment_id=experiment.id, tag=tag))
    runs = _store_runs(session, bundle, experiment, record.spec, algorithms)
    for name in TABLES[1:]:
        carried = CARRIED[name]
        most = LARGE_ROWS if carried.model is Chunk else ROWS
        rows = _read(bundle, name, partial(_row, carried, runs))
        for some in _some(rows, most):
            session.execute(insert(carried.model), some)
    for block, _ in _read(bundle, LOGS, lambda line: _log_block(parsed(line), runs)):
        session.execute(insert(LogBlock), [block])  # one by one: the number of a block is its place
    for some in _some(_read(bundle, FILES, FileRows(runs).row), LARGE_ROWS):
        session.execute(insert(StoredFilePart), some)
    recount(session, experiment.id)
    # last: others who create an experiment wait for the end of a transaction that has taken a number
    experiment.number = take(session, f"experiments:{DEFAULT_PROJECT}")
    origin = bundle.manifest.origin
    about = {"number": experiment.number, "name": experiment.name, "runs": len(runs)}
    if experiment.project_id != DEFAULT_PROJECT:
        about["project"] = names_of(session, [experiment.project_id])[experiment.project_id]
    tell(session, subject=experiment.id, after=about | {"imported_from": origin.model_dump()})
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    return experiment


def _experiment(
    record: ExperimentRecord, manifest: Manifest, algorithms: list[AlgorithmRecord], who: str, at: datetime
) -> Experiment:
    spec = record.spec
    return Experiment(
        id=ids.experiment_id(),
        created_by=who,
        name=manifest.name or spec.name,
        description=spec.description,
        workload=spec.workload.name,
        variants=[variant.name for variant in spec.variants],
        clusters=[cluster.name for cluster in spec.clusters],
        baseline=spec.baseline,
        spec=spec.model_dump(mode="json", by_alias=True),
        fingerprint=record.fingerprint,
        warnings=[{"pointer": each.pointer, "message": each.message} for each in record.warnings],
        planning=False,
        earlier=[each.model_dump(mode="json", by_alias=True) for each in record.earlier],
        cores=record.cores,
        created_at=record.created_at,
        finished_at=record.finished_at,
        note=record.note,
        imported_at=at,
        origin={
            "from": manifest.origin.model_dump(),
            "hooke": manifest.hooke,
            "exported_at": manifest.exported_at.isoformat(),
            "algorithms": [each.model_dump(mode="json") for each in algorithms],
        },
    )


def _read(
    bundle: Bundle, name: str, of_line: Callable[[bytes], dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield what the lines of a part are, and their bytes; a fault tells its line."""
    for number, line in enumerate(bundle.lines(name), 1):
        with in_part(name, number):
            row = of_line(line)
        yield row, len(line)


def _row(carried: Carried, runs: Mapping[int, str], line: bytes) -> dict[str, Any]:
    return read(carried, line, runs)


def _store_runs(
    session: Session, bundle: Bundle, experiment: Experiment, spec: ExperimentSpec, algorithms: set[str]
) -> Mapping[int, str]:
    """Store the runs; return the id of each by its number."""
    name, found = TABLES[0], dict[int, str]()

    def of_line(line: bytes) -> dict[str, Any]:
        row = read(CARRIED[name], line, {})
        _check_run(row, spec, algorithms)
        if row["number"] in found or len(found) >= MOST_RUNS:
            raise BundleError(f"'number': there is such a run already, or there are more than {MOST_RUNS}")
        found[row["number"]] = ids.run_id()
        return row | {
            "id": found[row["number"]],
            "project_id": experiment.project_id,
            "created_by": experiment.created_by,
            "experiment_id": experiment.id,
            "host": HERE + row["host"],
            "cancel_requested": False,
        }

    for some in _some(_read(bundle, name, of_line), ROWS):
        session.execute(insert(Run), some)
    return found


def _some(rows: Iterator[tuple[dict[str, Any], int]], most: int) -> Iterator[list[dict[str, Any]]]:
    """Yield rows in lists of at most `most`, and of HELD_BYTES or a row more."""
    found: list[dict[str, Any]] = []
    held = 0
    for row, size in rows:
        found.append(row)
        held += size
        if len(found) == most or held >= HELD_BYTES:
            yield found
            found, held = [], 0
    if found:
        yield found


def _check_run(row: Mapping[str, Any], spec: ExperimentSpec, algorithms: set[str]) -> None:
    """Raise BundleError for a run that is not one of its experiment."""
    document = RunSpec.model_validate(row["spec"])
    algorithm = {each.name: each.algorithm for each in spec.variants}.get(row["variant"])
    if algorithm is None:
        raise BundleError(f"'variant': its experiment has no variant {row['variant']!r}")
    if not row["algorithm"] == document.algorithm.name == algorithm or algorithm not in algorithms:
        raise BundleError(f"'algorithm': {row['algorithm']!r} is unknown, or not that of its variant")
    if (row["workers"], row["seed"]) != (document.workers, document.seed):
        raise BundleError("'workers' and 'seed' are not those of its specification")
    hosts = {each.name: each.host for each in spec.clusters}
    if row["host"] not in hosts.values() or (row["rung"] is None and row["cluster"] not in hosts):
        raise BundleError(f"'cluster': its experiment has no cluster {row['cluster']!r} on {row['host']!r}")


def _log_block(record: Any, runs: Mapping[int, str]) -> dict[str, Any]:
    """Return the row of a block of output, which is packed anew: what comes packed is not trusted."""
    if not isinstance(record, dict) or record.keys() != {"run", "attempt", "cut_lines", "cut_bytes", "lines"}:
        raise BundleError("it is not a block of output")
    counts = [record[name] for name in ("attempt", "cut_lines", "cut_bytes")]
    if not all(type(count) is int and 0 <= count < 2**62 for count in counts) or counts[0] >= 2**31:
        raise BundleError("'attempt', 'cut_lines' and 'cut_bytes' are numbers")
    if not isinstance(record["lines"], list) or not 1 <= len(record["lines"]) <= MOST_LINES:
        raise BundleError(f"'lines' has between 1 and {MOST_LINES} lines")
    lines = [_log_line(each) for each in record["lines"]]
    size = 0 if record["cut_lines"] else sum(line.bytes for line in lines)
    told = {name: record[name] for name in ("attempt", "cut_lines", "cut_bytes")}
    return told | {"run_id": run_of(record["run"], runs), "n": len(lines), "size": size, "data": pack(lines)}


def _log_line(value: Any) -> StoredLine:
    with suppress(ValueError, TypeError):
        rank, stream, unix, text = value
        kinds = (type(rank) is int, isinstance(stream, str), type(unix) in (int, float), isinstance(text, str))
        short = all(kinds) and len(stream) <= 40 and len(text) <= MOST_LINE_TEXT
        if short and abs(rank) < 2**31 and 0 <= unix < 2**33:
            return StoredLine(rank, stream, float(unix), text)
    raise BundleError("a line of output is rank, stream, seconds since 1970 and text")
