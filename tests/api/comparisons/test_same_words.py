"""The runs of `hooke.compare`, played to a server record by record: it plans the same, and says the same words."""

import hooke
import pytest
from hooke.comparison import trials as of_figures
from hooke.comparison.figures import RunFigures
from hooke.errors import ArgumentError
from hooke.spec.events import RankRecords
from hooke.spec.journal import records
from hooke.spec.states import DIVERGED, RunState
from hooke_api.comparisons.figures import figures
from hooke_api.models import Run

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor
from tests.engine.notebook.data import GIVEN, QUICK

METHODS = {
    "sync-easgd": {"search": {"momentum": None, "momentum_kind": None}},
    "async-easgd": {},
    "wild": {"algorithm": "local-sgd", "search": {"lr": {"low": 9, "high": 10}}, "momentum": 0.99},
}


def key(run):
    return run["variant"], run["seed"], run["trial"], run["rung"]


def play(service, made):
    """Let the server run everything that it has planned, with the journals of the same runs here."""
    by_key = {(r.figures.variant, r.figures.seed, r.figures.trial, r.figures.rung): r for r in made.runs}
    while True:
        service.scheduler.look()
        sent = {run["id"] for run in service.runs(state="dispatched")}
        waiting = [order for _, orders in service.line.launched for order in orders if order.run in sent]
        if not waiting:
            assert not by_key, "the server has planned fewer runs"
            return
        for order in waiting:
            run = by_key.pop(key(service.run(order.run)))
            assert order.spec == run.spec.model_dump(mode="json", by_alias=True)
            supervisor = Supervisor(service, order)
            supervisor.report("starting", "running")
            ranks = range(run.figures.workers + run.figures.servers)
            supervisor.send(
                *(RankRecords(rank=r, records=list(records(run.folder / f"journal.{r}.jsonl"))) for r in ranks)
            )
            supervisor.report(run.figures.state, **{"exit_code": DIVERGED} if run.figures.diverged else {})


@pytest.fixture(scope="module")
def made():
    model = {"name": "digits-mlp", "hidden1": 8, "hidden2": 8}
    return hooke.compare(METHODS, workload=model, trials=2, target=0.3, **QUICK | {"seeds": 3, "samples": 800})


@ONE_KIND
def test_a_server_plans_the_same_runs_and_says_the_same(service, made):
    assert len({run.figures.variant for run in made.runs if run.figures.rung is None}) >= 2
    service.hello()
    address = made.submit(service.url, service.settings.token)
    experiment = address.rpartition("/")[2]
    play(service, made)
    theirs = service.get(f"/experiments/{experiment}/comparison")
    assert theirs["complete"]
    assert theirs["sentences"] == made.report.sentences
    assert theirs["tuning"] == made.report.tuning
    for row, own in zip(theirs["rows"], made.report.rows, strict=True):
        assert row["speed_up"]["sentence"] == own.sentence
        assert (row["variant"], row["finished"]) == (own.first.variant, own.finished)
        for name in ("accuracy", "test_accuracy", "communication_fraction", "wire", "throughput", "staleness"):
            here = getattr(own, name)
            wanted = {"mean": here.mean, "low": here.low, "high": here.high, "n": here.n}
            assert {k: row[name][k] for k in wanted} == pytest.approx(wanted)


@ONE_KIND
def test_a_server_that_lacks_the_workload_says_what_to_put_there(service):
    made = hooke.compare(["sgd"], **GIVEN, **QUICK | {"samples": 16, "evaluate_every": None}, name="my-net")
    service.hello()
    with pytest.raises(ArgumentError, match=r"/workload/name: no workload is called 'my-net'.* a file my_net\.py"):
        made.submit(service.url, service.settings.token)
    with pytest.raises(ArgumentError, match="the server refused the experiment: .*token"):
        made.submit(service.url, "wrong")
    with pytest.raises(ArgumentError, match="cannot be reached"):
        made.submit("http://127.0.0.1:9", "any")
    with pytest.raises(ArgumentError, match="`url` is the address of a Hooke server"):
        made.submit("127.0.0.1", "any")


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize("shown", [{}, {"diverged": True}, {"samples": 0}, {"time_to_target": 2.5}])
def test_trials_are_judged_alike(state, shown):
    """Rows of the server and figures: the engine's functions take both."""
    from tests.engine.tuning.test_plan import plan

    spec = plan().spec
    row = Run(variant="a", cluster="local", workers=2, servers=0, seed=7, trial=3, rung=1, algorithm="sgd")
    told = {"state": state, "simulated": False, "diverged": False, "samples": 64, "accuracy": 0.5, "loss": 1.0}
    for name, value in (told | shown).items():
        setattr(row, name, value)
    for name in ("oversubscribed", "clock"):
        setattr(row, name, 0)
    run = figures(row)
    assert isinstance(run, RunFigures)
    assert of_figures.known(spec, [row]) == of_figures.known(spec, [run])
    assert of_figures.trials_made([row]) == of_figures.trials_made([run])
