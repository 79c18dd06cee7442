"""A bibliography style whose labels are the keys, as the code cites them: [EM], [G2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx


class KeyLabels(BaseLabelStyle):
    """Labels that are the keys of the entries."""

    def format_labels(self, sorted_entries: Sequence[Any]) -> Iterator[str]:
        """Yield the label of every entry."""
        for entry in sorted_entries:
            yield entry.key


class KeyLabelStyle(PlainStyle):
    """The plain style with these labels."""

    default_label_style = KeyLabels


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the style under the name `key_labels`."""
    register_plugin("pybtex.style.formatting", "key_labels", KeyLabelStyle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
