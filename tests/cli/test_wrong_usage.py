"""Wrong usage of every command: exit status and message, and nothing is written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cli.command_line import Cli
from equipoise.cli import run

EXAMPLES = Path(__file__).parents[2] / "examples"

#: A command -> options that are wrong, the exit status and a part of the message.
WRONG = {
    "rate examples/contests.csv": [
        ("--set rho", 2, "--set takes NAME=VALUE; got 'rho'"),
        ("--set rho=1 --set rho=2", 2, "names 'rho' twice"),
        ("--system glicko2", 1, "glicko2 cannot rate matches of"),
        ("--skip-bad=some", 2, "--skip-bad takes no value or =rows"),
        ("--state nowhere.npz", 1, "no saved state at nowhere.npz"),
        ("--restart", 2, "--restart needs --state"),
        ("--output ratings.xlsx", 2, ".parquet"),
        ("--trace trace.doc --output never.csv", 2, ".parquet"),
        ("--synonyms s.csv --output s.csv", 2, "--synonyms and --output name the same file"),
        ("--output r.csv --save state.pickle", 2, "--save must be a file that ends in"),
        ("--output r.csv --save nowhere/state.npz", 2, "directory of an output"),
    ],
    "balance": [
        ("", 2, "give either a LOBBY, or --ratings with --players"),
        ("--state s.npz --ratings examples/lobby.csv --players a,b", 2, "give either a LOBBY"),
        ("--ratings examples/lobby.csv --players a,b --at 2024-01-01", 2, "--at needs --state"),
        ("--state nowhere.npz", 2, "needs the ratings"),
        ("--state nowhere.npz --players a,b", 1, "no saved state at nowhere.npz"),
        ("examples/lobby.csv --players a,b", 2, "give either a LOBBY"),
        ("--ratings examples/lobby.csv", 2, "needs the ratings"),
        ("--ratings examples/lobby.csv --players a,,b", 2, "--players takes ids separated by"),
        ("--ratings examples/lobby.csv --players iris-mole,iris-mole", 1, "must be named once"),
        ("examples/lobby.csv --teams 2 --size 5", 2, "size cannot be combined with teams"),
        ("examples/lobby.csv --size 10", 2, "size must leave two teams or more"),
        ("examples/lobby.csv --teams 11", 2, "teams must be at most 10"),
        ("examples/lobby.csv --uncertainty-weight -1", 2, "uncertainty-weight"),
        ("examples/lobby.csv --teams 3 --objective sum", 2, "do not make 3 equal teams"),
        ("examples/lobby.csv --output teams.doc", 2, ".parquet"),
        ("nowhere.csv", 1, "nowhere.csv"),
        ("- --format word", 2, "format must be one of csv"),
    ],
    "balance examples/lobby.csv": [
        ("--party amber-fox", 1, "--party, player: must name at least two players; got 'am"),
        ("--party amber-fox,nobody", 1, "must be a player of the lobby (10 players); got 'n"),
        ("--party amber-fox,amber-fox", 1, "--party, player: must be named once; got 'amber"),
        ("--party amber-fox,basil-owl", 1, "one party only, and is in 'blue-moon'; got 'basi"),
        ("--party dune-lynx,grove-wren", 1, "--party, player grove-wren: must not name a"),
        ("--avoid basil-owl,ember-jay", 1, "--avoid, player basil-owl: must not name a p"),
        ("--avoid amber-fox,nobody", 1, "--avoid, player: must be a player of the lobby"),
        ("--newcomer kite", 2, "--newcomer kite needs --default-rating"),
        ("--newcomer kite --default-rating 9", 2, "kite needs --default-deviation"),
        ("--newcomer a --newcomer a --default-rating 9 --default-deviation 9", 1, "named once"),
        ("--default-rating 9", 2, "--default-rating needs --newcomer"),
        ("--default-deviation -1", 2, "--default-deviation must be a number from 0"),
        ("--newcomer jade-newt --default-rating 9 --default-deviation 9", 1, "have a rating al"),
    ],
    "rebalance": [
        ("", 2, "REQUEST"),
        ("examples/rebalance.json --method magic", 2, "magic"),
        ("examples/rebalance.json --compare --all", 2, "--compare cannot be combined with"),
        ("examples/rebalance.json --max-sequences 0", 2, "max-sequences"),
        ("examples/rebalance.json --output teams.doc", 2, ".parquet"),
        ("nowhere.json", 1, "nowhere.json: must be a readable file"),
    ],
    "rebalance examples/rebalance.json": [
        ("--default-rating 1500", 2, "--default-rating needs --ratings"),
        ("--attribute mmr=rating", 2, "--attribute needs --ratings"),
        ("--ratings r.csv --attribute mmr=elo", 2, "must name one of rating, effective"),
        ("--ratings p.npz --default-rating 1", 2, "cannot be combined with a saved state"),
        ("--ratings r.csv --default-deviation -1", 2, "got -1.0"),
    ],
    "backtest examples/contests.csv": [
        ("--system elo --system elo", 2, "two systems have the label 'elo'"),
        ("--system baseline=elo", 2, "'baseline' is reserved"),
        ("--system =elo", 2, "--system takes [LABEL=]NAME; got '=elo'"),
        ("--system elo --system elo-mmr --set k=3", 2, "LABEL.NAME=VALUE"),
        ("--system elo --set elo-mmr.k=3", 2, "the labels are elo"),
        ("--system elo --set k=3 --set elo.k=4", 2, "'k' of elo twice"),
        ("--from 100%", 2, "--from must be a share from 0% to less than 100%"),
        ("--confidence 95", 2, "confidence must be in (0, 1)"),
        ("--output found.xlsx", 2, ".parquet"),
    ],
    "backtest examples/contests.csv --system elo": [
        ("--report found.htm", 2, "--report must be a file that ends in .html; got 'found.htm'"),
        ("--report nowhere/found.html", 2, "directory of an output"),
        ("--report a.html --output a.html", 2, "name the same file"),
    ],
    "tune examples/contests.csv --system elo --first 50%": [
        ("--grid k=1,,2", 2, "--grid takes NAME=V1,V2"),
        ("--grid k=1,2 --grid k=3", 2, "--grid names 'k' twice"),
        ("--grid k=1,2,1.0", 2, "names the value 1.0 of k twice"),
        ("--grid q=1", 2, "elo has no parameter 'q'"),
        ("--grid k=-5,0", 1, "none of 2 trials succeeded; the first: k must be positive"),
        ("--grid k=slow", 2, "elo.k must be a number"),
        ("--grid k=1,2 --trials 5", 2, "cannot be combined"),
        ("--range k=1:2", 2, "--range needs --trials"),
        ("--range k=1 --trials 5", 2, "--range takes NAME=LOW:HIGH[:log]"),
        ("--range k=1:2:cubic --trials 5", 2, "--range takes NAME=LOW:HIGH[:log]"),
        ("--range k=9:2 --trials 5", 2, "--range k=9:2: high must be above low"),
        ("--system codeforces --trials 5 --range rules=1:2", 2, "takes words: use --grid rules"),
        ("--range k=0:2:log --trials 5", 2, "positive in a logarithmic range"),
        ("--range k=none:2 --trials 5", 2, "--range k=none:2: elo.k must have a value"),
        ("--grid k=1,2 --metric luck", 2, "--metric must be one of pair_inversion"),
        ("--grid k=1,2 --first 0%", 2, "--first must leave matches for the search"),
        ("--grid k=1,2 --first 100%", 2, "--first must be a share from 0%"),
        ("--grid k=1,2 --output best.csv", 2, "must end in .toml"),
        ("--grid k=1,2 --chart map.csv", 2, "the name of a chart"),
    ],
    "performance examples/interzonal1970.csv": [
        ("--anchor Fischer", 2, "--anchor takes a rating, or PLAYER=RATING; got 'Fischer'"),
        ("--anchor 1 --anchor 2", 2, "one rating for the average"),
        ("--anchor Nobody=2000", 1, "not among the 24 players: Nobody"),
        ("--player Nobody", 1, "not among the 24 players: Nobody"),
        ("--also cubic", 2, "--also must be one of linear, recursive; got 'cubic'"),
        ("--tie-breaks wins,bucholz", 2, "--tie-breaks must be one of buchholz, buchholz-cut1"),
        ("--colour-advantage much", 2, "rating points or the word estimate; got 'much'"),
        ("--output table.doc", 2, "must end in"),
        ("--chart chart.doc", 2, "must be a file that ends in .svg, .png, .pdf"),
        ("--where round=99", 1, "must hold at least one game; got none, but 276 filtered"),
    ],
    "leaderboard examples/arena.csv": [
        ("--by categry", 2, "did you mean category?"),
        ("--by model_a", 2, "--by must name a column of the history (language, category)"),
        ("--system performance --set k=4", 2, "--set needs a rating system"),
        ("--every week --chart x.svg", 2, "--chart with --every draws one system"),
        ("--confidence 1", 2, "confidence must be above 0"),
    ],
    "inspect": [("nowhere.csv", 1, "nowhere.csv: no such file or directory")],
    "explain examples/contests.csv": [
        ("--player jade-kit", 1, "no player jade-kit among the 120 of the history; did you"),
        ("--player jade-kite --match 99", 1, "no match 99 among the 40"),
        ("--player jade-kite --match 1", 1, "jade-kite did not take part in match 1"),
        ("--player jade-kite --state no.npz", 1, "no saved state at no.npz"),
        ("", 2, "--player"),
    ],
    "explain examples/contests.csv --player jade-kite": [
        ("--posterior --system elo", 2, "--posterior needs elo-mmr or elo-mmx"),
        ("--chart x.svg", 2, "--chart must be given with --posterior"),
        ("--posterior x.bmp", 2, "x.bmp is a picture, not a history; --chart FILE draws the"),
    ],
    "simulate --players 30 --contests 6 --seed 5 --output made.csv": [
        ("--kind duels", 2, "--kind must be one of contests, teams; got 'duels'"),
        ("--roles", 2, "--roles is not an option of --kind contests"),
        ("--attendance 0", 2, "attendance must be in (0, 1]"),
        ("--attendance 1e-12", 2, "large enough that a player takes part"),
        ("--seed -1", 2, "--seed"),
        ("--skills skills.doc", 2, ".parquet"),
        ("--output made.json", 2, "must end in .csv, .csv.gz, .tsv, .parquet, .jsonl"),
    ],
    "simulate --kind teams --players 40 --matches 30 --output made.csv": [
        ("--contests 3", 2, "--contests is not an option of --kind teams"),
        ("--sizes 5", 2, "--sizes takes sizes such as 5v5,5v4; got '5'"),
        ("--sizes 5v5,", 2, "--sizes takes sizes"),
        ("--sizes 0v5", 2, "sizes must be pairs of numbers from 1"),
        ("--sizes 30v30", 2, "at least 60 who are not newcomers"),
    ],
    "audit drift examples/contests.csv": [
        ("--points 1", 2, "--points must be at least 2"),
        ("--active-days 0", 2, "--active-days must be positive"),
        ("--active-matches 0", 2, "--active-matches must be at least 1"),
        ("--active-matches 3 --active-days 3", 2, "cannot be combined"),
        ("--output drift.doc", 2, "must end in"),
    ],
    "audit incentives examples/contests.csv": [
        ("--matches 0", 2, "matches must be at least 1"),
        ("--seed -1", 2, "--seed must be at least 0"),
        ("--player nobody", 1, "no player 'nobody'"),
        ("--output plan.doc", 2, "must end in"),
    ],
    "plot examples/contests.csv": [
        ("", 2, "name players with --player, or use --distribution"),
        ("--player jade-kite --output chart.gif", 2, "ends in .svg, .png, .pdf"),
        ("--player jade-kite --size 7", 2, "WIDTHxHEIGHT in inches from 3 to 40"),
        ("--player jade-kite --size nanx5", 2, "WIDTHxHEIGHT"),
        ("--player jade-kite --by week", 2, "--by must be one of time, match, played"),
        ("--player jade-kite --min-matches 3", 2, "--min-matches is for --distribution"),
        ("--distribution --by time", 2, "--by must be left out with --distribution"),
        ("--distribution --min-matches 0", 2, "--min-matches"),
        ("--distribution --min-matches 900", 1, "no player has 900 rated matches"),
    ],
    "predict --state state.npz": [
        ("--team jade-kite --team jade-kit", 0, "a newcomer: jade-kit; did you mean jade-kite, "),
        ("--team jade-kite --team nobody --team none", 0, "so newcomers: nobody, none"),
        ("--team nobody --team jade-kit", 0, "nobody, jade-kit; did you mean jade-kite, "),
        ("--team jade-kite", 2, "two teams or more"),
        ("--team jade-kite --team a,,b", 2, "--team takes ids separated by commas"),
        ("--team jade-kite --team jade-kite", 2, "only once in a match; jade-kite is named twice"),
        ("--team jade-kite,dune-kite --team jade-ant --what-if", 2, "at most 1 player for elo"),
        ("--team jade-kite --team cedar-bear --player jade-kite", 2, "--what-if"),
        ("--team jade-kite --team cedar-bear --what-if --player x", 1, "the 2 players named"),
        ("--team jade-kite --team cedar-bear --home jade-kite", 2, "has no home advantage: le"),
        ("--team jade-kite --team cedar-bear --home jade-ant", 1, "is not in any team"),
        ("--team jade-kite --team cedar-bear --at tomorrow", 2, "--at"),
        ("--team jade-kite --team cedar-bear --at 2001-01-01 --what-if", 2, "before the last"),
        ("--field nowhere.csv", 1, "no file nowhere.csv"),
    ],
    "db verify": [
        ("--workers 2 --cluster tcp://127.0.0.1", 2, "cannot be combined"),
        ("--cluster 10.0.0.7:8786", 2, "the address of a cluster must be tls://"),
        ("--cluster tcp://10.0.0.7:8786", 2, "must be tls:// with certificates of both sides"),
        ("--cluster tls://127.0.0.1:8786", 2, "needs certificates"),
    ],
    "db import": [
        ("a.csv", 2, "add --pool POOL, or --each"),
        ("a.csv --pool a --workers 2", 2, "--workers and --cluster need --each"),
        ("a.csv --pool a --each", 2, "--pool cannot be combined with --each"),
        ("'*.csv*' --each --create", 2, "a.csv.gz and a.csv would both go into the pool 'a'"),
        ("'*.parquet' --each --create", 2, "needs a folder or pattern with files"),
        ("seasons --each --create", 2, "needs a folder or pattern with files; got 'seasons'"),
        ("'*.csv' --each --dry-run", 2, "--dry-run cannot be combined with --each"),
    ],
    "db": [
        ("verify", 1, "no database equipoise.db"),
        ("keys create --name ''", 2, "name must be 1 to 200 printable characters"),
        ("keys create --name a --pool none", 1, "no pool 'none'; create the pool"),
        ("keys create --name a --expires soon", 2, "expires must be"),
        ("keys create --name a --expires 2001-01-01", 2, "must be in the future"),
        ("keys create --name a --role king", 2, "king"),
        ("export x --output x.txt", 2, "must end in .csv, .parquet, .ndjson"),
        ("export x --output x.csv", 1, "no database"),
        ("import examples/contests.csv --pool a", 1, "no database"),
        ("import examples/contests.csv --pool A --create", 1, "lower-case letters"),
        ("import examples/contests.csv --pool a --system elo", 2, "they need --create"),
        ("import no.csv --pool a --create", 1, "no such file or directory"),
        ("import examples/contests.csv --pool a --create --system chess", 1, "no system"),
        ("verify --database mysql://x/y", 2, "the database must be sqlite:///FILE or"),
        ("verify --database sqlite://", 2, "must be a file"),
        ("keys create --name a --database sqlite:///no/x.db", 1, "no folder"),
    ],
    "serve": [
        ("--set colour=blue", 2, "has no setting 'colour'; the settings are database, body_by"),
        ("--set readers=none", 2, "readers: Expected `int`"),
        ("--set readers", 2, "--set takes NAME=VALUE"),
        ("--port 70000", 2, "--port must be at most 65535; got '70000'"),
        ("--set replica=x", 2, "replica: the service no longer reads from a standby"),
    ],
}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the saved state of the sample season."""
    folder = tmp_path_factory.mktemp("state")
    words = ["--save", str(folder / "state.npz"), "--output", str(folder / "ratings.csv")]
    assert run(["rate", str(EXAMPLES / "contests.csv"), *words]) == 0
    return folder / "state.npz"


@pytest.mark.parametrize("command", WRONG)
def test_wrong_usage_is_explained_and_nothing_is_written(
    command: str,
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cli: Cli,
) -> None:
    for library in ("sqlalchemy", "starlette", "distributed") if "db" in command else ():
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EQUIPOISE_DATABASE", raising=False)
    Path("examples").symlink_to(EXAMPLES)
    Path("state.npz").symlink_to(state)
    for name in ("a.csv", "a.csv.gz"):
        Path(name).touch()
    before = {*tmp_path.iterdir()}
    for options, status, message in WRONG[command]:
        words = shlex.split(f"{command} {options}")
        assert run(words) == status, options
        out, err = capsys.readouterr()
        assert message in err, options
        assert status == 0 or out == "", options
        Path("equipoise.db").unlink(missing_ok=True)  # a key may be refused after it was made
        assert {*tmp_path.iterdir()} == before, options
    if status and command != "serve":
        assert json.loads(cli(*words, "--json", status=status).err)["error"]["message"]
