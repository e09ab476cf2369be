"""`python -m hooke_api.storage.migrating`: migrate the database of the environment's settings.

So a process that serves need not import Alembic for it; see `hooke_api.storage.revisions`.
"""

from __future__ import annotations

from hooke_api.base.settings import Settings
from hooke_api.storage.database import Database


def main() -> None:
    """Migrate."""
    settings = Settings()
    Database(settings.url).migrate(settings.migrations)


if __name__ == "__main__":
    main()
