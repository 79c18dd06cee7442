"""Feeds damaged files to readers: python tests/fuzz/run.py [--inputs 100000] [--reader pgn].

A reader may raise EquipoiseError, and nothing else. Inputs follow from the seed alone; those that
crash a reader are written beside the working directory. Exit status 1 if any did.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from equipoise.errors import EquipoiseError
from fuzz.damage import damaged
from fuzz.readers import READERS, Reader


def run(name: str, reader: Reader, inputs: int, seed: int, slow: float) -> int:
    """Feed a reader, tell what happened, and return the number of crashes."""
    rng = random.Random(f"{name} {seed}")
    ends: Counter[str] = Counter()
    slowest = (0.0, 0, b"")
    began = time.perf_counter()
    for at in range(inputs):
        data = damaged(reader.seeds, reader.pieces, rng)
        before = time.process_time()
        try:
            found = reader.read(data)
            end = "read with problems" if getattr(found, "problems", ()) else "read"
        except EquipoiseError:
            end = "refused"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            end = f"crashed with {type(error).__name__}"
            path = Path(f"crash-{name}-{at}")
            path.write_bytes(data)
            sys.stdout.write(f"{path}:\n{traceback.format_exc()}\n")
        ends[end] += 1
        slowest = max(slowest, (time.process_time() - before, len(data), data))
    seconds = time.perf_counter() - began
    told = ", ".join(f"{count:,} {end}" for end, count in sorted(ends.items()))
    sys.stdout.write(
        f"{name}: {inputs:,} inputs in {seconds:.0f} s: {told}; "
        f"the slowest took {slowest[0] * 1000:.1f} ms for {slowest[1]:,} bytes\n"
    )
    if slowest[0] > slow:
        Path(f"slow-{name}").write_bytes(slowest[2])
    return sum(count for end, count in ends.items() if end.startswith("crashed"))


def main() -> int:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--inputs", type=int, default=100_000)
    options.add_argument("--reader", choices=READERS, action="append")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--slow", type=float, default=1.0, help="seconds; slower ones are kept")
    chosen = options.parse_args()
    crashes = 0
    for name in chosen.reader or READERS:
        crashes += run(name, READERS[name], chosen.inputs, chosen.seed, chosen.slow)
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
