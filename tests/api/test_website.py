"""The dashboard's files, the page for when there are none, and the reference."""

import gzip

import httpx
import pytest
from hooke_api.storage.outbox import announce

from tests.api.databases import ONE_KIND


@pytest.fixture
def root(service):
    """The address of the server, with a token."""
    return service.client, service.url


@pytest.fixture
def built(service):
    folder = service.settings.dashboard
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>dashboard</title>")
    (folder / "assets" / "index-abc123.js").write_text("console.log(1)")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder.parent / "secret.txt").write_text("secret")
    (folder / "link").symlink_to(folder.parent / "secret.txt")
    yield folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() or path.is_symlink() else path.rmdir()
    folder.rmdir()


@ONE_KIND
def test_not_built(root):
    client, url = root
    answer = client.get(f"{url}/")
    assert answer.status_code == 503
    assert "not been built" in answer.text


@ONE_KIND
def test_every_page_is_the_dashboard(root, built):
    client, url = root
    for path in ("/", "/experiments/exp_1", "/runs/run_1?axis=clock", "/index.html", "/no-such-file"):
        answer = client.get(f"{url}{path}")
        assert (answer.status_code, "dashboard" in answer.text) == (200, True), path
        assert answer.headers["cache-control"] == "no-cache"
    assert client.head(f"{url}/").status_code == 200
    assert client.post(f"{url}/").status_code == 405


@ONE_KIND
def test_a_page_tells_how_far_the_events_are_and_no_stranger(service, root, built):
    client, url = root
    (built / "index.html").write_text("<!doctype html><head><title>dashboard</title></head>")
    told = '<meta name="hooke-events" content="{}" />'
    for position in (0, 1):
        page = client.get(f"{url}/experiments/exp_1")
        assert told.format(position) in page.text, page.text
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        with service.app.state.database.write() as session:
            announce(session, "clusters", {})
    with httpx.Client() as stranger:
        assert stranger.get(f"{url}/sign-in").text == "<!doctype html><head><title>dashboard</title></head>"
        assert "hooke-events" not in stranger.get(f"{url}/").text


@ONE_KIND
def test_hashed_files_never_change(root, built):
    client, url = root
    answer = client.get(f"{url}/assets/index-abc123.js")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in answer.headers["content-type"]
    assert client.get(f"{url}/favicon.svg").headers["cache-control"] == "no-cache"
    # a missing script must not be answered with a page: a browser would try to run it
    assert client.get(f"{url}/assets/index-old.js").status_code == 404


@ONE_KIND
def test_files_travel_as_the_build_has_compressed_them(root, built):
    client, url = root
    script = "console.log(1)" * 500
    (built / "assets" / "index-abc123.js").write_text(script)
    (built / "assets" / "index-abc123.js.gz").write_bytes(gzip.compress(script.encode()))
    address = f"{url}/assets/index-abc123.js"
    answer = client.get(address, headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip" and answer.text == script
    assert answer.headers["vary"] == "accept-encoding" and "javascript" in answer.headers["content-type"]
    assert int(answer.headers["content-length"]) < len(script) / 10
    plain = client.get(address, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.text == script


@ONE_KIND
@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/../../secret.txt",
        "/..%2fsecret.txt",
        "/link",
        "//etc/passwd",
    ],
)
def test_nothing_outside_the_folder_is_served(root, built, path):
    client, url = root
    answer = client.get(f"{url}{path}")
    assert "secret" not in answer.text
    assert "root:" not in answer.text


@ONE_KIND
def test_the_reference_names_every_operation(service, root):
    client, url = root
    page = client.get(f"{url}/api/docs").text
    for methods in service.app.openapi()["paths"].values():
        for operation in methods.values():
            assert operation["operationId"] in page
