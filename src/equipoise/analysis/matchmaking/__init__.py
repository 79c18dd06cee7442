"""Which queue to evaluate, and which rule set to import."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.analysis import requests
from equipoise.analysis.requests import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class TickOrder:
    """The request of a tick: a path, a stream or bytes."""

    source: object = typed(
        ...,
        "JSON with now, a ruleset and tickets, or - for standard input.",
        "REQUEST",
        argument=True,
        read=requests.source,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOrder:
    """A rule set of FlexMatch."""

    source: object = typed(
        ...,
        "A FlexMatch rule set in JSON, or - for standard input.",
        "RULESET",
        argument=True,
        read=requests.source,
    )
