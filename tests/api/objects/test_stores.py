"""Stores: what was put comes back, all of it or nothing; the signatures are those that Amazon publishes."""

import hashlib
import io
import os
import socket
import time

import pytest
from hooke.errors import ArgumentError
from hooke_api.storage import s3
from hooke_api.storage.objects import FolderStore, MissingObject, ObjectError, new_key
from hooke_api.storage.s3 import Signer
from hooke_api.storage.stores import store_of

from tests.api.databases import make_settings
from tests.api.objects.bucket import BUCKET, KEY_ID, REGION, SECRET, Bucket

CONTENT = b"\0\1\2" * 50_000
AMAZON = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body", "signature"),
    [
        (
            "GET", "/test.txt", {}, {"range": "bytes=0-9"}, b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT", "/test$file.text", {},
            {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET", "/", {"lifecycle": ""}, {}, b"",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET", "/", {"prefix": "J", "max-keys": "2"}, {}, b"",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)  # fmt: skip
def test_signatures_are_those_of_the_examples_of_amazon(method, path, query, headers, body, signature):
    """Amazon S3 API Reference, "Examples: Signature Calculations in AWS Signature Version 4"."""
    payload = hashlib.sha256(body).hexdigest()
    headers |= {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z"}
    headers |= {"x-amz-content-sha256": payload}
    told = AMAZON.authorization(method, path, query, headers, payload)
    assert told.startswith(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="
    )
    assert told.endswith(f",Signature={signature}")


@pytest.fixture(scope="module")
def service():
    made = Bucket()
    yield made
    made.close()


@pytest.fixture
def bucket(service, monkeypatch):
    monkeypatch.setattr(s3, "PAUSES", (0.0, 0.0))
    service.objects.clear()
    service.requests.clear()
    service.busy, service.cut = 0, False
    return service


@pytest.fixture
def made(tmp_path, bucket):
    """Return a function that makes a store of a bucket, with changed settings."""
    stores = []

    def make(**changes):
        stores.append(store_of(s3_settings(tmp_path, bucket, **changes)))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def s3_settings(tmp_path, bucket, **changes):
    told = {"objects": f"s3://{BUCKET}/lab/a b", "s3_endpoint": bucket.url, "s3_region": REGION}
    told |= {"s3_key_id": KEY_ID, "s3_secret": SECRET}
    return make_settings(tmp_path, "sqlite://", **(told | changes))


@pytest.fixture(params=["folder", "bucket"])
def store(request, tmp_path):
    """Return a store of each kind, made from settings."""
    if request.param == "folder":
        return store_of(make_settings(tmp_path, "sqlite://"))
    return request.getfixturevalue("made")()


def put(store, key: str, content: bytes = CONTENT) -> None:
    with store.draft() as file:
        file.write(content)
        store.put(key, file)


def get(store, key: str) -> bytes:
    with store.open(key) as file:
        return file.read()


def test_what_was_put_comes_back_until_it_is_deleted(store, tmp_path):
    first, second = new_key("run_1"), new_key("run_1")
    assert first != second and first[:3] == second[:3]
    put(store, first)
    put(store, second, b"")
    assert get(store, first) == CONTENT
    assert get(store, second) == b""
    with store.open(first) as file:
        file.seek(-4, 2)
        assert file.read(2) == CONTENT[-4:-2]
    assert store.absent(first, len(CONTENT)) is None
    store.delete(first)
    store.delete(first)
    with pytest.raises(MissingObject, match="missing"), store.open(first):
        pass
    assert get(store, second) == b""
    drafts = [path for path in tmp_path.rglob("*") if path.name.startswith(".draft")]
    assert drafts == []


def test_a_long_way_is_told_block_by_block_and_can_be_ended(store, monkeypatch):
    """An object may be large and the line slow: who stores it must be seen to live, and must be able to stop."""
    key, other, signs = new_key("run_1"), new_key("run_2"), []
    monkeypatch.setattr(s3, "BLOCK", 10_000)
    with store.draft() as file:
        file.write(CONTENT)
        store.put(key, file, lambda: signs.append("sent"))
    assert len(signs) == (len(CONTENT) // 10_000 if isinstance(store, s3.S3Store) else 1)
    with store.open(key, lambda: signs.append("came")) as file:
        assert file.read() == CONTENT
    assert ("came" in signs) == isinstance(store, s3.S3Store)

    def stop():
        raise KeyError("the process ends")

    with pytest.raises(KeyError), store.draft() as file:
        file.write(CONTENT)
        store.put(other, file, stop)
    with pytest.raises(MissingObject), store.open(other):
        pass
    assert get(store, key) == CONTENT


def test_a_folder_has_all_of_an_object_or_nothing(tmp_path, monkeypatch):
    store = FolderStore(tmp_path / "objects")
    key = new_key("run_1")

    class Failing(io.BytesIO):
        def read(self, *size):
            raise OSError(28, "No space left on device")

    with pytest.raises(ObjectError, match="No space left"):
        store.put(key, Failing())
    with pytest.raises(MissingObject), store.open(key):
        pass
    assert [path for path in (tmp_path / "objects").rglob("*") if path.is_file()] == []
    put(store, key)
    place = tmp_path / "objects" / key
    assert place.stat().st_mode & 0o777 == 0o600
    place.write_bytes(b"x")
    assert store.absent(key, len(CONTENT)) == f"it is damaged: it has 1 bytes instead of {len(CONTENT)}"
    assert store.absent(new_key("run_2"), 1) == "it is missing"
    for odd in ("../token", "ab/../../token", "/etc/passwd", "ab/.draft-1"):
        with pytest.raises(ObjectError, match="is not the name of an object"), store.open(odd):
            pass


def test_drafts_of_interrupted_writers_go_after_a_day(tmp_path):
    store = FolderStore(tmp_path)
    (tmp_path / "ab").mkdir()
    old, new, other = (tmp_path / "ab" / name for name in (".draft-1-a", ".draft-1-b", "run_1.x"))
    for path in (old, new, other):
        path.write_text("")
    for path in (old, other):
        os.utime(path, (time.time() - 90_000,) * 2)
    store.tidy()
    assert sorted(path.name for path in (tmp_path / "ab").iterdir()) == [new.name, other.name]


def test_objects_of_a_bucket_are_below_its_prefix_and_requests_are_tried_again(made, bucket):
    store = made()
    bucket.busy = 2
    put(store, "ab/run_1.x")
    assert bucket.objects == {"lab/a b/ab/run_1.x": CONTENT}
    assert bucket.requests == [("PUT", f"/{BUCKET}/lab/a b/ab/run_1.x")] * 3
    bucket.busy = 3
    with pytest.raises(ObjectError, match=rf"bucket {BUCKET}/lab/a b at {bucket.url} answers 503: SlowDown"):
        get(store, "ab/run_1.x")
    bucket.busy, bucket.cut = 0, True
    with pytest.raises(ObjectError, match="broke off"):
        get(store, "ab/run_1.x")


def test_a_bucket_says_why_it_refuses(made, bucket):
    wrong = made(s3_secret="guessed")
    with pytest.raises(ObjectError, match="answers 403: SignatureDoesNotMatch"):
        put(wrong, "ab/run_1.x")
    assert bucket.objects == {}
    other = made(objects="s3://others")
    for work in (lambda: get(other, "ab/x"), lambda: other.delete("ab/x")):
        with pytest.raises(ObjectError, match="answers 404: NoSuchBucket") as told:
            work()
        assert not isinstance(told.value, MissingObject)
    away = made(s3_endpoint="http://127.0.0.1:9")
    with pytest.raises(ObjectError, match="does not answer"):
        get(away, "ab/x")


def test_a_silent_service_does_not_hold_one_thread_after_the_other(made, monkeypatch):
    monkeypatch.setattr(s3, "SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.setblocking(False)
        store = made(s3_endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ObjectError, match="does not answer"):
            get(store, "ab/x")
        for work in (lambda: get(store, "ab/x"), lambda: store.delete("ab/x"), lambda: put(store, "ab/x")):
            with pytest.raises(ObjectError, match=r"does not answer, and is asked again in \d+ s"):
                work()
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
        store._silent_until = 0.0
        with pytest.raises(ObjectError, match="does not answer: "):
            get(store, "ab/x")


def test_a_slow_service_holds_some_threads_only(made, monkeypatch):
    monkeypatch.setattr(s3, "AT_ONCE", 1)
    monkeypatch.setattr(s3, "WAIT", 0.01)
    store = made()
    put(store, "ab/x")
    with store._slot(), pytest.raises(ObjectError, match="1 objects are being fetched"):
        get(store, "ab/x")
    with store.open("ab/x"):
        assert get(store, "ab/x") == CONTENT, "what has been fetched takes no room"


def test_settings_of_a_bucket_are_checked(made, tmp_path, bucket):
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    store = made(s3_secret=None, s3_secret_file=secret)
    put(store, "ab/run_1.x")
    for changes, why in (
        ({"objects": "gs://points"}, r"HOOKE_OBJECTS=gs://points: it has to be s3://BUCKET"),
        ({"s3_endpoint": None}, "HOOKE_S3_ENDPOINT has to be"),
        ({"s3_key_id": None}, "HOOKE_S3_KEY_ID has to be"),
        ({"s3_secret": None}, "HOOKE_S3_SECRET, or the file HOOKE_S3_SECRET_FILE"),
        ({"s3_secret": None, "s3_secret_file": tmp_path / "absent"}, "HOOKE_S3_SECRET_FILE=.*No such file"),
    ):
        with pytest.raises(ArgumentError, match=why):
            store_of(s3_settings(tmp_path, bucket, **changes))
