"""`hooke runs download`, as a user types it, against a running API and the agent's own code."""

import threading

import pytest
from hooke.cli import download, group
from hooke.cluster import fetching
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.test_fetches import SAMPLES, site
from tests.waiting import LIMIT, wait_for

pytestmark = ONE_KIND  # the database makes no difference to a command
__all__ = ["site"]


def hooke(*arguments, status=0):
    answer = CliRunner().invoke(group.app, ["runs", "download", *map(str, arguments)])
    assert answer.exit_code == status, answer.output
    return answer.output


@pytest.fixture
def typed(site, monkeypatch):
    """Set address and token as a user would."""
    monkeypatch.setenv("HOOKE_API", site.service.url)
    monkeypatch.setenv("HOOKE_TOKEN", site.service.settings.token)
    monkeypatch.setattr(download, "POLL_SECONDS", 0.02)
    return site


def agent_of(site, wanted):
    """Play scheduler and agent in a thread until the user has asked."""

    def work():
        wait_for(lambda: site.service.get(f"/runs/{site.run}/fetches")["items"], "a request")
        site.service.scheduler.look()
        wanted(site.service.line.fetched[-1][1])

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_checkpoint_is_waited_for_and_is_what_the_ranks_wrote(typed, tmp_path):
    thread = agent_of(typed, lambda order: fetching.send(typed.home, order, typed.client))
    told = hooke(typed.run, "--out", tmp_path / "got")
    thread.join(LIMIT)
    folder = tmp_path / "got" / "checkpoints" / f"{SAMPLES}"
    assert f"{folder} has the checkpoint" in told
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {
        each.name: each.read_bytes() for each in typed.folder.iterdir()
    }
    (folder / "rank.1.npz").write_bytes(b"half of it")
    again = hooke(typed.run, "--out", tmp_path / "got", "--samples", SAMPLES)
    assert "downloading rank.1.npz" in again
    assert "downloading rank.0.npz" not in again
    assert (folder / "rank.1.npz").read_bytes() == typed.contents["rank.1.npz"]


def test_why_it_failed_is_told_and_no_file_is_left(typed, tmp_path):
    (typed.folder / "complete.json").unlink()
    thread = agent_of(typed, lambda order: fetching.send(typed.home, order, typed.client))
    told = hooke(typed.run, "--out", tmp_path / "got", status=1)
    thread.join(LIMIT)
    assert "could not be fetched: on " in told
    assert "is not there" in told
    assert "no checkpoint at 7 samples" in hooke(typed.run, "--samples", 7, status=1)
    assert not (tmp_path / "got").exists()
