"""equipoise compile: the kernels of rating systems, compiled ahead of use."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from equipoise.cli import completion, options
from equipoise.cli.declaring import argument
from equipoise.cli.report import compiling, print_json, print_lines, say
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.histories import CompiledMessage, CompileMessage

EXAMPLE = """\b
Example:
  equipoise compile elo-mmr glicko2"""


def compile_(
    *,
    systems: list[str] | None = argument(
        "Rating systems. [default: all that are built in]",
        "SYSTEM ...",
        default=None,
        autocompletion=completion.systems,
    ),
    as_json: options.Json,
) -> None:
    """Compile the kernels of rating systems, so that no later command waits for them.

    This is for images and servers. It compiles what the commands and the service need for a system
    with its default parameters, and keeps it in the folder of compiled kernels (NUMBA_CACHE_DIR
    moves it). Kernels that are already there are not compiled again.
    """
    from equipoise.analysis.files.compiling import kernel_folder
    from equipoise.messages.histories import CompileMessage
    from equipoise.rating.registry import SYSTEMS, check_name

    for name in systems or ():
        check_name(name)
    folder = kernel_folder()
    chosen = list(dict.fromkeys(systems or SYSTEMS))
    start = time.perf_counter()
    done = [_compiled(name) for name in chosen]
    seconds = time.perf_counter() - start
    answer = CompileMessage(str(folder), _has_service(), done, seconds)
    if as_json:
        print_json(answer)
    else:
        _print(answer)


def _has_service() -> bool:
    """Return whether the libraries of the service's database are installed."""
    return all(find_spec(name) is not None for name in ("sqlalchemy", "alembic"))


def _compiled(system: str) -> CompiledMessage:
    """Compile the kernels of a system in this process. Raises : EquipoiseError."""
    from equipoise.analysis.files.compiling import compile_for_commands
    from equipoise.messages.histories import CompiledMessage

    start = time.perf_counter()
    with compiling() as compilation:
        compile_for_commands(system)
        if _has_service():
            from equipoise.messages.pools import PoolRequest
            from equipoise.pools.precompiling import precompile

            precompile(PoolRequest(system=system))
    return CompiledMessage(system, compilation.kernels, time.perf_counter() - start)


def _print(answer: CompileMessage) -> None:
    """Print what was compiled for each system, and where it is."""
    for one in answer.systems:
        what = f"compiled {counted(one.kernels, 'kernel')}" if one.kernels else "nothing to compile"
        print_lines(f"{one.system}: {what}, {one.seconds:.1f} s")
    kernels = sum(one.kernels for one in answer.systems)
    what = f"Compiled {counted(kernels, 'kernel')}" if kernels else "Nothing to compile"
    print_lines(f"{what}; {answer.seconds:.1f} s. Folder: {answer.folder}")
    if not answer.service:
        say("The libraries of the service are not installed, so its kernels were left out.")
