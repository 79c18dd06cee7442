"""Charts that tests of the words of a page need not draw."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.analysis.backtest import report
from equipoise.charts import theme


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures out of pages; their headings and descriptions stay."""

    def nothing(*args: Any, **options: Any) -> None:
        return None

    for name in ("intervals_figure", "calibration_figure"):
        monkeypatch.setattr(report, name, nothing)
    monkeypatch.setattr(theme, "page_image", lambda figure: "data:image/svg+xml,")
