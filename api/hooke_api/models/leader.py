"""Which process alone does something, such as scheduling."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base


class Leader(Base):
    """The process that alone does something, and renews the row; a second one has what it saw of the clocks."""

    __tablename__ = "leaders"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    holder: Mapped[str] = mapped_column(String(120))
    until: Mapped[datetime]
