"""The endpoints of runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request
from hooke.errors import Fault
from hooke.spec.states import RunState
from pydantic import StringConstraints

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.base.errors import Invalid
from hooke_api.base.parquet import ParquetAnswer, parquet_answer
from hooke_api.base.tables import CsvAnswer, TextAnswer, csv_answer, text_answer
from hooke_api.filters.language import MOST_CHARACTERS, FilterError
from hooke_api.filters.runs import ORDERS, RunQuery
from hooke_api.runs import attempts, output, service, table
from hooke_api.runs.schemas import LogPage, RetryRequest, RunPage, RunView
from hooke_api.storage.database import DatabaseOf
from hooke_api.waiting.endpoints import silence_of

RunName = Annotated[str, StringConstraints(max_length=40)]
router = APIRouter(route_class=CheckedRoute, prefix="/runs", tags=["runs"])


def chosen_runs(
    experiment: Annotated[str | None, Query(max_length=40)] = None,
    state: Annotated[list[RunState] | None, Query(description="May repeat: any of these.")] = None,
    variant: Annotated[str | None, Query(max_length=120)] = None,
    cluster: Annotated[str | None, Query(max_length=64)] = None,
    reported: Annotated[
        bool | None, Query(description="Only runs that are reported, or only those of trials.")
    ] = None,
    run: Annotated[
        list[RunName] | None, Query(max_length=service.MOST_NAMED, description="May repeat: only these runs.")
    ] = None,
    chosen: Annotated[
        str | None,
        Query(
            alias="filter",
            max_length=MOST_CHARACTERS,
            description="Such as `algorithm = sync-easgd and workers = 8 and test_accuracy > 0.98` (filters.md).",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        Query(max_length=40, description=f"One of {', '.join(ORDERS)}; after a minus: the largest first."),
    ] = None,
) -> service.Filter:
    """Return the filter that a request asks for. Raises Invalid."""
    query = None
    if (chosen and chosen.strip()) or sort:
        query = _query(chosen or "", sort or ("number" if experiment else "-created"))
    return service.Filter(experiment, tuple(state or ()), variant, cluster, reported, tuple(run or ()), query)


def _query(chosen: str, sort: str) -> RunQuery:
    try:
        return RunQuery(chosen, sort)
    except FilterError as error:
        raise Invalid(f"the filter cannot be read: {error}", [Fault("query/filter", str(error))]) from None
    except ValueError as error:
        raise Invalid(f"the order cannot be read: {error}", [Fault("query/sort", str(error))]) from None


@router.get("", operation_id="list_runs")
def list_runs(
    request: Request,
    database: DatabaseOf,
    chosen: Annotated[service.Filter, Depends(chosen_runs)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: str | None = None,
    energy: Annotated[bool, Query(description="With the energy of each run, which takes longer.")] = False,
) -> RunPage:
    """List runs: of one experiment in the order of its expansion, otherwise newest first, or as `sort` says.

    With `filter` or `sort`, runs of archived experiments only if the filter mentions `archived`.
    """
    with database.read() as session:
        return service.page(
            session, request.app.state.cursors, chosen, service.Page(limit, cursor, energy), silence_of(request)
        )


@router.get(".csv", operation_id="export_runs", response_class=CsvAnswer)
def export_runs(database: DatabaseOf, chosen: Annotated[service.Filter, Depends(chosen_runs)]) -> CsvAnswer:
    """Return all runs of a list as CSV: columns of RunSummary, parameters as JSON.

    In the order of the list where it has a `filter` or `sort`, otherwise the first submitted first.
    """
    return csv_answer(table.csv_of(database, chosen), "runs.csv")


@router.get(".parquet", operation_id="export_runs_parquet", response_class=ParquetAnswer)
def export_runs_parquet(
    database: DatabaseOf, chosen: Annotated[service.Filter, Depends(chosen_runs)]
) -> ParquetAnswer:
    """Return all runs of a list as Parquet, with types; 409 where pyarrow is not installed."""
    return parquet_answer(table.parquet_of(database, chosen), "runs.parquet")


@router.get("/{run_id}", operation_id="read_run")
def read_run(run_id: str, request: Request, database: DatabaseOf) -> RunView:
    """Read one run: its specification, the history of its states, its phases."""
    with database.read() as session:
        return service.view(session, service.get(session, run_id), silence_of(request))


@router.post("/{run_id}/cancel", operation_id="cancel_run", status_code=202)
def cancel_run(run_id: str, request: Request, actor: ActorOf, database: DatabaseOf) -> RunView:
    """Cancel a run: at once if it is queued, otherwise within seconds; no effect on a run that has ended."""
    with database.write() as session:
        service.check_owner(session, run_id, actor)
        return service.cancel(session, run_id, actor.name, silence_of(request))


@router.post("/{run_id}/retry", operation_id="retry_run", status_code=202)
def retry_run(
    run_id: str,
    request: Request,
    actor: ActorOf,
    database: DatabaseOf,
    asked: Annotated[RetryRequest | None, Body()] = None,
) -> RunView:
    """Queue another attempt of a run that has ended without success; 409 for any other.

    It goes on from the latest complete checkpoint of earlier attempts, or with `resume: false` from the beginning.
    """
    resume = asked is None or asked.resume
    with database.write() as session:
        service.check_owner(session, run_id, actor)
        attempts.retry(session, run_id, actor.name, resume)
        return service.changed(session, run_id, silence_of(request))


@router.post("/{run_id}/abandon", operation_id="abandon_run", status_code=202)
def abandon_run(run_id: str, request: Request, actor: ActorOf, database: DatabaseOf) -> RunView:
    """End, as cancelled, a lost run, or one that was sent to a cluster which is offline; 409 for any other.

    The risk: nothing has proven that its processes are dead. If they live, they go on using their cluster until
    they reach this server, which then ends them, and a further attempt there would share cores with them.
    """
    with database.write() as session:
        service.tell_state(session, run_id)
        attempts.abandon(session, run_id, actor.name, silence_of(request))
        return service.changed(session, run_id, silence_of(request))


@router.post("/{run_id}/checkpoint", operation_id="checkpoint_run", status_code=202)
def checkpoint_run(run_id: str, request: Request, actor: ActorOf, database: DatabaseOf) -> RunView:
    """Request a checkpoint of a running run, which continues; listed in `checkpoints` within seconds; else 409."""
    with database.write() as session:
        service.check_owner(session, run_id, actor)
        return service.checkpoint(session, run_id, silence_of(request))


@router.get("/{run_id}/logs", operation_id="read_logs")
def read_logs(
    run_id: str,
    database: DatabaseOf,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next_after` of the page before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    rank: Annotated[
        int | None, Query(ge=-1, le=2**31 - 1, description="Only this rank; -1 is mpirun and the supervisor.")
    ] = None,
) -> LogPage:
    """Read the output of the ranks of a run to stdout and stderr, over all its attempts."""
    with database.read() as session:
        return output.logs(session, run_id, after, limit, rank)


@router.get("/{run_id}/log.txt", operation_id="export_log", response_class=TextAnswer)
def export_log(
    run_id: str,
    database: DatabaseOf,
    rank: Annotated[
        int | None, Query(ge=-1, le=2**31 - 1, description="Only this rank; -1 is mpirun and the supervisor.")
    ] = None,
) -> TextAnswer:
    """Return the output of a run as text; each line has time, rank, stream, and what was written."""
    return text_answer(output.lines_of(database, run_id, rank), f"log-{run_id}.txt")
