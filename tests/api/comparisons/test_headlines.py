"""The answers that lists show: stored when runs have changed, and by nobody who only reads."""

from datetime import timedelta

from hooke_api.comparisons.headlines import Headlines
from hooke_api.models import Experiment, now
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.api.planning.test_tuning import play

pytestmark = ONE_KIND  # its queries make no difference between databases

THREE = {"clusters": [{"name": "local", "workers": [2], "seeds": 3}]}


def seconds(run):
    return (2 if run["variant"] == "sync" else 4) * (1 + run["seed"] % 7 / 100)


def stored(service, experiment):
    return service.get(f"/experiments/{experiment}")["headlines"]


def test_the_answer_follows_the_runs(service):
    thread = Headlines(service.database, service.settings)
    experiment = service.submit(**THREE)["id"]
    assert stored(service, experiment) == []
    thread.look()
    assert stored(service, experiment) == ["No verdict so far on local: needs 3 finished seed pairs, has 0"]
    play(service, seconds)
    thread.look()
    (line,) = stored(service, experiment)
    assert line.startswith("Fastest on local: sync, 2.0× (")
    (row,) = service.get("/experiments")["items"]
    assert row["headlines"] == [line]
    comparison = service.get(f"/experiments/{experiment}/comparison")
    assert comparison["fastest"][0]["variant"] == "sync"


def test_only_what_has_changed_is_computed(service, monkeypatch):
    first = service.submit(**THREE)["id"]
    thread = Headlines(service.database, service.settings)
    thread.look()
    thread.look()  # what the first look announced
    looked = []
    monkeypatch.setattr(thread, "_update", looked.append)
    thread.look()
    assert looked == []
    second = service.submit(**THREE)["id"]
    thread.look()
    assert looked == [second]
    thread.close()
    started_anew = Headlines(service.database, service.settings)
    monkeypatch.setattr(started_anew, "_update", looked.append)
    started_anew.look()
    assert set(looked) == {first, second}, "whatever may have changed while nobody looked"


def test_an_experiment_that_cannot_be_judged_does_not_stop_the_others(service):
    broken = service.submit(**THREE)["id"]
    other = service.submit(**THREE | {"name": "second"})["id"]
    with service.database.write() as session:
        spec = SPEC | THREE | {"tuning": {"trials": 2, "continues": "exp_0"}}
        session.execute(update(Experiment).where(Experiment.id == broken).values(spec=spec))
    Headlines(service.database, service.settings).look()
    assert stored(service, other) != []


def test_answers_of_an_earlier_version_are_made_anew(service):
    experiments = [service.submit(**THREE | {"name": name})["id"] for name in ("first", "second", "third")]
    play(service, seconds)
    thread = Headlines(service.database, service.settings)
    thread.look()
    thread.close()
    lines = [stored(service, each) for each in experiments]
    earlier = (["Old"], {"lines": ["Old"], "curve": None})
    with service.database.write() as session:
        for experiment, answer in zip(experiments, earlier, strict=False):
            session.execute(update(Experiment).where(Experiment.id == experiment).values(headlines=answer))
        later = {"headlines_at": now() + timedelta(hours=1)}
        session.execute(update(Experiment).values(**later))
    assert [stored(service, each) for each in experiments[:2]] == [["Old"]] * 2
    thread = Headlines(service.database, service.settings)
    looked, made = [], thread._update
    thread._update = lambda experiment: (looked.append(experiment), made(experiment))
    thread.look()
    assert set(looked) == set(experiments[:2])
    assert [stored(service, each) for each in experiments] == lines
