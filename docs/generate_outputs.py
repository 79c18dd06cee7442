"""Run the commands that guides show, and write what they print, or compare it (--check).

Run: python docs/generate_outputs.py [--check] [PAGE ...]

A block `output` shows a part of what the last command of the block `console` right before it
prints, errors included: from the line that begins as its first one to the line that begins as its
last one. A line `...` stands for lines left out. A comment before a block says more:

    <!-- the command before -->   another part of the last output
    <!-- $ COMMAND -->            commands that the page does not show run first
    <!-- not run: REASON -->      needs what is not here, or takes too long

Commands run if an output follows, or if they name a file of `examples`; then they must succeed.
Those of a page run one after another in a folder of their own. A time is no difference: a number
before `s` or `ms`, and the column `seconds`. Nor is the size of a rounding error (6e-12).
"""

from __future__ import annotations

import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from equipoise.cli import run
from equipoise.wording import counted

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!--\s(?P<note>(?:\$|the command before|not run:).*?)\s-->\n)?"
    r"```(?P<kind>console|output)\n(?P<text>.*?)^```\n",
    re.MULTILINE | re.DOTALL,
)
#: What differs from run to run.
VARYING = re.compile(r"\b\d+(\.\d+)? m?s\b|\b\de-\d\d\b")
SECONDS = re.compile(r" *\d+\.\d\d$")
#: Only a first run on a machine says this.
COMPILED = re.compile(r"^(Compil|compil)\w* .*\n", re.MULTILINE)
#: The least width at which no table of a guide is cut.
WIDTH = "200"


class Page(NamedTuple):
    """A page as it should be.

    changes : a difference for each output that differs; not_run : the reasons that the page gives
    """

    text: str
    changes: list[str]
    not_run: list[str]


def checked(path: Path) -> Page:
    """Return a page with the outputs of its commands, which run in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("examples").symlink_to(ROOT / "examples")
        return updated(path.read_text(encoding="utf-8"))


def updated(text: str) -> Page:
    """Return a page with the outputs of its commands, which run in this folder."""
    changes: list[str] = []
    not_run: list[str] = []
    last: str | None = ""  # None if it is not to run
    printed = ""

    def block_now(block: re.Match[str]) -> str:
        """Run the commands of a block, or return it with what the last command printed."""
        nonlocal last, printed
        note, shown, is_output = block["note"] or "", block["text"], block["kind"] == "output"
        if note.startswith("not run: "):
            not_run.append(note)
            last = last if is_output else None
            return block[0]
        last = last if is_output else ""
        hidden = commands(note) if note.startswith("$ ") else []
        lines = hidden if is_output else [*hidden, *commands(shown)]
        answered = is_output or text.startswith("```output\n", block.end() + 1)
        for line in lines:
            if answered or line in hidden or _names_a_file(line):
                last, (status, printed) = line, _run(line)
                if status and not (answered and line == lines[-1]):
                    raise ValueError(f"$ {line}\nfailed:\n{printed}")
        if not is_output or last is None:
            return block[0]
        if not last or not (note or text.endswith("```\n\n", 0, block.start())):
            raise ValueError(f"no command right before the output\n{shown}")
        now = fitted(shown, printed)
        if now != shown:
            changes.append(difference(last, shown, now))
        return block[0].replace(shown, now)

    return Page(BLOCK.sub(block_now, text), changes, not_run)


def commands(shown: str) -> list[str]:
    """Return the commands of a block, each with the lines that continue it."""
    if re.search(r"^(?![$>] |$)", joined := shown.strip().replace("\\\n", " "), re.MULTILINE):
        raise ValueError(f"only commands may stand in a block `console`, after `$ `:\n{shown}")
    return re.split(r"\n?^\$ ", joined.replace("\n> ", "\n"), flags=re.MULTILINE)[1:]


def _names_a_file(line: str) -> bool:
    """Return whether a command of Equipoise has a file of this folder as an argument."""
    return line.startswith("equipoise ") and any(Path(one).exists() for one in shlex.split(line))


def _run(line: str) -> tuple[int, str]:
    """Run a command and return its exit status and what it printed."""
    if line.startswith("equipoise ") and not re.search(r"[|<>&$*\n]", line):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with redirect_stdout(stream), redirect_stderr(stream):
            status = run(shlex.split(line)[1:])
        stream.seek(0)
        printed = stream.read()
    else:
        shell = ["bash", "-o", "pipefail", "-c", line]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(shell, **pipes, text=True, check=False)
        status, printed = done.returncode, done.stdout
    return status, COMPILED.sub("", printed)


def fitted(shown: str, printed: str) -> str:
    """Return the parts of an output that a page shows, as the command prints them now."""
    lines = [line.rstrip() for line in printed.splitlines()]
    found: list[str] = []
    place = 0
    for number, chunk in enumerate(re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)):
        wanted = chunk.strip("\n").splitlines()
        found += ["..."] if number else []
        if wanted:
            start = _place_of(wanted[0], lines, place)
            place = _place_of(wanted[-1], lines, start) + 1
            found += lines[start:place]
    before = shown.splitlines()
    old = dict(zip(_steady(before), before, strict=True))
    now = zip(_steady(found), found, strict=True)
    return "".join(f"{old.get(key, line)}\n" for key, line in now)


def _steady(lines: list[str]) -> Iterator[str]:
    """Yield lines without what differs from run to run, nor the widths of columns that do."""
    wide = r" +" if any(VARYING.search(line) for line in lines) else r"$^"
    timed = False
    for line in lines:
        timed = line.endswith("  seconds") or (timed and bool(line))
        yield re.sub(wide, " ", VARYING.sub("", SECONDS.sub("", line) if timed else line))


def _place_of(line: str, lines: list[str], start: int) -> int:
    """Return where a line is that has the same beginning as this one, as far as can be.

    Raises : ValueError if there is none
    """
    words = line.split()
    for count in range(len(words), 0, -1):
        for place in range(start, len(lines)):
            if lines[place].split()[:count] == words[:count]:
                return place
    raise ValueError(f"no line of the output begins as {line!r}:\n" + "\n".join(lines))


def difference(command: str, shown: str, printed: str) -> str:
    """Return the lines of an output that differ, below its command."""
    lines = difflib.unified_diff(
        shown.splitlines(), printed.splitlines(), "the page", "the command", lineterm="", n=1
    )
    return "\n".join([f"$ {command}", *lines])


def main(words: list[str]) -> int:
    """Write or check the pages that are named, or all guides; return 1 if one is to change."""
    os.environ.update(
        COLUMNS=WIDTH, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    check = "--check" in words
    folders = (ROOT / "docs" / "guides", ROOT / "docs" / "tutorial")
    paths = [Path(word).resolve() for word in words if word != "--check"]
    paths = paths or sorted(page for folder in folders for page in folder.glob("*.md"))
    failed, not_run = False, 0
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for path, future in [(path, processes.submit(checked, path)) for path in paths]:
            name = path.relative_to(ROOT)
            try:
                page = future.result()
            except ValueError as error:
                print(f"{name}: {error}")
                failed = True
                continue
            not_run += len(page.not_run)
            for change in page.changes:
                print(f"{name}: {change}\n")
            if page.changes and not check:
                path.write_text(page.text, encoding="utf-8")
            failed |= bool(page.changes)
    if not_run:
        print(f"not compared, for a reason in the source of the page: {counted(not_run, 'block')}")
    if failed:
        print("outputs differ: run `make outputs`, look at the difference and commit it")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
