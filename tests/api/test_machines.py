"""Clusters on one machine are not busy at once, whoever waits is told, and an overlap is marked."""

from datetime import timedelta

import pytest
from hooke.spec.states import RunState
from hooke_api.models import Cluster, Run, now
from hooke_api.scheduling.machines import turns
from hooke_api.scheduling.queued import choose
from pydantic import ValidationError
from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from tests.api.comparisons.test_leaderboard import left_out, measured
from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, Supervisor
from tests.api.test_experiments import VIRTUAL
from tests.api.test_scheduler import end_pauses

HERE, ELSEWHERE = 32 * "a", 32 * "b"
TIMING = "another cluster on the same machine, lab, is timing a run"


def submit(service, cluster, seeds=1, **more):
    clusters = [{"name": cluster, "workers": [2], "seeds": seeds}]
    answer = service.client.post("/experiments", json=SPEC | ALONE | {"clusters": clusters} | more)
    assert answer.status_code == 201, answer.text
    return answer.json()


def virtual(host):
    return {"clusters": [VIRTUAL | {"computed_on": host}]}


def active(service):
    return sorted({run["host"] for run in service.runs(state=["dispatched", "starting", "running", "lost"])})


def reason(service, cluster):
    return service.get(f"/clusters/{cluster}/queue")["entries"][0]["reason"]


def end(service, host):
    """Let the active runs of a cluster succeed."""
    with service.database.write() as session:
        of_host = (Run.host == host, Run.state.in_([RunState.DISPATCHED, RunState.STARTING, RunState.RUNNING]))
        session.execute(update(Run).where(*of_host).values(state=RunState.SUCCEEDED, finished_at=now()))


@pytest.fixture
def two(service):
    """Register `lab` and `local` on one machine, and `far` on another; the first is offered what it needs."""
    for name, machines in (("lab", [HERE]), ("local", [ELSEWHERE[:-1] + "c", HERE]), ("far", [ELSEWHERE])):
        service.hello(name, machines=machines)
    return service


def test_a_machine_is_timed_on_by_one_cluster_at_a_time_and_the_others_are_told(two):
    for cluster in ("lab", "local", "far"):
        submit(two, cluster)
    two.scheduler.look()
    assert active(two) == ["far", "lab"]
    beside = {each["name"]: each["machine_shared_with"] for each in two.get("/clusters")["items"]}
    assert beside == {"lab": ["local"], "local": ["lab"], "far": []}
    assert reason(two, "local") == TIMING
    (waiting,) = two.runs(state="queued")
    assert waiting["waiting"]["reason"] == TIMING
    assert waiting["waiting"]["starts"] is None, "nothing like it has run"
    end(two, "lab")
    two.scheduler.look()
    assert active(two) == ["far", "local"]


@ONE_KIND
def test_clusters_take_turns_on_their_machine(two):
    """Not in the order of their names: a long queue of the first would keep the second one waiting forever."""
    for cluster in ("lab", "lab", "local"):
        submit(two, cluster)
    for expected in ("lab", "local", "lab"):
        two.scheduler.look()
        assert active(two) == [expected]
        end(two, expected)


@ONE_KIND
def test_a_cluster_whose_attempts_fail_does_not_keep_the_other_one_waiting(two):
    for cluster in ("lab", "local"):
        submit(two, cluster)
    for turn, expected in enumerate(["lab", "local", "lab", "local"]):
        two.scheduler.look()
        assert active(two) == [expected]
        supervisor = Supervisor(two, two.line.launched[-1][1][0])
        assert supervisor.order.attempt == 1 + turn // 2
        supervisor.report("starting", "running")
        two.prove(supervisor.id, supervisor.order.attempt, alive=False, why="no process is left")
        end_pauses(two)


@pytest.mark.parametrize(
    ("launched", "order"),
    [
        ({}, []),
        ({"b": None, "a": None}, ["a", "b"]),
        ({"a": 2, "b": 1, "c": 3}, ["b", "a", "c"]),
        ({"a": 1, "b": None, "c": 1}, ["b", "a", "c"]),
    ],
)
def test_whose_turn_it_is(launched, order):
    since = now()
    times = {
        name: None if second is None else since + timedelta(seconds=second) for name, second in launched.items()
    }
    assert turns(times) == order


def test_turns_are_fair_whatever_order_the_clusters_ask_in():
    """Of three that always want to be served, each is served in every third turn."""
    since, served, history = now(), dict.fromkeys("cab"), []
    for turn in range(9):
        first = turns(served)[0]
        history.append(first)
        served = {first: since + timedelta(seconds=turn)} | {k: v for k, v in served.items() if k != first}
    assert history == list("abc" * 3)


@ONE_KIND
@pytest.mark.parametrize(("first", "told"), [("lab", "computes a virtual run"), ("local", "is timing a run")])
def test_a_virtual_run_is_load_too(two, first, told):
    submit(two, first, **(virtual("lab") if first == "lab" else {}))
    two.scheduler.look()
    other = "local" if first == "lab" else "lab"
    submit(two, other, **(virtual("lab") if other == "lab" else {}))
    two.scheduler.look()
    assert active(two) == [first]
    assert reason(two, other) == f"another cluster on the same machine, {first}, {told}"


@ONE_KIND
def test_a_calibration_and_a_run_take_turns_too(two):
    submit(two, "local")
    two.scheduler.look()
    answer = two.client.post("/clusters/lab/calibrations", json={"workers": 2})
    assert answer.status_code == 202, answer.text
    submit(two, "local")
    two.scheduler.look()
    assert two.line.calibrated == []
    end(two, "local")
    two.scheduler.look()
    assert [cluster for cluster, _ in two.line.calibrated] == ["lab"]
    assert active(two) == [], "a run does not pass it"
    assert reason(two, "local").startswith("another cluster on the same machine, lab, is being calibrated until ")


@ONE_KIND
def test_a_lost_run_of_a_cluster_that_is_gone_keeps_no_machine(two):
    """Nobody can prove that it is dead, so others would wait forever; if it lives, the overlap is marked."""
    submit(two, "lab")
    two.scheduler.look()
    with two.database.write() as session:
        session.execute(update(Run).values(state=RunState.LOST))
    submit(two, "local")
    two.scheduler.look()
    assert active(two) == ["lab"]
    assert reason(two, "local").endswith("lab, has a lost run, whose end has not been proven")
    with two.database.write() as session:
        silent = now() - timedelta(seconds=two.settings.agent_seconds + 60)
        session.execute(update(Cluster).where(Cluster.name == "lab").values(seen_at=silent))
    two.scheduler.look()
    assert active(two) == ["lab", "local"]


def test_what_another_process_has_sent_meanwhile_counts(two):
    submit(two, "lab")
    submit(two, "local")
    two.scheduler.look()
    with two.database.write() as session:
        assert choose(session, "local") == []
    end(two, "lab")
    with two.database.write() as session:
        assert len(choose(session, "local")) == 1


@ONE_KIND
def test_an_overlap_is_marked_in_runs_and_verdicts(two):
    """Of agents that tell their machines too late, for example."""
    two.hello("local", machines=[])
    ids = [submit(two, cluster, seeds=2)["id"] for cluster in ("lab", "local")]
    submit(two, "far")
    two.scheduler.look()
    orders = {cluster: [Supervisor(two, order) for order in launched] for cluster, launched in two.line.launched}
    two.hello("local", machines=[HERE])
    orders["lab"][0].report("starting", "running")
    orders["far"][0].report("starting", "running")
    assert two.run(orders["lab"][0].id)["overlap"] is None
    orders["local"][0].report("starting")
    assert two.run(orders["lab"][0].id)["overlap"] == "local"
    assert two.run(orders["local"][0].id)["overlap"] == "lab"
    assert two.run(orders["far"][0].id)["overlap"] is None
    end(two, "lab")
    end(two, "local")
    comparison = two.get(f"/experiments/{ids[0]}/comparison")
    assert [row["overlapped"] for row in comparison["rows"]] == [1]
    assert "1 run overlapped with those of another cluster on its machine" in comparison["sentences"][0]


def test_an_experiment_with_an_overlap_is_not_on_the_leaderboard(service):
    made = measured(service, {"sync": [4.0, 5.0, 4.5], "local 4": [9.0] * 3, "local 8": [8.0] * 3})
    assert len(service.get("/leaderboard")["boards"]) == 1
    reported = (Run.experiment_id == made["id"], Run.rung.is_(None), Run.seed == 1)
    with service.database.write() as session:
        session.execute(update(Run).where(*reported).values(overlap="lab"))
    answer = service.get("/leaderboard")
    assert answer["boards"] == []
    told = "3 runs on local overlapped with those of another cluster on its machine: run it again"
    assert left_out(answer) == [(1, told)]


def test_a_virtual_run_is_not_marked_because_its_times_do_not_depend_on_the_machine(two):
    two.hello("local", machines=[])
    submit(two, "lab", **virtual("lab"))
    submit(two, "local")
    two.scheduler.look()
    two.hello("local", machines=[HERE])
    orders = {cluster: Supervisor(two, launched[0]) for cluster, launched in two.line.launched}
    orders["lab"].report("starting", "running")
    orders["local"].report("starting", "running")
    assert (two.run(orders["lab"].id)["overlap"], two.run(orders["local"].id)["overlap"]) == (None, "lab")


def test_orders_name_their_agent(two):
    agents = {"far": "agt_" + 32 * "1", "lab": "agt_" + 32 * "2"}
    for name, agent in agents.items():
        two.hello(name, agent=agent)
        submit(two, name)
    two.scheduler.look()
    assert {cluster: order.agent for cluster, _, order in two.line.sent} == agents
    assert sorted(cluster for cluster, _ in two.line.launched) == sorted(agents)


@ONE_KIND
@pytest.mark.parametrize(
    ("hello", "workers", "words"),
    [
        ({"cores": 2}, 4096, "4096 workers do not fit: its 2 cores hold 32 ranks, 16 on each. At most 32 workers"),
        ({"cores": 64, "hardware": {"memory_bytes": 2**30}}, 9, "1.0 GiB of memory hold 8 ranks, 128 MiB each"),
        ({"cores": 4, "launcher": "slurm"}, 5, "its launcher has 4 slots. At most 4 workers of sync fit."),
    ],
)
def test_more_workers_than_fit_are_refused_with_the_number_that_would(service, hello, workers, words):
    service.hello("lab", **hello)
    clusters = [{"name": "lab", "workers": [2, workers], "seeds": 1}]
    for path in ("/experiments/dry-run", "/experiments"):
        answer = service.client.post(path, json=SPEC | ALONE | {"clusters": clusters})
        assert answer.status_code == 422, answer.text
        (fault,) = answer.json()["errors"]
        assert fault["pointer"] == "/clusters/0/workers"
        assert words in fault["message"]


def test_every_thread_of_a_worker_takes_a_slot(service):
    service.hello("lab", cores=4, launcher="slurm")
    for threads, status in ((3, 200), (4, 422)):
        kinds = [{"kind": "hogwild-cpu", "threads": threads}, {"kind": "cpu"}]
        clusters = [{"name": "lab", "workers": kinds, "seeds": 1}]
        answer = service.client.post(
            "/experiments/dry-run", json=SPEC | ALONE | {"batch": 8, "clusters": clusters}
        )
        assert answer.status_code == status, answer.text
    said = answer.json()["errors"][0]["message"]
    assert "every thread takes a slot, and the workers have 5. At most 4 threads of workers of sync fit." in said


def test_a_cluster_may_be_in_an_experiment_with_several_kinds_of_workers(service):
    """Each under a name of its own, and measured there: no fault, no simulation, slots of that cluster."""
    service.hello("lab", cores=8)
    kinds = {"even": [{"kind": "cpu", "count": 2}], "slow": [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.25}]}
    clusters = [{"name": name, "computed_on": "lab", "workers": each, "seeds": 1} for name, each in kinds.items()]
    answer = service.client.post("/experiments", json=SPEC | ALONE | {"clusters": clusters})
    assert answer.status_code == 201, answer.text
    runs = service.runs()
    assert {(run["cluster"], run["host"], run["simulated"]) for run in runs} == {
        ("even", "lab", False),
        ("slow", "lab", False),
    }
    plain = [{"name": "again", "computed_on": "lab", "workers": [2], "seeds": 1}]
    refused = service.client.post("/experiments", json=SPEC | ALONE | {"clusters": plain})
    assert refused.json()["errors"][0]["pointer"] == "/clusters/0/computed_on"


@ONE_KIND
def test_a_cluster_whose_queue_cannot_be_read_keeps_no_other_from_its_runs(service):
    """Whatever it is: an error of a pass ended it, and every later one, for all clusters."""
    for name in ("broken", "local"):
        service.hello(name)
        service.submit(name=name, clusters=[{"name": name, "workers": [2], "seeds": 1}])
    with service.database.write() as session:
        session.execute(update(Cluster).where(Cluster.name == "broken").values(policy={"order": "by chance"}))
    for _ in range(2):
        with pytest.raises(ValidationError, match="by chance"):
            service.scheduler.look()
    assert [cluster for cluster, _ in service.line.launched] == ["local"]


@ONE_KIND
def test_an_error_of_a_pass_puts_off_no_lease_unless_the_database_was_away(service, monkeypatch):
    """Else one cluster that cannot be read would keep every dead supervisor of all clusters alive."""
    monkeypatch.setattr(service.scheduler, "up_since", 1.0)
    service.scheduler._failed(ValueError("a policy"))
    assert service.scheduler.up_since == 1.0
    service.scheduler._failed(OperationalError("select", {}, Exception("gone")))
    assert service.scheduler.up_since > 1.0
