"""The adapter for Ray that the guide shows, run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from equipoise.parallel.tasks import run_tasks

ray = pytest.importorskip("ray", reason="needs ray, which no extra installs")

pytestmark = [pytest.mark.slow, pytest.mark.no_kernel, pytest.mark.filterwarnings("ignore")]

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guides" / "cluster.md"


def test_the_adapter_of_the_guide_gives_results_in_order() -> None:
    (code,) = (
        one for one in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S) if "ray" in one
    )
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        names: dict[str, Any] = {}
        exec(code, names)  # the code of our own guide
        found = list(run_tasks(max, -5, range(-20, 0), executor=names["RayExecutor"]()))
        assert found == [max(-5, one) for one in range(-20, 0)]
        with pytest.raises(TypeError, match="not supported between"):
            list(run_tasks(max, 1, ["x"], executor=names["RayExecutor"]()))
    finally:
        ray.shutdown()
