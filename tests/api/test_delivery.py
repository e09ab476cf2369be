"""How answers travel: compressed for who accepts it, not at all for who has them, streams and files untouched."""

import gzip
import json

import httpx
import pytest

from tests.api.databases import ONE_KIND

HEADERS = {"accept-encoding": "identity"}


@pytest.fixture
def raw(service):
    """Return a function that reads an address without decoding what comes."""

    def read(path: str, **headers: str) -> tuple[httpx.Response, bytes]:
        with service.client.stream("GET", path, headers=HEADERS | headers) as answer:
            return answer, b"".join(answer.iter_raw())

    return read


@ONE_KIND
def test_a_large_answer_is_compressed_for_who_accepts_it(service, raw):
    plain, body = raw("/algorithms")
    assert "content-encoding" not in plain.headers and len(body) > 10_000
    packed, bytes_sent = raw("/algorithms", **{"accept-encoding": "gzip, deflate, br"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert int(packed.headers["content-length"]) == len(bytes_sent) < len(body) / 3
    assert json.loads(gzip.decompress(bytes_sent)) == json.loads(body)


@ONE_KIND
def test_an_answer_that_the_client_has_does_not_travel(service, raw):
    first, _ = raw("/experiments")
    assert first.headers["cache-control"] == "private, no-cache"
    again, body = raw("/experiments", **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    service.submit()
    changed, body = raw("/experiments", **{"if-none-match": first.headers["etag"]})
    assert changed.status_code == 200 and len(json.loads(body)["items"]) == 1
    assert changed.headers["etag"] != first.headers["etag"]


@ONE_KIND
def test_refusals_and_changes_have_no_tag(service, raw):
    answer, _ = raw("/experiments/exp_none")
    assert answer.status_code == 404 and "etag" not in answer.headers
    posted = service.client.post("/series", json={"runs": ["none"], "metrics": ["train_loss"]})
    assert "etag" not in posted.headers
