"""Makes the process from which calculation processes are copied end at once.

Only that process imports this module. It has loaded all our modules, and their orderly end takes
longer than that of all other processes of the service, which wait for it. There is nothing to
save: it has no database, no connections and no threads.
"""

from __future__ import annotations

import atexit
import os

atexit.register(os._exit, 0)
