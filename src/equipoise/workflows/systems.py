"""Listing the rating systems."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from equipoise.messages.rating import ParameterMessage, SystemMessage
from equipoise.rating.registry import SYSTEMS, make_system, system_class
from equipoise.rating.system import USABLE
from equipoise.workflows.systems_choice import plain_value


def list_systems() -> list[SystemMessage]:
    """Return every system with what it can rate and its parameters."""
    return [_described(name) for name in SYSTEMS]


def _described(name: str) -> SystemMessage:
    kind, entry = system_class(name), SYSTEMS[name]
    hints = typing.get_type_hints(kind)
    parameters = [
        ParameterMessage(
            field.name,
            _type_name(hints[field.name]),
            plain_value(field.default),
            field.metadata.get("note", ""),
        )
        for field in dataclasses.fields(kind)
    ]
    able = make_system(name).capabilities
    return SystemMessage(
        name=name,
        summary=entry.summary,
        rates=str(able),
        source=entry.source,
        parameters=parameters,
        uses=[one for one in USABLE if one in able.uses],
        needs=dict(able.needed),
    )


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(typing.get_args(hint))
    return hint.__name__ if isinstance(hint, type) else str(hint)
