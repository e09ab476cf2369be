"""Call what agents reported as `pace` `coordination`, with its values of today."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

NOW = {"together": "synchronous", "served": "parameter-server", "free": "lock-free"}
BEFORE = {now: before for before, now in NOW.items()}
CATALOGUE = sa.table(
    "catalogue", sa.column("cluster"), sa.column("kind"), sa.column("name"), sa.column("document", sa.JSON)
)


def upgrade() -> None:
    _rename("pace", "coordination", NOW)


def downgrade() -> None:
    _rename("coordination", "pace", BEFORE)


def _rename(old: str, new: str, values: dict[str, str]) -> None:
    connection = op.get_bind()
    for row in connection.execute(sa.select(CATALOGUE)).all():
        if old not in row.document:
            continue
        document = {key: value for key, value in row.document.items() if key != old}
        document[new] = values.get(row.document[old], row.document[old])
        one = (CATALOGUE.c.cluster == row.cluster, CATALOGUE.c.kind == row.kind, CATALOGUE.c.name == row.name)
        connection.execute(CATALOGUE.update().where(*one).values(document=document))
