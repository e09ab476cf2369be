"""Other defaults of a method's or a workload's parameters, as a later version has them."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel


@contextmanager
def redefined(kind: type[BaseModel], **defaults: object) -> Iterator[None]:
    """Give parameters of a class other defaults meanwhile."""
    fields = {name: kind.model_fields[name] for name in defaults}
    before = {name: field.default for name, field in fields.items()}

    def have(values: dict[str, object]) -> None:
        for name, value in values.items():
            fields[name].default = value
        kind.model_rebuild(force=True)

    have(defaults)
    try:
        yield
    finally:
        have(before)
