"""What is told below a board, and of trials: how that was measured which counts, and by what."""

from hooke.spec.states import RunState
from hooke_api.models import Run
from sqlalchemy import update

from tests.api.comparisons.test_leaderboard import VARIANTS, end, measured
from tests.api.databases import ONE_KIND
from tests.api.planning.test_tuning import TUNED
from tests.api.test_extending import extend, finish

TIMES = {"sync": [4.0, 5.0, 4.5], "local 4": [9.0, 9.0, 9.0]}
SMALL = TUNED | {"tuning": {"trials": 2}, "clusters": [{"name": "local", "workers": [2], "seeds": 1}]}


def told(service):
    """Return what is told below the only board of its only workload."""
    (board,) = service.get("/leaderboard")["boards"]
    (workload,) = board["workloads"]
    return workload["extended"]


def numbers(service):
    (board,) = service.get("/leaderboard")["boards"]
    return board["workloads"][0]["by_hand"]


def change(service, experiment, *which, **values):
    with service.database.write() as session:
        session.execute(update(Run).where(Run.experiment_id == experiment, *which).values(**values))


@ONE_KIND
def test_seeds_that_were_added_after_a_look_and_retries_are_told_below_a_board(service):
    """Otherwise who adds seeds until the favorite leads has a leader whose experiment alone says so."""
    experiment = service.submit(**SMALL)
    finish(service)
    assert told(service) == ""
    extend(service, experiment["id"], seeds=2).raise_for_status()
    finish(service)
    said = told(service)
    assert said.startswith(f"#{experiment['number']}: Seeds were added after 1 had been compared (now 3): ")
    assert said.removeprefix("#1: ") == service.get(f"/experiments/{experiment['id']}/comparison")["extended"]
    again = next(run["id"] for run in service.runs() if run["rung"] is None)
    change(service, experiment["id"], Run.id == again, state=RunState.FAILED_USER)
    service.client.post(f"/runs/{again}/retry", json={"resume": False}).raise_for_status()
    finish(service)
    assert told(service).startswith("#1: 1 run was retried by hand after a divergence, an error or the time limit")


@ONE_KIND
def test_programs_and_processors_that_differ_between_experiments_are_told_below_a_board(service):
    """By hand: of real runs both; those of one that failed, and of trials, tell nothing."""
    first, second, third = (measured(service, TIMES, VARIANTS[:2]) for _ in range(3))
    old, new = {"hardware": {"cpu": "Old"}}, {"hardware": {"cpu": "New"}}
    for made, cpu, torch in ((first, old, "2.1"), (second, old, "2.2"), (third, new, "2.2")):
        change(service, made["id"], **cpu, versions={"torch": torch, "hooke": "1"})
    change(service, first["id"], Run.rung.is_not(None), versions={"torch": "2.0"})
    assert told(service) == (
        "Its experiments were not measured by the same: processor New (#3) and Old (#2, #1); "
        "torch 2.2 (#3, #2) and 2.1 (#1)."
    )
    for made in (first, second, third):
        change(service, made["id"], **old, versions={"torch": "2.2", "hooke": "1"})
    assert told(service) == ""
    change(service, first["id"], simulated=True, versions={"torch": "2.2", "hooke": "2"})
    change(service, first["id"], simulated=True, **new)
    assert told(service) == "Its experiments were not measured by the same: hooke 1 (#3, #2) and 2 (#1)."


@ONE_KIND
def test_seeds_without_a_result_are_told_below_a_board(service):
    """A run that diverged has missed the target; one that a person has cancelled tells nothing."""
    made = measured(service, TIMES, VARIANTS[:2])
    end(service, made, "local 4", [1], RunState.CANCELLED)
    end(service, made, "sync", [1, 2], RunState.FAILED_INFRA)
    assert told(service) == (
        "#1: Seeds without a result on local with 2 workers, which do not count: 2 of sync and 1 of local 4."
    )
    end(service, made, "sync", [1, 2], RunState.SUCCEEDED)
    change(service, made["id"], Run.state == RunState.CANCELLED, state=RunState.FAILED_USER, diverged=True)
    assert told(service) == ""


@ONE_KIND
def test_how_many_parameters_were_searched_is_told_below_a_board_where_the_numbers_differ(service):
    """Also where methods meet that were measured by several experiments, each alone."""
    slow, own = {"name": "slow", "algorithm": "slowmo"}, {"search": {"momentum_kind": None}}
    measured(service, {"sync": [4.0] * 3}, VARIANTS[:1])
    assert numbers(service) == ""
    measured(service, {"slow": [9.0] * 3}, [slow], baseline="slow")
    said = ("Between 3 (sync of #1) and 6 parameters (slow of #2) were searched: ", "less often than of few.")
    assert numbers(service).startswith(said[0]) and numbers(service).endswith(said[1])
    both = measured(service, {"sync": [4.0] * 3, "slow": [9.0] * 3}, [VARIANTS[0] | own, slow], first_seed=9)
    told_of = (
        f"#{both['number']}: Not searched: sync (momentum_kind). Between 2 (sync) and 6 parameters (slow) were"
    )
    assert numbers(service).startswith(told_of)


@ONE_KIND
def test_trials_that_overlapped_with_runs_of_another_cluster_are_told(service):
    """Also those of an experiment that is continued: who disturbs the trials of a rival has the faster method."""
    first = service.submit(**SMALL)["id"]
    finish(service)
    second = service.submit(**SMALL | {"tuning": {"trials": 2, "continues": first}})["id"]
    finish(service)
    path = f"/experiments/{second}/comparison"
    assert service.get(path)["extended"] is None
    change(service, first, Run.rung.is_not(None), Run.variant == "local", overlap="lab")
    change(service, second, Run.rung.is_not(None), Run.trial == 3, overlap="lab")
    said = (
        "Runs of trials overlapped with those of another cluster on their machine, so that the times by which "
        "settings were chosen cannot be trusted: 1 of sync and 3 of local."
    )
    assert service.get(path)["extended"] == said
    assert service.get(f"/experiments/{first}/comparison")["extended"].endswith(": 2 of local.")
    assert f"#2: {said}" in told(service)
    assert "1 of sync and 3 of local" in service.client.get(f"/experiments/{second}/report.html").text
