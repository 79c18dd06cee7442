"""Figures that federations published, as public repositories quote them.

FIDE: zugzwang-foundation/Chess-ELO-Rating, tests/fixtures/fide_calculator at 477bdd9, which quotes
FIDE's calculation pages of single players and FIDE's calculator; tests/fixtures/validation at
e93afcd, which quotes a whole tournament. Opponents are known by their ratings.
DWZ and FIDE before 2014: Games-Ratings 0.0.5 of CPAN, t/, which quotes pages of the federations.
"""

from __future__ import annotations

from typing import NamedTuple


class Calculation(NamedTuple):
    """A tournament of one player: ratings of the opponents, the results, and what was published.

    results : 1 for a win, 0 for a loss and = for a draw
    change : K times the sum, or points expected, or the new rating
    """

    rating: float
    opponents: tuple[int, ...]
    results: str
    change: float
    expected: float = 0.0


#: Ratings of the players of the US Championship 2025 on FIDE's list of October, and that of
#: November where a player had no other event.
CHAMPIONSHIP = {
    2020009: (2789, 8.3, None),
    5202213: (2756, 8.4, 2764),
    2093596: (2738, -8.8, 2729),
    13300474: (2722, 3.9, None),
    2056437: (2710, -9.2, 2701),
    2040506: (2698, 2.8, 2701),
    2023970: (2664, -6.6, 2657),
    24125890: (2661, -1.3, 2660),
    2004887: (2654, -5.1, 2649),
    30920019: (2652, -9.8, 2642),
    30953499: (2590, 15.3, 2605),
    1126881: (2577, 2.1, 2579),
}

#: Its rounds: white, black and the result for white, players by their place in the list above.
ROUNDS = (
    "l-g= a-h1 f-i= e-j= b-c= k-d0",
    "i-l1 a-k= g-b0 d-e= h-c= j-f=",
    "l-j= f-d= e-a= c-g= b-i1 k-h0",
    "i-c0 a-f= d-l= h-g= j-b= k-e=",
    "l-a0 g-i= f-k0 e-h= c-j1 b-d=",
    "a-b= e-f= d-c= h-i= j-g= k-l1",
    "l-e1 i-j1 g-d= f-h1 c-a0 b-k1",
    "a-g= f-l= e-b= d-i1 h-j= k-c1",
    "l-h= i-a0 g-k= c-e1 b-f= j-d=",
    "l-b0 a-j1 f-c1 e-g1 h-d= k-i=",
    "i-e= g-f= c-l= b-h= d-a= j-k=",
)

#: FIDE's calculations of single tournaments, K times the sum of score - P; K is 10, then 20.
TOURNAMENTS_OF_10 = (
    Calculation(2813, (1787, 2025, 2310, 2400, 2505), "1111=", -2.5),
    Calculation(2395, (1995, 2205, 2325, 1995, 1995), "1=011", -6.1),
    Calculation(2400, (2000, 2000, 2121, 2800, 2084), "11101", 3.7),
    Calculation(2400, (2000, 2000, 2230, 2505, 2155), "1111=", 7.8),
    Calculation(2499, (2099, 2322, 2422, 2325, 2255), "111==", 2.1),
    Calculation(2505, (2105, 2105, 2237, 2134, 2813), "11=1=", 2.9),
    Calculation(2505, (2105, 2105, 2105, 2400, 2118), "11101", -3.1),
)
TOURNAMENT_OF_20 = Calculation(2053, (1675, 2310, 1653, 1884, 2218), "10110", -0.2)

#: Five tournaments of a month with 39 games, so that K is 17 in place of 20; 2146 was published.
MANY_GAMES = Calculation(
    2054,
    (
        *(2406, 1908, 2220, 2216, 2204, 2189, 2223, 2221),
        *(2350, 1928, 2085, 1993, 1931, 2055, 2454, 1861),
        *(2217, 1743, 1947, 2266, 2189, 2186),
        *(1654, 2283, 1822, 2251, 1884, 2215, 2210, 1872),
        *(1654, 2247, 2308, 2168, 1810, 1747, 1852, 1875, 1654),
    ),
    "0110=10=00111==1111==110101==11100011=1",
    92.48,
)

#: FIDE's calculator: own rating, opponent, score, K and change. It cuts every difference.
CALCULATOR = (
    *(
        (2000 + d, 2000, 1.0, 10, c)
        for d, c in ((0, 5.0), (3, 5.0), (4, 4.9), (10, 4.9), (11, 4.8))
    ),
    *((2000 + d, 2000, 1.0, 10, c) for d, c in ((206, 2.4), (207, 2.3), (391, 0.9), (392, 0.8))),
    *((2000, 2000 + d, 0.0, 10, c) for d, c in ((3, -5.0), (4, -4.9))),
    *((2000 - d, 2000, 0.0, 10, c) for d, c in ((344, -1.2), (345, -1.1))),
    (2600, 2100, 1.0, 10, 0.8),
    (2649, 2149, 1.0, 10, 0.8),
    (2650, 2150, 1.0, 10, 0.8),
    (2700, 2200, 1.0, 10, 0.8),
    (2200, 2700, 0.0, 20, -1.6),
    (2100, 2600, 0.0, 20, -1.6),
    (2700, 1964, 1.0, 10, 0.8),
    (2700, 1900, 0.0, 10, -9.2),
    (1500, 2000, 0.5, 20, 8.4),
    (2092, 2000, 1.0, 15, 5.55),
    (2000, 2092, 0.5, 30, 3.9),
)

#: First ratings: mean of the opponents, points, games; by the rules of 2022, which the calculator
#: has, and by those of 2024 as the repository computed them.
FIRST_RATINGS = (
    (2000, 3.0, 5, 2020, 1993),
    (2000, 2.0, 5, 1928, 1893),
    (2000, 2.5, 5, 2000, 1943),
    (2100, 5.0, 5, 2200, 2200),
    (2400, 3.0, 5, 2420, 2200),
    (1600, 1.0, 5, 1360, 1499),
    (1657, 3.0, 5, 1677, 1748),
    (1800, 4.0, 7, 1820, 1843),
)

#: A player whose first rating, 1922, FIDE published in December 2025.
FIRST = Calculation(0, (1902, 1877, 1884, 2012, 1832), "==101", 1922)

#: Official FIDE calculations of 2008 to 2010, before K changed: sum of score - P.
EARLY = (
    Calculation(
        2810,
        (2662, 2657, 2641, 2696, 2708, 2790, 2749, 2723, 2788, 2720, 2712, 2739, 2675),
        "=11===1=011==",
        0.29,
        8.21,
    ),
    Calculation(
        2723,
        (2662, 2657, 2641, 2696, 2708, 2810, 2749, 2790, 2788, 2720, 2712, 2739, 2675),
        "111=0==0===11",
        1.43,
        6.57,
    ),
    Calculation(
        2690, (2730, 2682, 2702, 2684, 2745, 2660, 2676, 2700, 2677), "01===0=1=", 0.07, 4.43
    ),
    Calculation(2235, (2120, 2121, 2118, 2026, 2328, 2231, 2197, 2190), "==100101", -0.74, 4.74),
    Calculation(
        2240, (2242, 2360, 2289, 2251, 2303, 2152, 2313, 2309, 2110), "===00===0", -1.26, 4.26
    ),
)

#: Official DWZ calculations of one player, with the new rating and the expected points; the player
#: was 20 at most in the last one, whose E is 24, and 30 in all others.
DWZ_EVENTS = (
    Calculation(2161, (2044, 2057, 1999, 2084, 2244, 2127, 2013, 2009), "=1==0011", 2151, 4.965),
    Calculation(
        2147, (2089, 2122, 2132, 2097, 2187, 2121, 2117, 2169, 2165), "==1000101", 2133, 4.674
    ),
    Calculation(
        2143, (1670, 1705, 2591, 1758, 1993, 2029, 1862, 2027, 2038), "1101=0111", 2146, 6.365
    ),
    Calculation(
        2253, (2216, 2234, 2245, 2247, 2270, 2231, 2278, 2118, 2337), "0=0=010==", 2219, 4.636
    ),
    Calculation(
        2226, (1888, 2188, 2013, 2273, 2102, 1742, 2169, 2092, 1938), "111011==1", 2239, 6.378
    ),
    Calculation(2160, (1794, 1710, 2038, 2122, 1981, 2137, 2211), "11101==", 2165, 4.763),
    Calculation(2195, (2024, 2099, 2076, 2228, 2188), "1==10", 2195, 2.987),
    Calculation(2151, (1934, 2052, 2051, 2091, 1934, 2052, 2051, 2091), "10===11=", 2145, 5.276),
    Calculation(
        2212, (2329, 2328, 2293, 2300, 2302, 2190, 2348, 2350, 2181), "10=01=11=", 2253, 3.524
    ),
    Calculation(
        2085, (1551, 1828, 2310, 2211, 2082, 1547, 2049, 2210, 2375), "11=0=11=1", 2125, 4.837
    ),
)
