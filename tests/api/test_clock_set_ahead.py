"""What cannot be undone is not done because the database's clock was set ahead."""

from datetime import timedelta

import pytest
from hooke_api.models import (
    AccessToken,
    BrowserSession,
    ClusterToken,
    Experiment,
    Leader,
    Moment,
    Run,
    StoredFetch,
    User,
    now,
)
from hooke_api.runs.fetch_keeper import FetchKeeper
from hooke_api.scheduling import ahead, passed
from hooke_api.scheduling.passed import Watch
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE
from tests.api.test_deleting import purge

STORED = (AccessToken, BrowserSession, ClusterToken, Experiment, Leader, StoredFetch, User)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
UNDO = 7 * DAY


def set_clock(service, by):
    """Set the database's clock ahead: for it, whatever is stored happened so much earlier. No time has passed."""
    with service.database.write() as session:
        for table in STORED:
            moments = [each.key for each in table.__table__.c if isinstance(each.type, Moment)]
            for row in session.scalars(select(table)):
                for name in moments:
                    if (at := getattr(row, name)) is not None:
                        setattr(row, name, at - by)


@pytest.fixture
def host(monkeypatch):
    """Return the host's clock, to be set: which start of the host this is, and seconds since then."""
    clock = ["one", 1000.0]
    monkeypatch.setattr(passed, "_host", lambda: tuple(clock))
    return clock


@pytest.fixture
def deleted(service, host):
    """Return the id of an experiment that was just deleted; the purger has looked."""
    experiment = service.submit(**ALONE)["id"]
    with service.database.write() as session:
        session.execute(update(Run).values(state="succeeded"))
        session.execute(update(Experiment).values(finished_at=now()))
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    purge(service)
    return experiment


def purged_in(service):
    """Return in which time it can be purged; None: it is gone."""
    with service.database.read() as session:
        end = session.scalars(select(Experiment.purge_at)).one_or_none()
    return None if end is None else end - now()


def about(found, wanted):
    return abs(found - wanted) < MINUTE


def test_an_undo_period_does_not_end_early(service, deleted, host):
    set_clock(service, 10 * 365 * DAY)
    for _ in range(3):
        purge(service)
        assert about(purged_in(service), UNDO), "put off once"
    host[1] += 6.9 * DAY.total_seconds()
    set_clock(service, 6.9 * DAY)  # now the time has passed
    purge(service)
    assert about(purged_in(service), 0.1 * DAY)
    host[1] += DAY.total_seconds()
    set_clock(service, DAY)
    purge(service)
    assert purged_in(service) is None


@ONE_KIND
def test_what_is_deleted_after_the_clock_was_set_is_put_off_by_nothing(service, deleted, host):
    set_clock(service, 30 * DAY)
    second = service.submit(**ALONE)["id"]
    with service.database.write() as session:
        session.execute(update(Experiment).where(Experiment.id == second).values(finished_at=now()))
    service.client.delete(f"/experiments/{second}").raise_for_status()
    purge(service)
    with service.database.read() as session:
        ends = session.scalars(select(Experiment.purge_at)).all()
    assert len(ends) == 2
    assert all(about(end - now(), UNDO) for end in ends)


@ONE_KIND
def test_it_can_be_restored_before_the_purger_has_noticed(service, deleted):
    set_clock(service, 30 * DAY)
    service.client.post(f"/experiments/{deleted}/restore").raise_for_status()
    purge(service)
    assert service.count(Experiment) == 1


@ONE_KIND
@pytest.mark.parametrize(("off", "counts"), [(HOUR, HOUR), (23 * HOUR, 23 * HOUR), (10 * DAY, DAY)])
def test_of_a_time_in_which_the_host_was_off_a_day_counts(service, deleted, host, off, counts):
    host[:] = ["another", 5.0]
    set_clock(service, off)
    purge(service)
    assert about(purged_in(service), UNDO - off), "it is not there to stay, and nothing is purged by it"
    host[1] += HOUR.total_seconds()
    set_clock(service, HOUR)
    for _ in range(2):
        purge(service)
        assert about(purged_in(service), UNDO - min(DAY, counts + HOUR))


@ONE_KIND
@pytest.mark.parametrize("wrong", [-15 * 365 * DAY, -16 * HOUR], ids=["years back", "time of its shutdown"])
def test_a_host_whose_clock_is_wrong_at_each_start_keeps_nothing_for_longer(service, deleted, host, wrong):
    """It has no battery for its clock, is off for 16 hours of the day, and asks for the time within a minute."""
    for day in range(7):
        host[:] = [f"start-{day}", 5.0]
        set_clock(service, 16 * HOUR + wrong)
        purge(service)
        host[1] += 55.0
        set_clock(service, 55 * timedelta(seconds=1) - wrong)
        purge(service)
        for _ in range(2):
            host[1] += (4 * HOUR).total_seconds()
            set_clock(service, 4 * HOUR)
            purge(service)
        assert day == 6 or about(purged_in(service), UNDO - (day + 1) * (DAY + timedelta(seconds=55)))
    assert purged_in(service) is None


@ONE_KIND
@pytest.mark.parametrize("off", [HOUR, 30 * DAY])
def test_what_is_deleted_before_the_host_has_asked_for_the_time_can_be_restored_for_as_long(
    service, deleted, host, off
):
    """It was purged as soon as the clock was right: by that, its period had ended years ago."""
    wrong = -15 * 365 * DAY
    host[:] = ["another", 5.0]
    set_clock(service, off + wrong)
    second = service.submit(**ALONE)["id"]
    with service.database.write() as session:
        session.execute(update(Experiment).where(Experiment.id == second).values(finished_at=now()))
    service.client.delete(f"/experiments/{second}").raise_for_status()
    host[1] += 55.0
    set_clock(service, 55 * timedelta(seconds=1) - wrong)
    purge(service)
    assert service.count(Experiment) == 2
    host[1] += HOUR.total_seconds()
    set_clock(service, HOUR)
    for _ in range(2):
        purge(service)
        with service.database.read() as session:
            row = session.get_one(Experiment, second)
        assert about(row.purge_at - now(), UNDO)
        assert about(row.deleted_at, now())
    host[1] += UNDO.total_seconds()
    set_clock(service, UNDO)
    purge(service)
    assert service.count(Experiment) == 0


@ONE_KIND
def test_a_restart_of_the_api_alone_counts_whole(service, deleted, host):
    """The host was running meanwhile: its clock tells that it was for so long."""
    host[1] += 6 * DAY.total_seconds()
    set_clock(service, 6 * DAY)
    purge(service)
    assert about(purged_in(service), DAY)


@ONE_KIND
def test_a_clock_that_is_a_little_fast_was_not_set(service, host):
    """By a second in each hour."""
    watch = Watch("fast")
    for _ in range(100):
        found = watch.look(service.database)
        assert (found.jump, found.doubted) == (timedelta(), timedelta())
        host[1] += 3600.0
        set_clock(service, timedelta(seconds=3601))


@ONE_KIND
def test_after_the_clock_was_set_right_again_nothing_waits_for_the_time_that_was(service, deleted, host):
    set_clock(service, 30 * DAY)
    purge(service)
    set_clock(service, -30 * DAY)
    purge(service)
    assert about(purged_in(service), UNDO)
    set_clock(service, -HOUR)  # that was wrong
    purge(service)
    assert about(purged_in(service), UNDO)
    set_clock(service, HOUR)
    purge(service)
    assert about(purged_in(service), UNDO)
    with service.database.read() as session:
        assert session.scalars(select(Experiment.deleted_at)).one() <= now()


@ONE_KIND
def test_a_purge_that_has_begun_goes_on_after_the_clock_was_set_back(service, deleted):
    with service.database.write() as session:
        session.execute(update(Experiment).values(purge_at=Experiment.deleted_at))
    set_clock(service, -30 * DAY)
    assert service.client.post(f"/experiments/{deleted}/restore").status_code == 409, "half of it may be gone"
    purge(service)
    assert purged_in(service) is None


@ONE_KIND
def test_retention_believes_no_clock_that_was_set_ahead(service, host):
    service.submit(**ALONE)
    with service.database.write() as session:
        session.execute(update(Experiment).values(finished_at=now() - DAY))
    keep = {"keep_runs": 90 * DAY}
    purge(service, **keep)
    set_clock(service, 365 * DAY)
    for days in (0, 70):
        host[1] += days * DAY.total_seconds()
        set_clock(service, days * DAY)
        purge(service, **keep)
        assert service.get("/deleted-experiments")["items"] == [], f"it is {1 + days} days old"
    host[1] += 20 * DAY.total_seconds()
    set_clock(service, 20 * DAY)
    purge(service, **keep)
    assert len(service.get("/deleted-experiments")["items"]) == 1


@ONE_KIND
@pytest.mark.parametrize(("wrong_for", "doubted"), [(MINUTE, timedelta()), (2 * HOUR, 15 * 365 * DAY)])
def test_a_host_that_starts_years_back_until_it_asks_for_the_time_is_not_in_doubt_for_them(
    service, host, wrong_for, doubted
):
    """What was made meanwhile would be years old then; within an hour that is little, and can be restored."""
    watch, years = Watch("no battery"), 15 * 365 * DAY
    watch.look(service.database)
    host[:] = ["another", 5.0]
    set_clock(service, -years)
    found = watch.look(service.database)
    assert found.jump == timedelta()
    assert found.certain == found.at
    for jump in (timedelta() if wrong_for < HOUR else -years, timedelta()):
        host[1] += wrong_for.total_seconds()
        set_clock(service, wrong_for)
        assert abs(watch.look(service.database).jump - jump) < DAY / 2
    host[1] += HOUR.total_seconds()
    set_clock(service, years + 9 * HOUR)  # it had been off for eight
    found = watch.look(service.database)
    assert abs(found.doubted - doubted) < DAY / 2
    host[1] += 3 * DAY.total_seconds()
    set_clock(service, 3 * DAY)
    found = watch.look(service.database)
    assert (found.certain == found.at) is (wrong_for < HOUR)


@ONE_KIND
def test_tokens_that_are_valid_stay_when_the_clock_was_set_far_ahead(service, host):
    asked = {"label": "night", "scope": "read", "days": 30, "machine": True}
    made = service.client.post("/tokens", json=asked).json()["id"]
    purge(service)
    set_clock(service, 3 * 365 * DAY)
    purge(service)
    with service.database.read() as session:
        assert session.get(AccessToken, made) is not None
    host[1] += 150 * DAY.total_seconds()
    set_clock(service, 150 * DAY)
    purge(service)
    with service.database.read() as session:
        assert session.get(AccessToken, made) is None, "120 days after its end"


@ONE_KIND
def test_a_fetched_checkpoint_stays_for_its_time(service, host):
    service.submit(**ALONE)
    run, at, keep = service.runs()[0]["id"], now(), service.settings.keep_fetched
    of = {"cluster": "local", "attempt": 1, "samples": 1, "files": [], "size": 0, "stored": {}, "created_by": "me"}
    with service.database.write() as session:
        ended = {"state": "ready", "created_at": at, "ended_at": at, "expires_at": at + keep}
        session.add(StoredFetch(id="fet_1", run_id=run, **of, **ended))
    keeper = FetchKeeper(service.database, service.settings)
    keeper.look()
    set_clock(service, 30 * DAY)
    keeper.look()
    with service.database.read() as session:
        assert about(session.get_one(StoredFetch, "fet_1").expires_at - now(), keep)
    host[1] += keep.total_seconds()
    set_clock(service, keep)
    keeper.look()
    keeper.close()
    assert service.count(StoredFetch) == 0


def test_what_was_made_by_a_clock_that_was_ahead_is_not_valid_for_longer(service):
    asked = {"label": "night", "scope": "read", "days": 30, "machine": True}
    mine = service.client.post("/tokens", json=asked).json()["id"]
    agents = service.client.post("/clusters/hpc/tokens", json={"label": "", "days": 30}).json()["id"]
    service.client.post("/users", json={"name": "ana", "role": "viewer"}).raise_for_status()
    with service.database.write() as session:
        session.add(BrowserSession(id="ses_1", session_sha256="x", created_at=now(), used_at=now()))
    set_clock(service, -365 * DAY)  # set right again
    with service.database.read() as session:
        assert ahead.any_ahead(session, now(), service.settings)
    assert ahead.pull_back(service.database, service.settings) == 5
    with service.database.read() as session:
        assert about(session.scalars(select(User.invite_until)).one() - now(), 7 * DAY)
        for row in (session.get_one(AccessToken, mine), session.get_one(ClusterToken, agents)):
            assert row.created_at <= now()
            assert about(row.expires_at - now(), 30 * DAY)
        begun = session.get_one(BrowserSession, "ses_1")
        assert max(begun.created_at, begun.used_at) <= now()


@ONE_KIND
def test_tokens_outlive_a_clock_that_is_years_back_until_the_host_has_asked_for_the_time(service):
    """At each start of it, all agents would have needed new ones."""
    asked = {"label": "night", "scope": "read", "days": 30, "machine": True}
    mine = service.client.post("/tokens", json=asked).json()["id"]
    back, years = ahead.Back(service.settings), 15 * 365 * DAY

    def look():
        with service.database.read() as session:
            return back.look(session, now())

    def valid():
        with service.database.read() as session:
            return session.get_one(AccessToken, mine).expires_at - now()

    set_clock(service, -years)
    assert look() == set()
    set_clock(service, years)
    assert about(valid(), 30 * DAY)
    set_clock(service, -HOUR)  # it was made by a clock that was ahead, and has been right for an hour
    back._since -= HOUR.total_seconds()
    assert look() == {ahead.Kind.CREDENTIALS}
    back.pull(service.database, {ahead.Kind.CREDENTIALS})
    assert about(valid(), 30 * DAY)
    assert look() == set()
