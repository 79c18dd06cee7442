"""Compiled kernels, processor cores, memory, open files and programs that commands use."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from equipoise.analysis.doctor.finding import Finding, first_line
from equipoise.wording import counted

#: Bytes that compiling needs: processes that compiled elo-mmr were measured with up to 370 MB.
_MEMORY = 500_000_000
#: Open files that `equipoise serve` sets as its limit if it may.
_DESCRIPTORS = 8_192
#: Programs that commands start: name -> what for.
PROGRAMS = {
    "pg_dump": "`equipoise db backup` of a database of PostgreSQL",
    "pg_restore": "`equipoise db restore` into a database of PostgreSQL",
}


def kernel_findings() -> Iterator[Finding]:
    """Give the cache of compiled kernels, and the systems whose kernels it has.

    Nothing is compiled. Numba must be in order.
    """
    topic = "Compiled kernels"
    try:
        from equipoise import _jit

        folder, keeps = _jit.cache_folder(), _jit.keeps_kernels()
    except Exception as error:  # noqa: BLE001   Numba may fail in any way
        yield Finding(topic, "cache", "failed", f"Numba cannot be used: {first_line(error)}")
        return
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        detail = "NUMBA_DISABLE_JIT is set: kernels run as plain Python, a hundred times slower"
        yield Finding(topic, "compiler", "warning", detail, "unset NUMBA_DISABLE_JIT")
        return
    if folder is None:
        detail = "no folder can be written: every process compiles its kernels again"
        remedy = "export NUMBA_CACHE_DIR=/var/cache/equipoise"
        yield Finding(topic, "cache", "warning", detail, remedy)
        return
    sizes = [path.stat().st_size for path in folder.rglob("*.nb?")]
    amount = f"{counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB"
    if keeps:
        yield Finding(topic, "cache", "ok", f"{folder} is writable: {amount}")
    else:
        detail = f"{folder} is read-only: {amount}; other kernels are compiled at every start"
        yield Finding(topic, "cache", "ok", detail)
    yield _systems(topic)


def _systems(topic: str) -> Finding:
    """Return which systems can rate without compiling."""
    try:
        compiled, missing = _compiled_systems()
    except Exception as error:  # noqa: BLE001   libraries may fail in any way
        return Finding(topic, "systems", "failed", f"nothing can be rated: {first_line(error)}")
    detail = f"{len(compiled)} of {len(compiled) + len(missing)} systems are compiled"
    if not missing:
        return Finding(topic, "systems", "ok", detail)
    detail += f", these are compiled at their first use: {', '.join(missing)}"
    remedy = " ".join(["equipoise doctor --compile", *(missing if compiled else ())])
    return Finding(topic, "systems", "absent", detail, remedy)


def _compiled_systems() -> tuple[list[str], list[str]]:
    """Return the systems whose kernels are on disk, and the others.

    Each rates two matches in a thread that may load kernels and not compile any.
    """
    import numpy as np

    from equipoise._jit import NotCachedError, cached_only
    from equipoise.data.history import History
    from equipoise.rating.registry import SYSTEMS, make_system
    from equipoise.rating.replay import replay

    players = np.array([0, 1, 0, 1], np.int64)
    history = History(
        match_ids=np.arange(2),
        player_ids=np.arange(2),
        offsets=np.array([0, 2, 4], np.int64),
        player=players,
        team=players,
        rank=players,
        time=np.array([0, 86_400_000_000], np.int64),
        time_kind="datetime",
    )
    compiled, missing = [], []
    for name in SYSTEMS:
        try:
            with cached_only():
                replay(make_system(name), history)
            compiled.append(name)
        except NotCachedError:
            missing.append(name)
    return compiled, missing


def machine_findings() -> Iterator[Finding]:
    """Give processor cores, memory and open files."""
    topic = "Machine"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    detail = f"{counted(cores or 1, 'thread')} by default, one for each core of this process"
    yield Finding(topic, "threads", "ok", detail)
    memory = available_memory()
    if memory is not None:
        detail = f"{memory / 1e9:.1f} GB available"
        if memory < _MEMORY:
            detail += f"; a process that compiles kernels needs {_MEMORY / 1e9:g} GB"
            yield Finding(topic, "memory", "warning", detail)
        else:
            yield Finding(topic, "memory", "ok", detail)
    yield from _descriptors(topic)


def available_memory() -> int | None:
    """Return the bytes that a new process may use, None where the system does not say."""
    amounts = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        amounts += [int(one.split()[1]) * 1024 for one in lines if one.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return None
    # The limit of a container, in the second and in the first version of control groups.
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        folder = Path("/sys/fs/cgroup")
        try:
            amounts.append(
                int((folder / limit).read_text()) - int((folder / used).read_text()),
            )
        except (OSError, ValueError):
            continue
    return max(0, min(amounts)) if amounts else None


def _descriptors(topic: str) -> Iterator[Finding]:
    """Give the number of open files, where the system has a limit. The service raises its own."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= _DESCRIPTORS:
        most = "any number" if hard == resource.RLIM_INFINITY else f"{hard:,}"
        yield Finding(topic, "open files", "ok", f"{soft:,}, may be raised to {most}")
        return
    detail = f"{hard:,} at most: `equipoise serve` accepts fewer than 4,096 connections"
    yield Finding(topic, "open files", "warning", detail, f"ulimit -n {_DESCRIPTORS}")


def program_findings() -> Iterator[Finding]:
    """Give the programs that some commands start."""
    for name, purpose in PROGRAMS.items():
        place = shutil.which(name)
        if place is not None:
            yield Finding("Programs", name, "ok", f"{purpose}: {place}")
        else:
            remedy = "apt-get install postgresql-client" if shutil.which("apt-get") else ""
            yield Finding("Programs", name, "absent", f"{purpose}: not in PATH", remedy)
