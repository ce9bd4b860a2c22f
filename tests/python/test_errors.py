# SPDX-License-Identifier: Apache-2.0
"""The one error: what it is, what it says, what hangs on it. And wrong keywords."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs


class Failing:
    """Two protocols, both offered and failing."""

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("first words")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("second words")


def error_of(obj: object, **request: Any) -> aa.ExchangeError:
    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(obj, **request)
    return caught.value


def test_names_everything_that_was_tried() -> None:
    e = error_of(Failing())
    assert isinstance(e, BufferError) and not isinstance(e, TypeError)
    for words in (
        "Failing",
        "dlpack (__dlpack__)",
        "first words",
        "array_interface (__array_interface__)",
        "second words",
    ):
        assert words in str(e)
    assert [(a.protocol, a.attribute, a.status) for a in e.attempts] == [
        ("dlpack", "__dlpack__", "failed"),
        ("array_interface", "__array_interface__", "failed"),
    ]
    assert [type(a.exception) for a in e.attempts] == [BufferError, RuntimeError]
    assert e.__cause__ is e.attempts[-1].exception
    assert e.__cause__ is not None and e.__cause__.__traceback__ is not None
    assert "explain" in str(e)


def test_says_what_was_asked_for() -> None:
    e = error_of(b"abc", dtype="float32", ndim=1, writable=True, order="F", device="cpu", allow="mask")
    for words in ("dtype=float32", "ndim=1", "writable=True", "order=F", "device=cpu", "allow=mask", "bytes"):
        assert words in str(e)
    assert "never converted" in str(e)
    assert e.attempts[-1].status == "mismatch"


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ([1.0, 2.0], "list"), ((1, 2), "tuple"), (3, "number"), (2.5, "number"), (1j, "number"), (True, "number"),
        ("text", "str"), (None, "None"), ({}, "collection"), (set(), "collection"), (range(3), "sequence"),
        (int, "class"), (object(), "protocols"), (iter([]), "protocols"), (len, "protocols"),
    ],
)  # fmt: skip
def test_not_an_array(obj: object, words: str) -> None:
    e = error_of(obj)
    assert isinstance(e, aa.NotAnArrayError) and isinstance(e, TypeError) and isinstance(e, BufferError)
    assert words in str(e) and type(obj).__name__ in str(e) and e.__cause__ is None and e.attempts == ()


@pytest.mark.parametrize("obj", [[1.0], (1,), 3, 2.5, "text", range(3)])
def test_sequences_and_scalars_are_told_how_to_go_on(obj: object) -> None:
    assert "anyarray.asarray" in str(error_of(obj))


def test_classes_of_arrays_are_no_arrays() -> None:
    np = needs("numpy")
    assert "class" in str(error_of(np.ndarray))
    assert isinstance(error_of(Failing), aa.NotAnArrayError)


def test_guards_speak() -> None:
    np = needs("numpy")
    e = error_of(np.ma.masked_array([1, 2], [True, False]))
    assert "mask" in str(e) and not isinstance(e, aa.NotAnArrayError)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError])
def test_what_is_never_passed_over(kind: type[BaseException]) -> None:
    class Stop:
        def __dlpack__(self, **_: Any) -> Any:
            raise kind("stop")

    with pytest.raises(kind, match="stop"):
        aa.view(Stop())
    with pytest.raises(kind, match="stop"):
        aa.explain(Stop())


def test_strange_exceptions_and_types() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise ValueError("no name")

        def __repr__(cls) -> str:
            raise ValueError("no repr")

        def __instancecheck__(cls, instance: object) -> bool:
            raise ValueError("no check")

    class Odd(metaclass=Meta):
        def __dlpack__(self, **_: Any) -> Any:
            raise Unprintable

        def __repr__(self) -> str:
            raise ValueError("no repr")

        @property
        def __class__(self) -> Any:
            raise ValueError("no class")

    e = error_of(Odd())
    assert "Odd" in str(e) and "dlpack" in str(e) and isinstance(e.__cause__, Unprintable)
    assert not aa.explain(Odd()).ok


def test_long_and_foreign_words_are_cut_cleanly() -> None:
    class Long:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("é" * 1000)

    assert "ééé" in str(error_of(Long()))

    class Surrogate:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("\ud800")

    assert "BufferError" in str(error_of(Surrogate()))


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("first\nsecond", "RuntimeError: first"),
        ("first\r\nsecond", "RuntimeError: first"),
        ("\n  first\n\nException raised from f at g.cpp:3\n#0 0x7f", "RuntimeError: first"),
        ("first", "RuntimeError: first"),
        ("100% %s %n\n", "RuntimeError: 100% %s %n"),
        ("\n\n", "RuntimeError"),
        ("", "RuntimeError"),
    ],
)
def test_the_sentence_is_the_first_line_of_what_was_raised(message: str, sentence: str) -> None:
    raised = RuntimeError(message)

    class Producer:
        def __dlpack__(self, **kwargs: Any) -> Any:
            raise raised

    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(Producer())
    (attempt,) = caught.value.attempts
    assert attempt.reason == sentence
    assert attempt.exception is raised and str(raised) == message
    assert caught.value.__cause__ is raised


def test_pickled_without_the_producers_exceptions() -> None:
    e = error_of(Failing())
    again = pickle.loads(pickle.dumps(e))
    assert type(again) is type(e) and str(again) == str(e)
    assert [a[:4] for a in again.attempts] == [a[:4] for a in e.attempts]


@pytest.mark.parametrize(
    ("keywords", "kind", "words"),
    [
        ({"policy": "nobody"}, ValueError, "default"),
        ({"policy": []}, ValueError, "dlpack"),
        ({"policy": ["nothing"]}, ValueError, "array_interface"),
        ({"policy": ["dlpack", "dlpack"]}, ValueError, "twice"),
        ({"policy": [1]}, TypeError, "names"),
        ({"policy": 1}, TypeError, "Policy"),
        ({"policy": "\ud800"}, ValueError, "default"),
        ({"device": "gpu"}, ValueError, "cuda"),
        ({"device": (99, 0)}, ValueError, "DLPack"),
        ({"device": 1}, TypeError, "device"),
        ({"device": ("cpu", "0")}, TypeError, ""),
        ({"dtype": "float31"}, ValueError, "float32"),
        ({"dtype": 4}, TypeError, "dtype"),
        ({"ndim": -1}, ValueError, "ndim"),
        ({"ndim": 65}, ValueError, "ndim"),
        ({"ndim": 1 << 70}, ValueError, "ndim"),
        ({"ndim": "1"}, TypeError, "ndim"),
        ({"ndim": True}, TypeError, "ndim"),
        ({"order": "X"}, ValueError, "'C', 'F'"),
        ({"order": 1}, TypeError, "'C', 'F'"),
        ({"writable": 1}, TypeError, "writable"),
        ({"allow": "everything"}, ValueError, "grad"),
        ({"allow": ["mask", "all"]}, ValueError, "grad"),
        ({"allow": [1]}, TypeError, "grad"),
        ({"allow": 1}, TypeError, "allow"),
        ({"copy": True}, TypeError, "writable"),
    ],
)
def test_wrong_keywords(keywords: dict[str, Any], kind: type[Exception], words: str) -> None:
    for function in (aa.view, aa.explain):
        with pytest.raises(kind) as caught:
            function(b"abc", **keywords)
        assert words in str(caught.value) and not isinstance(caught.value, aa.ExchangeError)


def test_wrong_number_of_arguments() -> None:
    for arguments in ((), (b"a", b"b")):
        with pytest.raises(TypeError, match="one positional"):
            aa.view(*arguments)
    with pytest.raises(TypeError):
        aa.view(obj=b"abc")  # type: ignore[call-arg]


def test_right_keywords() -> None:
    np = needs("numpy")
    a = np.zeros((2, 3), "f4")
    v = aa.view(a, policy="numpy", device="cpu", dtype=np.float32, ndim=np.int64(2), order="C", writable=True, allow=())
    assert v.protocol == "numpy" or v.protocol == "buffer"
    for device in ((1, 0), "cpu", aa.Device("cpu"), None):
        aa.view(a, device=device)
    for dtype in ("f4", "float32", a.dtype, aa.DType("float32"), None):
        aa.view(a, dtype=dtype)
    for order in ("A", None, "C"):
        aa.view(a, order=order)
    for allow in ("mask", ["mask", "grad"], {"conj": 1, "neg": 2}, (x for x in ("mask",))):
        aa.view(a, allow=allow)
    assert aa.view(a, policy=["dlpack"]).protocol == "dlpack" == aa.view(a, policy=aa.Policy(("dlpack",))).protocol


def test_errors_in_iterating_pass_through() -> None:
    def names() -> Any:
        yield "mask"
        raise LookupError("half way")

    with pytest.raises(LookupError, match="half way"):
        aa.view(b"abc", allow=names())


def test_a_policy_that_names_nothing_that_is_offered_says_what_is() -> None:
    with pytest.raises(aa.ExchangeError, match=r"this policy \(array_method\); outside of it: .*buffer") as caught:
        aa.view(memoryview(bytearray(4)).cast("f"), policy=["array_method"])
    assert not isinstance(caught.value, aa.NotAnArrayError)
    with pytest.raises(aa.NotAnArrayError):
        aa.view(object(), policy=["builtin"])


def test_every_advice_is_given() -> None:
    with pytest.raises(aa.ExchangeError, match="isn't moved"):
        aa.view(b"abc", device="cuda")
    with pytest.raises(aa.ExchangeError, match="never converted"):
        aa.view(b"abc", dtype="float32")


def test_a_type_without_a_module() -> None:
    namespace: dict[str, object] = {}
    exec("T = type('T', (), {})", namespace)
    with pytest.raises(aa.NotAnArrayError, match="view T"):
        aa.view(namespace["T"]())  # type: ignore[operator]
