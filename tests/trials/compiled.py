"""The kernels of all systems, compiled before tests of the service begin.

A new pool takes no posts until its kernels are compiled, and tests post at once.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

#: In a process of its own, as the service does: test processes need not keep the compiler's memory.
_PROGRAM = """
from equipoise.messages.pools import PoolRequest
from equipoise.rating.registry import SYSTEMS
from equipoise.pools.precompiling import precompile

for name in SYSTEMS:
    precompile(PoolRequest(system=name))
"""

_LONGEST = 900.0  # seconds, on a slow machine with nothing compiled


@lru_cache(maxsize=1)
def compile_kernels() -> None:
    """Compile what pools with the default parameters need, if it is not on disk."""
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True, timeout=_LONGEST)
