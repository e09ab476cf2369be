"""Calibrations over HTTP: queued, exclusive, received from the agent, compared, and used by name."""

from datetime import timedelta

import pytest
from hooke_api.models import Run, StoredCalibration, now
from hooke_api.queue.prediction import Prediction, remaining
from hooke_api.scheduling import calibrations
from sqlalchemy import func, select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC
from tests.engine.calibration.documents_for_tests import made

PATH = "/clusters/local/calibrations"
VIRTUAL = {
    "variants": SPEC["variants"][:1],
    "baseline": "sync",
    "clusters": [
        {"name": "v", "computed_on": "local", "workers": [2], "seeds": 1, "virtual": {"like": "local"}},
    ],
}


def document(**changes):
    return made(**changes).model_dump(mode="json", by_alias=True)


def calibrate(service, **changes):
    """Order a calibration, let the scheduler send it, and answer as the agent does."""
    answer = service.client.post(PATH, json={})
    assert answer.status_code == 202, answer.text
    service.scheduler.look()
    body = {"id": answer.json()["id"], "document": document(**changes)}
    assert service.agent.post("/agents/calibration", json=body).status_code == 204
    return answer.json()["id"]


@ONE_KIND
def test_a_calibration_waits_for_the_run_and_keeps_others_waiting(service):
    supervisor = service.launch(**ALONE)
    first = service.client.post(PATH, json={"workloads": ["digits-mlp"], "workers": 2}).json()
    assert first["state"] == "queued"
    service.submit(name="second")
    service.scheduler.look()
    assert service.line.calibrated == []  # a run is active
    launched = len(service.line.launched)
    supervisor.report("starting", "running", "succeeded")
    service.scheduler.look()
    ((cluster, order),) = service.line.calibrated
    assert (cluster, order.id, order.workers, order.workloads) == ("local", first["id"], 2, ["digits-mlp"])
    service.scheduler.look()
    assert len(service.line.calibrated) == 1
    assert len(service.line.launched) == launched  # the cluster is occupied
    assert service.get(PATH)["items"][0]["state"] == "running"
    body = {"id": order.id, "document": document()}
    assert service.agent.post("/agents/calibration", json=body).status_code == 204
    service.scheduler.look()
    assert len(service.line.launched) == launched + 1
    (shown,) = service.get(PATH)["items"]
    assert (shown["state"], shown["calibration"]["workers"], shown["drift"]) == ("succeeded", 2, [])


@ONE_KIND
def test_drift_is_told(service):
    service.hello()
    calibrate(service)
    calibrate(service, slower=1.5)
    newest, oldest = service.get(PATH)["items"]
    assert oldest["drift"] == []
    assert any("1.50 times as long as before" in text for text in newest["drift"])


@ONE_KIND
def test_a_failure_is_stored_with_its_reason(service):
    service.hello()
    asked = service.client.post(PATH, json={}).json()
    assert service.client.post(PATH, json={}).status_code == 409
    service.scheduler.look()
    service.agent.post("/agents/calibration", json={"id": asked["id"], "why": "no mpirun"})
    (shown,) = service.get(PATH)["items"]
    assert (shown["state"], shown["why"], shown["calibration"]) == ("failed", "no mpirun", None)
    again = service.agent.post("/agents/calibration", json={"id": asked["id"], "document": document()})
    assert again.status_code == 204  # a repeated message changes nothing
    assert service.get(PATH)["items"][0]["state"] == "failed"


@ONE_KIND
def test_without_a_result_it_fails_and_the_queue_goes_on(service):
    service.submit(**ALONE)
    service.client.post(PATH, json={})
    service.scheduler.look()
    assert service.line.launched == []
    with service.database.write() as session:
        session.execute(
            update(StoredCalibration).values(sent_at=now() - calibrations.LIMIT - timedelta(seconds=1))
        )
    service.scheduler.look()
    assert "no result" in service.get(PATH)["items"][0]["why"]
    service.scheduler.look()
    assert len(service.line.launched) == 1


@ONE_KIND
def test_a_jump_of_the_clock_ends_no_calibration(service):
    """Its agent still measures: runs would start beside it."""
    service.hello()
    service.client.post(PATH, json={})
    service.scheduler.look()
    hour = timedelta(hours=1)
    monotonic, database_at = service.scheduler._watched
    service.scheduler._watched = monotonic, database_at - hour
    with service.database.write() as session:
        session.execute(update(StoredCalibration).values(sent_at=now() - hour))
    for _ in range(2):
        service.scheduler.look()
        assert service.get(PATH)["items"][0]["state"] == "running"
    service.scheduler._gap_at -= calibrations.LIMIT.total_seconds()  # so long without news since then
    service.scheduler.look()
    assert service.get(PATH)["items"][0]["state"] == "failed"


@ONE_KIND
def test_like_takes_the_latest_calibration_and_stays_what_it_was(service):
    service.hello()
    refused = service.client.post("/experiments", json=SPEC | VIRTUAL)
    assert refused.status_code == 422
    (fault,) = refused.json()["errors"]
    assert fault["pointer"] == "/clusters/0/virtual/like"
    assert "no cluster has been calibrated" in fault["message"]
    calibrate(service)
    headers = {"Idempotency-Key": "once"}
    sent = service.client.post("/experiments", json=SPEC | VIRTUAL, headers=headers)
    assert sent.status_code == 201, sent.text
    calibrate(service, slower=2.0)
    repeated = service.client.post("/experiments", json=SPEC | VIRTUAL, headers=headers)
    assert repeated.json()["id"] == sent.json()["id"]
    (run,) = service.runs(experiment_id=sent.json()["id"])
    virtual = service.run(run["id"])["spec"]["virtual"]
    assert "like" not in virtual
    assert virtual["seconds_per_byte"] == 1e-9
    assert "calibration of local" in virtual["source"]
    assert service.client.post("/experiments/dry-run", json=SPEC | VIRTUAL).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/clusters/nowhere/calibrations", {}, 404),
        (PATH, {"workers": 64}, 422),
        (PATH, {"workloads": ["../x"]}, 422),
        (PATH, {"unknown": 1}, 422),
    ],
)
@ONE_KIND
def test_wrong_requests_are_refused(service, path, body, status):
    service.hello()
    assert service.client.post(path, json=body).status_code == status


@ONE_KIND
def test_only_agents_report(service):
    service.hello()
    asked = service.client.post(PATH, json={}).json()
    body = {"id": asked["id"], "document": document()}
    assert service.client.post("/agents/calibration", json=body).status_code == 401
    assert service.agent.post("/agents/calibration", json=body | {"id": "cal_x"}).status_code == 404
    wrong = service.agent.post("/agents/calibration", json=body | {"document": {"schema": "x"}})
    assert wrong.status_code == 422
    assert service.agent.post("/agents/calibration", json={"id": asked["id"]}).status_code == 422


@ONE_KIND
def test_who_waits_is_told_of_the_calibration(service):
    supervisor = service.launch(**ALONE)
    service.submit(name="second", **ALONE)
    service.client.post(PATH, json={})
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert entry["reason"] == "behind a calibration of the cluster"
    supervisor.report("starting", "running", "succeeded")
    service.scheduler.look()
    assert len(service.line.calibrated) == 1
    (entry,) = service.get("/clusters/local/queue")["entries"]
    assert entry["reason"].startswith("the cluster is being calibrated until about ")
    assert entry["starts"] is not None


def test_what_is_left_of_a_calibration_counts_from_its_begin_not_from_the_last_news_of_it(service):
    service.hello()
    calibrate(service)
    supervisor = service.launch(**ALONE)
    asked = service.client.post(PATH, json={}).json()
    supervisor.report("starting", "running", "succeeded")
    service.scheduler.look()
    with service.database.write() as session:  # asked for long before the run ended
        session.execute(
            update(StoredCalibration)
            .where(StoredCalibration.id == asked["id"])
            .values(created_at=now() - timedelta(seconds=500))
        )
    news = {"id": asked["id"], "doing": "measuring for about 25 s"}
    assert service.agent.post("/agents/calibration", json=news).status_code == 204
    with service.database.read() as session:
        began = session.scalar(select(func.max(Run.finished_at)))
        found = calibrations.open_on(session, "local", began + timedelta(seconds=20))
    left = remaining(Prediction(30.0, spread=9.0), 20.0)  # it took 30 s before
    assert found.left == pytest.approx((left.seconds, left.spread))


@ONE_KIND
def test_a_failed_calibration_is_none(service):
    service.hello()
    asked = service.client.post(PATH, json={}).json()
    service.scheduler.look()
    service.agent.post("/agents/calibration", json={"id": asked["id"], "why": "no mpirun"})
    (fault,) = service.client.post("/experiments", json=SPEC | VIRTUAL).json()["errors"]
    assert "no cluster has been calibrated yet" in fault["message"]


@ONE_KIND
def test_drift_is_against_the_last_one_that_succeeded(service, monkeypatch):
    monkeypatch.setattr("hooke_api.calibration.service.SHOWN", 1)
    service.hello()
    calibrate(service)
    asked = service.client.post(PATH, json={}).json()
    service.scheduler.look()
    service.agent.post("/agents/calibration", json={"id": asked["id"], "why": "no mpirun"})
    calibrate(service, slower=1.5)
    (newest,) = service.get(PATH)["items"]
    assert any("1.50 times as long as before" in text for text in newest["drift"])


def test_a_cluster_that_has_other_hardware_than_its_calibration_is_warned_about(service):
    service.hello()
    calibrate(service)
    told = service.client.post("/experiments/dry-run", json=SPEC | VIRTUAL).json()["warnings"]
    assert not any(each["pointer"] == "/clusters/0/virtual/like" for each in told)
    service.hello(hardware={"cpu": "another"})
    told = service.client.post("/experiments/dry-run", json=SPEC | VIRTUAL).json()["warnings"]
    (warning,) = [each for each in told if each["pointer"] == "/clusters/0/virtual/like"]
    assert warning["message"] == (
        "local has changed since its calibration: cpu was test and is another. Calibrate it again."
    )


@ONE_KIND
def test_what_is_done_is_told_and_counts_as_a_sign_of_life(service):
    service.hello()
    asked = service.client.post(PATH, json={}).json()
    service.scheduler.look()
    with service.database.write() as session:
        session.execute(
            update(StoredCalibration).values(sent_at=now() - calibrations.LIMIT - timedelta(seconds=1))
        )
    words = "job 7 waits in Slurm's queue: PENDING (Resources)"
    assert service.agent.post("/agents/calibration", json={"id": asked["id"], "doing": words}).status_code == 204
    service.scheduler.look()
    (shown,) = service.get(PATH)["items"]
    assert (shown["state"], shown["why"]) == ("running", words)
    both = {"id": asked["id"], "doing": words, "why": "no mpirun"}
    assert service.agent.post("/agents/calibration", json=both).status_code == 422


def test_a_queued_calibration_is_cancelled_at_once_and_one_that_measures_by_its_agent(service):
    service.submit(**ALONE)
    waiting = service.client.post(PATH, json={}).json()["id"]
    ended = service.client.post(f"{PATH}/{waiting}/cancel")
    assert (ended.status_code, ended.json()["state"]) == (202, "cancelled")
    assert service.client.post(f"{PATH}/{waiting}/cancel").status_code == 409
    assert service.client.post(f"{PATH}/cal_x/cancel").status_code == 404
    measuring = service.client.post(PATH, json={}).json()["id"]
    service.scheduler.look()
    assert service.client.post(f"{PATH}/{measuring}/cancel").json()["state"] == "cancelling"
    service.scheduler.look()
    service.scheduler.look()
    assert service.line.ended == [("local", measuring)]
    assert service.line.launched == [], "its ranks may live"
    service.agent.post("/agents/calibration", json={"id": measuring, "why": "every process is gone"})
    assert service.get(PATH)["items"][0]["state"] == "cancelled"
    service.scheduler.look()
    assert len(service.line.launched) == 1


@ONE_KIND
def test_an_agent_that_does_not_answer_keeps_no_cancelled_calibration_open(service):
    service.hello()
    id = service.client.post(PATH, json={}).json()["id"]
    service.scheduler.look()
    service.client.post(f"{PATH}/{id}/cancel")
    service.scheduler.look()
    with service.database.write() as session:
        session.execute(
            update(StoredCalibration).values(sent_at=now() - calibrations.CANCEL_LIMIT - timedelta(seconds=1))
        )
    service.scheduler.look()
    assert [each["state"] for each in service.get(PATH)["items"]] == ["cancelled"]


def test_an_agent_is_told_that_a_calibration_is_over_when_it_still_works_at_it(service):
    """Runs start on the cluster: they must not be timed beside it."""
    service.hello()
    id = service.client.post(PATH, json={}).json()["id"]
    service.scheduler.look()
    with service.database.write() as session:
        late = now() - calibrations.LIMIT - timedelta(seconds=1)
        session.execute(update(StoredCalibration).values(sent_at=late))
    service.scheduler.look()
    told = service.agent.post("/agents/calibration", json={"id": id, "doing": "measuring"})
    assert told.status_code == 410
    assert told.json()["detail"] == f"calibration {id} has ended (failed): stop working on it"
    assert service.agent.post("/agents/calibration", json={"id": id, "why": "cancelled"}).status_code == 204
    assert "no result" in service.get(PATH)["items"][0]["why"]
