"""The `kernel` decorator: the only module that knows Numba.

Every kernel releases the GIL, divides as NumPy does (no branch for zero) and is compiled
without fastmath, so that the same input gives the same bits. Compiled code is kept on disk. Numba
itself checks only the time of the file that contains a kernel, and would keep using old code after
a change of a kernel in another file. Here every kernel has a folder named after a digest of its
bytecode, of the constants that it reads and of the kernels that it calls, in turn. So an edited
message, comment or docstring compiles nothing, and kernels of other packages need nothing of their
own.

`NUMBA_DISABLE_JIT=1` runs kernels as plain Python, `NUMBA_BOUNDSCHECK=1` checks every index,
`NUMBA_CACHE_DIR` moves the cache.
"""

# Numba is annotated in part only.
# mypy: disallow-untyped-calls=false

from __future__ import annotations

import atexit
import dis
import hashlib
import os
import pickle
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

import llvmlite
import numba
import numpy as np
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
from numba.core.extending import _Intrinsic
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

#: How many versions of a kernel are kept on disk: enough for a few branches and releases.
KEPT_VERSIONS = 8

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


def inlined_update(function: _Function) -> _Function:
    """Compile the update of one match, which is copied into its loop and may make arrays.

    A call would pass a job of a hundred numbers, which takes as long as rating a duel.
    """
    return _compiled(function, counts_references=True, forceinline=True)


def compiled_for(function: _Function, *arguments: object) -> _Function:
    """Return the machine code of a kernel for arguments of these types, loaded or compiled.

    Calling it leaves out Numba's look at the types of all arguments, which takes longer than rating
    a duel. The caller guarantees that they never differ: nothing checks them.
    """
    if not isinstance(function, _Kernel):
        return function
    kinds = tuple(function.typeof_pyval(argument) for argument in arguments)
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
    Leaving that out halves the time of compiling, and the callers are as fast (decision 1).
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
        if not isinstance(self._cache, _KernelCache):
            # What Dispatcher.enable_caching() does, with our own choice of folder. Most kernels are
            # called by kernels only, and their code is in that of their callers.
            folder = _kernel_folder(self)
            if folder is not None:
                self._cache = _KernelCache(self.py_func, folder)
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
            member = _without_counters(context, builder, each, builder.extract_value(value, k))
            value = builder.insert_value(value, member, k)
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


class _NotDigestedError(Exception):
    """A kernel reads a value that cannot be told from another one in the next process."""


def _digest(kernel: _Kernel) -> str:
    """Return a digest of everything that the code of a kernel depends on, 16 hex digits.

    Types of arguments count in the index of the kernel (`_KernelCache`).
    Raises : _NotDigestedError
    """
    versions = numba.__version__, llvmlite.__version__, sys.version_info[:2], _config.BOUNDSCHECK
    parts: list[object] = [_policy(), versions]
    reached: list[_Kernel | FunctionType] = [kernel]
    for item in reached:  # which grows
        description, read = _description(item)
        parts.append(description)
        reached += [other for other in read if not any(other is known for known in reached)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _policy() -> str:
    """Return a hash of this module, which decides how everything is compiled."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@lru_cache(maxsize=4096)
def _description(kernel: _Kernel | FunctionType) -> tuple[object, list[_Kernel | FunctionType]]:
    """Return a function as text and numbers that are the same in every process, and what it calls.

    Raises : _NotDigestedError
    """
    function = kernel.py_func if isinstance(kernel, _Kernel) else kernel
    options = sorted(kernel.targetoptions.items()) if isinstance(kernel, _Kernel) else None
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    values: list[Any] = [*(function.__defaults__ or ()), *closure]
    read, names = _names(function.__code__)
    for name in sorted(read & function.__globals__.keys()):
        value = function.__globals__[name]
        values += [name, value]
        if isinstance(value, ModuleType) and value.__name__ not in _KNOWN_MODULES:
            values += [vars(value)[name] for name in sorted(names & vars(value).keys())]
    called = [value for value in values if isinstance(value, _Kernel | FunctionType)]
    code = _code_parts(function.__code__, function.__doc__)
    return (options, code, [_constant(value) for value in values]), called


def _constant(value: Any) -> object:
    """Return a value that a kernel reads as text and numbers; of a function, only its name."""
    if isinstance(value, _Kernel | FunctionType):
        function = value.py_func if isinstance(value, _Kernel) else value
        return "function", function.__module__, function.__qualname__
    if value is None or isinstance(value, int | float | complex | str | bytes):
        return type(value).__qualname__, repr(value)
    if isinstance(value, frozenset):
        return "frozenset", sorted(repr(item) for item in value)
    if isinstance(value, tuple):
        return type(value).__qualname__, [_constant(item) for item in value]
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, type):
        fields = getattr(value, "_fields", ()), getattr(value, "_field_defaults", {})
        return "type", value.__module__, value.__qualname__, repr(fields)
    if isinstance(value, _Intrinsic):  # those of this module count in `_policy`
        return "intrinsic", value._name, _code_parts(value._defn.__code__, value._defn.__doc__)
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if isinstance(value, BuiltinFunctionType | np.ufunc | np.dtype | types.Type):
        return type(value).__qualname__, str(value)
    raise _NotDigestedError(f"{value!r}")


def _code_parts(code: CodeType, docstring: str | None = None) -> object:
    """Return what code does, without its docstring, its file and its lines."""
    constants = code.co_consts
    if docstring is not None and constants and constants[0] == docstring:
        constants = constants[1:]
    return (
        code.co_code,
        (code.co_names, code.co_varnames, code.co_freevars),
        (code.co_argcount, code.co_kwonlyargcount, code.co_flags),
        [
            _code_parts(constant) if isinstance(constant, CodeType) else _constant(constant)
            for constant in constants
        ],
    )


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the global names that code and functions within it read, and all names in it."""
    read = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname == "LOAD_GLOBAL"
    }
    names = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _names(inner)
            read, names = read | more[0], names | more[1]
    return read, names


#: Modules whose functions Numba compiles itself.
_KNOWN_MODULES = frozenset({"math", "numpy"})


def _fields(kinds: Iterable[Any]) -> list[object]:
    """Return the fields of the named tuples among types, in which kernels find them by position."""
    parts: list[object] = []
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            cls = cast("Any", kind).instance_class
            parts.append((cls.__module__, cls.__qualname__, cls._fields))
        if isinstance(kind, types.BaseTuple):
            parts += _fields(cast("Any", kind).types)
        elif isinstance(kind, types.Optional):
            parts += _fields([kind.type])
    return parts


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the folder of compiled code; None if there is none and none can be made.

    The folder may be read-only, as in an image: kernels that are in it are loaded, and others are
    compiled in memory.
    """
    if not os.path.isfile(__file__):  # imported from a zip file
        return None
    try:
        folder = _user_cache() / "equipoise" / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home directory
        return None
    return folder if os.access(folder, os.R_OK | os.X_OK) else None


def _kernel_folder(kernel: _Kernel) -> Path | None:
    """Return the folder of the compiled code of a kernel; None if its code is not kept.

    A kernel that was typed in is not: another process may not know the types of its arguments.
    """
    function: FunctionType = kernel.py_func
    folder = None if function.__module__ == "__main__" else cache_folder()
    if folder is None:
        return None
    try:
        digest = _digest(kernel)
    except _NotDigestedError:
        return None
    name = function.__qualname__.replace("<", "").replace(">", "")
    return folder / function.__module__ / name / digest


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


def _remove_old_versions(parent: Path) -> None:
    """Remove all but the newest versions of a kernel; another process may do so as well."""
    ages = []
    for folder in parent.iterdir():
        with suppress(OSError):
            ages.append((folder.stat().st_mtime_ns, folder))
    for _, folder in sorted(ages, reverse=True)[KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)


class _KernelLocator(_CacheLocator):
    """Gives Numba the folder of a kernel's compiled code, whose name says what it depends on."""

    def __init__(self, folder: Path, file: str) -> None:
        self._folder = folder
        self._py_file = file  # Numba's warnings read it

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return ""


#: Numba's event of compiling a kernel, and ours of loading one from disk.
_COMPILING, _LOADING = "numba:compile", "equipoise:load"

#: Errors caused by a full disk, a crash while writing, a change of permissions, or by types of
#: arguments that are no longer where they were.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError, ImportError, AttributeError)


class _KernelImpl(CompileResultCacheImpl):
    def __init__(self, function: FunctionType, folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _KernelLocator(folder, function.__code__.co_filename)
        self._filename_base = f"kernel-{sys.implementation.cache_tag}"

    def reduce(self, data: Any) -> Any:
        """Return what to keep on disk of compiled code.

        Numba adds the environments of all functions in the code, and loading one imports the module
        of its function. Compiled code reads nothing but constants of an environment.
        """
        *parts, environments = super().reduce(data)
        return (*parts, tuple(environment for environment in environments if environment.consts))


class _KernelFiles(IndexDataCacheFile):
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


class _KernelCache(FunctionCache):
    """Compiled code of a kernel on disk.

    If it cannot be read or written there, the kernel is compiled in memory.
    """

    def __init__(self, function: FunctionType, folder: Path) -> None:
        self._name, self._py_func, self._folder = repr(function), function, folder
        self._impl = _KernelImpl(function, folder)
        self._cache_path = str(folder)
        self._cache_file = _KernelFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )
        self.enable()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), tuple(_fields(sig))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        overload = None
        try:
            with event.trigger_event(_LOADING):
                _name_runtime_functions()
                # Without the refresh of Numba's own method: it imports everything that kernels may
                # need while they are compiled, and Numba makes up for it before it compiles.
                with self._guard_against_spurious_io_errors():
                    overload = self._load_overload(sig, target_context)
        except _UNUSABLE:
            with suppress(OSError):
                self.flush()  # an index that was cut off would stand in the way for good
        if overload is None and getattr(_here, "cached_only", False):
            raise NotCachedError(self._name)
        if overload is not None:
            with suppress(OSError):  # where this is refused, the code can be read all the same
                os.utime(self._folder)
        return overload

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(*_UNUSABLE):
            super().save_overload(sig, data)
            _remove_old_versions(self._folder.parent)


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
        reached, waiting = {self.outermost}, [self.outermost]
        while waiting:
            kernel = waiting.pop()
            # One that is done has compiled all that it needs.
            if not self.done.get(kernel):
                new = set(_called_by(kernel)) - reached
                reached |= new
                waiting += new
        return sum(kernel not in self.done for kernel in reached)


def _called_by(dispatcher: Any) -> list[Any]:
    """Return the kernels that a kernel mentions."""
    function = dispatcher.py_func
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    mentioned = [function.__globals__.get(name) for name in function.__code__.co_names]
    return [kernel for kernel in (*mentioned, *cells) if isinstance(kernel, _Kernel)]


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


def working_time() -> float:
    """Return the seconds of a clock that stops while kernels are compiled or loaded.

    Kernels are compiled once on a machine and loaded once in a process, so their time says nothing
    about the speed of rating. Only the difference of two values is meaningful.
    """
    _, compilation = _watch()
    return time.perf_counter() - compilation.seconds - compilation.loading


@lru_cache(maxsize=1)
def _watch() -> tuple[AbstractContextManager[Compilation], Compilation]:
    """Return a watch of all compilation from now on; the cache keeps it alive."""
    watch = watch_compilation()
    compilation = watch.__enter__()
    # Closed before the interpreter unloads Numba, which would print an error.
    atexit.register(watch.__exit__, None, None, None)
    return watch, compilation
