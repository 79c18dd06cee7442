"""Dockerfile, Compose file and chart name what exists; the image works where it can be built."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main
import yaml

from equipoise.cli.application import create_application
from equipoise.web import api
from equipoise.web.settings import PREFIX, ServiceSettings, settings_from_environment

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "equipoise"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SETTINGS = {PREFIX + field.name.upper() for field in msgspec.structs.fields(ServiceSettings)}
USER = "10001"


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, continued lines joined, comments left out."""
    lines = [line for line in text(ROOT / "Dockerfile").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    found = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(name, rest.strip()) for name, _, rest in found]


def stages() -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage: one that builds, one that is shipped."""
    found: list[list[tuple[str, str]]] = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, rest))
    return found


def variables(stage: list[tuple[str, str]]) -> dict[str, str]:
    words = [word for name, rest in stage if name == "ENV" for word in shlex.split(rest)]
    return dict(word.split("=", 1) for word in words)


def last(stage: list[tuple[str, str]], name: str) -> str:
    return [rest for one, rest in stage if one == name][-1]


def check_command(words: list[str]) -> None:
    """Check that a command of equipoise and its options exist."""
    command: Any = typer.main.get_command(create_application())
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for one in command.params for option in one.opts}
    assert {word for word in words if word.startswith("--")} <= known


def health_paths() -> set[str]:
    return {one.path for one in api.ENDPOINTS if one.path in ("/healthz", "/readyz")}


def test_the_image_runs_as_a_user_without_rights() -> None:
    shipped = stages()[-1]
    assert last(shipped, "USER") == f"{USER}:{USER}"
    (made,) = (rest for name, rest in shipped if name == "RUN")
    assert f"--uid {USER}" in made
    assert f"chown {USER}:{USER} /data" in made
    assert json.loads(last(shipped, "VOLUME")) == ["/data"]


def test_the_image_starts_the_service_itself() -> None:
    """A shell in between would not pass SIGTERM on."""
    shipped = stages()[-1]
    assert json.loads(last(shipped, "ENTRYPOINT")) == list(PROJECT["scripts"])
    words = json.loads(last(shipped, "CMD"))
    assert words[words.index("--port") + 1] == last(shipped, "EXPOSE")
    check_command(words)


def test_the_health_check_asks_for_a_path_that_exists() -> None:
    check = last(stages()[-1], "HEALTHCHECK")
    words = json.loads(check[check.index("[") :])
    assert set(re.findall(r"/\w+z\b", words[-1])) == {"/healthz"} <= health_paths()
    assert last(stages()[-1], "EXPOSE") in words[-1]
    compile(words[-1], "HEALTHCHECK", "exec")


def test_kernels_are_looked_for_where_they_were_compiled() -> None:
    """Numba finds them only under the same processor, features and folder."""
    built, shipped = map(variables, stages())
    numba = {name for name in built if name.startswith("NUMBA_")}
    assert numba == {"NUMBA_CACHE_DIR", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}
    assert all(built[name] == shipped[name] for name in numba)
    assert shipped["NUMBA_CACHE_DIR"].startswith("/opt/equipoise/")
    assert ("COPY", "--from=build /opt/equipoise /opt/equipoise") in stages()[-1]


def test_the_image_has_extras_and_settings_that_exist() -> None:
    (extras,) = (rest for name, rest in instructions() if rest.startswith("EXTRAS="))
    assert set(extras.partition("=")[2].split(",")) <= set(PROJECT["optional-dependencies"])
    chosen = {n: v for n, v in variables(stages()[-1]).items() if n.startswith(PREFIX)}
    assert set(chosen) <= SETTINGS
    assert settings_from_environment(chosen).database == "sqlite:////data/equipoise.db"


def test_the_builder_is_sent_what_is_copied_and_no_more() -> None:
    copied = {word for name, rest in stages()[0] if name == "COPY" for word in rest.split()[:-1]}
    sent = {line[1:] for line in text(ROOT / ".dockerignore").splitlines() if line[:1] == "!"}
    assert copied == sent
    assert all((ROOT / one).exists() for one in copied)


def test_compose_names_settings_and_commands_that_exist() -> None:
    service = yaml.safe_load(text(DEPLOY / "compose.yaml"))["services"]["equipoise"]
    assert set(service["environment"]) <= SETTINGS
    check_command(list(service["command"]))
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert float(service["stop_grace_period"].removesuffix("s")) > ServiceSettings().grace_seconds
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_example_of_an_environment_has_every_variable_of_compose() -> None:
    used = set(re.findall(r"\$\{(\w+)", text(DEPLOY / "compose.yaml")))
    given = set(re.findall(r"^(\w+)=", text(DEPLOY / "env.example"), re.MULTILINE))
    assert used == given
    assert "deploy/.env" in text(ROOT / ".gitignore").splitlines()


def test_the_example_of_an_environment_gives_valid_settings() -> None:
    lines = re.findall(rf"^({PREFIX}\w+)=(.*)$", text(DEPLOY / "env.example"), re.MULTILINE)
    assert settings_from_environment(dict(lines)).metrics == "key"


def chart_values() -> dict[str, Any]:
    return dict(yaml.safe_load(text(CHART / "values.yaml")))


def templates() -> str:
    return "\n".join(text(path) for path in sorted((CHART / "templates").iterdir()))


def test_the_chart_is_for_this_version() -> None:
    chart = yaml.safe_load(text(CHART / "Chart.yaml"))
    assert (chart["name"], chart["appVersion"]) == (PROJECT["name"], PROJECT["version"])


def test_every_value_of_the_chart_is_used_and_every_used_one_exists() -> None:
    def paths(values: dict[str, Any], prefix: str = "") -> set[str]:
        inner = {name: one for name, one in values.items() if isinstance(one, dict) and one}
        found = {prefix + name for name in values}
        return found.union(*(paths(one, f"{prefix}{name}.") for name, one in inner.items()))

    used = set(re.findall(r"\.Values\.([\w.]+)", templates()))
    known = paths(chart_values())
    assert used <= known
    whole = {one for one in used if any(other.startswith(f"{one}.") for other in known)}
    parents = {one for one in known if any(other.startswith(f"{one}.") for other in known)}
    below = {one for one in known if any(one.startswith(f"{other}.") for other in whole)}
    assert known - used - parents - below == set()


def test_blocks_of_the_chart_are_closed() -> None:
    for path in (CHART / "templates").iterdir():
        actions = re.findall(r"\{\{-? *(\w+)", text(path))
        opened = sum(actions.count(one) for one in ("if", "range", "with", "define", "block"))
        assert opened == actions.count("end"), path.name


def test_settings_of_the_chart_exist() -> None:
    settings = {PREFIX + name.upper(): value for name, value in chart_values()["settings"].items()}
    assert set(settings) <= SETTINGS
    assert all(isinstance(value, str) for value in settings.values())
    settings_from_environment(settings)
    named = set(re.findall(rf"name: ({PREFIX}[A-Z_]+)$", templates(), re.MULTILINE))
    assert named <= SETTINGS


def test_probes_and_commands_of_the_chart_exist() -> None:
    assert set(re.findall(r"^ +path: (/\w+)$", templates(), re.MULTILINE)) <= health_paths()
    (command,) = re.findall(r"args: (\[.*\])", templates())
    check_command(re.findall(r'"([^"]*)"', command))


def test_pods_have_no_rights_and_time_to_end() -> None:
    deployment = text(CHART / "templates" / "deployment.yaml")
    for line in (
        "runAsNonRoot: true",
        f"runAsUser: {USER}",
        f"fsGroup: {USER}",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        'drop: ["ALL"]',
        # Kubernetes would else set EQUIPOISE_PORT and others for a service of this name.
        "enableServiceLinks: false",
    ):
        assert re.search(rf"^ +{re.escape(line)}$", deployment, re.MULTILINE), line
    assert chart_values()["terminationGracePeriodSeconds"] > ServiceSettings().grace_seconds


@pytest.mark.slow
@pytest.mark.skipif(
    "TRY_IMAGE" not in os.environ,
    reason="TRY_IMAGE has no options for deploy/try_image.py, such as '--base debian'",
)
def test_the_image_is_built_and_works() -> None:
    """It downloads packages and needs root, so it runs only where that is asked for."""
    command = [sys.executable, DEPLOY / "try_image.py", *shlex.split(os.environ["TRY_IMAGE"])]
    assert subprocess.run(command, check=False).returncode == 0
