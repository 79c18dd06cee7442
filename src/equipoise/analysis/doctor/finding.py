"""What was found about one thing, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: "ok"; "absent": not installed or not done, and not needed; "warning": it works, but not as well
#: as it could; "failed": needed and not in order.
Status: TypeAlias = Literal["ok", "absent", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    topic : the heading under which it stands
    detail : what was found
    remedy : a command that puts it in order; "" where there is none or nothing to do
    """

    topic: str
    name: str
    status: Status
    detail: str
    remedy: str = ""


def first_line(error: BaseException) -> str:
    """Return kind and first line of an error."""
    line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
