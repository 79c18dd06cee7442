"""The readers that are fed damaged files. Add one: what it reads, whole files, pieces that hurt."""
# Fixed columns are easier to check in one piece.
# ruff: noqa: E501

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise.formats.crosstable import read_cross_table
from equipoise.formats.delimited import read_delimited
from equipoise.formats.games import scan_games
from equipoise.formats.histories import scan_history
from equipoise.formats.pgn import read_pgn
from equipoise.formats.players import read_initial_ratings, read_rating_list
from equipoise.formats.table import Content
from equipoise.formats.trf import read_trf
from formats.contest_documents import CHANGES, DMOJ, FIRST, STANDINGS

PGN = (
    b"""[Event "A cup"]
[Site "Oslo"]
[Date "2024.05.04"]
[Round "1.1"]
[White "Carlsen, Magnus"]
[Black "M\xc3\xbcller \\"Bob\\""]
[Result "1-0"]
[WhiteElo "2830"]
[BlackElo "?"]
[WhiteFideId "1503014"]

1. e4 {[%clk 0:01:00] good} e5 (1... c5 2. Nf3 (2. c3 *) d6) 2. Nf3! $1 Nc6 ; a [comment]
% escaped [White "x"]
3. Bb5 a6 1-0

[Event "A cup"]
[White "Anand, V"]
[Black "Carlsen, Magnus"]
[Result "1/2-1/2"]
[Termination "Normal"]

1. d4 d5 1/2-1/2

[Event "A cup"]
[White "Anand, V"]
[Black "bye"]
[Result "1-0"]

1-0
""",
    b'[White "a"]\r\n[Black "b"]\r\n[Result "0-1"]\r\n\r\n[White "b"]\r\n[Black "c"]\r\n'
    b'[Result "1/2-1/2"]\r\n\r\n',
    '[White "Hübner"][Black "b"][Result "*"] 1. e4 * [White "c"] [Black "d"] [Result "½-½"]'
    " 1. e4 {x} ½-½".encode("latin-1"),
)
PGN_PIECES = (
    b'[ ] { } ( ) ; % \n% \\ " \\" * 1-0 0-1 1/2-1/2 \xbd-\xbd ? - 0 \n\n \r \r\n \t \0 \xff '
    b"\xef\xbb\xbf \xff\xfe 1. e4 $1 O-O 0-0 1-0F +/- bye 99999999999999999999 2500 "
    b"\xf0\x9f\x98\x80 "
    b'[Event [White" [White_" "] "]\n [Result_"1-0"] [White_"x"] {[%eval_0.1]} [_ {{{{ ]]]] "" \\\\'
)


TRF = (
    b"""012 A cup
001    1      Test, One                        2720                             1.5    1     2 w 1     3 b =
001    2      Test, Two                        2701                             0.0    3     1 b 0     0000 - U
001    3      Test, Three                         0                             1.5    2     0000 - H     1 w =
XXR 2
""",
    b"012 T\r001    1      A                                                                  1.0    1     2 w +\r"
    b"001    2      B                                                                  0.0    2     1 b -\r",
    "001    1 m GM Müller                           2500 GER     12345678             1.0    1     2 w D\r\n"
    "001    2      B                                1800                             1.0    1     1 b D\r\n".encode(),
)
TRF_PIECES = (
    b"001_ 012_ 013_ XXR_ \n \r \r\n \t \0 \xff 0000_-_H 1_w_1 2_b_0 2_b_= 3_w_+ 9999_w_1 _w_ _b_ "
    b"-_- 0 1 = + - H F U Z W D L 2500 99999 -5 \xef\xbb\xbf \xc3\xbc __________ A B ,"
)

CROSS = (
    b"player,rating,A,B,C,points\nA,2000,,1,0.5,1.5\nB,1900,0,,1,1\nC,,0.5,0,,0.5\n",
    "player,1,2,3\nA,*,½1,=\nB,½0,*,1 0\nC,=,0 1,*\n".encode(),
    b"no,name,1,2\n1,A,X,2.5/4\n2,B,1.5/4,X\n",
)
CROSS_PIECES = (
    b'player name rating A B C 1 2 3 , \n \r\n " "" 0 1 = 0.5 1/2 \xc2\xbd 2.5/4 * X - + 99 -1 1e308 '
    b"nan \0 \xff \xef\xbb\xbf ,,,, points /// 1_0_1"
)

LISTS = (
    b"white,black,result,white_elo,black_elo,weight,round\nann,bob,1-0,2000,0,1,1\n"
    b"bob,cyd,1/2-1/2,-,1800,2,1\ncyd,ann,*,,,1,2\n",
    b'white,black,points\n"a, b",c,1\nc,"a, b",0.5\n',
    b"player,opponent,points,games\na,b,3.5,6\nb,c,1,2\n",
    b"match,player,rank,time\n1,a,0,2020-01-01\n1,b,1,2020-01-01\n2,b,0,2020-01-02\n2,c,0,2020-01-02\n",
)
LISTS_PIECES = (
    b'white black result points player opponent games weight round , \n \r\n " "" 1-0 0-1 1/2-1/2 '
    b"* +/- 0-0 1 0 0.5 -1 1e308 nan inf ann bob \0 \xff \xef\xbb\xbf ,,,, 99999999999999999999 0x1 ;"
)

LINES = (
    b'{"match": 1, "player": "a", "rank": 0}\n{"match": 1, "player": "b", "rank": 1, "x": 1.5}\n',
    b'{"white": "a", "black": "b", "result": "1-0"}\n{"white": "b", "black": "a", "result": "*"}\n',
)
CODEFORCES = (CHANGES, STANDINGS)
HISTORY_PIECES = (
    b'x , " _ \n \r \0 \xff -1 1e400 nan null [ {} true 1700000000000 99999999999999999999 "\\ud800" '
    b"[[[[[[[[ : ] } match player rank 2020-01-01"
)

KNOWN = (
    b"player,rating,deviation\nann,1800,60\nbob,1650.5,\n",
    b'\xef\xbb\xbfrating,player,matches,last_time\r\n1500,7,3,2024-01-01\r\n-20,"a, b",0,\r\n',
    b"player,rating\n1,1500\n2,1600\n",
)
KNOWN_PIECES = (
    b'player rating deviation matches , \n \r\n " "" 0 1500 -1 0.5 1e308 1e-9 nan inf - null ann bob '
    b"\0 \xff \xef\xbb\xbf ,,,, 99999999999999999999 0x1 ; '=1 \xc2\xbd \xe2\x88\x921500 1_500 ann_"
)
KNOWN_JSON = (
    b'[{"player": "ann", "rating": 1800, "deviation": 60}, {"player": "bob", "rating": 1650.5}]',
    b'{"players": [{"player": 7, "rating": 1500, "deviation": null}, {"player": 8, "rating": -3}]}',
)
KNOWN_JSON_PIECES = (
    b'{ } [ ] , : " null true "player" "rating" "deviation" "players": 1500 -1 1e308 1e400 NaN Infinity '
    b'"ann" 7 [] {} \\u0000 \\ud800 \0 \xff [[[[ 99999999999999999999'
)


@dataclass(frozen=True)
class Reader:
    """read : bytes -> anything; it may raise EquipoiseError and nothing else."""

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]
    pieces: Sequence[bytes]


def pieces_of(text: bytes) -> list[bytes]:
    """Return pieces written with spaces between them and "_" for a space within."""
    return [piece.replace(b"_", b" ") for piece in text.split(b" ") if piece] + [b" "]


def history_reader(format: str, *seeds: bytes) -> Reader:
    """Return the reader of histories of a format."""
    pieces = pieces_of(HISTORY_PIECES)
    return Reader(
        lambda data: scan_history(io.BytesIO(data), format=format, skip_bad="rows"), seeds, pieces
    )


def games_reader(format: str, *seeds: bytes) -> Reader:
    """Return the reader of games of a format."""
    return Reader(
        lambda data: scan_games(io.BytesIO(data), format=format), seeds, pieces_of(LISTS_PIECES)
    )


READERS: dict[str, Reader] = {
    "history": history_reader("csv", *LISTS),
    "history-gz": history_reader("csv.gz", *map(gzip.compress, LISTS)),
    "history-jsonl": history_reader("jsonl", *LINES),
    "contests": history_reader("contests", json.dumps(FIRST).encode()),
    "codeforces": history_reader("json", *(json.dumps(one).encode() for one in CODEFORCES)),
    "dmoj": history_reader("dmoj", json.dumps(DMOJ).encode()),
    "games-jsonl": games_reader("jsonl", *LINES),
    "games-pairs": games_reader("pairs", *LISTS),
    "games-crosstable": games_reader("crosstable", *CROSS),
    "games-pgn": games_reader("pgn", *PGN),
    "cross-table": Reader(
        lambda data: read_cross_table(read_delimited(data, "fuzz.csv", ",")),
        CROSS,
        pieces_of(CROSS_PIECES),
    ),
    "games": games_reader("csv", *LISTS),
    "initial-ratings": Reader(
        lambda data: read_initial_ratings(io.BytesIO(data), format="csv"),
        KNOWN,
        pieces_of(KNOWN_PIECES),
    ),
    "initial-ratings-json": Reader(
        lambda data: read_initial_ratings(io.BytesIO(data), format="json"),
        KNOWN_JSON,
        pieces_of(KNOWN_JSON_PIECES),
    ),
    "rating-list": Reader(
        lambda data: read_rating_list(
            io.BytesIO(data), format="csv", columns={}, synonyms={}, what="fuzz", matches=True
        ),
        KNOWN,
        pieces_of(KNOWN_PIECES),
    ),
    "trf": Reader(lambda data: read_trf(data, "fuzz.trf"), TRF, pieces_of(TRF_PIECES)),
    "pgn": Reader(
        lambda data: read_pgn([Content("fuzz.pgn", "pgn", data)]), PGN, pieces_of(PGN_PIECES)
    ),
}
