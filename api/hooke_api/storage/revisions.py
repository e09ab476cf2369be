"""Which revision the tables have, and which they should have: without Alembic, which takes 11 MB."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.orm import Session

_REVISION = re.compile(r"^revision = [\"'](\w+)[\"']", re.MULTILINE)
_DOWN = re.compile(r"^down_revision = [\"'](\w+)[\"']", re.MULTILINE)


def newest(folder: Path) -> str | None:
    """Return the revision that no other one in a folder of migrations follows on; None if that is not one."""
    texts = [path.read_text() for path in (folder / "versions").glob("*.py")]
    revisions = {found[1] for each in texts if (found := _REVISION.search(each))}
    heads = revisions - {found[1] for each in texts if (found := _DOWN.search(each))}
    return heads.pop() if len(heads) == 1 else None


def present(session: Session) -> str | None:
    """Return the revision of the tables; None if there are none."""
    if not inspect(session.connection()).has_table("alembic_version"):
        return None
    found: str | None = session.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def migrate_apart() -> None:
    """Migrate in a process with the same environment; whoever needs the tables sees whether it succeeded."""
    words = [sys.executable, "-m", "hooke_api.storage.migrating"]
    subprocess.run(words, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
