"""How is the package cut: files, lines by kind, importers, cycles, and files a task runs through?

Lines are counted by what they are: each is blank, a comment, part of a docstring, part of an
import, or code. Importers and cycles are counted over all `import` statements between modules of
the package, those within functions included and those under TYPE_CHECKING left out of cycles. The
files of a task are those of the package in which a Python function is entered during one warm run;
a class body or a module that is only imported does not count.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import os
import sys
import tempfile
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from report import ROOT, Part, report_parts

SOURCE = ROOT / "src"
PACKAGE = SOURCE / "equipoise"
EXAMPLES = ROOT / "examples"
#: What may have a docstring.
_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
KINDS = ("code", "docstrings", "comments", "imports", "blank")


def modules() -> dict[str, Path]:
    """Return the modules of the package by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def line_kinds(text: str) -> Counter[str]:
    """Return how many lines of a source are of each kind."""
    tree = ast.parse(text)
    kinds = dict.fromkeys(range(1, text.count("\n") + 1), "code")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            kinds[number] = "blank"
        elif line.lstrip().startswith("#"):
            kinds[number] = "comments"
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            for number in range(token.start[0], token.end[0] + 1):
                # A line of a long string is neither blank nor a comment.
                kinds[number] = "code"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _mark(kinds, node, "imports")
        elif isinstance(node, _SCOPES) and ast.get_docstring(node, clean=False) is not None:
            _mark(kinds, node.body[0], "docstrings")
    return Counter(kinds.values())


def _mark(kinds: dict[int, str], node: ast.stmt, kind: str) -> None:
    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        kinds[number] = kind


def imports(names: Mapping[str, Path], for_types: bool) -> dict[str, set[str]]:
    """Return which modules of the package each one imports.

    for_types : whether imports under `if TYPE_CHECKING` count
    """
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        tree = ast.parse(path.read_text())
        left_out = set() if for_types else _under_type_checking(tree)
        for node in ast.walk(tree):
            if node in left_out:
                continue
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                parts = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [part if part in names else node.module for part in parts]
            else:
                continue
            found[name] |= {target for target in targets if target in names and target != name}
    return found


def _under_type_checking(tree: ast.Module) -> set[ast.AST]:
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found |= {inner for statement in node.body for inner in ast.walk(statement)}
    return found


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another in a circle (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


class FilesEntered:
    """Records in which files of the package a function is entered, in every thread."""

    def __init__(self) -> None:
        self._files: set[str] | None = None
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if self._files is None or event != "call":
            return
        code = frame.f_code
        if code.co_name != "<module>" and code.co_filename.startswith(str(PACKAGE)):
            self._files.add(code.co_filename)

    @contextlib.contextmanager
    def watch(self) -> Iterator[set[str]]:
        """Give the set that files are added to during the block."""
        self._files = set()
        try:
            yield self._files
        finally:
            self._files = None

    def during(self, work: Callable[[], object]) -> set[str]:
        """Return the files entered in a warm run: the fewest of three, as threads add theirs."""
        work()
        runs = []
        for _ in range(3):
            with self.watch() as files:
                work()
            runs.append(files)
        return min(runs, key=len)


def command(*arguments: str) -> Callable[[], None]:
    """Return what runs a command of the program in this process."""

    def run() -> None:
        from equipoise.cli import main

        before = sys.argv
        sys.argv = ["equipoise", *arguments]
        quiet = io.StringIO()
        try:
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                main()
        except SystemExit as ended:
            if ended.code not in (0, None):
                raise RuntimeError(f"{arguments} failed: {quiet.getvalue()}") from ended
        finally:
            sys.argv = before

    return run


def option_slots() -> int:
    """Return how many options all commands have together, each option of each command counted."""
    import typer.main

    from equipoise.cli.application import create_application

    def count(command: Any) -> int:
        below = getattr(command, "commands", None)
        if below is not None:
            return sum(map(count, below.values()))
        options = (one for one in command.params if one.param_type_name == "option")
        return sum(not one.hidden for one in options)

    return count(typer.main.get_command(create_application()))


def of_commands(entered: FilesEntered, folder: str) -> dict[str, set[str]]:
    """Return the files of the tasks on the command line."""
    output = str(Path(folder) / "ratings.csv")
    tasks = {
        "rate a file": ("rate", str(EXAMPLES / "contests.csv"), "--output", output),
        "split a lobby": ("balance", str(EXAMPLES / "lobby.csv")),
        "rate a tournament": (
            "performance",
            str(EXAMPLES / "interzonal1970.csv"),
            "--anchor",
            "2557",
        ),
    }
    return {name: entered.during(command(*words)) for name, words in tasks.items()}


def of_library(entered: FilesEntered) -> dict[str, set[str]]:
    """Return the files of calls of the library."""
    import equipoise as eq

    history = eq.read_history(EXAMPLES / "league.csv")
    system = eq.Glicko2()
    ada, ben = system.rating(), system.rating()
    pool = eq.Pool(system)
    done = eq.replay(system, history)
    match = history.match_ids.tolist()[0]
    calls: dict[str, Callable[[], object]] = {
        "system.rate": lambda: system.rate([ada, ben]),
        "Pool.rate": lambda: pool.rate(["ada", "ben"]),
        "predict": lambda: eq.predict(system, done.state, [["ada"], ["ben"]]),
        "replay": lambda: eq.replay(system, history),
        "explain": lambda: eq.explain(system, history, "ada", match),
    }
    return {name: entered.during(call) for name, call in calls.items()}


def of_service(entered: FilesEntered, folder: str) -> dict[str, set[str]]:
    """Return the files of the tasks of the service."""
    import httpx

    from equipoise.messages.upkeep import KeyRequest
    from equipoise.pools.pool.access import make_key
    from equipoise.store.connection import open_store
    from equipoise.web.application import create_application
    from equipoise.web.settings import ServiceSettings

    database = f"sqlite:///{folder}/structure.db"
    store = open_store(database)
    secret = make_key(store, KeyRequest(name="admin", role="admin"), 0).secret
    store.close()
    app = create_application(ServiceSettings(database=database, log_level="error"))
    headers = {"Authorization": f"Bearer {secret}"}
    numbers = iter(range(100))
    loop = asyncio.new_event_loop()

    async def ask(method: str, path: str, content: object = None) -> None:
        answer = await client.request(method, path, json=content, headers=headers)
        if answer.status_code != 200:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")

    def post() -> None:
        teams = [{"players": ["ana"], "rank": 1}, {"players": ["bo"], "rank": 2}]
        match = {"match": str(next(numbers)), "teams": teams}
        loop.run_until_complete(ask("POST", "/v1/pools/ladder/matches", match))

    def page() -> None:
        loop.run_until_complete(ask("GET", "/pools/ladder/players/ana"))

    async def opened() -> tuple[Any, Any]:
        life = app.router.lifespan_context(app)
        await life.__aenter__()
        transport = httpx.ASGITransport(app)
        return life, httpx.AsyncClient(transport=transport, base_url="http://service", timeout=300)

    life, client = loop.run_until_complete(opened())
    try:
        pool = {"system": "glicko2", "public": True}
        loop.run_until_complete(ask("PUT", "/v1/pools/ladder", pool))
        return {"post a match": entered.during(post), "show a player": entered.during(page)}
    finally:
        loop.run_until_complete(client.aclose())
        loop.run_until_complete(life.__aexit__(None, None, None))
        begun = asyncio.all_tasks(loop)
        for task in begun:
            task.cancel()
        if begun:
            loop.run_until_complete(asyncio.wait(begun))
        loop.close()


def main() -> None:
    """Measure and report."""
    entered = FilesEntered()
    names = modules()
    kinds: Counter[str] = Counter()
    for path in names.values():
        kinds += line_kinds(path.read_text())
    importers: dict[str, set[str]] = defaultdict(set)
    for name, targets in imports(names, for_types=True).items():
        for target in targets:
            importers[target].add(name)
    single = [name for name, path in names.items() if len(importers[name]) == 1]
    single = [name for name in single if names[name].name != "__init__.py"]
    circles = cycles(imports(names, for_types=False))
    with tempfile.TemporaryDirectory() as folder:
        tasks = {**of_commands(entered, folder), **of_library(entered)}
        tasks |= of_service(entered, folder)
    folders = Counter(path.parent for path in names.values() if path.name != "__init__.py")
    large = sum(count > 15 for count in folders.values())
    parts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in names.values():
        inside = path.relative_to(PACKAGE).parts
        part = inside[0] if len(inside) > 1 else "the package itself"
        parts[part]["files"] += 1
        parts[part]["code"] += line_kinds(path.read_text())["code"]
    counts = [
        ("source files", len(names)),
        *((f"lines: {kind}", kinds[kind]) for kind in KINDS),
        ("modules with exactly one importer", len(single)),
        ("import cycles", len(circles)),
        ("folders of more than 15 modules", large),
        ("options of all commands together", option_slots()),
    ]
    report_parts(
        os.environ.get("STRUCTURE_RESULT", "structure"),
        __doc__.strip().partition("\n")[0],
        [
            Part("The package", ("what", "number"), [(name, f"{n:,}") for name, n in counts]),
            Part(
                "Its parts",
                ("part", "files", "lines of code"),
                [
                    (name, str(one["files"]), f"{one['code']:,}")
                    for name, one in sorted(parts.items(), key=lambda part: -part[1]["code"])
                ],
            ),
            Part(
                "Source files entered by one warm run",
                ("task", "files"),
                [(name, str(len(files))) for name, files in tasks.items()],
            ),
            Part(
                "Import cycles",
                ("modules",),
                [(", ".join(group),) for group in circles],
            ),
        ],
    )


if __name__ == "__main__":
    main()
