# SPDX-License-Identifier: Apache-2.0
"""asarray(): the array API standard's rules for copy, dtype, order and device, over arrays of any library."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")


class Lends:
    """Offers one protocol of an ndarray, and is asked for nothing else."""

    def __init__(self, x: Any, name: str) -> None:
        self.x, self.name = x, name

    def __getattr__(self, name: str) -> Any:
        if name == self.name:
            return getattr(self.x, name)
        raise AttributeError(name)


def shares(a: aa.Array, x: Any) -> bool:
    return bool(np.shares_memory(np.asarray(a), x))


# --- copy x dtype x order, over ways of offering memory -------------------------------------------------------------

LAYOUTS: dict[str, Callable[[], Any]] = {
    "C": lambda: np.arange(6.0, dtype="f4").reshape(2, 3),
    "F": lambda: np.arange(6.0, dtype="f4").reshape(3, 2).T,
    "strided": lambda: np.arange(24.0, dtype="f4").reshape(4, 6)[::2, ::2],
    "reversed": lambda: np.arange(6.0, dtype="f4").reshape(2, 3)[::-1],
    "repeated": lambda: np.broadcast_to(np.arange(3.0, dtype="f4"), (2, 3)),
    "one dimension": lambda: np.arange(6.0, dtype="f4"),
    "no dimension": lambda: np.array(5.0, "f4"),
    "empty": lambda: np.zeros((0, 3), "f4"),
    "swapped": lambda: np.arange(6.0, dtype=">f4").reshape(2, 3),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "ndarray": lambda x: x,
    "memoryview": memoryview,
    "Array": aa.view,
    "struct": lambda x: Lends(x, "__array_struct__"),
    "interface": lambda x: Lends(x, "__array_interface__"),
    "method": lambda x: Lends(x, "__array__"),
}
DTYPES = (None, "float32", "float64", ">f4")
ORDERS = (None, "C", "F")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rules_of_the_standard(way: str, layout: str) -> None:
    for dtype, order, copy in itertools.product(DTYPES, ORDERS, (None, True, False)):
        x = LAYOUTS[layout]()
        given = WAYS[way](x)
        fits = (dtype is None or aa.DType(x.dtype) == dtype) and (order is None or x.flags[f"{order}_CONTIGUOUS"])
        words = {"dtype": dtype, "order": order, "copy": copy}
        if copy is False and not fits:
            with pytest.raises(aa.CopyError, match="copy=False"):
                aa.asarray(given, **words)
            continue
        a = aa.asarray(given, **words)
        reused = fits and not copy
        assert a.dtype == (dtype or x.dtype) and a.shape == x.shape and a.tolist() == x.tolist(), words
        assert (a.ptr == x.ctypes.data) == reused, words
        assert (a is given) == (reused and way == "Array"), words
        if reused:
            assert x.size == 0 or a.strides == x.strides
            assert a.readonly == (not x.flags.writeable)
            continue
        assert a.copied is True and not a.readonly and a.ptr % 64 == 0, words
        fortran = order == "F" or (order is None and x.flags.f_contiguous and not x.flags.c_contiguous)
        assert a.f_contiguous if fortran else a.c_contiguous, words


def test_the_account_says_the_same() -> None:
    x = LAYOUTS["C"]()
    for dtype, order, copy in itertools.product((None, "float64"), ORDERS, (None, True, False)):
        e = aa.explain_asarray(x, dtype=dtype, order=order, copy=copy)
        wants = [w for w in (dtype and "dtype float64", order == "F" and "order F", copy and "copy=True") if w]
        assert len(e.reasons) == len(wants)
        assert all(reason.startswith(want) for reason, want in zip(e.reasons, wants, strict=True)), e
        assert e.way == ("shared" if not wants else "refused" if copy is False else "copied")
        assert e.protocol == "numpy" and (e.error != "") == (e.way == "refused") and e.shape == (2, 3)
    assert aa.explain_asarray(aa.view(x)).way == "itself" and aa.explain_asarray(aa.view(x)).explanation is None


def test_no_keyword_is_the_cheapest() -> None:
    for x in (np.zeros(3), bytearray(3), memoryview(b"abc")):
        a = aa.asarray(x)
        assert (a.ptr, a.shape, a.protocol) == (aa.view(x).ptr, aa.view(x).shape, aa.view(x).protocol)


# --- libraries --------------------------------------------------------------------------------------------------------


def _of_torch(x: Any) -> Any:
    return needs("torch").from_numpy(x)


def _of_jax(x: Any) -> Any:
    return needs("jax.numpy").asarray(x)


def _of_pyarrow(x: Any) -> Any:
    return needs("pyarrow").array(x)


def _of_polars(x: Any) -> Any:
    return needs("polars").Series(x)


def _of_pandas(x: Any) -> Any:
    return needs("pandas").Series(x)


def _of_strict(x: Any) -> Any:
    return needs("array_api_strict").asarray(x)


@pytest.mark.parametrize("make", [_of_torch, _of_jax, _of_pyarrow, _of_polars, _of_pandas, _of_strict])
def test_every_library(make: Callable[[Any], Any]) -> None:
    x = np.arange(5, dtype="i4")
    given = make(x)
    assert aa.asarray(given).ptr == aa.view(given).ptr
    for dtype in ("int32", "int64", "float64", "float16"):
        a = aa.asarray(given, dtype=dtype, copy=True, casting="unsafe")
        assert a.dtype == dtype and a.tolist() == [0, 1, 2, 3, 4] and not a.readonly
        assert a.ptr != aa.view(given).ptr
    with pytest.raises(aa.CopyError):
        aa.asarray(given, dtype="float64", copy=False)


def test_dtypes_of_other_libraries_as_dtype() -> None:
    torch = needs("torch")
    ml_dtypes = needs("ml_dtypes")
    x = np.arange(3.0)
    for dtype, name in (
        (np.float32, "float32"), (np.dtype("i2"), "int16"), (torch.bfloat16, "bfloat16"), (int, "int64"),
        (ml_dtypes.float8_e4m3fn, "float8_e4m3fn"), (aa.DType("uint8"), "uint8"),
    ):  # fmt: skip
        for _ in range(2):  # the second time it is known
            a = aa.asarray(x, dtype=dtype, casting="unsafe")
            assert a.dtype == name and a.tolist() == [0, 1, 2]


def test_a_dtype_that_changes_in_place_is_asked_again() -> None:
    x = np.zeros(2, [("a", "i4"), ("b", "f4")])
    dtype = np.dtype([("a", "i4"), ("b", "f4")])
    assert aa.asarray(x, dtype=dtype).ptr == x.ctypes.data
    dtype.names = ("c", "d")
    with pytest.raises(aa.CastError):
        aa.asarray(x, dtype=dtype)


def test_guards_and_policies_hold() -> None:
    masked = np.ma.masked_array(np.arange(3.0), [0, 1, 0])
    with pytest.raises(aa.ExchangeError, match="mask"):
        aa.asarray(masked)
    assert aa.asarray(masked, allow="mask", dtype="float32").tolist() == [0, 1, 2]
    assert aa.asarray(np.zeros(3), policy=["dlpack"]).protocol == "dlpack"
    with aa.default_policy(["array_interface"]):
        assert aa.asarray(np.zeros(3)).protocol == "array_interface"
    with pytest.raises(aa.ExchangeError, match="outside of it"):
        aa.asarray(np.zeros(3), policy=["cuda_array_interface"])
    with pytest.raises(aa.ExchangeError, match="outside of it"):
        aa.copyto(bytearray(3), np.zeros(3, "u1"), policy=["builtin"])


# --- devices ----------------------------------------------------------------------------------------------------------


class OnCuda:
    """A CUDA array without a driver: its address is never touched."""

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}  # noqa: RUF012


@pytest.mark.parametrize("device", ["cpu", ("cpu", 0), aa.Device("cpu")])
def test_the_host(device: Any) -> None:
    for given in (np.zeros(3), aa.view(b"abc"), [1, 2], 3.5, bytearray(2)):
        assert aa.asarray(given, device=device).device == "cpu"


def test_what_is_on_a_device_stays_there() -> None:
    a = aa.asarray(OnCuda())
    assert a.device == "cuda:0" and a.ptr == 4096 and aa.asarray(a, device="cuda") is a
    for words in ({"device": "cpu"}, {"device": "cuda:1"}, {"dtype": "float64"}, {"copy": True}):
        for given in (OnCuda(), a):
            with pytest.raises(aa.ExchangeError, match="cuda:0") as caught:
                aa.asarray(given, **words)
            assert not isinstance(caught.value, (aa.CopyError, aa.CastError))
    for given in ([1, 2], 3, np.zeros(3), aa.view(b"abc")):
        with pytest.raises(aa.ExchangeError, match="cuda"):
            aa.asarray(given, device="cuda:0")


# --- casting ----------------------------------------------------------------------------------------------------------


def test_rules_of_casting() -> None:
    x = np.array([1.0, 2.5])
    for rule in ("no", "equiv", "safe", "same_kind", "same_value"):
        with pytest.raises(aa.CastError, match=r"2\.5" if rule == "same_value" else f"float64.*int32.*{rule}"):
            aa.asarray(x, dtype="int32", casting=rule)
    assert aa.asarray(x, dtype="int32", casting="unsafe").tolist() == [1, 2]
    assert aa.asarray(x, dtype="float32").dtype == "float32"
    assert aa.asarray(np.array([1.0, 2.0]), dtype="int32", casting="same_value").tolist() == [1, 2]
    with pytest.raises(aa.CastError, match="safe"):
        aa.asarray(x, dtype="float32", casting="safe")
    with pytest.raises(TypeError, match=r"2\.5"):
        aa.asarray(x, dtype="int8", casting="same_value")


def test_errors_are_of_python_s_kinds() -> None:
    assert issubclass(aa.CopyError, ValueError) and issubclass(aa.SequenceError, ValueError)
    assert issubclass(aa.CastError, TypeError) and issubclass(aa.CastOverflowError, OverflowError)
    for kind in (aa.CopyError, aa.CastError, aa.CastOverflowError, aa.SequenceError, aa.NotAnArrayError):
        assert issubclass(kind, aa.ExchangeError)
    with pytest.raises(aa.CopyError) as caught:
        aa.asarray(np.zeros(3), dtype="f4", copy=False)
    assert [(a.protocol, a.status) for a in caught.value.attempts] == [("numpy", "ok"), ("copy", "refused")]
    with pytest.raises(aa.CastError) as refused:
        aa.asarray([1.5], dtype="int8")
    assert [(a.protocol, a.status) for a in refused.value.attempts] == [("sequence", "refused")]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"copy": 1}, TypeError), ({"copy": "yes"}, TypeError), ({"order": "K"}, ValueError), ({"order": 1}, TypeError),
        ({"casting": "any"}, ValueError), ({"casting": 1}, TypeError), ({"dtype": "float99"}, ValueError),
        ({"device": "moon"}, ValueError), ({"ndim": 1}, TypeError), ({"writable": True}, TypeError),
        ({"like": 1}, TypeError), ({"policy": "nothing"}, ValueError), ({"allow": "all"}, ValueError),
    ],
)  # fmt: skip
def test_wrong_keywords(words: dict[str, Any], kind: type[Exception]) -> None:
    for given in (np.zeros(3), [1.0], aa.view(b"abc")):
        with pytest.raises(kind):
            aa.asarray(given, **words)


def test_wrong_counts() -> None:
    make: Any = aa.asarray
    with pytest.raises(TypeError, match="one positional"):
        make()
    with pytest.raises(TypeError, match="one positional"):
        make([1], "float32")


# --- numbers and sequences --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [1, 2.5, True, 3j, [1, 2], (1.0, 2), [[1], [2]], range(3), [], [np.float32(1), 2]])
def test_python_objects(given: Any) -> None:
    a = aa.asarray(given)
    assert a.tolist() == np.asarray(given).tolist() and a.dtype == np.asarray(given).dtype
    assert not a.readonly and a.copied is True
    assert aa.asarray(given, copy=True).tolist() == a.tolist()
    with pytest.raises(aa.CopyError, match="no memory"):
        aa.asarray(given, copy=False)
    with pytest.raises(aa.NotAnArrayError, match="asarray"):
        aa.view(given)
    e = aa.explain_asarray(given)
    kind = "sequence" if np.ndim(given) else "scalar"
    assert e.way == "copied" and e.explanation is not None and e.explanation.ok
    assert e.protocol == kind and f"read as a {kind}" in str(e) and f"served by {kind}" in str(e.explanation)
    assert [(t.protocol, t.status) for t in e.explanation.attempts][-1] == (kind, "ok")


@pytest.mark.parametrize(
    "given", [None, "text", {}, set(), object(), iter([1]), (i for i in ()), int, len, Exception()]
)
def test_no_array_at_all(given: Any) -> None:
    for copy in (None, True, False):
        with pytest.raises(aa.NotAnArrayError, match="can't make an array of") as caught:
            aa.asarray(given, copy=copy)
        assert isinstance(caught.value, TypeError)
        assert caught.value.attempts == ()
    e = aa.explain_asarray(given)
    assert e.way == "refused" and "can't make an array of" in str(e) and not e.ok


def test_what_to_do_with_what_is_no_array() -> None:
    for given, words in ((iter([1]), r"list\(x\)"), ("a", "dtype="), ({1: 2}, r"list\(x\.values\(\)\)"), (None, "nan")):
        with pytest.raises(aa.NotAnArrayError, match=words):
            aa.asarray(given)
        with pytest.raises(aa.NotAnArrayError, match=words):
            aa.copyto(np.zeros(1), given)


def test_what_was_offered_and_failed_is_not_read_by_element() -> None:
    class Broken(list[int]):
        @property
        def __array_interface__(self) -> Any:
            raise RuntimeError("broken offer")

    with pytest.raises(aa.ExchangeError, match="broken offer") as caught:
        aa.asarray(Broken([1, 2]))
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert not isinstance(caught.value, aa.NotAnArrayError)
    assert aa.asarray(list(Broken([1, 2]))).tolist() == [1, 2]


def test_text_where_it_is_asked_for() -> None:
    for dtype in ("U", str, "U3"):
        a = aa.asarray(["a", "bcd"], dtype=dtype)
        assert a.dtype == "U3" and a.tolist() == ["a", "bcd"]
    assert aa.asarray(b"abc", dtype="S").tolist() == b"abc" and aa.asarray(b"abc").tolist() == [97, 98, 99]
    x = np.array(["a", "bcd"])
    assert aa.asarray(x, dtype="U").ptr == x.ctypes.data
    with pytest.raises(aa.SequenceError, match="text is taken where it is asked for"):
        aa.asarray(["a"])


# --- __array__, and copies that producers make ------------------------------------------------------------------------


class CopiesOnly:
    """Raises where it mustn't copy, as NumPy asks such classes to."""

    def __init__(self) -> None:
        self.asked: list[bool | None] = []

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self.asked.append(copy)
        if copy is False:
            raise ValueError("it needs a copy")
        return np.arange(3.0)


def test_a_producer_that_must_copy_may() -> None:
    with pytest.raises(aa.ExchangeError, match="it needs a copy"):
        aa.view(CopiesOnly())
    with pytest.raises(aa.CopyError, match=r"asked for copy=False\):\n.*it needs a copy\n.*copy=None") as caught:
        aa.asarray(CopiesOnly(), copy=False)
    assert caught.value.__cause__ is caught.value.attempts[-1].exception is not None
    made = CopiesOnly()
    a = aa.asarray(made)
    assert a.tolist() == [0, 1, 2] and a.copied is True and made.asked == [False, None]
    assert aa.explain_asarray(CopiesOnly()).way == "copied"


def test_a_producer_that_must_copy_may_wherever_a_copy_is_made() -> None:
    made = [CopiesOnly(), CopiesOnly()]
    assert aa.asarray(made).tolist() == [[0, 1, 2]] * 2
    assert [one.asked for one in made] == [[False, None]] * 2
    x = np.empty((2, 3), "f4")
    assert aa.asarray(made, out=x) is x and x.tolist() == [[0, 1, 2]] * 2
    for given in (CopiesOnly(), [CopiesOnly()]):
        x[...] = 5
        aa.copyto(x, given)
        assert x.tolist() == [[0, 1, 2]] * 2

    class Never(CopiesOnly):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise (ValueError("not so") if copy is False else ZeroDivisionError("not at all"))

    for fails in (
        lambda: aa.asarray([Never()]),
        lambda: aa.copyto(x, Never()),
        lambda: aa.copyto(x, [range(3), Never()]),
    ):
        with pytest.raises(aa.ExchangeError, match="not at all") as caught:
            fails()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert x.tolist() == [[0, 1, 2]] * 2

    class Stops(CopiesOnly):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise (ValueError("not so") if copy is False else KeyboardInterrupt("mine"))

    for stops in (lambda: aa.asarray([Stops()]), lambda: aa.copyto(x, Stops()), lambda: aa.asarray(Stops())):
        with pytest.raises(KeyboardInterrupt, match="mine"):
            stops()


def test_waivers_hold_for_arrays_inside_and_for_targets() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    for refused in (lambda: aa.asarray([masked]), lambda: aa.copyto(np.empty(2), [masked])):
        with pytest.raises(aa.ExchangeError, match=r'or pass allow=\("mask",\)'):
            refused()
    assert aa.asarray([masked, masked], allow=("mask",)).tolist() == [[1, 2]] * 2
    x = np.empty(2)
    for source in (masked, [masked[0], 2.0], [masked]):
        x[...] = 0
        aa.copyto(x, source, allow=["mask"])
        assert x.tolist() == [1, 2]
    with pytest.raises(aa.ExchangeError, match=r'or pass allow=\("mask",\)'):
        aa.copyto(masked, 5)
    aa.copyto(masked, 5, allow="mask")
    assert masked.data.tolist() == [5, 5] and masked.mask.tolist() == [False, True]
    assert aa.asarray([3, 4], out=masked, allow="mask") is masked and masked.data.tolist() == [3, 4]
    with pytest.raises(ValueError, match="'nothing'"):
        aa.copyto(x, 1, allow=("nothing",))  # type: ignore[arg-type]  # that it is refused is the test


def test_a_fresh_copy_of_the_producer_is_enough() -> None:
    class Fresh:
        made: Any = None

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            x = np.arange(3.0)
            Fresh.made = x.ctypes.data
            return x

    assert aa.asarray(Fresh(), copy=True).ptr == Fresh.made
    with pytest.raises(aa.CopyError, match="is a copy"):
        aa.asarray(Fresh(), copy=False)

    class Kept(Fresh):
        kept = np.arange(3.0)

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return self.kept

    assert aa.asarray(Kept()).ptr == Kept.kept.ctypes.data != aa.asarray(Kept(), copy=True).ptr


def test_an_array_is_always_copied_where_that_is_asked() -> None:
    a = aa.asarray([1.0, 2.0])
    assert a.copied is True and aa.asarray(a) is a
    b = aa.asarray(a, copy=True)
    assert b.ptr != a.ptr and b.tolist() == a.tolist()
    assert aa.asarray(a, copy=False) is a


def test_hostile_producers() -> None:
    class Wrong:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            if isinstance(self.answer, BaseException):
                raise self.answer
            return self.answer

    for answer in ([1, 2], None, 3.0, aa.view(b"abc")):
        with pytest.raises(aa.ExchangeError, match=r"must return a numpy\.ndarray"):
            aa.asarray(Wrong(answer))
    with pytest.raises(aa.ExchangeError, match="always") as caught:
        aa.asarray(Wrong(ValueError("always")))
    assert isinstance(caught.value.__cause__, ValueError)
    for raised in (KeyboardInterrupt, MemoryError, RecursionError):
        with pytest.raises(raised):
            aa.asarray(Wrong(raised()))
        with pytest.raises(raised):
            aa.explain_asarray(Wrong(raised()))
    with pytest.raises(aa.ExchangeError, match="object"):
        aa.asarray(Wrong(np.array([None])))


def test_released_arrays() -> None:
    a = aa.view(np.zeros(3))
    a.release()
    for words in ({}, {"copy": True}, {"dtype": "float32"}, {"device": "cpu"}):
        with pytest.raises(ValueError, match="released"):
            aa.asarray(a, **words)


# --- what is held -----------------------------------------------------------------------------------------------------


def test_references() -> None:
    x = np.arange(12.0).reshape(3, 4)
    dtype, before = np.dtype("f4"), sys.getrefcount(x)
    for _ in range(3):
        kept = [aa.asarray(x), aa.asarray(x, dtype=dtype), aa.asarray(x, copy=True, order="F")]
        assert sys.getrefcount(x) == before + 1
        for words in ({"copy": False, "dtype": dtype}, {"dtype": "int8"}, {"casting": "no", "dtype": dtype}):
            with pytest.raises(aa.ExchangeError):
                aa.asarray(x, **words)
        del kept
        assert sys.getrefcount(x) == before
    data = bytearray(8)
    aa.asarray(data, dtype="int32", casting="unsafe")
    data.append(1)  # isn't locked any more


def test_copies_give_up_the_gil() -> None:
    x = np.zeros((2048, 1024), "f4").T
    a = aa.view(x)
    results: list[Any] = []

    def work() -> None:
        results.extend(aa.asarray(x if i % 2 else a, order="C").tolist()[0][0] for i in range(4))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [0.0] * 8


def test_a_source_that_is_being_copied_is_not_released() -> None:
    a = aa.view(np.zeros((4096, 2048), "f4").T)
    done = threading.Event()
    refusals: list[str] = []

    def copies() -> None:
        with contextlib.suppress(ValueError):  # released between two copies
            for _ in range(20):
                aa.asarray(a, order="C")
        done.set()

    thread = threading.Thread(target=copies)
    thread.start()
    while not done.is_set() and not a.released:
        # Between two copies it is let go, and the thread's next one is refused.
        try:
            a.release()
        except BufferError as error:
            refusals.append(str(error))
    thread.join()
    assert a.released or refusals
    assert all("being read" in text for text in refusals)
