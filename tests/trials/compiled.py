"""The kernels of all systems, compiled before tests begin, in processes of their own.

A new pool takes no posts until its kernels are compiled, and tests post at once. And a process that
compiles keeps the memory of the compiler, a hundred megabytes for a system; a process that loads
what is compiled needs one for all of them. The Makefile runs this before the tests:

    python tests/trials/compiled.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import version

#: In a process of its own, as the service does. Arguments: systems.
_PROGRAM = """
import sys
from equipoise.messages.pools import PoolRequest
from equipoise.pools.precompiling import precompile

for name in sys.argv[1:]:
    precompile(PoolRequest(system=name))
"""

_LONGEST = 900.0  # seconds, on a slow machine with nothing compiled


@lru_cache(maxsize=1)
def compile_kernels(processes: int = 1) -> None:
    """Compile what pools with the default parameters need, if it is not on disk.

    A file beside the compiled code says for which sources it is all there: loading it to find out
    takes each process of tests seconds.
    """
    from equipoise._jit import _config, cache_folder, compiles_kernels, keeps_kernels
    from equipoise.pools.pool.pools import code_version
    from equipoise.rating.registry import SYSTEMS

    names = list(SYSTEMS)
    folder = cache_folder()
    kinds = f"numba {version('numba')}", code_version(names[0]), str(bool(_config.BOUNDSCHECK))
    versions = " ".join([*kinds, *names])
    done = None if folder is None else folder / ".compiled-for-tests"
    if done is not None and done.exists() and done.read_text() == versions:
        return
    started = [
        subprocess.Popen([sys.executable, "-c", _PROGRAM, *names[number::processes]])
        for number in range(processes)
    ]
    failed = [process.args for process in started if process.wait(_LONGEST)]
    if failed:
        raise RuntimeError(f"the kernels could not be compiled by {failed[0]}")
    if done is not None and compiles_kernels() and keeps_kernels():
        done.write_text(versions)


if __name__ == "__main__":
    compile_kernels(os.cpu_count() or 1)
