"""Secrets in files, and the port that API processes share."""

import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hooke.errors import ArgumentError
from hooke_api.__main__ import shared_socket
from hooke_api.base.settings import Settings
from hooke_api.local import parts
from sqlalchemy import make_url

PASSWORD = "p@ss:w/rd #?%"


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Return a function that sets a variable to a new file with a content; of HOOKE_* only these are set."""
    for name in [name for name in os.environ if name.startswith("HOOKE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOOKE_HOME", str(tmp_path / "home"))

    def give(variable: str, content: bytes) -> None:
        (tmp_path / variable).write_bytes(content)
        monkeypatch.setenv(variable, str(tmp_path / variable))

    return give


def test_passwords_join_their_urls(given, monkeypatch):
    given("HOOKE_DATABASE_PASSWORD_FILE", f"{PASSWORD}\n".encode())
    given("HOOKE_REDIS_PASSWORD_FILE", f"{PASSWORD}\n".encode())
    assert Settings().url.startswith("sqlite:///"), "a file needs no password"
    monkeypatch.setenv("HOOKE_DATABASE_URL", "postgresql+psycopg://hooke@server:5433/hooke?sslmode=require")
    monkeypatch.setenv("HOOKE_REDIS_URL", "rediss://server:6380/2")
    url = make_url(Settings().url)
    assert (url.username, url.password, url.host, url.port) == ("hooke", PASSWORD, "server", 5433)
    assert url.query == {"sslmode": "require"}
    assert Settings().broker == "rediss://:p%40ss%3Aw%2Frd%20%23%3F%25@server:6380/2"
    assert PASSWORD not in repr(Settings())


def test_tokens_are_those_of_the_files_and_none_is_made(given, tmp_path):
    given("HOOKE_TOKEN_FILE", b"start\n")
    given("HOOKE_AGENT_TOKEN_FILE", b"agents\n")
    assert (Settings().token, Settings().agents) == ("start", "agents")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "content, why", [(b" \n", "it must hold the secret"), (b"\xff\xfe", "it must hold the secret")]
)
def test_a_file_without_a_secret_is_named(given, content, why):
    given("HOOKE_TOKEN_FILE", content)
    with pytest.raises(ArgumentError, match=rf"HOOKE_TOKEN_FILE=/.*: {why}"):
        assert Settings().token


def test_hooke_up_gives_its_parts_the_url_with_the_password(given, tmp_path, monkeypatch):
    given("HOOKE_REDIS_PASSWORD_FILE", b"secret")
    given("HOOKE_AGENT_TOKEN_FILE", b"agents")
    instance = SimpleNamespace(home=tmp_path, socket=tmp_path / "redis.sock", logs=tmp_path, port=1)
    for url, expected in ((None, f"unix://{tmp_path}/redis.sock"), ("redis://there/1", "redis://:secret@there/1")):
        if url:
            monkeypatch.setenv("HOOKE_REDIS_URL", url)
        for part in (parts.api(instance, "127.0.0.1"), parts.agent(instance, "127.0.0.1")):
            assert part.environment["HOOKE_REDIS_URL"] == expected
            assert not {"HOOKE_REDIS_PASSWORD_FILE", "HOOKE_AGENT_TOKEN_FILE"} & set(part.environment)


def test_a_port_is_shared_only_with_those_that_share_it(given, monkeypatch):
    monkeypatch.setenv("HOOKE_PORT", "0")
    with shared_socket(Settings()) as first:
        monkeypatch.setenv("HOOKE_PORT", str(first.getsockname()[1]))
        first.listen()
        with shared_socket(Settings()) as second:
            assert second.getsockname() == first.getsockname()
    with socket.socket() as alone:
        alone.bind(("127.0.0.1", 0))
        alone.listen()
        monkeypatch.setenv("HOOKE_PORT", str(alone.getsockname()[1]))
        with pytest.raises(ArgumentError, match=r"127\.0\.0\.1:\d+ cannot be shared: Address already in use"):
            shared_socket(Settings())


def test_the_api_says_in_a_sentence_which_file_is_missing(given, tmp_path, monkeypatch):
    monkeypatch.setenv("HOOKE_DATABASE_URL", "postgresql+psycopg://hooke@server/hooke")
    monkeypatch.setenv("HOOKE_DATABASE_PASSWORD_FILE", str(tmp_path / "absent"))
    said = subprocess.run([sys.executable, "-m", "hooke_api"], capture_output=True, text=True, check=False)
    expected = f"hooke_api: HOOKE_DATABASE_PASSWORD_FILE={tmp_path}/absent: No such file or directory\n"
    assert (said.returncode, said.stderr) == (1, expected)
