"""The steps of `graph_steps`, compiled: for tournaments so large that loading a compiler pays."""

from __future__ import annotations

from equipoise._jit import kernel
from equipoise.performance import graph_steps

join_players = kernel(graph_steps.join_players)
count_arcs = kernel(graph_steps.count_arcs)
place_arcs = kernel(graph_steps.place_arcs)
find_classes = kernel(graph_steps.find_classes)
find_depths = kernel(graph_steps.find_depths)
