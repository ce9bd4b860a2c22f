# SPDX-License-Identifier: Apache-2.0
"""Rows ``dlpack`` and ``dlpack_exchange``: handshake, names, flags, layouts, and deleters on every path."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import anyarray as aa

READ_ONLY, IS_COPIED = 1, 2


class Producer:
    """Has __dlpack__ alone; `answers` are given one a call, exceptions are raised."""

    def __init__(self, *answers: Any, knows: frozenset[str] = frozenset({"max_version"})) -> None:
        self.answers = list(answers)
        self.knows = knows
        self.calls: list[dict[str, Any]] = []

    def __dlpack__(self, **kwargs: Any) -> Any:
        self.calls.append(kwargs)
        unknown = set(kwargs) - self.knows
        if unknown:
            raise TypeError(f"unexpected keyword {sorted(unknown)}")
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def refusal(obj: Any, **request: Any) -> aa.ExchangeError:
    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(obj, **request)
    return caught.value


def attempt(error: Any, row: str = "dlpack") -> Any:
    return next(a for a in error.attempts if a.protocol == row)


# ------------------------------------------------------------------ the handshake


def test_asks_for_our_version_first_and_nothing_else(liar: Any) -> None:
    p = Producer(liar.dlpack())
    aa.view(p).release()
    assert p.calls == [{"max_version": (1, 3)}]


def test_old_producer_is_asked_again_without_words(liar: Any) -> None:
    p = Producer(liar.dlpack(versioned=False), knows=frozenset())
    v = aa.view(p)
    assert (v.protocol, v.readonly, v.tolist()) == ("dlpack", False, [0.0, 1.0, 2.0])
    assert p.calls == [{"max_version": (1, 3)}, {}]
    v.release()
    assert liar.counts()["deleted"] == 1


@pytest.mark.parametrize("error", [ValueError("v"), BufferError("b"), RuntimeError("r"), AttributeError("a")])
def test_only_a_type_error_is_asked_again(error: BaseException) -> None:
    p = Producer(error)
    e = refusal(p)
    assert len(p.calls) == 1
    assert attempt(e).exception is error
    assert e.__cause__ is error
    assert type(error).__name__ in attempt(e).reason


def test_last_error_is_reported_with_the_first_as_its_context() -> None:
    first, last = TypeError("has nulls"), ValueError("truly")
    p = Producer(first, last)
    a = attempt(refusal(p))
    assert a.exception is last
    assert last.__context__ is first
    assert len(p.calls) == 2


def test_a_context_of_the_last_error_is_kept() -> None:
    first, last, own = TypeError("one"), TypeError("two"), KeyError("own")
    last.__context__ = own
    assert attempt(refusal(Producer(first, last))).exception.__context__ is own


def test_the_same_exception_twice() -> None:
    error = TypeError("always this one")
    a = attempt(refusal(Producer(error, error)))
    assert a.exception is error
    assert error.__context__ is None


@pytest.mark.parametrize("error", [MemoryError, RecursionError, KeyboardInterrupt, GeneratorExit, SystemExit])
def test_what_is_never_passed_over(error: type[BaseException]) -> None:
    p = Producer(error("now"))
    with pytest.raises(error, match="now"):
        aa.view(p)
    assert len(p.calls) == 1
    q = Producer(TypeError("old"), error("later"))
    with pytest.raises(error, match="later"):
        aa.view(q)
    assert len(q.calls) == 2


@pytest.mark.parametrize("answer", [None, 3, "dltensor", NotImplemented, object()])
def test_answer_that_is_no_capsule(answer: Any) -> None:
    a = attempt(refusal(Producer(answer)))
    assert a.status == "invalid"
    assert type(answer).__name__ in a.reason


def test_missing_on_the_instance_is_not_offered() -> None:
    class Shy:
        @property
        def __dlpack__(self) -> Any:
            raise AttributeError("not on this one")

    with pytest.raises(aa.NotAnArrayError):
        aa.view(Shy())


def test_property_that_raises_is_offered_and_failed() -> None:
    class Broken:
        @property
        def __dlpack__(self) -> Any:
            raise OSError("gone")

    assert isinstance(attempt(refusal(Broken())).exception, OSError)


def test_method_on_the_instance_alone(liar: Any) -> None:
    class Bare:
        pass

    b = Bare()
    b.__dlpack__ = lambda **kw: liar.dlpack()  # type: ignore[attr-defined]
    assert aa.view(b).tolist() == [0.0, 1.0, 2.0]
    gc.collect()
    assert liar.counts()["deleted"] == 1


def test_class_without_instance_dict_and_a_method_that_is_replaced(liar: Any) -> None:
    class Slim:
        __slots__ = ()

        def __dlpack__(self, **kwargs: Any) -> Any:
            return liar.dlpack(data=liar.address() + 4)

    kind: Any = Slim
    assert aa.view(kind()).tolist()[0] == 1.0
    kind.__dlpack__ = lambda self, **kwargs: liar.dlpack(data=liar.address() + 8)
    gc.collect()
    assert aa.view(kind()).tolist()[0] == 2.0
    kind.__dlpack__ = staticmethod(lambda **kwargs: liar.dlpack(data=liar.address() + 12))
    assert aa.view(kind()).tolist()[0] == 3.0
    kind.__dlpack__ = classmethod(lambda cls, **kwargs: liar.dlpack(data=liar.address() + 16))
    assert aa.view(kind()).tolist()[0] == 4.0


def test_method_that_replaces_itself_while_it_runs(liar: Any) -> None:
    class Turncoat:
        __slots__ = ()

    def method(self: Any, **kwargs: Any) -> Any:
        Turncoat.__dlpack__ = None  # type: ignore[attr-defined]
        gc.collect()
        return liar.dlpack()

    Turncoat.__dlpack__ = method  # type: ignore[attr-defined]
    del method
    assert aa.view(Turncoat()).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(aa.NotAnArrayError):
        aa.view(Turncoat())


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    "name", ["used_dltensor", "used_dltensor_versioned", "DLTENSOR", "dltensor_", "", None, "numpy"]
)
def test_other_names_are_refused_and_named(liar: Any, name: str | None) -> None:
    c = liar.dlpack(name=name)
    a = attempt(refusal(Producer(c)))
    assert a.status == "invalid"
    assert (f'"{name}"' if name is not None else "no name") in a.reason
    assert liar.counts()["deleted"] == 0
    del c


def test_name_decides_not_what_was_asked(liar: Any) -> None:
    legacy = aa.view(Producer(liar.dlpack(versioned=False, flags=0)))
    versioned = aa.view(Producer(TypeError("no words"), liar.dlpack(flags=READ_ONLY)))
    assert (legacy.readonly, versioned.readonly) == (False, True)


def test_capsule_handed_out_twice(liar: Any) -> None:
    c = liar.dlpack()
    p = Producer(c, c)
    first = aa.view(p)
    a = attempt(refusal(p))
    assert (a.status, "taken before" in a.reason) == ("invalid", True)
    assert first.tolist() == [0.0, 1.0, 2.0]
    first.release()
    del p, c
    gc.collect()
    assert liar.counts()["deleted"] == 1


def test_bare_capsule(liar: Any) -> None:
    c = liar.dlpack(shape=(2, 2))
    v = aa.view(c)
    assert (v.protocol, v.shape, v.tolist()) == ("dlpack", (2, 2), [[0.0, 1.0], [2.0, 3.0]])
    assert "used_dltensor_versioned" in repr(c)
    assert attempt(refusal(c)).status == "invalid"
    del c
    gc.collect()
    assert liar.counts()["deleted"] == 0
    assert v.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    v.release()
    assert liar.counts()["deleted"] == 1


def test_foreign_bare_capsule() -> None:
    import datetime  # noqa: F401  (makes its capsule)

    capsule = sys.modules["_datetime"].datetime_CAPI
    assert "datetime" in attempt(refusal(capsule)).reason


# ------------------------------------------------------------------ versions and flags


@pytest.mark.parametrize("version", [(0, 8), (2, 0), (99, 3)])
def test_other_major_is_refused_and_freed_by_its_own_capsule(liar: Any, version: tuple[int, int]) -> None:
    c = liar.dlpack(version=version)
    a = attempt(refusal(Producer(c)))
    assert a.status == "invalid"
    assert f"{version[0]}.{version[1]}" in a.reason
    assert "used" not in repr(c)
    assert liar.counts()["deleted"] == 0
    del c, a
    gc.collect()
    assert liar.counts()["deleted"] == 1


def test_newer_minor_is_taken(liar: Any) -> None:
    assert aa.view(Producer(liar.dlpack(version=(1, 99)))).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("flags", "readonly", "copied"),
    [(0, False, False), (READ_ONLY, True, False), (IS_COPIED, False, True), (3, True, True), (1 << 40, False, False)],
)
def test_flags(liar: Any, flags: int, readonly: bool, copied: bool) -> None:
    v = aa.view(Producer(liar.dlpack(flags=flags)))
    assert (v.readonly, v.copied) == (readonly, copied)


def test_writable_is_required_and_the_tensor_given_back(liar: Any) -> None:
    p = Producer(liar.dlpack(flags=READ_ONLY))
    e = refusal(p, writable=True)
    assert attempt(e).status == "mismatch"
    assert liar.counts()["deleted"] == 1


# ------------------------------------------------------------------ layouts


def test_pointer_is_the_producers_memory(liar: Any) -> None:
    v = aa.view(Producer(liar.dlpack()), writable=True)
    assert v.ptr == liar.address()
    ctypes.c_float.from_address(v.ptr).value = 42.0
    assert v.tolist()[0] == 42.0


def test_byte_offset_is_added(liar: Any) -> None:
    for versioned in (True, False):
        v = aa.view(Producer(liar.dlpack(byte_offset=20, versioned=versioned)))
        assert v.ptr == liar.address() + 20
        assert v.tolist() == [5.0, 6.0, 7.0]


def test_null_strides_are_row_major(liar: Any) -> None:
    v = aa.view(Producer(liar.dlpack(shape=(2, 3), strides=None, code=0, bits=32)))
    assert v.strides == (12, 4)


@pytest.mark.parametrize("strides", [(-1, 3), (0, 1), (1, 2), (7, -2)])
def test_strides_are_in_elements(liar: Any, strides: tuple[int, int]) -> None:
    base = liar.address() + 400
    v = aa.view(Producer(liar.dlpack(data=base, shape=(2, 3), strides=strides)))
    assert v.strides == tuple(4 * s for s in strides)
    want = [[float(100 + i * strides[0] + j * strides[1]) for j in range(3)] for i in range(2)]
    assert v.tolist() == want


def test_more_dimensions_than_fit_inline(liar: Any) -> None:
    for ndim in (8, 9, 64):
        v = aa.view(Producer(liar.dlpack(shape=(1,) * (ndim - 1) + (2,), strides=(5,) * (ndim - 1) + (1,))))
        assert (v.ndim, v.shape[-1], v.strides[0]) == (ndim, 2, 20)


def test_scalar_and_empty(liar: Any) -> None:
    assert aa.view(Producer(liar.dlpack(shape=()))).item() == 0.0
    assert aa.view(Producer(liar.dlpack(shape=None, ndim=0))).shape == ()
    assert aa.view(Producer(liar.dlpack(shape=(0, 4), data=None))).shape == (0, 4)


BROKEN = {
    "ndim -1": {"ndim": -1},
    "ndim 65": {"shape": (1,) * 65},
    "ndim huge": {"ndim": 2**31 - 1},
    "no shape": {"shape": None, "ndim": 2},
    "null data": {"data": None},
    "negative extent": {"shape": (-1,)},
    "too many elements": {"shape": (2**40, 2**40)},
    "too many bytes": {"shape": (2**62,)},
    "stride overflows": {"shape": (2,), "strides": (2**62,)},
    "leaves the address space": {"shape": (2,), "strides": (-(2**60),)},
    "offset overflows": {"byte_offset": 2**64 - 1},
    "code 200": {"code": 200},
    "no bits": {"bits": 0},
    "float24": {"bits": 24},
    "no lanes": {"lanes": 0},
    "device 77": {"device": (77, 0)},
    "device 0": {"device": (0, 0)},
}


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("how", BROKEN)
def test_broken_tensors_are_refused_and_freed_once(liar: Any, how: str, versioned: bool) -> None:
    p = Producer(liar.dlpack(versioned=versioned, **BROKEN[how]))
    a = attempt(refusal(p))
    assert a.status in ("invalid", "unsupported")
    assert a.reason
    del p, a
    gc.collect()
    assert liar.counts()["deleted"] == 1


@pytest.mark.parametrize("how", BROKEN)
def test_broken_tensors_in_a_bare_capsule_stay_the_callers(liar: Any, how: str) -> None:
    c = liar.dlpack(**BROKEN[how])
    for _ in range(2):
        refusal(c)
    del c
    gc.collect()
    assert liar.counts()["deleted"] == 1


# ------------------------------------------------------------------ deleters


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("ending", ["release", "context", "collector", "request", "export"])
def test_deleter_runs_exactly_once(liar: Any, versioned: bool, ending: str) -> None:
    p = Producer(liar.dlpack(versioned=versioned))
    if ending == "request":
        refusal(p, dtype="int8")
    else:
        v: Any = aa.view(p)
        assert liar.counts()["deleted"] == 0
        if ending == "release":
            v.release()
            v.release()
        elif ending == "context":
            with v:
                pass
        elif ending == "export":
            m = memoryview(v)
            del v
            gc.collect()
            assert (liar.counts()["deleted"], m.tolist()) == (0, [0.0, 1.0, 2.0])
            m.release()
        v = None
    gc.collect()
    assert liar.counts()["deleted"] == 1


def test_null_deleter(liar: Any) -> None:
    for versioned in (True, False):
        aa.view(Producer(liar.dlpack(deleter=False, versioned=versioned))).release()
    assert liar.counts()["deleted"] == 0


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """What was given to sys.unraisablehook: exceptions that code of others left behind where none may come out."""
    seen: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: seen.append(hook.exc_value))
    return seen


def test_deleter_that_sets_an_exception_doesnt_leak_it(liar: Any, unraisable: list[BaseException]) -> None:
    for versioned in (True, False):
        aa.view(Producer(liar.dlpack(on_delete="raises", versioned=versioned))).release()
        refusal(Producer(liar.dlpack(on_delete="raises", versioned=versioned, ndim=-1)))
        refusal(Producer(liar.dlpack(on_delete="raises", versioned=versioned)), dtype="int8")
    gc.collect()
    assert liar.counts()["deleted"] == 6
    assert len(unraisable) == 6  # lost to nobody


def test_release_keeps_the_exception_that_travels(liar: Any, unraisable: list[BaseException]) -> None:
    def body() -> None:
        v = aa.view(Producer(liar.dlpack(on_delete="raises")))
        assert v.ndim == 1
        raise LookupError("kept")

    with pytest.raises(LookupError, match="kept"):
        body()
    assert len(unraisable) == 1


def test_owner_stays_and_goes(liar: Any) -> None:
    p = Producer(liar.dlpack())
    before = sys.getrefcount(p)
    v = aa.view(p)
    assert v.owner is p
    assert sys.getrefcount(p) == before + 1
    v.release()
    assert sys.getrefcount(p) == before
    refusal(p)  # has no more answers
    gc.collect()
    assert sys.getrefcount(p) == before


def test_threads_take_one_capsule_once(liar: Any) -> None:
    for _ in range(50):
        c = liar.dlpack()
        results: list[Any] = []
        gate = threading.Barrier(4)

        def go(c: Any = c, results: list[Any] = results, gate: threading.Barrier = gate) -> None:
            gate.wait()
            try:
                results.append(aa.view(c))
            except aa.ExchangeError:
                results.append(None)

        threads = [threading.Thread(target=go) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sum(r is not None for r in results) == 1
        del results, c, go
    gc.collect()
    assert liar.counts()["deleted"] == 50


def test_threads_release_what_others_took(liar: Any) -> None:
    views = [aa.view(Producer(liar.dlpack())) for _ in range(200)]
    threads = [threading.Thread(target=lambda part=views[i::4]: [v.release() for v in part]) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert liar.counts()["deleted"] == 200


def test_nothing_is_deleted_after_the_interpreters_end(liar_path: Path) -> None:
    code = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("liar", {str(liar_path)!r})
liar = importlib.util.module_from_spec(spec); spec.loader.exec_module(liar)
import anyarray as aa
liar.report_at_exit()
kept = aa.view(liar.dlpack())
ring = [aa.view(liar.dlpack(versioned=False))]; ring.append(ring)
sys.kept = aa.view(liar.dlpack())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=None)
    assert (done.returncode, done.stderr) == (0, "")


# ------------------------------------------------------------------ the exchange table


def offering_table(attribute: Any, **members: Any) -> Any:
    body = {"__dlpack_c_exchange_api__": attribute, "tensor": {}, "result": 0, "error": None}
    return type("Tabled", (), {**body, **members})()


def table_attempt(obj: Any) -> Any:
    return attempt(refusal(obj), "dlpack_exchange")


def test_table_lends(liar: Any) -> None:
    x = offering_table(liar.table(), tensor={"shape": (2, 2), "strides": (1, 2)})
    before = sys.getrefcount(x)
    v = aa.view(x)
    assert (v.protocol, v.strides, v.tolist()) == ("dlpack_exchange", (4, 8), [[0.0, 2.0], [1.0, 3.0]])
    assert sys.getrefcount(x) == before + 1
    v.release()
    assert sys.getrefcount(x) == before
    assert liar.counts()["deleted"] == 0


def test_lent_shape_is_copied_at_once(liar: Any) -> None:
    x = offering_table(liar.table(), tensor={"shape": (2,) * 12})
    v = aa.view(x)
    liar.reset()
    assert v.shape == (2,) * 12


def test_table_gives(liar: Any) -> None:
    x = offering_table(liar.table(lend=False), tensor={"flags": READ_ONLY | IS_COPIED})
    v = aa.view(x)
    assert (v.protocol, v.readonly, v.copied, v.tolist()) == ("dlpack_exchange", True, True, [0.0, 1.0, 2.0])
    v.release()
    assert liar.counts()["deleted"] == 1


@pytest.mark.parametrize("lend", [True, False])
@pytest.mark.parametrize("how", BROKEN)
def test_broken_tensors_of_a_table(liar: Any, how: str, lend: bool) -> None:
    a = table_attempt(offering_table(liar.table(lend=lend), tensor=BROKEN[how]))
    assert a.status in ("invalid", "unsupported")
    assert liar.counts()["deleted"] == (0 if lend else 1)


def test_given_tensor_of_another_major_is_only_deleted(liar: Any) -> None:
    a = table_attempt(offering_table(liar.table(lend=False), tensor={"version": (2, 0)}))
    assert (a.status, "2.0" in a.reason) == ("invalid", True)
    assert liar.counts()["deleted"] == 1


def test_given_tensor_with_a_null_deleter_or_none_at_all(liar: Any) -> None:
    aa.view(offering_table(liar.table(lend=False), tensor={"deleter": False})).release()
    assert table_attempt(offering_table(liar.table(lend=False), tensor=None)).status == "invalid"
    assert table_attempt(offering_table(liar.table(), tensor=None)).status in ("invalid", "unsupported")


@pytest.mark.parametrize("lend", [True, False])
def test_table_that_fails(liar: Any, lend: bool) -> None:
    table = liar.table(lend=lend)
    error = ValueError("no")
    a = table_attempt(offering_table(table, tensor=None, result=-1, error=error))
    assert (a.status, a.exception) == ("failed", error)
    a = table_attempt(offering_table(table, tensor=None, result=-1))
    assert (a.status, a.exception, "-1" in a.reason) == ("failed", None, True)
    a = table_attempt(offering_table(table, result=0, error=error))  # both an answer and an exception
    assert (a.status, a.exception) == ("failed", error)
    assert liar.counts()["deleted"] == (0 if lend else 1)
    with pytest.raises(KeyboardInterrupt):
        aa.view(offering_table(table, tensor=None, result=-1, error=KeyboardInterrupt()))


def test_failed_table_leads_to_dlpack(liar: Any) -> None:
    x = offering_table(3, __dlpack__=lambda self, **kw: liar.dlpack())
    v = aa.view(x)
    assert (v.protocol, v.tolist()) == ("dlpack", [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda liar: 0, "int"),
        (lambda liar: 0xDEAD0000, "int"),
        (lambda liar: True, "int"),
        (lambda liar: "table", "str"),
        (lambda liar: liar.table(name="exchange"), '"exchange"'),
        (lambda liar: liar.table(name=None), '""'),
        (lambda liar: liar.dlpack(), "dltensor_versioned"),
        (lambda liar: liar.table(major=2), "2.3"),
        (lambda liar: liar.table(major=3, previous=liar.table(major=2)), "3.3"),
        (lambda liar: liar.table(lend=False, give=False), "no function"),
    ],
)
def test_tables_that_arent_followed(liar: Any, make: Any, word: str) -> None:
    a = table_attempt(offering_table(make(liar)))
    assert (a.status, word in a.reason) == ("invalid", True), a.reason


def test_older_table_behind_a_newer_one(liar: Any) -> None:
    old = liar.table(major=1)
    middle = liar.table(major=2, previous=old)
    x = offering_table(liar.table(major=3, previous=middle))
    assert aa.view(x).protocol == "dlpack_exchange"


def test_table_on_the_instance_is_not_followed(liar: Any) -> None:
    class Bare:
        pass

    b = Bare()
    b.__dlpack_c_exchange_api__ = liar.table()  # type: ignore[attr-defined]
    with pytest.raises(aa.NotAnArrayError):
        aa.view(b)
