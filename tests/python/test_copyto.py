# SPDX-License-Identifier: Apache-2.0
"""copyto() and asarray(out=...): memory of any library is written to, right where it overlaps, or not at all."""

from __future__ import annotations

import array
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

# --- targets of any library -------------------------------------------------------------------------------------------


def _torch() -> Any:
    return needs("torch").zeros(2, 3)


TARGETS: dict[str, Callable[[], Any]] = {
    "ndarray": lambda: np.zeros((2, 3), "f4"),
    "column-major": lambda: np.zeros((3, 2), "f4").T,
    "strided": lambda: np.zeros((4, 6), "f4")[::2, ::2],
    "reversed": lambda: np.zeros((2, 3), "f4")[::-1, ::-1],
    "memoryview": lambda: memoryview(bytearray(24)).cast("f", (2, 3)),
    "empty": lambda: aa.empty((2, 3), "float32"),
    "view": lambda: aa.view(np.zeros((2, 3), "f4")),
    "foreign order": lambda: np.zeros((2, 3), ">f4"),
    "torch": _torch,
}
SOURCES: dict[str, Callable[[], Any]] = {
    "the same": lambda: np.arange(6, dtype="f4").reshape(2, 3),
    "transposed": lambda: np.arange(6.0).reshape(3, 2).T,
    "one row": lambda: np.arange(3, dtype="f2"),
    "one column": lambda: np.arange(2.0).reshape(2, 1),
    "more dimensions": lambda: np.arange(6, dtype="f4").reshape(1, 1, 2, 3),
    "an Array": lambda: aa.asarray([[1.0], [2.0]]),
    "a number": lambda: 7,
    "a list": lambda: [1.5, 2.5, 3.5],
    "a nested list": lambda: [[1], [2]],
    "big-endian": lambda: np.arange(3, dtype=">f8"),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_as_numpy_does(target: str, source: str) -> None:
    dst, src = TARGETS[target](), SOURCES[source]()
    expected = np.zeros((2, 3), "f4")
    with_array = np.asarray(src)
    np.copyto(expected, with_array.reshape(with_array.shape[-2:]))
    assert aa.copyto(dst, src) is None
    assert aa.view(dst).tolist() == expected.tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_out_is_filled_and_returned(target: str) -> None:
    for source in (np.arange(6.0).reshape(3, 2).T, aa.view(np.ones((2, 3), "f4")), [[1, 2, 3], [4, 5, 6]]):
        for copy in (None, True):
            out = TARGETS[target]()
            assert aa.asarray(source, out=out, copy=copy) is out
            assert aa.view(out).tolist() == np.asarray(source).astype("f4").tolist()


def test_out_and_what_else_is_asked_for() -> None:
    x, out = np.arange(6.0).reshape(2, 3), np.zeros((2, 3), "f4")
    assert aa.asarray(x, out=out, dtype="float32", order="C", device="cpu") is out and out[1, 2] == 5
    for words in ({"dtype": "float64"}, {"order": "F"}, {"device": "cuda"}):
        with pytest.raises(ValueError, match="out isn't what else was asked for"):
            aa.asarray(x, out=out, **words)
    with pytest.raises(ValueError, match="contradict"):
        aa.asarray(x, out=out, copy=False)
    for shape in ((3, 2), (2, 1), (6,), (), (1, 2, 3)):
        with pytest.raises(ValueError, match="shape"):
            aa.asarray(x, out=np.zeros(shape))
    with pytest.raises(ValueError, match="shape"):
        aa.asarray([1, 2], out=np.zeros(3))
    e = aa.explain_asarray(x, out=out)
    assert e.way == "copied" and e.reasons == ("out was given",) and "given as" not in str(e)
    e = aa.explain_asarray([1, 5], out=np.zeros(2, "f4"))
    assert (e.way, e.protocol, e.reasons, e.entry) == ("copied", "sequence", ("out was given",), "")
    assert (e.shape, e.dtype, e.readonly) == ((2,), "float32", False)


# --- what isn't written to --------------------------------------------------------------------------------------------


def _readonly() -> Any:
    x = np.zeros(3)
    x.flags.writeable = False
    return x


def _jax() -> Any:
    return needs("jax.numpy").zeros(3)


def _copied() -> Any:
    class Copied:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return np.zeros(3)

    return Copied()


def _old() -> Any:
    class Old:
        kept = np.zeros(3)

        def __array__(self) -> Any:
            return self.kept

    return Old()


def _on_cuda() -> Any:
    class OnCuda:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (4096, False), "version": 3}  # noqa: RUF012

    return OnCuda()


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "read-only": (_readonly, "read-only"),
    "a view of it": (lambda: aa.view(_readonly()), "read-only"),
    "bytes": (lambda: bytes(24), "read-only"),
    "jax": (_jax, "read-only"),
    "a list": (lambda: [0.0] * 3, "sequence of Python objects"),
    "a number": (lambda: 3, "an int"),
    "no array": (object, "none of the exchange protocols"),
    "a copy": (_copied, "would be lost"),
    "perhaps a copy": (_old, "can't be told"),
    "on a device": (_on_cuda, "cuda:0"),
    "an Array on a device": (lambda: aa.view(_on_cuda()), "cuda:0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_targets_that_are_refused(name: str) -> None:
    make, words = REFUSED[name]
    for call in (lambda dst: aa.copyto(dst, np.ones(3)), lambda dst: aa.asarray(np.ones(3), out=dst)):
        with pytest.raises((aa.ExchangeError, TypeError), match=words) as caught:
            call(make())
        assert "write to" in str(caught.value)


def test_released_arrays() -> None:
    a, b = aa.empty(3), aa.empty(3)
    a.release()
    for dst, src in ((a, b), (b, a)):
        with pytest.raises(ValueError, match="released"):
            aa.copyto(dst, src)
        with pytest.raises(ValueError, match="released"):
            aa.asarray(src, out=dst)


def test_elements_that_share_memory_are_no_target() -> None:
    row = np.zeros(3)
    wide = np.lib.stride_tricks.as_strided(row, (2, 3), (0, 8))
    with pytest.raises((ValueError, aa.ExchangeError), match="share"):
        aa.copyto(wide, np.ones((2, 3)))
    assert row.tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(4,), (3, 3), (2, 2, 3), (3, 2), (0,)])
def test_shapes_that_do_not_fit(shape: tuple[int, ...]) -> None:
    dst = np.full((2, 3), 5.0)
    with pytest.raises(ValueError, match="can't be repeated"):
        aa.copyto(dst, np.ones(shape))
    assert (dst == 5).all()


def test_casting() -> None:
    dst = np.full(3, 5, "i4")
    for source in (np.array([1.0, 2.5, 3.0]), [1.0, 2.5, 3.0], 2.5):
        for rule in ("no", "equiv", "safe", "same_kind", "same_value"):
            with pytest.raises(TypeError):
                aa.copyto(dst, source, casting=rule)
            assert dst.tolist() == [5, 5, 5]  # nothing was written
        aa.copyto(dst, source, casting="unsafe")
        assert dst.tolist() == np.broadcast_to(np.asarray(source), 3).astype("i4").tolist()
        dst[...] = 5
    aa.copyto(dst, 7)
    with pytest.raises(aa.CastOverflowError, match="int32"):
        aa.copyto(dst, 2**40)
    assert dst.tolist() == [7, 7, 7]


def test_keywords() -> None:
    copyto: Any = aa.copyto
    x = np.zeros(3)
    aa.copyto(x, np.ones(3), policy=["dlpack"])
    for words, kind in (({"where": True}, TypeError), ({"casting": "all"}, ValueError), ({"policy": "x"}, ValueError)):
        with pytest.raises(kind):
            copyto(x, 1, **words)
    for args in ((), (x,), (x, 1, "unsafe")):
        with pytest.raises(TypeError, match="two positional"):
            copyto(*args)


# --- overlaps ---------------------------------------------------------------------------------------------------------


def test_overlapping_memory_is_as_if_read_before() -> None:
    windows = [slice(0, 6), slice(2, 8), slice(5, None, -1), slice(7, 1, -1), slice(0, 8, 1)]
    for to, come in itertools.product(windows[:4], windows[:4]):
        x = np.arange(8.0)
        expected = x.copy()
        expected[to] = expected[come].copy()
        aa.copyto(x[to], x[come])
        assert x.tolist() == expected.tolist(), (to, come)
    x = np.arange(9.0).reshape(3, 3)
    turned = x.T.copy()
    assert aa.asarray(x.T, out=x) is x and x.tolist() == turned.tolist()
    y = np.arange(4.0)
    aa.copyto(y, y[::-1])
    aa.copyto(y[1:], y[:1])
    assert y.tolist() == [3, 3, 3, 3]


def test_elements_of_a_list_that_lie_in_the_target() -> None:
    x = np.arange(4.0).reshape(2, 2)
    aa.copyto(x, [x[1], x[0]])
    assert x.tolist() == [[2, 3], [0, 1]]
    aa.asarray([x[1], x[0]], out=x)
    assert x.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(aa.ExchangeError):
        aa.copyto(x, [x[1], [1, "no"]])
    with pytest.raises(aa.ExchangeError):
        aa.asarray([x[1], [1, "no"]], out=x)
    assert x.tolist() == [[0, 1], [2, 3]]


# --- what is held -----------------------------------------------------------------------------------------------------


def test_references() -> None:
    x, y = np.zeros(3), np.ones(3)
    before = sys.getrefcount(x), sys.getrefcount(y)
    data = bytearray(24)
    for _ in range(3):
        aa.copyto(x, y)
        aa.copyto(x, [1, 2, 3])
        aa.copyto(memoryview(data).cast("d"), y)
        for dst, src in ((x, np.ones(4)), (y[:2], y), (x, "no"), (x, [1j] * 3), ([], y)):
            with pytest.raises((TypeError, ValueError, aa.ExchangeError)):
                aa.copyto(dst, src)
        del dst, src
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
    data.append(1)
    a = array.array("d", [0, 0, 0])
    aa.copyto(a, y)
    a.append(5)
    assert a.tolist() == [1, 1, 1, 5]


def test_a_target_that_is_being_written_is_not_released() -> None:
    dst = aa.empty((4096, 2048), "float32")
    src = np.zeros((2048, 4096), "f4").T
    done = threading.Event()

    def writes() -> None:
        with contextlib.suppress(ValueError):  # released between two copies
            for _ in range(20):
                aa.copyto(dst, src)
        done.set()

    thread = threading.Thread(target=writes)
    thread.start()
    refusals: list[str] = []
    while not done.is_set() and not dst.released:
        try:
            dst.release()
        except BufferError as error:
            refusals.append(str(error))
    thread.join()
    assert dst.released or refusals
    assert all("being read" in text for text in refusals)


def test_two_threads_write() -> None:
    x = np.arange(1 << 20, dtype="f4").reshape(1024, 1024)
    outs = [np.zeros((1024, 1024), "f4") for _ in range(2)]
    threads = [threading.Thread(target=aa.copyto, args=(out, x.T)) for out in outs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((out == x.T).all() for out in outs)
