"""The options of an agent: a file, a command line, and what is wrong with them in sentences."""

import re

import pytest
from hooke.cli.group import app
from hooke.cluster import agent, site
from hooke.cluster.hello import describe
from hooke.cluster.launchers.settings import LocalSettings
from hooke.errors import ArgumentError, HookeError, LaunchError
from redis.connection import parse_url
from typer.testing import CliRunner

OPTIONS = {"cluster": "hpc", "api": "http://h:7450/", "broker": "redis://h:6379/0", "token_file": "/etc/token"}


def written(tmp_path, text, mode=0o600):
    file = tmp_path / "agent.toml"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_the_command_line_takes_precedence_and_paths_of_the_file_are_relative_to_it(tmp_path):
    file = written(
        tmp_path,
        'cluster = "a"\napi = "https://x"\nbroker = "redis://:old@r/1"\ntoken_file = "token"\nhome = "h"\n'
        '[launcher]\nkind = "local"\n',
    )
    found = site.read(file, {"cluster": "b", "api": None})
    assert (found.cluster, found.api, found.broker) == ("b", "https://x", "redis://:old@r/1")
    assert (found.token_file, found.home) == (tmp_path / "token", tmp_path / "h")
    assert found.launcher.kind == "local"


def test_the_launcher_of_the_file_gives_kind_and_slots(tmp_path):
    text = 'cluster = "a"\napi = "https://x"\nbroker = "redis://r/1"\ntoken_file = "t"\n'
    file = written(tmp_path, text + '[launcher]\nkind = "slurm"\nslots = 64\npartition = "gpu"\n')
    told = describe("a", launcher=site.read(file, {}).launcher)
    assert (told.launcher, told.slots, told.cores) == ("slurm", 64, 64)
    with pytest.raises(HookeError, match=r"/launcher/partitoin"):
        site.read(written(tmp_path, text + '[launcher]\nkind = "slurm"\nslots = 64\npartitoin = "gpu"\n'), {})


def test_the_launcher_of_the_command_line_takes_precedence_over_that_of_the_file(tmp_path):
    table = '[launcher]\nkind = "slurm"\nslots = 64\npartition = "gpu"\nextra = ["--mail-type=FAIL"]\n'
    file = written(
        tmp_path, 'cluster = "a"\napi = "https://x"\nbroker = "redis://r/1"\ntoken_file = "t"\n' + table
    )

    def launcher(chosen, place=file):
        return site.read(place, OPTIONS | {"launcher": chosen}).launcher

    assert launcher(None) == launcher("slurm")
    found = launcher("slurm,slots=8,time_limit=4:00:00,exclusive=true")
    assert (found.slots(1), found.partition, found.extra) == (8, "gpu", ("--mail-type=FAIL",))
    assert (found.time_limit, found.exclusive) == ("4:00:00", True)
    assert launcher("local") == LocalSettings()
    assert launcher("psij,executor=pbs,slots=4").executor == "pbs"
    assert launcher("slurm,slots=4", None).partition is None
    for wrong, told in (
        ("slurm,slots", "after its kind come options such as slots=64"),
        ("slurm,=3", "after its kind come options"),
        ("pbs", "/launcher/kind: is one of local, hosts, slurm, psij, not 'pbs'"),
        ("local,slots=4", "/launcher/slots: is not an option of the launcher `local`"),
        ("hosts", "/launcher/hosts: is missing"),
    ):
        with pytest.raises(HookeError, match=re.escape(told)):
            launcher(wrong)


@pytest.mark.parametrize("password", ["plain", "with:colon", "with@at/slash?#%", "ümlaut"])
def test_a_password_of_a_file_reaches_redis_unchanged(tmp_path, password):
    (tmp_path / "secret").write_text(password + "\n")
    for url, user in (("redis://h:6379/2", None), ("rediss://me@h:6379/2", "me")):
        given = OPTIONS | {"broker": url, "broker_password_file": str(tmp_path / "secret")}
        found = site.read(None, given).broker
        parsed = parse_url(found)  # as the library reads it
        assert (parsed["password"], parsed.get("username"), parsed["host"]) == (password, user, "h")
        assert password not in site.without_password(found)


def test_files_with_secrets_that_others_can_read_are_found(tmp_path):
    token, password = tmp_path / "token", tmp_path / "password"
    given = OPTIONS | {"broker": "redis://h/0", "token_file": str(token), "broker_password_file": str(password)}
    for file in (token, password):
        file.write_text("secret\n")
        file.chmod(0o600)
    assert site.read(None, given).exposed == []
    password.chmod(0o640)
    assert site.read(None, given).exposed == [password]
    token.chmod(0o604)
    assert site.read(None, given).exposed == [token, password]
    assert site.read(None, given | {"broker_password_file": None}).exposed == [token]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cluster": None, "token_file": None}, "also needs --cluster, --token-file"),
        ({"broker": "redis://:hidden@h/0"}, "every user of this host can read"),
        ({"broker": "amqp://h"}, "broker: it is a URL of Redis"),
        ({"api": "hooke.example.org"}, "api: 'hooke.example.org' is not the address of a server"),
        ({"cluster": "Has Blanks"}, "cluster: a name has 1 to 63 lower-case letters"),
        ({"broker_password_file": "/nowhere/secret"}, "--broker-password-file /nowhere/secret"),
        ({"broker": "redis://h/0?password=hidden"}, "every user of this host can read"),
        ({"broker": "redis://[x"}, "broker: it is a URL of Redis"),
        ({"api": "http://[x"}, "api: 'http://[x' is not the address of a server"),
        ({"lancher": "x"}, "has no option 'lancher'"),
    ],
)
def test_faults_are_told_in_a_sentence_without_secrets(monkeypatch, changes, expected):
    monkeypatch.delenv("HOOKE_REDIS_URL", raising=False)
    with pytest.raises(ArgumentError) as caught:
        site.read(None, OPTIONS | changes)
    assert expected in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("option", ["--cluster", "--name"])
def test_a_command_without_a_name_of_the_cluster_is_refused_and_both_options_give_one(monkeypatch, option):
    monkeypatch.delenv("HOOKE_REDIS_URL", raising=False)
    told = [CliRunner().invoke(app, ["agent", *words]) for words in ([], [option, "lab"])]
    assert [answer.exit_code for answer in told] == [1, 1]
    assert "also needs --cluster, --api" in told[0].output
    assert "also needs --api" in told[1].output and "--cluster" not in told[1].output


def test_a_file_with_a_password_must_be_private(tmp_path):
    text = 'broker = "redis://:secret@r/1"\n'
    with pytest.raises(ArgumentError, match="chmod 600"):
        site.read(written(tmp_path, text, 0o644), {})
    with pytest.raises(ArgumentError, match="also needs --cluster"):
        site.read(written(tmp_path, text), {})
    with pytest.raises(ArgumentError, match="this is not TOML"):
        site.read(written(tmp_path, "cluster = "), {})
    with pytest.raises(ArgumentError, match="No such file"):
        site.read(tmp_path / "absent.toml", {})


def test_the_identity_is_kept_in_the_home_folder(tmp_path):
    first = site.identity(tmp_path)
    assert site.identity(tmp_path) == first
    assert (tmp_path / "agent-id").stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.mkdir()
    assert site.identity(other) != first


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"two words\n", b"one\ntwo\n", b"caf\xc3\xa9\n", b"\xff\xfe"], ids=repr
)
def test_a_token_is_one_line_of_printable_ascii(tmp_path, content):
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ArgumentError, match=f"--token-file {file}: it must hold the token"):
        site.token(file)
    file.write_bytes(b"hooke_cluster_x\n")
    assert site.token(file) == "hooke_cluster_x"
    file.unlink()
    with pytest.raises(ArgumentError, match="No such file"):
        site.token(file)


def test_a_home_folder_that_cannot_be_written_to_is_told_in_a_sentence(tmp_path):
    """As that of a unit without ReadWritePaths; here a folder is where the file of the lock has to be."""
    (tmp_path / "home" / "agent.lock").mkdir(parents=True)
    place = site.read(None, OPTIONS | {"home": tmp_path / "home"})
    with pytest.raises(LaunchError, match=r"--home .*/home: Is a directory: it has to be .* write to"):
        agent.run(place)
