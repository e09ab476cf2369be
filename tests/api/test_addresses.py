"""A server that listens on another address than 127.0.0.1: its own agent reaches it, and it knows its name."""

import shutil

import httpx
import pytest
from hooke_api.app import create_app
from hooke_api.local import parts
from hooke_api.local.instance import Instance, bindable

from tests.api.conftest import serve
from tests.api.databases import make_settings


@pytest.fixture
def instance(tmp_path):
    made = Instance(tmp_path / "home")
    yield made
    made.close()


@pytest.mark.parametrize(("host", "known", "others"), [
    ("127.0.0.2", ["127.0.0.2", "127.0.0.1", "localhost"], ["127.0.0.3"]),
    ("::", ["[::1]", "127.0.0.1"], ["[::]", "[::2]", "0.0.0.0"]),
])  # fmt: skip
def test_the_agent_of_hooke_up_reaches_it(instance, tmp_path, sqlite_template, host, known, others):
    """IPv6 alone: 127.0.0.1 does not lead there."""
    if not bindable(host, 0):
        pytest.skip(f"this machine has no address {host}")
    shutil.copy(sqlite_template, tmp_path / "hooke.db")
    app = create_app(make_settings(tmp_path, f"sqlite:///{tmp_path / 'hooke.db'}", host=host))
    running = serve(app, host=host)
    try:
        instance.port = int(running.url.rpartition(":")[2])
        command = parts.agent(instance, host).command
        url = command[command.index("--api") + 1]
        with httpx.Client(base_url=url, trust_env=False) as client:
            assert client.get("/livez").status_code == 200
            for name in known:
                assert client.get("/livez", headers={"host": name}).status_code == 200, name
            for name in others:
                assert client.get("/livez", headers={"host": name}).status_code == 421, name
    finally:
        running.stop()


def test_an_address_is_known_in_the_form_in_which_browsers_write_it(tmp_path, sqlite_template):
    shutil.copy(sqlite_template, tmp_path / "hooke.db")
    settings = make_settings(tmp_path, f"sqlite:///{tmp_path / 'hooke.db'}", host="FD00:0::0007")
    running = serve(create_app(settings))
    try:
        with httpx.Client(base_url=running.url, trust_env=False) as client:
            assert client.get("/livez", headers={"host": "[fd00::7]:7450"}).status_code == 200
    finally:
        running.stop()
