"""Run the commands that guides show, and write what they print below them.

Run: python docs/generate_outputs.py [PAGE ...]
A block `text` after a block `console` shows a part of what its last command prints (to standard
output, then to standard error): from the line that begins as its first one to the line that
begins as its last one. A line `...` stands for lines left out. A block after `<!-- the command
before -->` shows another part. The commands of a page run one after another in one folder, where
`examples` is. Seconds are kept as the page has them.

Exit status 1 says that a page has changed: look at the difference and commit it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: A block of commands, and one of what they print.
BLOCK = re.compile(
    r"^```console\n(?P<commands>.*?)^```\n"
    r"|(?P<more><!-- the command before -->\n\n?)?^```text\n(?P<output>.*?)^```\n",
    re.MULTILINE | re.DOTALL,
)
#: What differs from run to run.
SECONDS = re.compile(r"\d+(\.\d+)? m?s\b|(?<= )\d+\.\d\d$")
#: The least width at which no table of a guide is cut.
WIDTH = "200"


def updated(text: str, folder: Path) -> str:
    """Return a page with the outputs of its commands, which run in this folder."""
    done: subprocess.CompletedProcess[str] | None = None
    parts, end = [], 0
    for block in BLOCK.finditer(text):
        between = text[end : block.start()]
        parts.append(between)
        if block["commands"] is not None:
            shown = block["commands"]
            done = _run(shown, folder) if runs(shown) else None
            parts.append(block[0])
        else:
            output, whole = block["output"], block[0]
            if done is not None and (block["more"] or not between.strip()):
                whole = whole.replace(output, _fitted(output, done.stdout + "\n" + done.stderr))
            parts.append(whole)
        end = block.end()
    return "".join([*parts, text[end:]])


def runs(shown: str) -> bool:
    """Return whether commands need nothing but the package and its examples."""
    lines = shown.replace("\\\n", " ").splitlines()
    return all(line.startswith("$ equipoise ") for line in lines if line) and "examples/" in shown


def _run(shown: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands and return what the last of them printed."""
    variables = {**os.environ, "COLUMNS": WIDTH, "PATH": _path()}
    done = None
    for line in shown.replace("\\\n", " ").splitlines():
        if line:
            command = line.removeprefix("$ ")
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
    assert done is not None
    return done


def _path() -> str:
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _fitted(shown: str, printed: str) -> str:
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
    old = {SECONDS.sub("", line): line for line in shown.splitlines()}
    return "".join(f"{old.get(SECONDS.sub('', line), line)}\n" for line in found)


def _place_of(line: str, lines: list[str], start: int) -> int:
    """Return where a line is that has the same beginning as this one, as far as can be.

    Raises : ValueError if there is none
    """
    words = line.split()
    for count in range(len(words), 0, -1):
        for place in range(start, len(lines)):
            if lines[place].split()[:count] == words[:count]:
                return place
    raise ValueError(f"no line of the output begins as {line!r}")


def main(names: list[str]) -> int:
    """Write the pages that have changed; return the exit status."""
    folders = (ROOT / "docs" / "guides", ROOT / "docs" / "tutorial")
    pages = [Path(name) for name in names] or sorted(
        page for folder in folders for page in folder.glob("*.md")
    )
    changed = []
    for page in pages:
        before = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "examples").symlink_to(ROOT / "examples")
            try:
                after = updated(before, Path(folder))
            except ValueError as error:
                sys.exit(f"{page.name}: {error}")
        if after != before:
            page.write_text(after, encoding="utf-8")
            changed.append(page.name)
    if changed:
        print(f"changed: {', '.join(changed)}; look at the difference and commit it")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
