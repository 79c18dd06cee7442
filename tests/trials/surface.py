"""What users see, recorded before and after a change that must not alter it.

    python tests/trials/surface.py record FOLDER
    python tests/trials/surface.py compare BEFORE AFTER

Recorded are the JSON of every command on the bundled examples and the files it writes, the bytes
of saved states, the description of the API, and the replies of a service to which matches were
posted, one pool for each system. Times of receipt, seconds of running and versions are left out.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

#: Fields that differ from run to run.
VOLATILE = re.compile(
    r"(?:^|_)(seconds|received|created|started|finished|ended|at|version|code|kernels_compiled"
    r"|compile_seconds|request|secret|expires|last_used|uptime)$"
)

#: Name of a record -> arguments of the program; {out} is a folder for outputs.
COMMANDS: dict[str, str] = {
    "rate": "rate {ex}/contests.csv --output {out}/r.csv --trace {out}/t.csv --json",
    "rate_team": "rate {out}/teams.csv --system team-glicko2 --json",
    "backtest": "backtest {ex}/contests.csv --system elo-mmr --system elo --from 10% --json",
    "balance": "balance {ex}/lobby.csv --json",
    "demo": "demo --json",
    "explain": "explain {ex}/contests.csv --player jade-kite --json",
    "performance": "performance {ex}/interzonal1970.csv --anchor 2557 --json",
    "performance_none": "performance {ex}/worldcup2022.csv --json",
    "plot": "plot {ex}/contests.csv --player jade-kite --json",
    "predict": "predict --state {out}/elo-mmr.npz --team jade-kite --team birch-fox --json",
    "rebalance": "rebalance {ex}/rebalance.json --compare --json",
    "rebalance_all": "rebalance {ex}/rebalance.json --all --json",
    "tune": "tune {ex}/contests.csv --system elo --first 50% --grid k=8,16,32 --json",
    "systems": "systems --json",
    "audit_drift": "audit drift {ex}/contests.csv --system elo-mmr --json",
    "audit_incentives": "audit incentives {ex}/league.csv --system glicko2 --player ada --json",
}

#: An output that later records read, made first.
FIRST = (
    "simulate --kind teams --sizes 5v5,4v4 --matches 60 --players 40 --seed 5 "
    "--output {out}/teams.csv"
)


def systems() -> list[str]:
    """Return the names of all systems."""
    from equipoise.rating.registry import SYSTEMS

    return sorted(SYSTEMS)


def run(command: str, out: Path) -> str:
    """Return what a command prints."""
    words = [word.format(ex="examples", out=out) for word in command.split()]
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return json.dumps({"exit": done.returncode})
    return done.stdout.replace(str(out), "OUT")


def stable(value: Any, name: str = "") -> Any:
    """Return a value of JSON without what differs from run to run."""
    if VOLATILE.search(name):
        return None if value is None else "..."
    if isinstance(value, dict):
        return {key: stable(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [stable(one, name) for one in value]
    return value


def keep(folder: Path, name: str, value: Any) -> None:
    """Write a record."""
    text = json.dumps(stable(value), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n")


def record_commands(folder: Path, out: Path) -> None:
    """Record every command, the files it writes, and the saved state of every system."""
    run(FIRST, out)
    inputs = {"team-glicko2": out / "teams.csv"}
    states = {}
    for system in systems():
        history = inputs.get(
            system, EXAMPLES / ("league.csv" if system == "glicko2" else "contests.csv")
        )
        state = out / f"{system}.npz"
        run(f"rate {history} --system {system} --save {state} --json", out)
        states[system] = hashlib.sha256(state.read_bytes()).hexdigest() if state.exists() else None
        keep(folder, f"system_{system}", json.loads(run(f"systems {system} --json", out)))
    keep(folder, "states", states)
    for name, arguments in COMMANDS.items():
        text = run(arguments, out)
        try:
            keep(folder, f"command_{name}", json.loads(text))
        except json.JSONDecodeError:
            keep(folder, f"command_{name}", text)
    written = {path.name: path.read_text() for path in sorted(out.glob("*.csv"))}
    keep(folder, "written", written)


async def record_service(folder: Path, out: Path) -> None:
    """Record the description of the API and replies of a service with a pool for each system."""
    import httpx

    from equipoise.messages.upkeep import KeyRequest
    from equipoise.pools.pool.access import make_key
    from equipoise.store.connection import open_store
    from equipoise.web.application import create_application
    from equipoise.web.settings import ServiceSettings

    database = f"sqlite:///{out}/surface.db"
    store = open_store(database)
    secret = make_key(store, KeyRequest(name="admin", role="admin"), 0).secret
    store.close()
    app = create_application(ServiceSettings(database=database, request_seconds=300.0))
    transport = httpx.ASGITransport(app)
    headers = {"Authorization": f"Bearer {secret}"}
    replies: dict[str, Any] = {}

    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://x", timeout=300) as client,
    ):

        async def ask(method: str, path: str, content: Any = None) -> Any:
            answer = await client.request(method, path, json=content, headers=headers)
            try:
                said = answer.json()
            except json.JSONDecodeError:
                said = answer.text
            if answer.status_code >= 400 and isinstance(said, dict):
                # Texts of messages may change.
                said = {"code": said.get("error", {}).get("code")}
            replies[f"{len(replies):04} {method} {path}"] = [answer.status_code, said]
            return said

        keep(folder, "openapi", await ask("GET", "/openapi.json"))
        for system in systems():
            await record_pool(ask, system)
    keep(folder, "replies", replies)


async def record_pool(ask: Any, system: str) -> None:
    """Post to a pool, amend it, and ask it all that can be asked."""
    pool = f"/v1/pools/{system}"
    await ask("PUT", pool, {"system": system, "late": "replay", "placement_matches": 2})
    names = ["ana", "bo", "cy", "di"]
    for number in range(12):
        first, second = names[number % 4], names[(number + 1 + number // 4) % 4]
        teams = [{"players": [first], "rank": 1}, {"players": [second], "rank": 1 + number % 3}]
        day = f"2025-01-{number + 1:02}T00:00:00Z"
        await ask("POST", f"{pool}/matches", {"match": str(number), "teams": teams, "time": day})
    await ask("POST", f"{pool}/matches/3/void?wait=20", {"reason": "test"})
    await ask("POST", f"{pool}/players/di/disqualify?wait=20", {"reason": "test"})
    for path in (
        "",
        "/leaderboard",
        "/leaderboard?provisional=true",
        "/players/ana",
        "/players/ana/history",
        "/players/ana/summary",
        "/players/ana/against/bo",
        "/players/ana/explain?match=8",
        "/matches",
        "/matches/3",
        "/amendments",
        "/seasons",
        "/players/nobody",
    ):
        await ask("GET", f"{pool}{path}")
    teams = {"teams": [["ana"], ["bo"]]}
    await ask("POST", f"{pool}/predict", teams)
    await ask("POST", f"{pool}/balance", {"players": names})


def record(folder: Path) -> None:
    """Record everything into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        record_commands(folder, out)
        asyncio.run(record_service(folder, out))


def compare(before: Path, after: Path) -> int:
    """Print which fields differ; return how many records do."""
    different = 0
    for name in sorted({path.name for path in [*before.glob("*.json"), *after.glob("*.json")]}):
        pair = [folder / name for folder in (before, after)]
        missing = [str(path) for path in pair if not path.exists()]
        if missing:
            lines = [f"missing: {missing[0]}"]
        else:
            lines = list(differences(*(json.loads(path.read_text()) for path in pair)))
        different += bool(lines)
        for line in lines[:20]:
            sys.stdout.write(f"{name}: {line}\n")
        if len(lines) > 20:
            sys.stdout.write(f"{name}: and {len(lines) - 20} more\n")
    sys.stdout.write(f"{different} records differ\n")
    return different


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Return where two values of JSON differ, a line each."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in sorted(one.keys() | other.keys()):
            if key not in one or key not in other:
                found.append(f"{path}/{key}: only {'before' if key in one else 'after'}")
            else:
                found += differences(one[key], other[key], f"{path}/{key}")
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            line
            for at, pair in enumerate(zip(one, other, strict=True))
            for line in differences(*pair, f"{path}/{at}")
        ]
    return [] if one == other else [f"{path}: {str(one)[:80]!r} is {str(other)[:80]!r}"]


def main(arguments: list[str]) -> int:
    """Record or compare."""
    match arguments:
        case ["record", folder]:
            record(Path(folder).resolve())
            return 0
        case ["compare", before, after]:
            return min(1, compare(Path(before), Path(after)))
        case _:
            sys.stdout.write(f"{__doc__}\n")
            return 2


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main(sys.argv[1:]))
