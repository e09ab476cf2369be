"""Two users ask for one checkpoint at the same moment: it is sent and stored once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hooke_api.runs import fetches

from tests.api.test_fetches import site

__all__ = ["site"]


def test_two_who_ask_at_once_get_the_same_one(site, monkeypatch):
    both, check = threading.Barrier(2), fetches._check_limits

    def meet(*given):
        """Let both see that there is none, if they can."""
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        check(*given)

    monkeypatch.setattr(fetches, "_check_limits", meet)
    with ThreadPoolExecutor(2) as users:
        answers = list(users.map(lambda _: site.ask(), range(2)))
    assert [answer.status_code for answer in answers] == [202, 202]
    assert {answer.json()["id"] for answer in answers} == {site.view()["id"]}
