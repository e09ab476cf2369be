"""A thread that ends fetches whose agents are silent, and removes those that have expired."""

from __future__ import annotations

from datetime import timedelta

from hooke_api.base.settings import Settings
from hooke_api.base.workers import Repeating
from hooke_api.models import StoredFetch
from hooke_api.scheduling import fetches
from hooke_api.scheduling.leader import Leadership
from hooke_api.scheduling.passed import Deadline, Watch
from hooke_api.storage.database import Database
from hooke_api.storage.fetched import FetchedFiles

SECONDS = 20.0
"""Interval between two looks, s."""
TERM = timedelta(seconds=60)


class FetchKeeper(Repeating):
    """The thread; one process at a time does it."""

    def __init__(self, database: Database, settings: Settings, seconds: float = SECONDS) -> None:
        super().__init__("fetches", seconds)
        self.database, self.settings = database, settings
        self.files = FetchedFiles(settings)
        self.leadership = Leadership(database, TERM, "fetches")
        kept = Deadline(StoredFetch.expires_at, StoredFetch.ended_at, settings.keep_fetched)
        self._watch = Watch("fetches", kept)

    def look(self) -> None:
        """Look once."""
        if self.leadership.hold():
            passed = self._watch.look(self.database)
            fetches.expire(self.database, self.files, self.settings, passed.at)
            self.files.tidy()

    def close(self) -> None:
        """Let another process do it at once."""
        self.leadership.give_back()
        self.files.close()
