"""Files of parameters: what is written is what is read."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from equipoise.analysis.systems import read_settings, write_parameters
from equipoise.errors import InvalidParameterError
from equipoise.rating.registry import SYSTEMS, make_system, parameters_of


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    """To the last bit, defaults included."""
    path = str(tmp_path / "p.toml")
    write_parameters(path, name, parameters_of(make_system(name)), {}, [])
    settings = read_settings(path)
    assert settings.system == name
    assert make_system(name, settings.parameters) == make_system(name)


def test_odd_values_and_names_come_back(tmp_path: Path) -> None:
    path = str(tmp_path / "p.toml")
    values = {"rho": math.inf, "weight_limit": 0.1 + 0.2, "split_ties": True, "remembered": 7}
    weights = {'time "on" target\\n\t': 0.25, "kills": -1e-17, "a.b": 2.0}
    write_parameters(path, "elo-mmr", {**values, "beta": None}, weights, ["why", "and how"])
    settings = read_settings(path)
    assert settings.parameters == values
    assert settings.statistics == weights
    assert Path(path).read_text().startswith("# why\n# and how\nsystem")


def test_only_a_toml_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"must end in \.toml"):
        write_parameters(str(tmp_path / "p.json"), "elo", {}, {}, [])
    assert not list(tmp_path.iterdir())
