"""All that a package needs to add a rating system, in one place.

The guide docs/guides/own-system.md shows how; `examples/plugin` is such a package, with its test.
"""

from __future__ import annotations

from equipoise._jit import inlined_kernel as inlined_kernel
from equipoise._jit import inlined_update as inlined_update
from equipoise._jit import inner_kernel as inner_kernel
from equipoise._jit import kernel as kernel
from equipoise.arguments import check_fields as check_fields
from equipoise.arrays import Floats as Floats
from equipoise.arrays import Ints as Ints
from equipoise.data.history import History as History
from equipoise.data.outlook import Outlook as Outlook
from equipoise.errors import require as require
from equipoise.numeric.workers import Workers as Workers
from equipoise.rating.base_system import HomeSystem as HomeSystem
from equipoise.rating.base_system import Matches as Matches
from equipoise.rating.loop import move_rating as move_rating
from equipoise.rating.loop import rate_duels as rate_duels
from equipoise.rating.loop import rate_teams as rate_teams
from equipoise.rating.loop import read_columns as read_columns
from equipoise.rating.loop import read_rating_only as read_rating_only
from equipoise.rating.loop import read_rows as read_rows
from equipoise.rating.plugins.own_loop import Job as Job
from equipoise.rating.plugins.own_loop import OwnLoop as System  # noqa: F401  # its former name
from equipoise.rating.plugins.own_loop import TraceArrays as TraceArrays
from equipoise.rating.rated_system import RatedSystem as RatedSystem
from equipoise.rating.rated_system import rating_system as rating_system
from equipoise.rating.state import State as State
from equipoise.rating.state import count_match as count_match
from equipoise.rating.system import Capabilities as Capabilities
from equipoise.rating.system import Span as Span
from equipoise.rating.system import param as param
from equipoise.rating.system import positive as positive
