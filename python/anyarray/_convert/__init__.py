# SPDX-License-Identifier: Apache-2.0
"""`convert`: gives an array of any library to any other. What the extension's short way can't finish is done here.

targets.py is the table of what each library can hold, limits.py the predicates that it names, entries.py the ways of
giving, resolve.py what `to` may be, record.py the account.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NoReturn

from .. import _core
from ..errors import ExchangeError, type_name
from ..explanation import Explanation
from .entries import ENTRIES, from_device
from .limits import FINAL, LIMITS
from .record import Conversion, Way
from .resolve import Resolved, by_instance, by_type, load, resolve
from .targets import ANY_DTYPE, SHARED_WITH_IMMUTABLE, STANDARD

_HOST = ("cpu", "cuda_host", "rocm_host")
_HOW = {
    "ndarray": "an ndarray made by NumPy's C functions",
    "torch": "a DLPack tensor, through the exchange table",
    "jax": "a legacy DLPack capsule",
    "tvm_ffi": "a legacy DLPack capsule",
    "pyarrow": "a buffer",
    "array_api_strict": "an ndarray",
    "tensorflow": "a legacy DLPack capsule",
    "paddle": "a legacy DLPack capsule",
    "warp": "a legacy DLPack capsule",
    "from_dlpack": "a DLPack capsule",
}

#: What is never made a reason of.
_PASSED_ON = (MemoryError, RecursionError, ImportError)

Allow = str | Iterable[str]


class _Run:
    """One conversion: what is found out on the way, and the account of it."""

    def __init__(
        self, obj: object, found: Resolved, copy: bool | None, allow: Allow, taken: _core.Array | None
    ) -> None:
        self.obj, self.copy, self.allow, self.array = obj, copy, allow, taken
        self.found = found
        self.target, self.asked = found.target, found.asked
        self.way: Way = "refused"
        self.reasons: list[str] = []
        self.resolved = False

    def refuse(self, why: str, *, helped: bool = False) -> NoReturn:
        """Raise the one error; `helped`: a copy would do."""
        self.way = "refused"
        advice = "; copy=None or copy=True makes one" if helped else ""
        head = f"can't convert {type_name(self.obj)} to {self.target.name}"
        raise ExchangeError(f"{head}: {why}{advice}")

    def run(self) -> Any:
        same = by_type(type(self.obj))
        if same is not None and same.target is self.target and self.asked in ("", same.asked, *self._alike()):
            if self.copy is not True:
                self.way = "itself"
                return self.obj
            if self.target.clone:
                self.way = "copied"
                self.reasons.append("copy=True")
                return getattr(self.obj, self.target.clone)()
        library = load(self.found)
        if self.array is None:
            self.array = self._take()
        array = self.array
        if array.device.name not in _HOST:
            return self._give_device_memory(array, library)
        self._check_dtype(array, library)
        # Memory that was made for this call is known to nobody else: writing to it does no harm.
        obstacles = self._obstacles(array, without=("readonly",) if self.resolved else ())
        fresh = array
        if obstacles and self.copy is False:
            self.refuse(f"{'; '.join(obstacles)}: it needs a copy", helped=True)
        if self.target.copies:
            self._no_copy_forbidden(f"{self.target.name} copies host memory: {self.target.copies}")
        if obstacles or (self.copy and not self.resolved and not self.target.copies):
            self.reasons += obstacles or ["copy=True"]
            fresh = self._copied(array)
        return self._give(fresh, array, library)

    def _alike(self) -> tuple[str, ...]:
        """Names of types that mean the same as what the object is: those of the library but Arrow's two kinds."""
        return () if self.target.name == "pyarrow" else self.target.types

    def _take(self) -> _core.Array:
        try:
            return _core.view(self.obj, allow=self.allow)
        except ExchangeError:
            plain = _resolve_bits(self.obj)
            if plain is None:
                raise
            why = "the tensor's conjugate or negative bit is set: its memory holds other values than it means"
            if self.copy is False:
                self.refuse(f"{why}, so it needs a copy", helped=True)
            self.reasons.append(why)
            self.resolved = True
            return _core.view(plain, allow=self.allow)

    def _check_dtype(self, array: _core.Array, library: Any) -> None:
        target = self.target
        if target.dtypes == ANY_DTYPE:
            return
        native = str(_native(array.dtype))
        if native not in target.dtypes:
            self.refuse(f"{target.name} has no dtype for {array.dtype}: convert it with its own library first")
        since = target.since.get(native)
        if since is not None and _version(library) < _numbers(since):
            self.refuse(f"{target.name} has {array.dtype} only from version {since} on")

    def _obstacles(self, array: _core.Array, without: tuple[str, ...] = ()) -> list[str]:
        """Say what keeps the library from holding the memory as it lies; what no copy helps is refused."""
        found = []
        if array.dtype.byteorder == ">" and self.target.name != "numpy":
            found.append(f"its elements are in foreign byte order, which {self.target.name} doesn't have")
        for name in (limit for limit in self.target.limits if limit not in without):
            why = LIMITS[name](array, self.target)
            if why and name in FINAL:
                self.refuse(why)
            if why:
                found.append(why)
        return found

    def _copied(self, array: _core.Array) -> _core.Array:
        """Give the elements in new memory. NumPy does that itself, in byte order and gaps as they are."""
        return array if self.target.name == "numpy" else _core._copy_of(array)

    def _no_copy_forbidden(self, why: str) -> None:
        if self.copy is False:
            self.refuse(why)
        self.reasons.append(why)

    def _give(self, array: _core.Array, source: _core.Array, library: Any) -> Any:
        target = self.target
        try:
            made = ENTRIES[target.entry](array, library, self.asked)
        except _PASSED_ON:
            raise
        except Exception as error:  # libraries raise whatever they like
            self.refuse_because(error)
        shared = array is source and not (target.copies or self.resolved)
        if shared and (target.may_copy or source.strides is None):
            shared = _shares(made, source)
            if not shared and not self.reasons:
                self._no_copy_forbidden(f"{target.name} copied it")
        if shared and self.copy and target.name == "numpy":
            made = ENTRIES[target.entry](_core.asarray(array, copy=True, order="C"), library, self.asked)
            shared = False
        elif shared and self.copy:
            made = getattr(made, target.clone)() if target.clone else self._no_copy_made()
            shared = False
        if target.name == "numpy" and shared and not source.readonly and not made.flags.writeable:
            self.reasons.append("elements share memory, so the ndarray is read-only")
        if shared and target.immutable and not source.readonly:
            self.reasons.append(SHARED_WITH_IMMUTABLE)
        self.way = "shared" if shared else "copied"
        return made

    def _no_copy_made(self) -> NoReturn:
        self.refuse(f"{self.target.name} shares the memory of elements of this dtype, and copy=True was given")

    def refuse_because(self, error: Exception) -> NoReturn:
        """Raise the one error for what the library said."""
        said = str(error).strip().partition("\n")[0]
        try:
            self.refuse(said if isinstance(error, ExchangeError) else f"{type(error).__name__}: {said}")
        except ExchangeError as own:
            raise own from error

    def _give_device_memory(self, array: _core.Array, library: Any) -> Any:
        target = self.target
        if array.device.name not in target.devices:
            self._no_copy_forbidden(f"its memory lies on {array.device}, where {target.name} can't read it")
            try:
                self.array = from_dlpack(self.obj, device="cpu")
            except _PASSED_ON:
                raise
            except Exception as error:
                self.refuse_because(error)
            self.resolved = True
            return self._give(self.array, self.array, library)
        self._check_dtype(array, library)
        obstacles = self._obstacles(array, without=("aligned_64",))
        if obstacles and self.copy is False:
            self.refuse(f"{'; '.join(obstacles)}: it needs a copy", helped=True)
        try:
            made = from_device(self.obj, array, target.name, library)
        except _PASSED_ON:
            raise
        except Exception as error:
            self.refuse_because(error)
        if self.copy or obstacles:
            self.reasons += obstacles or ["copy=True"]
            self.way = "copied"
            return getattr(made, target.clone)() if target.clone else self._no_copy_made()
        self.way = "shared"
        return made

    def record(self, explanation: Explanation | None, error: str = "") -> Conversion:
        """Give the account. What was taken is told by `explanation`."""
        e = explanation if self.way != "itself" else None
        facts: Any = e if e is not None else self.array  # both have them under the same names
        return Conversion(
            object_type=type_name(self.obj),
            target=self.target.name,
            way=self.way,
            protocol=getattr(facts, "protocol", None),
            entry=_HOW.get(self.target.entry, self.target.entry),
            reasons=tuple(self.reasons),
            shape=getattr(facts, "shape", None),
            dtype=getattr(facts, "dtype", None),
            device=getattr(facts, "device", None),
            readonly=getattr(facts, "readonly", None),
            error=error,
            explanation=e,
        )


def _native(dtype: _core.DType) -> _core.DType:
    """The same type in the machine's order."""
    return _core.DType("=" + dtype.name.lstrip("<>")) if dtype.byteorder == ">" else dtype


def _numbers(version: str) -> tuple[int, ...]:
    parts = []
    for part in version.partition("+")[0].split("."):
        digits = "".join(c for c in part if c.isdigit())
        if not digits or not part[0].isdigit():
            break
        parts.append(int(digits))
    return tuple(parts)


def _version(library: ModuleType) -> tuple[int, ...]:
    return _numbers(str(getattr(library, "__version__", "")))


def _shares(made: Any, source: _core.Array) -> bool:
    """Whether the result begins at the same address. What can't be viewed has memory of its own."""
    if source.size == 0:
        return True
    if hasattr(made, "buffers"):  # of Arrow, whose nulls keep it from being viewed
        memory = made.buffers()[1]
        return memory is not None and int(memory.address) == source.ptr
    try:
        return _core.view(made).ptr == source.ptr
    except ExchangeError:
        return False


def _resolve_bits(obj: Any) -> Any:
    """Give a tensor whose memory holds its values, where only conjugation or negation was in the way; else None."""
    found = by_type(type(obj))
    if found is None or found.target.name != "torch" or obj.requires_grad:
        return None
    if obj.layout is not sys.modules["torch"].strided:
        return None
    return obj.resolve_conj().resolve_neg() if obj.is_conj() or obj.is_neg() else None


_LIMIT_BITS = {"readonly": 1, "negative": 2, "overlap": 4, "element_strides": 8}


def _register(to: Any, found: Resolved) -> None:
    """Let the extension do the next one by itself, if it can."""
    target = found.target
    if isinstance(to, str):
        key: Any = sys.intern(to)
    elif isinstance(to, (ModuleType, type)):
        key = to
    else:
        key = type(to)
    library = load(found)
    bits = sum(_LIMIT_BITS.get(name, 0) for name in target.limits)
    dtypes: tuple[str, ...] = target.dtypes
    if target.name == "numpy":
        dtypes, bits = (*STANDARD, "float16"), bits | _LIMIT_BITS["overlap"]
    else:
        version = _version(library)
        dtypes = tuple(d for d in dtypes if version >= _numbers(target.since.get(d, "0")))
    _core._register_target(key, getattr(library, target.types[0]), dtypes, bits)


#: What `to` stood for before: names, modules and types, which may be compared and are few.
_resolved: dict[Any, Resolved] = {}
_RESOLVED_MAX = 256


def convert_slowly(obj: object, to: Any, copy: bool | None, allow: Allow | None, taken: _core.Array | None) -> Any:
    """Do what the extension's short way couldn't; called by it."""
    whole = isinstance(to, (str, ModuleType, type))
    key = to if whole else type(to)
    found = _resolved.get(key)
    if found is None:
        found = resolve(to)
        if whole or by_type(type(to)) is not None:
            if len(_resolved) >= _RESOLVED_MAX:  # types that a program makes again and again aren't kept for ever
                _resolved.clear()
            _resolved[key] = found
            if found.target.fast:
                _register(to, found)
    return _Run(obj, found, copy, () if allow is None else allow, taken).run()


def convert_like(obj: object, example: Any) -> Any:
    """Give `obj` to the library of `example`, or make it an Array where that is of none; called by the extension."""
    try:
        known = by_instance(example) is not None
    except ValueError:  # of a namespace that takes no arrays
        known = False
    if known:
        return convert_slowly(obj, example, None, None, None)
    return obj if isinstance(obj, _core.Array) else _core.view(obj)


def explain_convert(obj: object, to: Any, /, *, copy: bool | None = None, allow: Allow = ()) -> Conversion:
    """Say which way `convert` goes with an object, and why. Converts it, and drops the result.

    Parameters
    ----------
    obj, to, copy, allow
        As for `convert`.

    Returns
    -------
    Conversion
        Its str() is for people.

    Raises
    ------
    ImportError, ValueError, TypeError
        As `convert`, for what isn't about the object.
    """
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy is None, True or False, not {type(copy).__name__}")
    run = _Run(obj, resolve(to), copy, allow, None)
    error = ""
    # What can be taken once only isn't taken for the account of the taking.
    explanation = None if type(obj).__name__ == "PyCapsule" else _core.explain(obj, allow=allow)
    try:
        run.run()
    except ExchangeError as refused:
        run.way, error = "refused", str(refused)
    return run.record(explanation, error)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> _core.Array:
    """Take an array over DLPack alone, as the array API standard 2025.12 says.

    Parameters
    ----------
    x : object
        With `__dlpack__` and `__dlpack_device__`.
    device : None, str, tuple, or Device
        Where the result is to lie; None: where `x` lies. Only the host, or the device of `x`.
    copy : None, True or False
        True: always. False: never. None: where it is needed.

    Returns
    -------
    Array

    Raises
    ------
    AttributeError
        `x` lacks the methods.
    BufferError
        `x` can't be exported; an ExchangeError says what was tried.
    ValueError
        A copy is needed, and copy=False.
    """
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy is None, True or False, not {type(copy).__name__}")
    for name in ("__dlpack__", "__dlpack_device__"):
        if not hasattr(x, name):
            raise AttributeError(f"{type_name(x)} has no {name}: from_dlpack takes nothing else, view and convert do")
    wanted = None if device is None else _core._parse_device(device)
    at = tuple(int(n) for n in x.__dlpack_device__())
    if wanted is not None and wanted != at:
        return _from_other_device(x, wanted, at, copy)
    array = _core.view(x, policy=["dlpack_exchange", "dlpack"])
    if copy is False and array.copied:
        raise ValueError(f"{type_name(x)} gave a copy, and copy=False was given")
    if not copy:
        return array
    if array.device.name in _HOST:
        return _core._copy_of(array)
    return _core.view(x.__dlpack__(max_version=(1, 3), copy=True), policy=["dlpack"])


def _from_other_device(x: Any, wanted: tuple[int, int], at: tuple[int, ...], copy: bool | None) -> _core.Array:
    host = (1, 0)
    if at[0] in (3, 11) and wanted == host:  # pinned memory is the host's
        array = _core.view(x, policy=["dlpack"])
        return _core._copy_of(array) if copy else array
    if copy is False:
        raise ValueError(f"the array lies on {_core._device_text((at[0], at[1]))}: elsewhere it needs a copy")
    if wanted != host:
        raise BufferError("an array is copied to the host, but to no other device: use the library that made it")
    try:
        capsule = x.__dlpack__(max_version=(1, 3), dl_device=host, copy=copy)
    except TypeError as error:
        raise BufferError(f"{type_name(x)} can't be asked to copy to the host ({error})") from error
    return _core.view(capsule, policy=["dlpack"])
