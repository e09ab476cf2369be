"""The load: small experiments, drawn by seed, with numbers of points that follow from their specifications."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import psycopg

from benchmarks.soak.installation import LOCAL, ON_HOSTS, Installation

BATCH = 16
EVALUATIONS = 4
"""Evaluations of a run after that of its initial weights."""
MOST_OPEN = 8
"""Open runs at which no experiment is submitted."""
SYNCHRONOUS = ("sync-sgd", "sync-easgd3", "local-sgd")
WITH_SERVER = ("async-easgd", "async-sgd")
RETRY = {"attempts": 100, "backoff_seconds": 1, "longest_backoff_seconds": 5}
_EVERY = 1.0
_FAILURES = (httpx.HTTPError, psycopg.Error)


def experiment(chance: random.Random, number: int, hosts: bool) -> dict[str, Any]:
    """Return the next experiment. `hosts`: whether the second cluster has hosts of its own."""
    where, virtual = chance.choice((LOCAL, ON_HOSTS)), chance.random() < 0.3
    workers = chance.choice((2, 3)) if virtual or (hosts and where == ON_HOSTS) else 2
    names = list(SYNCHRONOUS)
    if virtual or (hosts and where == ON_HOSTS and workers == 2):
        names += WITH_SERVER
    chosen = chance.sample(names, 2)
    steps = chance.choice((200, 800) if virtual else (200, 800, 2000))
    samples = steps * workers * BATCH
    keeps = chance.random() < 0.5 and not set(chosen) & set(WITH_SERVER)
    place: dict[str, Any] = {"name": where, "workers": [workers], "seeds": chance.choice((1, 2))}
    if virtual:
        place |= {"name": f"simulated-{where}", "computed_on": where, "virtual": {}}
    document = {
        "schema": "hooke.experiment/1",
        "name": f"soak {number}",
        "workload": {"name": "digits-mlp"},
        "batch": BATCH,
        "variants": [{"name": name, "algorithm": name} for name in chosen],
        "baseline": chosen[0],
        "clusters": [place],
        "first_seed": number,
        "budget": {"samples": samples},
        "evaluation": {"every": samples // EVALUATIONS},
        "retry": RETRY,
    }
    return document | ({"checkpoint_every": samples // 8} if keeps else {})


class Load(threading.Thread):
    """Submits experiments as long as few runs are open, each until the API has answered."""

    def __init__(self, site: Installation, seed: int, say: Callable[[str], None]) -> None:
        super().__init__(name="load", daemon=True)
        self._site, self._chance, self._say = site, random.Random(seed), say
        self._ended = threading.Event()
        self.submitted: dict[str, str] = {}
        """Name of an experiment -> its id, as the API answered."""
        self.refused: list[str] = []
        """Answers that are neither success nor a passing failure."""
        self.unanswered = ""
        """An experiment whose submission had no answer when the load ended: it may be there or not."""

    def run(self) -> None:
        """Submit until stopped."""
        while not self._ended.wait(_EVERY):
            try:
                rows = self._site.query(
                    "SELECT count(*) FROM runs WHERE state NOT IN "
                    "('succeeded', 'failed_user', 'failed_infra', 'cancelled', 'timed_out')"
                )
            except _FAILURES:
                continue
            if rows[0][0] < MOST_OPEN:
                number = len(self.submitted) + len(self.refused) + 1
                self.submit(experiment(self._chance, number, self._site.lab is not None))

    def submit(self, document: dict[str, Any]) -> None:
        """Post until there is an answer: the key makes all of them one submission."""
        headers = {"idempotency-key": uuid.uuid4().hex}
        while True:
            try:
                answer = self._site.request("POST", "/experiments", json=document, headers=headers)
            except _FAILURES:
                answer = None
            if answer is not None and answer.status_code in (200, 201):
                self.submitted[document["name"]] = answer.json()["id"]
                return
            if answer is not None and answer.status_code < 500 and answer.status_code != 429:
                self.refused.append(f"{document['name']}: {answer.status_code} {answer.text[:1000]}")
                self._say(f"refused: {self.refused[-1]}")
                return
            if self._ended.wait(_EVERY):
                self.unanswered = document["name"]
                return

    def stop(self) -> None:
        """Return when it has ended."""
        self._ended.set()
        self.join()
