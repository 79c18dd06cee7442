"""Trial: the machine of the primary vanishes while a commit waits, and closes no connection.

It runs in a network of its own, in which all packets of the primary are dropped:

    unshare --net python tests/trials/vanished.py
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from equipoise.errors import EquipoiseError
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import create_key, list_keys
from trials.standby import standby_pair


def vanished_trial() -> dict[str, Any]:
    """Return what the waiting commit was answered, after how long, and what the standby has."""
    with standby_pair() as pair:
        pair.primary.query("CREATE DATABASE trial")
        store = open_store(pair.address("trial"))
        pair.standby.signal(signal.SIGSTOP)
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(_create_key, store, "before")
            pair.wait_for_commit()
            for side in ("--dport", "--sport"):
                rule = ["-A", "INPUT", "-p", "tcp", side, str(pair.primary.port), "-j", "DROP"]
                subprocess.run(["iptables", *rule], check=True)
            gone = time.perf_counter()
            pair.standby.signal(signal.SIGCONT)
            answer = done.result(120)
            seconds = time.perf_counter() - gone
        pair.standby.promote()
        promoted = time.perf_counter()
        after = _create_key(store, "after")
        again = time.perf_counter() - promoted
        keys = sorted(key.name for key in list_keys(store))
        store.close()
    return {"answer": answer, "seconds": seconds, "after": after, "again": again, "keys": keys}


def _create_key(store: Store, name: str) -> str:
    """Write something, and return "confirmed" or the code of the error."""
    try:
        create_key(store, name, "admin", None, None, 0)
    except EquipoiseError as error:
        return error.code
    return "confirmed"


if __name__ == "__main__":
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    sys.stdout.write(json.dumps(vanished_trial()) + "\n")
