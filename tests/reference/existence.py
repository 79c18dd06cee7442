"""Existence of a performance rating equilibrium, as [PRE]_ states it, slowly and obviously.

A tournament here is a list of (i, j, games, points of i); nothing is imported from the program.
"""

from __future__ import annotations

from itertools import combinations


def took_points(games):
    """Return the set of (i, j) such that i took points off j."""
    taken = {(i, j) for i, j, _, points in games if points > 0}
    return taken | {(j, i) for i, j, count, points in games if points < count}


def reachable(start, arcs):
    """Return everything that a path leads to from `start`, itself included."""
    seen, edge = {start}, [start]
    while edge:
        here = edge.pop()
        for i, j in arcs:
            if i == here and j not in seen:
                seen.add(j)
                edge.append(j)
    return seen


def joined(games, anchors=()):
    """Return the games with all anchors who played called by the first of them, and who that is.

    Games among anchors become games of one player with himself, which say only that he played.
    """
    played = {i for game in games for i in game[:2]} & set(anchors)
    node = dict.fromkeys(played, min(played, default=None))
    return [(node.get(i, i), node.get(j, j), *rest) for i, j, *rest in games], node


def components(players, games):
    """Return the sets of players who are connected by games; none for those without games."""
    met = {(i, j) for i, j, *_ in games} | {(j, i) for i, j, *_ in games}
    played = sorted({i for i, _ in met} & set(range(players)))
    return [reachable(i, met) for i in played if i == min(reachable(i, met))]


def dominated_cuts(component, games):
    """Return the subsets S of a component which took every point from the rest: Assumption 2.

    Those swept by the rest are the complements of such subsets.
    """
    cuts = []
    for size in range(1, len(component)):
        for chosen in combinations(sorted(component), size):
            inside = set(chosen)
            weight = of_inside = 0.0
            for i, j, count, points in games:
                if i in component and (i in inside) != (j in inside):
                    weight += count
                    of_inside += points if i in inside else count - points
            if weight > 0 and of_inside == weight:
                cuts.append(inside)
    return cuts


def exists(players, games):
    """Return whether non-dominance holds within each component: Theorem 1."""
    return not any(dominated_cuts(one, games) for one in components(players, games))


def classes(players, games):
    """Return the strongly connected classes, each a set, by component, then depth, then player."""
    arcs = took_points(games)
    played = sorted({i for game in games for i in game[:2]})
    leads = {i: reachable(i, arcs) for i in played}
    found = [{j for j in leads[i] if i in leads[j]} for i in played]
    found = [one for i, one in zip(played, found, strict=True) if i == min(one)]

    def depth(one):
        return max((depth(up) + 1 for up in found if up != one and beats(up, one)), default=0)

    def beats(up, one):
        return any((i, j) in arcs for i in up for j in one)

    place = {i: k for k, part in enumerate(components(players, games)) for i in part}
    return sorted(found, key=lambda one: (place[min(one)], depth(one), min(one)))


def sweeps(players, games):
    """Return {(number of the upper class, of the lower): games} of all classes that met."""
    numbered = classes(players, games)
    number = {i: k for k, one in enumerate(numbered) for i in one}
    found: dict[tuple[int, int], float] = {}
    for i, j, count, points in games:
        if number[i] != number[j]:
            key = (number[i], number[j]) if points else (number[j], number[i])
            found[key] = found.get(key, 0.0) + count
    return found
