"""Write reference/settings.md: the settings of the service and its metrics.

Run: python docs/generate_settings.py
The extra `service` is needed. A test compares the page with this script.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings

PAGE = Path(__file__).parent / "reference" / "settings.md"

HEAD = """\
<!-- Written by docs/generate_settings.py from the source of the service: do not edit. -->

# Settings and metrics of the service

## Settings

`equipoise serve` takes each setting as an option `--set NAME=VALUE`, or as an environment
variable: `EQUIPOISE_` followed by the name in capitals. Lists are separated by commas. Sizes are
in bytes and times in seconds. Rates are per second, and each service counts them by itself. A
number in brackets is the HTTP status beyond a limit.

| setting | default | meaning |
|---|---|---|
"""
METRICS = """
## Metrics

`/metrics` has these metrics of one service, for Prometheus:

| metric | type | meaning |
|---|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    return HEAD + "".join(_settings()) + METRICS + "".join(_metrics())


def _settings() -> Iterator[str]:
    """Yield a row for each setting, with its line of the class's docstring."""
    lines = re.sub(r"\n {4,}", " ", inspect.getdoc(ServiceSettings) or "").splitlines()
    meanings = dict(line.split(" : ", 1) for line in lines if " : " in line)
    for field in msgspec.structs.fields(ServiceSettings):
        yield f"| `{field.name}` | {_shown(field.default)} | {meanings[field.name]} |\n"


def _shown(value: object) -> str:
    if value in ((), ""):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _metrics() -> Iterator[str]:
    """Yield a row for each metric, with its help text."""
    exposed = Metrics().page().decode()
    rows = re.findall(r"^# HELP (\w+) (.+)\n# TYPE \1 (\w+)$", exposed, re.MULTILINE)
    for name, meaning, kind in rows:
        if not name.endswith("_created"):
            yield f"| `{name}` | {kind} | {meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
