"""Users' code under another account: what it can reach, and that its runs end, and are ended, like others."""

import json
import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hooke.catalogue.discovery import built_in
from hooke.cluster import accounts, agent, calibrating, orders, site
from hooke.cluster.hello import read_catalogues
from hooke.cluster.job import read_job
from hooke.cluster.launchers.base import TRAIN
from hooke.cluster.launchers.settings import LocalSettings
from hooke.cluster.places import Home
from hooke.errors import ArgumentError, LaunchError
from hooke.spec.calibrating import CalibrationOrder
from hooke.spec.orders import LaunchOrder

from tests.checkout import ROOT
from tests.cluster.bench import Bench, Tree, kill9, spec
from tests.waiting import wait_for

NOBODY = pwd.getpwnam("nobody")
PASSAGE = (
    'mount --bind "$2" "$3" && mount -t tmpfs -o mode=755 none "$1" && (umask 022 && mkdir -p "$2") && '
    'mount --bind "$3" "$2" && '
    'shift 3 && exec "$@"'
)
"""Opens the folder $1, as /root, but for the folder $2 in it, for one command; $3: an empty folder."""
STARTS = (
    "import os, sys\nos.setuid(int(sys.argv[1]))\nos.execv(sys.executable, [sys.executable, '-c', sys.argv[2]])"
)
SPY = """
import json, os, torch
HOME, SEEN = {home!r}, {seen!r}


def tried(work, *arguments):
    try:
        work(*arguments)
    except OSError as error:
        return type(error).__name__
    return "done"


def supervisor_of(pid):
    while True:
        with open(f"/proc/{{pid}}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{{pid}}/cmdline") as file:
            if "hooke.cluster.supervisor" in file.read():
                return pid


def spy():
    ours = os.path.dirname(os.getcwd())
    run = os.path.dirname(ours)
    supervisor = supervisor_of(os.getpid())
    found = {{
        "tokens": tried(open, {tokens!r}),
        "token of the agent": tried(open, HOME + "/agent-token"),
        "digest of the token": tried(open, ours + "/token.sha256"),
        "home": tried(os.listdir, HOME),
        "runs": tried(os.listdir, HOME + "/runs"),
        "another run": tried(os.listdir, HOME + "/runs/run_other"),
        "file of another run": tried(open, HOME + "/runs/run_other/1/spec.json"),
        "lock": tried(open, ours + "/supervisor.lock"),
        "marker": tried(open, ours + "/dead", "w"),
        "reports": tried(open, ours + "/reports.jsonl", "a"),
        "other ranks folder": tried(os.rename, os.getcwd(), ours + "/aside"),
        "rights of the agent": tried(os.seteuid, 0),
        "signal": tried(os.kill, supervisor, 0),
        "priority": tried(os.setpriority, os.PRIO_PROCESS, supervisor, 19),
        "processors": tried(os.sched_setaffinity, supervisor, os.sched_getaffinity(0)),
        "policy": tried(os.sched_setscheduler, supervisor, os.SCHED_BATCH, os.sched_param(0)),
        "environment": tried(open, f"/proc/{{supervisor}}/environ"),
        "memory": tried(open, f"/proc/{{supervisor}}/mem"),
        "descriptors": tried(os.listdir, f"/proc/{{supervisor}}/fd"),
    }}
    return {{"ids": os.getresuid() + os.getresgid(), "groups": os.getgroups(), "found": found}}


with open(SEEN, "a") as file:
    file.write(json.dumps(spy()) + "\\n")


def model():
    return torch.nn.Linear(2, 2)


def data():
    def part(count):
        return torch.randn(count, 2), torch.arange(count) % 2

    return part(640), part(64)


def loss(output, labels):
    return torch.nn.functional.cross_entropy(output, labels)
"""


READ = """
import json, os
try:
    os.seteuid(0)
    found = "done"
except OSError as error:
    found = type(error).__name__
with open({seen!r}, "a") as file:
    file.write(json.dumps({{"ids": os.getresuid() + os.getresgid(), "found": {{"where": found}}}}) + "\\n")
"""


@pytest.fixture
def mask():
    """Restore the mask of new files afterwards."""
    old = os.umask(0o022)
    yield
    os.umask(old)


def passage(folder):
    """Return the beginning of commands in which `nobody` can use this Python, whose folder others may not pass."""
    parents = reversed(Path(sys.base_prefix).resolve().parents)
    closed = next((path for path in parents if not path.stat().st_mode & 0o001), None)
    prefix = []
    if closed is not None:
        (folder / "python").mkdir()
        places = [closed, Path(sys.base_prefix).resolve(), folder / "python"]
        prefix = ["unshare", "--mount", "sh", "-c", PASSAGE, "sh", *map(str, places)]
    command = [*prefix, sys.executable, "-c", STARTS, str(NOBODY.pw_uid), "import hooke"]
    found = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if found.returncode != 0 or (closed is not None and ROOT.is_relative_to(closed)):
        pytest.skip(f"NOT TESTED HERE: `nobody` cannot use {sys.executable}: {found.stderr.strip()[-300:]}")
    return prefix


@pytest.fixture
def foreign(mask):
    """Return a Bench whose ranks run as `nobody`."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: only root starts processes of another account")
    with tempfile.TemporaryDirectory(prefix="hooke-account-") as name:  # pytest's own folder is closed
        folder = Path(name)
        folder.chmod(0o711)
        bench = Bench(folder)
        bench.prefix = passage(folder)
        bench.more = {"account": "nobody", "path": ""}
        bench.home.path.mkdir()
        (bench.home.path / "agent-token").write_text("hunter2\n" * 200)
        other = bench.home.attempt("run_other", 1)
        other.path.mkdir(parents=True)
        other.spec.write_text("{}")
        (bench.home.path / "jobs").mkdir()
        accounts.open_home(bench.home.path)
        yield bench
        bench.close()


def test_users_code_reaches_nothing_of_the_service_and_its_run_succeeds(foreign):
    run = foreign.run_name()
    folder = foreign.home.path.parent
    seen = folder / "seen"
    own, method = folder / "own" / "workloads" / "spy.py", folder / "own" / "algorithms" / "read.py"
    for path in (own.parent.parent, own.parent, method.parent):
        path.mkdir(mode=0o755)
        path.chmod(0o755)
    seen.touch()
    seen.chmod(0o666)
    foreign.more["path"] = str(folder / "own")
    document = spec(virtual=True) | {"workload": {"name": "spy"}}
    job = foreign.job([run], specs={run: document}, program=TRAIN)
    job.path.chmod(0o700)  # as the agent makes it
    own.write_text(SPY.format(home=str(foreign.home.path), seen=str(seen), tokens=str(job.tokens)))
    method.write_text(READ.format(seen=str(seen)))
    for path in (own, method):
        path.chmod(0o644)
    attempt = foreign.folder(run)
    attempt.path.mkdir(parents=True)
    attempt.token_sha256.write_text("digest")
    attempt.token_sha256.chmod(0o600)

    foreign.finish(foreign.supervise(job))
    assert foreign.api.states(run) == ["starting", "running", "succeeded"], foreign.api.reports
    me, told = NOBODY.pw_uid, [json.loads(line) for line in seen.read_text().splitlines()]
    assert [len(each["found"]) for each in told] == [1, 1, 19], (
        "who checks the specification, then the rank, twice"
    )
    for each in told:
        assert each["ids"] == [me] * 3 + [NOBODY.pw_gid] * 3
        assert set(each["found"].values()) == {"PermissionError"}, each["found"]
    assert set(told[-1]["groups"]) == set(os.getgrouplist("nobody", NOBODY.pw_gid))
    assert not attempt.dead.exists() and attempt.delivered.exists()
    assert attempt.ranks.stat().st_uid == me and attempt.reports.stat().st_uid == 0


def test_links_among_the_files_of_ranks_lead_nowhere_and_the_next_supervisor_ends_what_a_dead_one_left(foreign):
    secret = foreign.home.path / "agent-token"
    run, supervisor = foreign.start("--steps", "100000")
    foreign.running(run)
    attempt, tree = foreign.folder(run), Tree(supervisor.pid)
    pids = [tree.mpirun, tree.proxy, *tree.guards.values(), *tree.witnesses.values(), *tree.ranks.values()]
    for pid in pids:
        assert set(psutil.Process(pid).uids()) == {NOBODY.pw_uid}
    wait_for(lambda: any("is here" in line.text for line in foreign.api.logs[run, 1]), "output")
    for number in (0, 1):  # as users' code could
        attempt.rank_log(number).rename(attempt.ranks / f"aside.{number}")
        attempt.rank_log(number).symlink_to(secret)
    (attempt.ranks / "checkpoints").symlink_to(foreign.home.path)
    answers = len(foreign.api.requests)
    wait_for(lambda: len(foreign.api.requests) > answers + 5, "more requests")
    kill9(supervisor.pid)
    supervisor.wait()
    foreign.finish(foreign.supervise(foreign.started[0][1]))
    end = foreign.api.end(run)
    assert end.state == "failed_infra" and "its supervisor died" in end.why
    told = [line.text for lines in foreign.api.logs.values() for line in lines]
    assert not any("hunter2" in text for text in [*told, end.model_dump_json()])
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)
    foreign.assert_complete(run)


def test_a_file_of_users_is_read_under_the_account(foreign, monkeypatch):
    if foreign.prefix:
        pytest.skip(f"NOT TESTED HERE: `nobody` cannot use {sys.executable}")
    folder = foreign.home.path.parent / "own" / "algorithms"
    folder.mkdir(parents=True)
    (folder / "spy.py").write_text("import os\nraise OSError(f'I am {os.getresuid()} {os.getgroups()}')\n")
    for path, mode in ((folder.parent, 0o755), (folder, 0o755), (folder / "spy.py", 0o644)):
        path.chmod(mode)
    monkeypatch.setenv("HOOKE_PATH", "own")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.chdir(folder.parent.parent)
    place = SimpleNamespace(
        user_code_account="nobody", home=foreign.home.path, token_file=foreign.home.path / "agent-token"
    )
    account = agent._account(place)
    assert "HOOKE_PATH" not in os.environ, "the agent, its supervisors and calibrations would run users' files"
    assert account.files == str(folder.parent)
    Path("json.py").write_text("raise SystemExit('this is not the json of Python')")
    assert subprocess.run([sys.executable, "-m", "hooke.cluster.lock"], check=False).returncode == 0
    (problem,) = read_catalogues(account)["problems"]
    assert f"I am {(account.uid,) * 3} {sorted(account.groups)}" in problem["error"]
    (token := foreign.home.path.parent / "token").write_text("hunter2")
    token.chmod(0o644)
    with pytest.raises(LaunchError, match="'nobody' can read .*token: chmod 600"):
        accounts.check(account, foreign.home.path, token)


def test_a_file_of_users_cannot_speak_for_built_in_methods(foreign):
    """Their defaults, as an agent tells them, are those of everybody's runs on its cluster."""
    if foreign.prefix:
        pytest.skip(f"NOT TESTED HERE: `nobody` cannot use {sys.executable}")
    folder = foreign.home.path.parent / "own"
    (folder / "algorithms").mkdir(parents=True)
    told = {"problems": [], "algorithms": [], "workloads": []}
    told["algorithms"] = [
        {"name": name, "origin": origin, "title": "Mine"}
        for name, origin in (("sync-sgd", "file"), ("new", "built-in"), ("mine", "file"))
    ]
    text = f"import os\nos.write(1, {json.dumps(told).encode()!r})\nos._exit(0)\n"
    (folder / "algorithms" / "liar.py").write_text(text)
    for path, mode in ((folder, 0o755), (folder / "algorithms", 0o755), (folder / "algorithms/liar.py", 0o644)):
        path.chmod(mode)
    found = read_catalogues(accounts.find("nobody", str(folder)))
    titles = {each["name"]: each["title"] for each in found["algorithms"]}
    known = {name: item.description["title"] for name, item in built_in("algorithm").items()}
    assert titles == known | {"mine": "Mine"}
    assert {each["name"] for each in found["workloads"]} == set(built_in("workload"))


def test_an_account_that_may_change_what_the_agent_reads_is_refused(foreign):
    """As where the agent ran as that account before, or its home folder lies in that of the account."""
    account, home = accounts.find("nobody"), foreign.home.path
    token = home / "agent-token"
    if not foreign.prefix:
        accounts.check(account, home, token)
        home.parent.chmod(0o757)
        with pytest.raises(LaunchError, match=f"'nobody' owns {home.parent} or may write there"):
            accounts.check(account, home, token)
        home.parent.chmod(0o711)
    for place in (home, home / "jobs", home / "runs" / "run_other" / "1"):
        os.chown(place, NOBODY.pw_uid, -1)
        with pytest.raises(LaunchError, match=rf"'nobody' owns {place} or may write there.*chown -R root"):
            accounts.check(account, home, token)
        os.chown(place, 0, -1)
    ranks = home / "runs" / "run_other" / "1" / "ranks"
    ranks.mkdir()
    os.chown(ranks, NOBODY.pw_uid, -1)
    assert accounts._of_account(account, home) is None


def order(**more):
    return LaunchOrder(run="run_a", attempt=1, token="secret", spec=spec() | more)


def test_only_runs_with_users_code_run_under_the_account(tmp_path):
    """Those of built-in methods are closed to it."""

    def made(account, **more):
        home = Home(Path(tempfile.mkdtemp(dir=tmp_path)))
        job = read_job(orders._make_job(home, "http://api", [order(**more)], LocalSettings(), account))[0]
        return job.account, job.path

    account = accounts.Account("nobody", NOBODY.pw_uid, NOBODY.pw_gid, (), "/", "/own")
    assert made(None, workload={"name": "spy"}) == (None, ""), "as without the option"
    assert made(account) == (None, "")
    assert made(account, workload={"name": "spy"}) == ("nobody", "/own")
    assert made(account, algorithm={"name": "spy"}) == ("nobody", "/own")


def test_the_home_folder_lets_others_pass_to_ranks_only(tmp_path, mask):
    (tmp_path / "jobs" / "job").mkdir(parents=True)
    (tmp_path / "database").write_text("rows")
    for run, folder in (("run_a", "1"), ("run_b", "1/ranks")):
        (tmp_path / "runs" / run / folder).mkdir(parents=True)
    accounts.open_home(tmp_path)
    (tmp_path / "later").touch()
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.glob("*")}
    assert modes == {"jobs": 0o700, "database": 0o600, "later": 0o600, "runs": 0o711}
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path, tmp_path / "runs/run_a", tmp_path / "runs/run_b")]
    assert modes == [0o711, 0o700, 0o711]


def test_an_agent_that_cannot_do_it_says_so(monkeypatch):
    with pytest.raises(LaunchError, match="there is no account 'hooke-nobody' on this host"):
        accounts.find("hooke-nobody")
    with pytest.raises(LaunchError, match="'root' has the rights of the agent"):
        accounts.find("root")
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    with pytest.raises(LaunchError, match="only root starts processes of another account: run it as root"):
        accounts.find("nobody")
    given = {
        "cluster": "a",
        "api": "http://h",
        "broker": "redis://h",
        "token_file": "t",
        "user_code_account": "runs",
    }
    assert site.read(None, given).user_code_account == "runs"
    for launcher in ("slurm,slots=4", "psij,executor=pbs,slots=4"):
        with pytest.raises(ArgumentError, match="user_code_account: only the launcher `local` starts ranks under"):
            site.read(None, given | {"launcher": launcher})


def test_users_workloads_are_not_calibrated_where_their_code_is_separated(tmp_path):
    told = []

    class Client:
        def calibration(self, report):
            told.append(report)

    asked = CalibrationOrder(id="cal_1", workers=2, workloads=["digits-mlp", "spy"])
    calibrating.calibrate(Home(tmp_path), asked, Client(), separated=True)
    assert [each.why.partition(":")[0] for each in told] == ["spy"]
    assert not (tmp_path / "calibrations").exists()
