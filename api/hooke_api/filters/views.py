"""Responses about the language of filters."""

from __future__ import annotations

from hooke_api.base.schema import View
from hooke_api.filters.fields import Kind


class FilterFieldView(View):
    """A field of the filter language."""

    name: str
    """How a filter names it, such as `test_accuracy.max`."""
    kind: Kind
    """What its values are."""
    description: str
    """What it is, in words."""
    example: str
    """A filter that uses it."""
    operators: list[str]
    """Operators that it may stand before."""
    values: list[str]
    """All values of a choice; known ones of tags, workloads, clusters and algorithms; otherwise empty."""


class FilterLanguage(View):
    """What a filter of `list_experiments` or `list_runs` may name."""

    fields: list[FilterFieldView]
    """Every field that a filter may name."""
