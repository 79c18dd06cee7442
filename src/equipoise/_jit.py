"""The `kernel` decorator: the only module that knows Numba.

Every kernel releases the GIL, divides as NumPy does (no branch for zero) and is compiled
without fastmath, so that the same input gives the same bits. Compiled code is kept on disk, in a
folder named after a hash of the sources that kernels can depend on. Numba itself checks only the
file that contains a kernel. It would keep using old code after a change of a kernel in another file
that this one calls. Code of other packages is kept in folders of that folder, named after a hash of
their own sources as well.

`NUMBA_DISABLE_JIT=1` runs kernels as plain Python, `NUMBA_BOUNDSCHECK=1` checks every index,
`NUMBA_CACHE_DIR` moves the cache.
"""

# Numba is annotated in part only.
# mypy: disallow-untyped-calls=false

from __future__ import annotations

import hashlib
import io
import os
import pickle
import re
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from llvmlite import binding, ir
from numba import config as numba_config
from numba.core import cgutils, event, sigutils, types
from numba.core import compiler as numba_compiler
from numba.core import typing as numba_typing
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher
from numba.core.runtime import nrt as numba_runtime
from numba.extending import intrinsic, models, register_model

if TYPE_CHECKING:
    _Function = TypeVar("_Function", bound=Callable[..., Any])

#: Numba creates much of these when it is imported, so type checkers do not see it.
_config: Any = numba_config
_compiler: Any = numba_compiler
_typing: Any = numba_typing
_runtime: Any = numba_runtime
_Dispatcher: Any = CPUDispatcher
_Library: Any = CPUCodeLibrary

#: Folders of compiled code kept on disk: this version's and the one before.
KEPT_FOLDERS = 2

#: What a module may import from this one and still have no kernels.
_HARMLESS = frozenset(
    {
        "Compilation",
        "NotCachedError",
        "cache_folder",
        "cached_only",
        "compiles_kernels",
        "has_kernels",
        "keeps_kernels",
        "source_hash",
        "watch_compilation",
    }
)

#: "import" and everything imported, also over several lines; and the text before it.
_IMPORT = re.compile(r"import\b[ \t]*(\((?:[^)#]|#[^\n]*)*\)|[^\n]*)")
_FROM = re.compile(r"(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]*)?$")
_COMMENT = re.compile(r"#[^\n]*")
_IMPORTED = re.compile(r"([.\w*]+)(?:\s+as\s+\w+)?")

#: Imports for type checkers do not run, so no kernel can use what they import.
_FOR_TYPES = re.compile(r"\nif TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)*")


#: An option of a kernel that is decided when it is compiled. Where an argument of a kernel is None,
#: Numba leaves out what stands below `if argument is not None`, and does not compile it.
Option: TypeAlias = Literal[True] | None


def option(chosen: bool) -> Option:
    """Return True, or None for an option that is not chosen."""
    return True if chosen else None


def kernel(function: _Function) -> _Function:
    """Compile `function` at its first call, or load it from the source-keyed cache.

    A kernel takes arrays and scalars only: no I/O, clock, randomness, logging or exceptions.
    """
    return _compiled(function, counts_references=True)


def inner_kernel(function: _Function) -> _Function:
    """Compile a kernel that neither makes nor returns arrays, without counting references.

    Use it inside loops. Counting costs two locked instructions for every array that a kernel
    mentions, which took three quarters of the time to rate a contest. Numba refuses to compile a
    kernel that makes an array. A kernel that returned an array would return a dangling one, so
    tests run all kernels with JIT off and compare.
    """
    return _compiled(function, counts_references=False)


def inlined_kernel(function: _Function) -> _Function:
    """Compile arithmetic on scalars that is copied into every loop that uses it.

    Use it for functions that are too long for the compiler to inline by itself. A loop that
    contains a call is not compiled to vector instructions.
    """
    return _compiled(function, counts_references=False, forceinline=True)


def compiled_for(function: _Function, *arguments: object) -> _Function:
    """Return the machine code of a kernel for arguments of these types, loaded or compiled.

    Calling it leaves out Numba's look at the types of all arguments, which takes longer than rating
    a duel. The caller guarantees that they never differ: nothing checks them.
    """
    if not isinstance(function, _Kernel):
        return function
    kinds = tuple(function.typeof_pyval(one) for one in arguments)
    return cast("_Function", function.compile(kinds))


def _compiled(function: _Function, counts_references: bool, forceinline: bool = False) -> _Function:
    if _config.DISABLE_JIT:
        return function
    compiled = _Kernel(
        function,
        targetoptions={
            "nopython": True,
            "boundscheck": None,
            "nogil": True,
            "error_model": "numpy",
            "_nrt": counts_references,
            "forceinline": forceinline,
        },
    )
    cache_folder()  # named after the sources as they are when kernels are imported
    return cast("_Function", compiled)


class _LinkedLibrary(_Library):  # type: ignore[misc]
    """LLVM code of a kernel that other kernels call.

    It is not optimised and not turned into machine code: that happens once, in its callers.
    """

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""

    def _finalize_final_module(self) -> None:
        """Do without machine code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _EntryPoint:
    """Takes the place of an address, by which Numba finds the code of a call."""


class _KernelType(types.Dispatcher):
    """The type of a kernel that is an argument of another one.

    Numba passes on the address of the object, which differs at every start, and so refuses to keep
    the compiled code. The address is never used: the type alone says which kernel is called.
    """


@register_model(_KernelType)
class _KernelModel(models.OpaqueModel):
    """A pointer to nothing."""


@lower_constant(_KernelType)  # type: ignore[untyped-decorator]
def _pointer_to_nothing(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


class _Kernel(_Dispatcher):  # type: ignore[misc]
    """A compiled function. Its code for Python is separate from its code for other kernels.

    Numba makes machine code and two wrappers for every kernel and signature, also where only other
    kernels call it. Its code is then optimised and translated once more as a part of every caller.
    Leaving that out halves the time of compiling, and the callers are as fast (decision 39).
    """

    _cache: Any

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        #: Types of arguments -> entry point and signature, for calls from kernels.
        self._linked: dict[tuple[Any, ...], tuple[_EntryPoint, Any]] = {}
        self._type = _KernelType(self)

    @property
    def _numba_type_(self) -> _KernelType:
        """The type of this kernel as an argument of others."""
        return self._type

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how a kernel calls this one with arguments of these types."""
        call, folded = self._compiler.fold_argument_types(args, kws)
        if tuple(folded) not in self._linked:
            self._link(tuple(folded))
        name = self.py_func.__name__
        signatures = [signature for _, signature in self._linked.values()]
        template = _typing.make_concrete_template(f"CallTemplate({name})", name, signatures)
        return template, call, folded, {}

    def get_overload(self, sig: Any) -> _EntryPoint:
        """Return the entry point for calls from kernels."""
        args, _ = sigutils.normalize_signature(sig)
        return self._linked[tuple(args)][0]

    def _link(self, args: tuple[Any, ...]) -> None:
        """Compile the kernel for calls from other kernels."""
        flags = _compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = _LinkedLibrary(self.targetctx.codegen(), self.py_func.__qualname__)
        data = {"dispatcher": self, "args": args, "return_type": None}
        with global_compiler_lock, event.trigger_event(_COMPILING, data=data):
            compiled = _compiler.compile_extra(
                self.typingctx,
                self.targetctx,
                self.py_func,
                args=args,
                return_type=None,
                flags=flags,
                locals={},
                library=library,
            )
            library.finalize()
            entry = _EntryPoint()
            self.targetctx.insert_user_function(entry, compiled.fndesc, [library])
            self._linked[args] = entry, compiled.signature

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of these types, or load the code from disk."""
        if not isinstance(self._cache, _SourceKeyedCache) and _is_kept(self.py_func):
            # What Dispatcher.enable_caching() does, with our own choice of folder. Most kernels are
            # called by kernels only, and their code is in that of their callers.
            self._cache = _SourceKeyedCache(self.py_func)
        return super().compile(sig)

    def _compilation_chain_init_hook(self) -> None:
        """Do not look for extensions of Numba: kernels take arrays and scalars only."""


@intrinsic
def _touch(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit the instruction that fetches array.flat[index]; Numba has no name for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays, at = signature.args[0], arguments[1]
        data = context.make_array(arrays)(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [at]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # For writing, to all levels of the cache, data.
        builder.call(fetch, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


def _stay(array: Any, index: Any) -> None:
    """Do nothing: plain Python has no use for the cache."""


#: prefetch(array, index) in a kernel fetches array.flat[index] into the cache, for writing.
prefetch: Any = _stay if _config.DISABLE_JIT else _touch


def _without_counters(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return a value of this type in which no array has a counter of its references."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for k, each in enumerate(cast("Any", kind).types):
            one = _without_counters(context, builder, each, builder.extract_value(value, k))
            value = builder.insert_value(value, one, k)
    return value


@intrinsic
def _lend(typing_context: Any, value: Any) -> Any:
    """Return the value with arrays that Numba does not count."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_counters(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _same(value: Any) -> Any:
    """Return the value: plain Python counts in its own way."""
    return value


#: lent(job) in a kernel is the job with arrays whose references nobody counts. A kernel that counts
#: and is called in a loop spends more time on the counters than on a duel. The caller keeps the job
#: itself, and what it calls neither keeps nor returns an array of it.
lent: Any = _same if _config.DISABLE_JIT else _lend


def source_hash(package: Path, *folders: str) -> str:
    """Return a hash of the package's sources that compiled code may depend on, 16 hex digits.

    folders : folders whose sources count as well, with everything that they import
    """
    digest = hashlib.sha256()
    for name, text in sorted(kernel_sources(package, *folders).items()):
        digest.update(name.encode())
        digest.update(text)
    return digest.hexdigest()[:16]


def kernel_sources(package: Path, *folders: str) -> dict[str, bytes]:
    """Return the sources that have kernels, and all that these import, by path in the package.

    A kernel keeps the constants and functions that it was compiled with, and its module imports
    them. So every import counts, wherever the statement is in the file, and so does everything that
    it imports in turn. Arguments of a kernel need no import and do not count, because compiled code
    is kept by their types.

    The search for imports reads the source as text, because it runs at every start. A line of a
    docstring that looks like an import counts too, which does no harm.
    """
    sources = _sources(package)
    imports: dict[str, set[str]] = {}
    found = set()
    for path, text in sources.items():
        if path.split("/")[0] in folders:
            found.add(path)
        elif b"_jit" in text or b"numba" in text or b"kernel" in text:
            imports[path] = _imports(path, text, package.name)
            if any(_may_make_kernels(name) for name in imports[path]):
                found.add(path)
    waiting = list(found)
    while waiting:
        path = waiting.pop()
        if path not in imports:
            imports[path] = _imports(path, sources[path], package.name)
        # Importing a module also runs the packages that contain it.
        own = f"{package.name}.{path.removesuffix('.py').replace('/', '.')}"
        names = (own, *imports[path])
        files = {file for name in names for file in _files_of(name, package.name)}
        new = (files & sources.keys()) - found
        found |= new
        waiting += new
    return {path: sources[path] for path in found}


def _sources(package: Path) -> dict[str, bytes]:
    """Return the text of every source by its path in the package, with slashes."""
    found = {}
    waiting = [(str(package), "")]
    while waiting:
        folder, prefix = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    waiting.append((entry.path, f"{prefix}{entry.name}/"))
                # Not a file: some editors mark an open file with a link that leads nowhere.
                elif entry.name.endswith(".py") and entry.is_file():
                    with io.FileIO(entry.path) as source:
                        found[prefix + entry.name] = source.readall()
    return found


def _imports(path: str, text: bytes, package: str) -> set[str]:
    """Return everything that a source imports, as "equipoise.rating.classical.elo.Elo".

    path : path of the source in the package; relative imports begin there
    """
    code = "\n" + text.decode(errors="replace").replace("\\\n", " ")
    code = _FOR_TYPES.sub("\n", code)
    here = [package, *path.split("/")[:-1]]
    found = set()
    for statement in _IMPORT.finditer(code):
        start = statement.start()
        begun = _FROM.search(code[code.rfind("\n", 0, start) + 1 : start])
        if begun is None:
            continue
        module = begun[1] or ""
        base = module.lstrip(".")
        if base != module:
            above = here[: len(here) - (len(module) - len(base) - 1)]
            base = ".".join([*above, base] if base else above)
        for name in _IMPORTED.findall(_COMMENT.sub("", statement[1])):
            found.add(f"{base}.{name}" if base else name)
    return found


def _may_make_kernels(name: str) -> bool:
    """Return whether a module that imports this name could make kernels."""
    parts = name.split(".")
    if parts[0] in ("numba", "llvmlite") or parts[-1].endswith("kernel"):
        return True
    return "_jit" in parts and parts[-1] not in _HARMLESS


def _files_of(name: str, package: str) -> list[str]:
    """Return where an imported name of the package may come from.

    The name may be a module or a name in one. Importing a module also runs the packages that
    contain it.
    """
    first, *parts = name.split(".")
    if first != package:
        return []
    places = ["/".join(parts[:k]) for k in range(1, len(parts) + 1)]
    return ["__init__.py", *(f"{one}{end}" for one in places for end in (".py", "/__init__.py"))]


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return this version's folder of compiled code; None if there is none and none can be made.

    The folder may be read-only, as in an image: kernels that are in it are loaded, and others are
    compiled in memory. The first call of a new version removes all but the newest `KEPT_FOLDERS`
    folders.
    """
    package = Path(__file__).parent
    if not package.is_dir():  # imported from a zip file
        return None
    name = source_hash(package) + ("-boundscheck" if _config.BOUNDSCHECK else "")
    try:
        folder = _user_cache() / "equipoise" / "kernels" / name
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        # Where this is refused the folder may still be read.
        with suppress(OSError):
            os.utime(folder)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home directory
        return None
    if new:
        _remove_old_folders(folder.parent)
    return folder if os.access(folder, os.R_OK | os.X_OK) else None


def kernel_folder(module: str) -> Path | None:
    """Return the folder of the compiled code of a module; None if its code is not kept.

    That of another package is in the folder of this version, in one named after a hash of the
    sources of that package.
    """
    folder, plugin = cache_folder(), plugin_hash(module)
    if folder is None or plugin is None:
        return None
    if not plugin:
        return folder
    found = folder / "plugins" / module.split(".")[0] / plugin
    with suppress(OSError):
        if not found.exists():
            found.mkdir(parents=True)
            _remove_old_folders(found.parent)
    return found


@lru_cache(maxsize=1)
def _is_writable(folder: Path) -> bool:
    """Return whether a file can be made in a folder. Permissions alone do not tell."""
    probe = folder / f".writable-{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


def _user_cache() -> Path:
    """Return the user's cache folder."""
    if _config.CACHE_DIR:
        return Path(_config.CACHE_DIR)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _remove_old_folders(parent: Path) -> None:
    """Remove all but the newest folders; another process may do the same at the same time."""
    ages = []
    for folder in parent.iterdir():
        try:
            ages.append((folder.stat().st_mtime_ns, folder))
        except OSError:
            continue
    for _, folder in sorted(ages, reverse=True)[KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)


#: Packages whose sources are not a part of the hash of another package: this one's are in the name
#: of the folder, and Numba compares its own version.
_NOT_HASHED = frozenset({__name__.split(".")[0], "numba", "llvmlite", "numpy"})


def plugin_hash(module: str) -> str | None:
    """Return a hash of the sources of another package that has kernels, 16 hex digits.

    module : name of the module of a kernel
    All its sources count, and those of the packages that they import, because a kernel keeps the
    constants and functions that it was compiled with.
    Returns : empty for a module of this package; None if the sources cannot be read, as of a
        kernel that was typed into a notebook
    """
    first = module.split(".")[0]
    return "" if first == __name__.split(".")[0] else _hash_of_packages(first)


@lru_cache(maxsize=64)
def _hash_of_packages(first: str) -> str | None:
    """Return a hash of the sources of a package and of those that it imports; see `plugin_hash`."""
    digest = hashlib.sha256()
    waiting, seen = [first], {first}
    while waiting:
        package = waiting.pop()
        sources = _package_sources(package)
        if package == first and not sources:
            return None
        for name, text in sorted(sources.items()):
            digest.update(f"{package}/{name}".encode())
            digest.update(text)
            imported = {one.split(".")[0] for one in _imports(name, text, package)}
            new = imported - seen - _NOT_HASHED - sys.stdlib_module_names
            seen |= new
            waiting += sorted(new)
        waiting.sort()
    return digest.hexdigest()[:16]


def _package_sources(package: str) -> dict[str, bytes]:
    """Return the sources of a package or module by path; empty if there are none."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # ValueError: a module that was not imported from a file
        return {}
    if spec is None:
        return {}
    if spec.submodule_search_locations is not None:
        found = {}
        for folder in spec.submodule_search_locations:
            if os.path.isdir(folder):
                found.update(_sources(Path(folder)))
        return found
    file = Path(spec.origin or "")
    try:
        return {file.name: file.read_bytes()} if file.suffix == ".py" else {}
    except OSError:
        return {}


class _SourceKeyedLocator(_CacheLocator):
    """Gives Numba the place of a kernel's compiled code, and a stamp of what it depends on."""

    def __init__(self, function: Callable[..., Any], file: str, folder: Path) -> None:
        self._py_file = file  # Numba's warnings read it
        self._line = function.__code__.co_firstlineno
        self._folder = folder / function.__module__

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.parent.name

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _SourceKeyedLocator | None:
        folder = kernel_folder(py_func.__module__)
        return None if folder is None else cls(py_func, py_file, folder)


#: Numba's event of compiling a kernel, and ours of loading one from disk.
_COMPILING, _LOADING = "numba:compile", "equipoise:load"

#: Errors caused by a full disk, a crash while writing or a change of permissions.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)


def _is_kept(function: Callable[..., Any]) -> bool:
    """Return whether the compiled code of a kernel is kept on disk."""
    return kernel_folder(function.__module__) is not None


class _SourceKeyedImpl(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_SourceKeyedLocator]  # noqa: RUF012  # as in the base

    def reduce(self, data: Any) -> Any:
        """Return what to keep on disk of compiled code.

        Numba adds the environments of all functions in the code, and loading one imports the module
        of its function. Compiled code reads nothing but constants of an environment.
        """
        *parts, environments = super().reduce(data)
        return (*parts, tuple(one for one in environments if one.consts))


class _SourceKeyedFiles(IndexDataCacheFile):
    """The index of a kernel, and the files that it names, one for each signature.

    Numba numbers these files and takes a free number from the index. Two processes that compile
    different signatures at the same time take the same number, and then one signature leads to the
    code of the other. So every file gets a unique name here. The index can still lose one of the
    two signatures, which is then compiled once more.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: str) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._data_prefix = filename_base

    def _data_name(self, number: int) -> str:
        return f"{self._data_prefix}.{uuid.uuid4().hex[:16]}.nbc"


class NotCachedError(Exception):
    """A kernel is not on disk; the message is its name."""


#: Whether this thread compiles nothing.
_here = threading.local()


@contextmanager
def cached_only() -> Iterator[None]:
    """Raise NotCachedError in this thread where a kernel would be compiled."""
    _here.cached_only = True
    try:
        yield
    finally:
        _here.cached_only = False


def compiles_kernels() -> bool:
    """Return whether kernels are compiled at all."""
    return not _config.DISABLE_JIT


def has_kernels() -> bool:
    """Return whether compiled kernels may be on disk."""
    return bool(_config.DISABLE_JIT) or cache_folder() is not None


def keeps_kernels() -> bool:
    """Return whether another process finds on disk what this one compiles."""
    if _config.DISABLE_JIT:
        return True
    folder = cache_folder()
    return folder is not None and _is_writable(folder)


@lru_cache(maxsize=1)
def _name_runtime_functions() -> None:
    """Tell LLVM where the functions are that kernels call to make and free arrays.

    Numba does this together with compiling functions that are already a part of code on disk.
    """
    for name, address in _runtime._nrt.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _SourceKeyedCache(FunctionCache):
    """Compiled code on disk.

    If it cannot be read or written there, kernels are compiled in memory.
    """

    _impl_class = _SourceKeyedImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _SourceKeyedFiles(
            locator.get_cache_path(), self._impl.filename_base, locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            with event.trigger_event(_LOADING):
                _name_runtime_functions()
                # Without the refresh of Numba's own method: it imports everything that kernels may
                # need while they are compiled, and Numba makes up for it before it compiles.
                with self._guard_against_spurious_io_errors():
                    found = self._load_overload(sig, target_context)
        except _UNUSABLE:
            with suppress(OSError):
                self.flush()  # an index that was cut off would stand in the way for good
        if found is None and getattr(_here, "cached_only", False):
            raise NotCachedError(self._name)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(*_UNUSABLE):
            super().save_overload(sig, data)


@dataclass(slots=True)
class Compilation:
    """The compilation that took place during a block.

    kernels : number of kernels compiled, those called by other kernels included
    seconds : wall time spent, without `loading`
    loading : wall time spent on looking for compiled kernels on disk and loading them
    current : module, below this package, of the kernel that Python called and that is being
        compiled; empty if there is none
    left : how many of the kernels that it calls may still have to be compiled; those of options
        that are not chosen never are
    """

    kernels: int = 0
    seconds: float = 0.0
    loading: float = 0.0
    current: str = ""
    left: int = 0


class _CompileListener(event.Listener):
    """Counts compilations, and measures the time of compiling and loading.

    Compilations nest, because a kernel compiles or loads the kernels that it calls. Only the
    outermost is timed.
    """

    def __init__(self, record: Compilation, on_first: Callable[[], None]) -> None:
        self.record = record
        self.on_first = on_first
        self.depth = 0
        self.started = 0.0
        #: The kernel that Python called.
        self.outermost: Any = None
        #: Kernels whose compilation has begun, and whether it is done.
        self.done: dict[Any, bool] = {}

    def on_start(self, event: Any) -> None:
        if event.kind == _COMPILING:
            dispatcher = event.data["dispatcher"]
            if not self.record.kernels:
                self.on_first()
            if not self.depth:
                self.outermost = dispatcher
                module: str = dispatcher.py_func.__module__
                self.record.current = module.removeprefix(f"{__package__}.")
            self.record.kernels += 1
            self.done.setdefault(dispatcher, False)
            self.record.left = self._left()
        if not self.depth:
            self.started = time.perf_counter()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if event.kind == _COMPILING:
            self.done[event.data["dispatcher"]] = True
            self.record.left = self._left() if self.depth else 0
        if self.depth:
            return
        spent = time.perf_counter() - self.started
        self.record.current = ""
        if event.kind == _LOADING:
            self.record.loading += spent
        else:
            self.record.seconds += spent

    def _left(self) -> int:
        """Return how many kernels the outermost one may still need."""
        found, waiting = {self.outermost}, [self.outermost]
        while waiting:
            one = waiting.pop()
            # One that is done has compiled all that it needs.
            if not self.done.get(one):
                new = set(_called_by(one)) - found
                found |= new
                waiting += new
        return sum(one not in self.done for one in found)


def _called_by(dispatcher: Any) -> list[Any]:
    """Return the kernels that a kernel mentions."""
    function = dispatcher.py_func
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    mentioned = [function.__globals__.get(name) for name in function.__code__.co_names]
    return [one for one in (*mentioned, *cells) if isinstance(one, _Kernel)]


@contextmanager
def watch_compilation(on_first: Callable[[], None] = lambda: None) -> Iterator[Compilation]:
    """Count the kernels compiled in the block, and call `on_first` before the first of them."""
    record = Compilation()
    listener = _CompileListener(record, on_first)
    with (
        event.install_listener(_COMPILING, listener),
        event.install_listener(_LOADING, listener),
    ):
        yield record
