"""Settings come from environment variables, are checked, and reach other processes unchanged."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidParameterError
from equipoise.web.settings import (
    ServiceSettings,
    settings_from_environment,
)


def test_variables_are_read_by_the_names_of_the_settings() -> None:
    found = settings_from_environment(
        {
            "EQUIPOISE_DATABASE": "sqlite:///x.db",
            "EQUIPOISE_BODY_BYTES": "1000",
            "EQUIPOISE_RATE_LIMIT": "2.5",
            "EQUIPOISE_CORS": "https://a.example, https://b.example",
            "EQUIPOISE_PAGE": "false",
            "PATH": "/bin",
        }
    )
    assert found == ServiceSettings(
        database="sqlite:///x.db",
        body_bytes=1000,
        rate_limit=2.5,
        cors=("https://a.example", "https://b.example"),
        page=False,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BODY_BYTES", "0"),
        ("METRICS", "maybe"),
        ("READERS", "1000"),
    ],
)
def test_values_that_break_a_rule_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidParameterError, match=name.lower()) as error:
        settings_from_environment({f"EQUIPOISE_{name}": value})
    assert value in str(error.value)


@pytest.mark.parametrize("name", ["replica", "replica_lag_seconds"])
def test_settings_of_earlier_versions_are_refused_with_what_replaces_them(name: str) -> None:
    variable = f"EQUIPOISE_{name.upper()}"
    with pytest.raises(
        InvalidParameterError, match=f"^{name}: .*HAProxy.*guides/several-services.md"
    ):
        settings_from_environment({variable: "5"})
    assert settings_from_environment({variable: ""}) == ServiceSettings()
