"""The compile policy: what is compiled, how, where it is kept, and when it is thrown away.

Most of it shows only between processes, so a small package is run again and again: our own
`_jit.py`, and two kernels of which one calls the other from another file.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba.core import event
from numba.core.errors import NumbaError

from equipoise import _jit

PACKAGE = Path(_jit.__file__).parent

LEAF = """
from equipoise._jit import {decorator}

@{decorator}
def leaf(x):
    return {formula}
"""

CALLER = """
from equipoise._jit import kernel
from equipoise.leaf import leaf

@kernel
def caller(x):
    total = 1.0
    for _ in range(x):
        total += leaf(1.0)
    return total
"""

#: Prints the answer and how many kernels had to be compiled for it.
CALL = """
import json
from equipoise import _jit
from equipoise.caller import caller
with _jit.watch_compilation() as seen:
    answer = caller(3)
print(json.dumps({
    "answer": answer, "compiled": seen.kernels, "folder": str(_jit.cache_folder()),
    "kind": type(caller).__name__,
}))
"""

needs_jit = pytest.mark.skipif(
    bool(_jit._config.DISABLE_JIT), reason="plain Python functions have no compile policy"
)


class Site:
    """A site directory that holds the small package, and a cache directory."""

    def __init__(self, folder):
        self.packages = folder / "site"
        self.cache = folder / "cache"
        self.install("2.0 * x")

    def install(self, formula, age=0.0, decorator="kernel"):
        """Replace the package by a version whose leaf computes `formula`, files `age` s old."""
        package = self.packages / "equipoise"
        shutil.rmtree(package, ignore_errors=True)
        package.mkdir(parents=True)
        for name in ("__init__.py", "_jit.py", "arrays.py", "errors.py"):
            shutil.copy(PACKAGE / name, package / name)
        self.edit(formula, decorator)
        (package / "caller.py").write_text(CALLER)
        for file in package.iterdir():
            os.utime(file, (time.time() - age, time.time() - age))

    def edit(self, formula, decorator="kernel"):
        """Change the leaf and nothing else."""
        leaf = LEAF.format(formula=formula, decorator=decorator)
        (self.packages / "equipoise" / "leaf.py").write_text(leaf)

    def run(self, program=CALL, **environment):
        """Run a program in a new process, warnings as errors, and return what it prints."""
        settings = {
            **{name: value for name, value in os.environ.items() if "NUMBA" not in name},
            "NUMBA_CACHE_DIR": str(self.cache),
            "PYTHONPATH": str(self.packages),
            # Python's own cache looks at times and sizes alone, and edits here are quick.
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=self.packages,  # Python looks for modules there first
            env=settings,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)


@pytest.fixture
def site(tmp_path):
    """Return a fresh `Site` whose leaf doubles."""
    return Site(tmp_path)


@pytest.fixture
def in_memory(monkeypatch):
    """Compile kernels of this file in memory: tests count what is compiled."""
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)


@pytest.mark.recompiles
@pytest.mark.parametrize(
    "decorator",
    [
        "kernel",
        pytest.param("inner_kernel", marks=pytest.mark.nightly),
        pytest.param("inlined_kernel", marks=pytest.mark.nightly),
    ],
)
def test_an_edited_leaf_changes_the_answer_of_its_caller(site, decorator):
    """Truth is arithmetic: 2 * 3 + 1, then 5 * 3 + 1. Numba's own cache would still say 7.

    Whether the caller's loop calls the leaf or has been given a copy of it.
    """
    site.edit("2.0 * x", decorator)
    assert site.run()["answer"] == 7.0
    site.edit("5.0 * x", decorator)
    again = site.run()
    assert again["answer"] == 16.0
    assert again["compiled"] == 2


@pytest.mark.recompiles
def test_old_versions_of_a_kernel_are_removed(site):
    """All but the newest; one that was loaded lately is new, whenever it was made."""
    two = CALL.replace("import _jit", "import _jit\n_jit.KEPT_VERSIONS = 2")
    for formula in ("1.0 * x", "2.0 * x", "1.0 * x", "3.0 * x"):
        site.edit(formula)
        site.run(two)
    kept = {}
    for formula in ("2.0 * x", "3.0 * x", "1.0 * x"):
        site.edit(formula)
        kept[formula] = site.run(READ_ONLY + CALL)["compiled"] == 0
    assert kept == {"1.0 * x": True, "2.0 * x": False, "3.0 * x": True}


@pytest.mark.recompiles
def test_code_with_checked_indices_is_kept_apart(site):
    """Code compiled with NUMBA_BOUNDSCHECK=1 must not serve a run without it, nor vice versa."""
    runs = [
        site.run(),
        site.run(NUMBA_BOUNDSCHECK="1"),
        site.run(),
        site.run(NUMBA_BOUNDSCHECK="1"),
    ]
    assert [run["compiled"] for run in runs] == [2, 2, 0, 0]


@pytest.mark.slow
def test_without_jit_kernels_are_plain_functions(site):
    """NUMBA_DISABLE_JIT=1: the same answer, no compilation, and no folder is made."""
    plain = site.run(CALL.replace("_jit.cache_folder()", "None"), NUMBA_DISABLE_JIT="1")
    assert plain["kind"] == "function"
    assert (plain["answer"], plain["compiled"]) == (7.0, 0)
    assert not site.cache.exists()


def test_processes_that_write_at_a_time_never_get_the_code_of_one_another(tmp_path):
    """Numba numbers these files, so both would have taken number 1, the second index leading to it.

    The order that shows it: both look into an empty index, the first writes its index, the second
    writes index and code, the first writes its code.
    """
    first, second = (_jit._KernelFiles(str(tmp_path), "leaf", "stamp") for _ in range(2))
    save_index = first._save_index

    def and_then_the_other(overloads):
        save_index(overloads)
        second._load_index = dict
        second.save("of integers", "code for integers")

    first._save_index = and_then_the_other
    first.save("of floats", "code for floats")
    third = _jit._KernelFiles(str(tmp_path), "leaf", "stamp")
    assert third.load("of integers") == "code for integers"
    assert third.load("of floats") in (None, "code for floats")


@pytest.mark.recompiles
def test_processes_that_compile_at_a_time_share_one_cache(site):
    """Four at once, two for each type of argument; the answers are right, and stay so when loaded.

    `leaf` returns what it gets: an integer stays one, and half a float would show as another.
    """
    program = """
import json, sys
from equipoise import _jit
from equipoise.leaf import leaf
with _jit.watch_compilation() as seen:
    answers = [repr(leaf(x)) for x in {arguments}]
print(json.dumps({{"answers": answers, "compiled": seen.kernels}}))
"""
    site.edit("x")
    arguments = ["3", "2.5"] * 2
    with ThreadPoolExecutor(4) as pool:
        runs = pool.map(lambda x: site.run(program.format(arguments=f"[{x}]")), arguments)
        assert [run["answers"] for run in runs] == [[x] for x in arguments]
    after = site.run(program.format(arguments="[3, 2.5]"))
    assert after["answers"] == ["3", "2.5"]
    # The index can lose one of the two, not both.
    assert after["compiled"] <= 1


@pytest.mark.recompiles
def test_where_nothing_can_be_written_kernels_are_compiled_uncached(site, tmp_path):
    """A path below a regular file cannot be made, not even by root."""
    (tmp_path / "file").write_text("not a directory")
    for _ in range(2):
        found = site.run(NUMBA_CACHE_DIR=str(tmp_path / "file" / "below"))
        assert (found["answer"], found["compiled"], found["folder"]) == (7.0, 2, "None")


#: Before CALL: what is on disk can be read, and nothing can be written, not even by root, whom
#: permissions do not stop. The errors are those of a read-only file system.
READ_ONLY = """
import errno, os, sys

def refuse(event, details):
    writes = event == "open" and isinstance(details[2], int) and details[2] & 3
    changes = writes or event in ("os.utime", "os.remove", "os.rename")
    if changes and str(details[0]).startswith(os.environ["NUMBA_CACHE_DIR"]):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(details[0]))

sys.addaudithook(refuse)
from equipoise import _jit
assert _jit.has_kernels() and not _jit.keeps_kernels()
"""


@pytest.mark.recompiles
def test_a_read_only_cache_is_read(site):
    """As in an image. What is not in it is compiled in memory, and nothing is written."""
    site.run()
    before = {file: file.read_bytes() for file in site.cache.rglob("*") if file.is_file()}
    again = site.run(READ_ONLY + CALL)
    assert (again["answer"], again["compiled"]) == (7.0, 0)
    assert again["folder"] != "None"
    other = site.run(READ_ONLY + "import numpy\n" + CALL.replace("(3)", "(numpy.int8(3))"))
    assert (other["answer"], other["compiled"]) == (7.0, 2)
    assert before == {file: file.read_bytes() for file in site.cache.rglob("*") if file.is_file()}


@pytest.mark.recompiles
def test_a_cache_that_stops_being_writable_is_done_without(site):
    """A full disk, or permissions taken away, between import and first call: no error."""
    lost = """
import shutil
from equipoise import _jit
from equipoise.caller import caller
shutil.rmtree(_jit.cache_folder())
_jit.cache_folder().write_text("in the way")
"""
    found = site.run(lost + CALL)
    assert (found["answer"], found["compiled"]) == (7.0, 2)


@pytest.mark.recompiles
@pytest.mark.parametrize("damaged", ["*.nbi", pytest.param("*.nbc", marks=pytest.mark.nightly)])
def test_files_cut_off_by_a_crash_are_written_anew(site, damaged):
    """An index or code of no bytes: compiled again, and whole for the run after that."""
    site.run()
    files = list(site.cache.rglob(damaged))
    # That of the caller, with the code of the leaf in it.
    assert len(files) == 1
    for file in files:
        file.write_bytes(b"")
    again, after = site.run(), site.run()
    assert (again["answer"], again["compiled"]) == (7.0, 2)
    assert (after["answer"], after["compiled"]) == (7.0, 0)


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    """Path.home() raises RuntimeError for a user id that nobody has heard of (containers)."""

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(_jit._config, "CACHE_DIR", "")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert _jit.cache_folder.__wrapped__() is None


@needs_jit
@pytest.mark.parametrize("decorator", [_jit.kernel, _jit.inner_kernel, _jit.inlined_kernel])
def test_division_by_zero_is_that_of_ieee_754(in_memory, decorator):
    """error_model="numpy": no exception, hence no branch in loops that divide."""

    @decorator
    def ratio(x, y):
        return x / y

    assert ratio(1.0, 0.0) == math.inf
    assert ratio(-1.0, 0.0) == -math.inf
    assert math.isnan(ratio(0.0, 0.0))


@pytest.mark.parametrize("decorator", [_jit.kernel, _jit.inner_kernel])
def test_kernels_release_the_gil(in_memory, decorator):
    """A kernel waits for what only another thread can write, who waits to be told it began.

    Were the GIL held, the kernel would give up, some seconds later, with the door still shut.
    """

    @decorator
    def wait(began, door, patience):
        began[0] = 1
        for i in range(patience):  # noqa: SIM110  # Numba knows no generator expressions
            # A different element each time, so that the compiler cannot look only once.
            if door[i % len(door)]:
                return True
        return False

    began, door = np.zeros(1, np.int64), np.ones(1_021, np.int64)
    assert wait(began, door, 2)
    began[0], door[:] = 0, 0
    came_through = []
    thread = threading.Thread(target=lambda: came_through.append(wait(began, door, 10**9)))
    thread.start()
    while not began[0]:
        time.sleep(0.001)
    door[:] = 1
    thread.join()
    assert came_through == [True]


@pytest.mark.parametrize("decorator", [_jit.kernel, _jit.inner_kernel])
def test_prefetching_changes_no_number(in_memory, decorator):
    """It is a hint to the processor, in flat indices, also past the end; plain Python skips it."""

    @decorator
    def total(table):
        found = 0.0
        for i in range(table.shape[0]):
            _jit.prefetch(table, (i + 4) * table.shape[1])
            found += table[i, 0]
        return found

    table = np.arange(30.0).reshape(10, 3)
    assert total(table) == table[:, 0].sum()
    assert np.array_equal(table, np.arange(30.0).reshape(10, 3))


@needs_jit
def test_an_inner_kernel_that_makes_an_array_is_refused(in_memory):
    """Without counting references nobody would free the array; `kernel` takes the same function."""

    def total(n):
        return np.ones(n).sum()

    assert _jit.kernel(total)(3) == 3.0
    with pytest.raises(NumbaError):
        _jit.inner_kernel(total)(3)


@needs_jit
def test_compilation_is_counted_and_announced_once(in_memory):
    """A caller compiles the kernel that it calls: two, in one stretch of time."""

    @_jit.kernel
    def leaf(x):
        return 2.0 * x

    @_jit.kernel
    def caller(x):
        return leaf(x) + 1.0

    announced = []
    with _jit.watch_compilation(lambda: announced.append(True)) as seen:
        start = time.perf_counter()
        assert caller(3.0) == 7.0
        elapsed = time.perf_counter() - start
    assert (seen.kernels, announced) == (2, [True])
    assert 0.0 < seen.seconds <= elapsed
    with _jit.watch_compilation(lambda: announced.append(True)) as seen:
        assert caller(4.0) == 9.0
    assert (seen.kernels, seen.seconds, announced) == (0, 0.0, [True])


@needs_jit
def test_a_kernel_that_only_kernels_call_gets_no_machine_code_of_its_own(in_memory):
    """Called from Python as well, it is compiled for that, and gives the same."""

    @_jit.kernel
    def leaf(x):
        return 0.1 * x

    @_jit.kernel
    def caller(x):
        return leaf(x) + leaf(2.0 * x)

    assert caller(3.0) == 0.1 * 3.0 + 0.1 * 6.0
    assert not leaf.signatures
    with _jit.watch_compilation() as seen:
        assert leaf(3.0) == 0.1 * 3.0
    assert seen.kernels == 1
    assert len(leaf.signatures) == 1
    with _jit.watch_compilation() as seen:
        assert caller(4.0) == 0.1 * 4.0 + 0.1 * 8.0
    assert seen.kernels == 0


@needs_jit
def test_kernels_that_kernels_call_take_keywords_defaults_and_several_types(in_memory):
    @_jit.kernel
    def leaf(x, y=2.0, z=3.0):
        return 100.0 * x + 10.0 * y + z

    @_jit.kernel
    def caller(x):
        return leaf(x), leaf(z=1.0, x=x), leaf(x, 5), leaf(x=2, y=x)

    assert caller(1.0) == (123.0, 121.0, 153.0, 213.0)
    assert caller(1) == (123.0, 121.0, 153.0, 213.0)


@needs_jit
def test_what_an_option_leaves_out_is_not_compiled(in_memory):
    """Neither a kernel that only the option needs nor anything that the types forbid.

    Until their caller is done, such kernels count among those that are left.
    """

    @_jit.kernel
    def costly(x):
        return 2.0 * x

    @_jit.kernel
    def either(x, wanted):
        if wanted is not None:
            return costly(x)
        return x

    @_jit.kernel
    def last(x):
        return x

    @_jit.kernel
    def caller(x, wanted):
        return last(either(x, wanted))

    class Watcher(event.Listener):
        def on_start(self, event):
            heard.append((event.data["dispatcher"].py_func.__name__, seen.kernels, seen.left))

        def on_end(self, event):
            pass

    heard = []
    with (
        _jit.watch_compilation() as seen,
        event.install_listener("numba:compile", Watcher()),
    ):
        assert caller(3.0, _jit.option(False)) == 3.0
    assert heard == [("caller", 1, 3), ("either", 2, 2), ("last", 3, 0)]
    assert (seen.kernels, seen.current, seen.left) == (3, "", 0)
    with _jit.watch_compilation() as seen:
        assert caller(3.0, _jit.option(True)) == 6.0
    assert seen.kernels == 3


@pytest.mark.recompiles
def test_loading_a_kernel_needs_none_of_what_compiling_needs(site):
    """Modules of Numba with what kernels may call; arrays that a kernel makes are the same."""
    program = """
import json, sys
from equipoise.leaf import leaf
answer = leaf(4).tolist()
print(json.dumps({"answer": answer, "loaded": "numba.np.arrayobj" in sys.modules}))
"""
    site.edit("np.arange(x) + np.ones(x)")
    source = site.packages / "equipoise" / "leaf.py"
    source.write_text("import numpy as np\n" + source.read_text())
    first, second = site.run(program), site.run(program)
    assert first == {"answer": [1.0, 2.0, 3.0, 4.0], "loaded": True}
    assert second == {"answer": [1.0, 2.0, 3.0, 4.0], "loaded": False}


#: A kernel `ratio` that calls `half`, with what decides how they are compiled.
RATIO = """
\"\"\"Kernels.\"\"\"
from typing import NamedTuple
import math
import numpy as np
from equipoise import _jit

FACTOR = 2.0
TABLE = np.array([1.0, 2.0])

class Pair(NamedTuple):
    first: float
    second: float

@_jit.kernel
def half(x, by=0.5):
    return x * by

@_jit.kernel
def ratio(pair):
    \"\"\"Return the ratio.\"\"\"
    total = 0.0
    for one in TABLE:
        total += one
    return FACTOR * half(pair.first) / pair.second + total * math.sqrt(4.0)

def message():
    return "a message"
"""


@needs_jit
@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("FACTOR = 2.0", "FACTOR = 3.0", True),
        ("FACTOR = 2.0", "FACTOR = 2", True),
        ("[1.0, 2.0]", "[1.0, 3.0]", True),
        ("x * by", "x / by", True),
        ("by=0.5", "by=0.25", True),
        ("math.sqrt(4.0)", "math.sqrt(9.0)", True),
        ("total * math.sqrt", "total * math.exp", True),
        ("@_jit.kernel\ndef half", "@_jit.inner_kernel\ndef half", True),
        ("a message", "another message", False),
        ("Return the ratio.", "Return what is left.", False),
        ("FACTOR = 2.0", "# Why.\n\nFACTOR = 2.0", False),
    ],
)
def test_a_digest_changes_with_what_decides_the_code(old, new, changes):
    """Constants, defaults, options and the kernels that a kernel calls; not words."""

    def digest(source):
        names = {"__name__": "equipoise.example"}
        exec(source, names)
        return _jit._digest(names["ratio"])

    assert RATIO.count(old) == 1
    before = digest(RATIO)
    assert re.fullmatch("[0-9a-f]{16}", before)
    assert digest(RATIO) == before
    assert (digest(RATIO.replace(old, new)) != before) == changes


@needs_jit
def test_constants_of_modules_count():
    """A kernel may read them through the module."""
    module = type(sys)("equipoise.constants")
    names = {"__name__": "equipoise.example", "constants": module, "_jit": _jit}
    source = "@_jit.kernel\ndef scaled(x):\n    return x * constants.SCALE\n"
    found = set()
    for scale in (1.0, 2.0):
        module.SCALE = scale
        exec(source, names)
        found.add(_jit._digest(names["scaled"]))
    assert len(found) == 2


@pytest.mark.recompiles
def test_fields_that_change_places_are_compiled_anew(site):
    """Kernels find the fields of a named tuple by position, and its type has the same name."""
    package = site.packages / "equipoise"
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    {}: float\n    {}: float\n"
    (package / "pair.py").write_text(pair.format("first", "second"))
    leaf = "from equipoise._jit import kernel\n@kernel\ndef leaf(pair):\n    return pair.first\n"
    (package / "leaf.py").write_text(leaf)
    program = "import json\nfrom equipoise.leaf import leaf\nfrom equipoise.pair import Pair\n"
    program += "print(json.dumps(leaf(Pair(first=1.0, second=2.0))))\n"
    assert site.run(program) == 1.0
    (package / "pair.py").write_text(pair.format("second", "first"))
    assert site.run(program) == 1.0


@pytest.mark.recompiles
def test_every_kernel_has_a_digest_that_other_processes_share():
    """Whatever the seed of Python's hashes."""
    program = """
import importlib, json, pkgutil, equipoise
from equipoise import _jit
found = {}
for one in pkgutil.walk_packages(equipoise.__path__, "equipoise."):
    if one.name.split(".")[1] in ("numeric", "rating", "tournament", "evaluate", "teams"):
        for value in vars(importlib.import_module(one.name)).values():
            if isinstance(value, _jit._Kernel):
                function = value.py_func
                found[f"{function.__module__}.{function.__qualname__}"] = _jit._digest(value)
print(json.dumps(found))
"""
    first, second = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for seed in ("1", "2")
    )
    assert first == second
    assert len(first) > 200
