# SPDX-License-Identifier: Apache-2.0
"""The nanobind casters, as a stranger's extension uses them: what nanobind documents of nb::ndarray, of ours."""

from __future__ import annotations

import array
import contextlib
import ctypes
import doctest
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import build, needs

import anyarray as aa

needs("nanobind")

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extensions, built against the package that is installed here."""
    folder = tmp_path_factory.mktemp("nanobind")
    prefix = Path(aa.__file__).parent / "cmake_prefix"
    build(HERE / "nanobind_module", folder, prefix, f"-DPython_EXECUTABLE={sys.executable}")
    return folder


@pytest.fixture
def m(built: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(built))
    import arrays_nb

    return arrays_nb


@pytest.fixture
def plain(built: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(built))
    import plain_nb

    return plain_nb


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    gc.collect()
    before = aa._core._live()
    yield
    gc.collect()
    assert aa._core._live() == before


F = np.arange(1, 4, dtype="f4")
D = np.arange(1.0, 4.0)
MATRIX = np.ones((2, 3), "f4")


def why(call: Any, *args: Any, **keywords: Any) -> str:
    """The TypeError of a call, which is nanobind's, and what anyarray adds to it."""
    with pytest.raises(TypeError, match="incompatible function arguments") as raised:
        call(*args, **keywords)
    text = str(raised.value)
    head, _, reasons = text.partition("\n\nanyarray: ")
    assert "Invoked with types:" in head
    return reasons


# Parameters -------------------------------------------------------------------------------------------------------


def test_memory_is_shared_whatever_the_producer(m: Any) -> None:
    assert m.matrix(MATRIX) == MATRIX.ctypes.data
    assert m.matrix(memoryview(MATRIX)) == MATRIX.ctypes.data
    assert m.matrix(x=aa.view(MATRIX)) == MATRIX.ctypes.data
    assert m.matrix((ctypes.c_float * 3 * 2)()) != 0  # nb::ndarray crashes the process on this one
    assert m.total(array.array("d", [1, 2])) == 3
    assert m.by_reference(D[::-1]) == 6
    assert m.strides(np.zeros((4, 6), "i2")[::2, ::-1]) == (12, -1)


def test_torch_and_jax(m: Any) -> None:
    torch, jnp = needs("torch"), needs("jax.numpy")
    tensor = torch.ones(2, 3)
    assert m.matrix(tensor) == tensor.data_ptr()
    assert m.any_rank(jnp.ones((2, 2, 2), "float32")) == 3
    assert "requires grad" in why(m.matrix, torch.ones(2, 3, requires_grad=True))


def test_const_takes_read_only_memory_and_plain_asks_for_writable(m: Any) -> None:
    x = F.copy()
    m.write(x, 7)
    assert x[0] == 7
    x.flags.writeable = False
    assert m.any_rank(x) == 1
    assert "read-only" in why(m.write, x, 1.0)
    assert "read-only" in why(m.write, x=bytes(8), value=1.0)
    assert x[0] == 7


def test_order_is_required(m: Any) -> None:
    assert m.c_contig(MATRIX) == 3
    assert m.f_contig(MATRIX.T) == 2
    assert "isn't C-contiguous" in why(m.c_contig, MATRIX.T)
    assert "isn't Fortran-contiguous" in why(m.f_contig, MATRIX)
    both = np.ones((1, 3), "f4")
    assert m.c_contig(both) == m.f_contig(both) == 3


def test_rank_and_dtype_are_required(m: Any) -> None:
    reasons = why(m.matrix, F)
    assert reasons.startswith("argument of type numpy.ndarray isn't view[const float32, 2]: ")
    assert "ndim 1, 2 was asked for" in reasons
    assert "dtype float64, float32 was asked for" in why(m.matrix, MATRIX.astype("f8"))
    assert "dtype >f4" in why(m.matrix, MATRIX.astype(">f4"))
    assert m.any_rank(np.float32(1)) == 0
    assert m.scalar(np.array(2.5)) == 2.5
    assert m.any_dtype(np.zeros((2, 5), "M8[s]")) == 40


def test_dtypes_are_told_apart_in_one_function(m: Any) -> None:
    assert [m.dispatch(np.ones(2, dtype)) for dtype in ("f4", "f8", "c16")] == ["f", "d", "z"]
    assert "int32" in why(m.dispatch, np.ones(2, "i4"))


def test_devices(m: Any) -> None:
    assert m.anything(F) == 1
    assert "cuda was asked for" in why(m.on_cuda, F)
    memory = np.ones(4, "f4")

    class OnCuda:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {"shape": (4,), "typestr": "<f4", "data": (memory.ctypes.data, False), "version": 3}

    assert m.on_cuda(OnCuda()) == 0
    assert m.anything(OnCuda()) == 1
    assert "on cuda:0, cpu was asked for" in why(m.any_rank, OnCuda())


def test_what_is_no_array(m: Any) -> None:
    assert "a list is a sequence of Python objects" in why(m.matrix, [[1.0]])
    assert why(m.matrix, None) == why(m.total, None) == ""  # nanobind refuses None before it asks
    assert "number" in why(m.total, 3.0)


# None -------------------------------------------------------------------------------------------------------------


def test_none(m: Any) -> None:
    assert m.optional(None) == -1
    assert m.optional(F) == 3
    assert (m.defaulted(1), m.defaulted(1, None), m.defaulted(1, x=F)) == (-1, -1, 3)
    assert m.none_allowed(None) == -1
    assert m.none_allowed(F) == 3
    assert (m.none_array(), m.none_array(None), m.none_array(F)) == (False, False, True)
    assert m.optional_array(None) is None
    assert m.optional_array(F).tolist() == [1, 2, 3]
    assert "float64" in why(m.optional, D)


# Overloads --------------------------------------------------------------------------------------------------------


def test_overloads_by_dtype_rank_order_and_device(m: Any) -> None:
    assert m.which(F) == "float32, 1"
    assert m.which(np.asfortranarray(MATRIX)) == "float32, 2, f_order"
    assert m.which(MATRIX) == "float32, 2"
    assert m.which(D.reshape(3, 1, 1)) == "float64"
    assert m.which(3) == "int"
    assert m.writable_first(F.copy()) == "writable"
    assert m.writable_first(np.frombuffer(F.tobytes(), "f4")) == "read-only"


def test_a_refusal_leaves_no_exception(m: Any) -> None:
    class Failing:
        def __dlpack__(self, **_: Any) -> Any:
            raise ValueError("this producer fails")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __int__(self) -> int:
            return 1

        __index__ = __int__

    assert m.which(Failing()) == "int"
    try:
        raise KeyError("handled")
    except KeyError:
        assert m.which(Failing()) == "int"
        assert isinstance(sys.exc_info()[1], KeyError)


def test_one_line_a_candidate(m: Any) -> None:
    lines = ("anyarray: " + why(m.which, np.ones(2, "i8"))).splitlines()
    kinds = [
        "view[const float32, 1]",
        "view[const float32, 2, f_order]",
        "view[const float32, 2]",
        "view[const float64]",
    ]
    kinds.append("view[const float32, cuda]")
    assert len(lines) == len(kinds)
    for line, kind in zip(lines, kinds, strict=True):
        assert line.startswith(f"anyarray: argument of type numpy.ndarray isn't {kind}: ")


def test_the_cause_has_the_whole_trace(m: Any) -> None:
    with pytest.raises(TypeError) as raised:
        m.matrix(F)
    cause = raised.value.__cause__
    assert isinstance(cause, aa.ExchangeError)
    assert [attempt.status for attempt in cause.attempts].count("mismatch") == 1


def test_next_overload(m: Any) -> None:
    assert m.next(D) == 2
    assert "float32, float64 was asked for" in why(m.next, F)  # the first took it, and passed it on


# Copies -----------------------------------------------------------------------------------------------------------


def test_copies_only_where_the_type_says_so(m: Any) -> None:
    assert m.copied(F) == (F.ctypes.data, 1)
    address, value = m.copied(D)
    assert address != D.ctypes.data
    assert value == 1
    assert m.copied(np.array([3], ">f4"))[1] == 3
    assert m.copied(np.array([3], "i8"))[1] == 3
    assert m.optional_copy(None) == -1
    assert m.optional_copy(D) == 1
    assert m.copied_list([D, F, np.array([5], "i2")]) == 7
    assert "float64, float32 was asked for" in why(m.matrix, MATRIX.astype("f8"))


def test_copies_are_refused_where_a_kind_would_go(m: Any) -> None:
    assert "complex64 can't be cast to float32" in why(m.copied, np.ones(2, "c8"))
    assert "ndim 2, 1 was asked for" in why(m.copied, MATRIX)
    assert "sequence" in why(m.copied, [1.0])


def test_noconvert(m: Any) -> None:
    assert m.never_copied(F) == 1
    assert "float64, float32 was asked for" in why(m.never_copied, D)


def test_overloads_that_need_no_copy_come_first(m: Any) -> None:
    assert m.exact_first(F) == "float32"
    assert m.exact_first(D) == "float64"
    assert m.exact_first(np.ones(2, "i4")) == "float32"


def test_a_copy_is_kept_by_an_array(m: Any) -> None:
    x = np.arange(6.0).reshape(2, 3).T
    kept = m.kept_copy(x)
    assert (str(kept.dtype), kept.tolist()) == ("float32", x.tolist())
    same = np.ones((2, 2), "f4")
    assert m.kept_copy(same).ptr == same.ctypes.data


# Results ----------------------------------------------------------------------------------------------------------


def test_arrays_become_arrays(m: Any) -> None:
    made = m.make(3)
    assert (type(made).__name__, made.shape, str(made.dtype)) == ("HostArray", (3,), "float64")
    view = np.asarray(made)
    del made
    view[:] = 1
    assert m.adopt().tolist() == [1, 2, 3]
    assert m.make(0).shape == (0,)
    assert m.maybe(False) is None
    assert m.maybe(True).shape == (1,)
    with pytest.raises(ValueError, match="holds nothing"):
        m.empty_result()
    with pytest.raises(ValueError, match="holds nothing"):
        m.make(1 << 61)


def test_arrays_keep_what_they_were_taken_from(m: Any) -> None:
    memory = bytearray(F.tobytes())
    kept = m.give_back(memoryview(memory).cast("f"))
    with pytest.raises(BufferError):
        memory.extend(b"locked")
    assert kept.tolist() == [1, 2, 3]
    del kept
    memory.extend(b"free")

    x = F.copy()
    alive = weakref.ref(x)
    kept = m.give_back(x)
    assert kept.ptr == x.ctypes.data
    del x
    assert alive() is not None
    del kept
    assert alive() is None


def test_views_are_given_back_at_the_end_of_the_call(m: Any) -> None:
    memory = bytearray(8)
    view = memoryview(memory).cast("d")
    count = sys.getrefcount(view)
    assert m.total(view) == 0
    assert m.list_sum([view, view]) == 0
    why(m.matrix, view)
    gc.collect()  # the exception's frames
    assert sys.getrefcount(view) == count
    view.release()
    memory.extend(b"free")


def test_results_of_a_library(m: Any) -> None:
    assert type(m.as_numpy(memoryview(F))) is np.ndarray
    assert m.as_numpy(F).tolist() == [2, 4, 6]
    torch, jax, pa = needs("torch"), needs("jax"), needs("pyarrow")
    assert isinstance(m.as_torch(F), torch.Tensor)
    assert isinstance(m.as_jax(F), jax.Array)
    assert isinstance(m.as_pyarrow(F), pa.Array)


@pytest.mark.parametrize("name", ["as_given", "as_given_array", "as_given_copy", "as_given_object"])
def test_results_of_the_callers_kind(m: Any, name: str) -> None:
    call = getattr(m, name)
    torch, jnp = needs("torch"), needs("jax.numpy")
    assert type(call(F)) is np.ndarray
    assert isinstance(call(torch.ones(2)), torch.Tensor)
    assert isinstance(call(jnp.ones(2, "float32")), jnp.ndarray)
    for other in (memoryview(F), aa.view(F), array.array("f", [1, 2, 3])):
        assert isinstance(call(other), aa.Array)
        assert call(other).tolist() == [2, 4, 6]


def test_a_copied_parameter_still_knows_its_kind(m: Any) -> None:
    torch = needs("torch")
    assert m.as_given_copy(torch.ones(2, dtype=torch.float64)).tolist() == [2, 2]
    assert isinstance(m.as_given_copy(torch.ones(2, dtype=torch.float64)), torch.Tensor)


def test_copies_in_containers_know_what_they_were_made_of(m: Any) -> None:
    made: list[weakref.ref[Any]] = []

    class Fresh:  # a sequence that keeps nothing of what it gives
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> Any:
            x = [D.copy()][index]
            made.append(weakref.ref(x))
            return x

    looked: list[bool] = []
    assert type(m.first_copy_in(Fresh(), lambda x: looked.append(x is made[-1]()))) is np.ndarray
    assert looked == [True]
    gc.collect()
    assert made[-1]() is None


def test_views_as_results(m: Any) -> None:
    copy = m.copy_of(F)
    assert copy.tolist() == F.tolist()
    assert copy.ptr != F.ctypes.data
    assert not copy.readonly
    assert m.forever().ptr == m.forever().ptr

    model = m.Model(D)
    memory = model.memory
    np.asarray(memory)[0] = 9
    assert model.copied.tolist() == [9, 2, 3, 4]
    assert model.copied.ptr != memory.ptr
    assert memory.owner is model
    del model
    gc.collect()
    assert memory.tolist() == [9, 2, 3, 4]


# Containers -------------------------------------------------------------------------------------------------------


def test_views_in_containers_are_valid_for_the_call(m: Any) -> None:
    views = [np.arange(100.0) + i for i in range(50)]
    assert m.list_sum(views) == sum(v.sum() for v in views)
    assert m.list_sum([memoryview(bytearray(80)).cast("d") for _ in range(50)]) == 0
    assert m.dynamic_list([np.zeros((2, 3)), np.zeros((1, 1, 4))[:, :, ::2]]) == 303 + 204
    assert m.pair_sum((D, 2.0)) == 12
    assert m.nested({"a": [(D, 1), (D, 2)], "b": [(D * 10, 1)]}) == 6 * 3 + 60
    assert (m.either(3), m.either(D)) == (3, 6)
    assert m.list_of_optional([D, None]) == 1006
    assert m.two([D, D * 2]) == -6
    assert "float32, float64" in why(m.list_sum, [D, F])


def test_arrays_in_containers(m: Any) -> None:
    back = m.arrays_back([D, D[::-1]])
    assert [x.tolist() for x in back] == [[1, 2, 3], [3, 2, 1]]


def test_cast(m: Any) -> None:
    assert m.cast_array(D) == 3
    assert m.is_vector(D)
    assert not m.is_vector(F)
    with pytest.raises(TypeError, match="cast to an anyarray::array"):
        m.cast_view(D)


# Functions of every kind ------------------------------------------------------------------------------------------


def test_classes(m: Any) -> None:
    model = m.Model(D)
    assert model.dot(D) == 14
    assert m.Model.norm(D) == 6
    model.weights = D * 2
    assert model.weights.tolist() == [2, 4, 6]
    assert model + D == 28
    float32 = "float32, float64 was asked for"
    assert float32 in why(m.Model, F)
    assert float32 in why(model.dot, F)
    assert float32 in why(m.Model.norm, F)
    assert float32 in why(m.sub.total, F)
    assert float32 in why(setattr, model, "weights", F)
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        model + object()
    assert raised.value.__cause__ is None
    assert float32 in why(model.call, model.dot, F)


def test_a_subclass_in_python(m: Any) -> None:
    class Mine(m.Model):  # type: ignore[misc]
        pass

    assert "float32, float64 was asked for" in why(Mine, F)
    assert Mine(D).dot(D) == 14


# Errors that aren't ours ------------------------------------------------------------------------------------------


def test_errors_of_the_function_stay_as_they_are(m: Any) -> None:
    with pytest.raises(TypeError) as raised:
        m.raises(D)
    assert str(raised.value) == "raises(): incompatible types, says the function"
    assert raised.value.__cause__ is None

    def fail(*_: object) -> None:
        raise TypeError("call(): incompatible function arguments. Python says so")

    with pytest.raises(TypeError) as raised:
        m.call(fail)
    assert str(raised.value).endswith("Python says so")
    with pytest.raises(ZeroDivisionError):
        m.call(lambda: 1 / 0)


def test_an_error_from_a_call_inside_is_told_once(m: Any) -> None:
    with pytest.raises(TypeError) as raised:
        m.recurse([D])  # the first overload refuses the list, the second calls recurse(D), which is refused
    text = str(raised.value)
    assert text.count("numpy.ndarray isn't view[const float32, 1]") == 1
    assert "list isn't" not in text


def test_a_handled_error_from_a_call_inside(m: Any) -> None:
    def inner() -> str:
        try:
            m.matrix(F)
        except TypeError as error:
            return str(error)
        return ""

    assert "isn't view" in m.call(inner)
    assert m.call(m.total, D) == 6
    assert "isn't view[const float64, 1]" in why(m.call, m.total, F)


def test_threads_have_their_own_reasons(m: Any) -> None:
    failures: list[str] = []
    large = np.ones(20_000)

    def right() -> None:
        for _ in range(20):
            if m.without_gil(large, 5) != large.size * 5:
                failures.append("wrong sum")

    def wrong(dtype: str) -> None:
        for _ in range(200):
            try:
                m.without_gil(np.ones(3, dtype), 1)
            except TypeError as error:
                others = {"int8", "int16", "int32"} - {dtype}
                if f"dtype {dtype}" not in str(error) or any(f"dtype {name}," in str(error) for name in others):
                    failures.append(str(error))

    threads = [threading.Thread(target=right)]
    threads += [threading.Thread(target=wrong, args=(dtype,)) for dtype in ("int8", "int16", "int32")]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []


class Raising:
    """An array whose export raises what isn't passed over."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __dlpack__(self, **_: Any) -> Any:
        raise self.error

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
def test_what_ends_everything_is_raised_as_it_is(m: Any, error: type[BaseException]) -> None:
    for call in (m.total, m.which, m.optional, m.copied, m.give_back, m.cast_array, m.Model):
        with pytest.raises(error):
            call(Raising(error()))
    with pytest.raises(error):
        m.list_sum([D, Raising(error())])
    with pytest.raises(error):
        m.pair_sum((Raising(error()), 1.0))
    with pytest.raises(error):
        m.pair_sum((Raising(error()), "not a number"))
    with pytest.raises(error):
        m.matrix(Wrong(error()))


class Wrong(Raising):
    """The same when it is asked for the second time, for the words; at first it is no array of that kind."""

    asked = False

    def __dlpack__(self, **_: Any) -> Any:
        if self.asked:
            raise self.error
        self.asked = True
        return F.__dlpack__()


def test_a_refusal_that_can_not_be_repeated(m: Any) -> None:
    class Moody:
        calls = 0

        def __dlpack__(self, **_: Any) -> Any:
            self.calls += 1
            if self.calls % 2:
                raise ValueError("not now")
            return D.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert "taken when it was asked again" in why(m.total, Moody())


class Outer(Raising):
    """Its export asks a function for what is inside, and passes over the refusal."""

    asked = 0

    def __init__(self, call: Any, inner: Any) -> None:
        self.call, self.inner = call, inner

    def __dlpack__(self, **_: Any) -> Any:
        Outer.asked += 1
        with contextlib.suppress(TypeError):
            self.call(self.inner)
        raise ValueError("of the outer one")


def test_a_refusal_handled_while_an_argument_is_taken(m: Any) -> None:
    for _ in range(20):
        assert why(m.total, Outer(m.total, F)).endswith("isn't view[const float64, 1]: ValueError: of the outer one")


def test_asking_again_does_not_double_with_each_level(m: Any) -> None:
    nested: Any = F
    for _ in range(20):
        nested = Outer(m.total, nested)
    Outer.asked = 0
    assert "of the outer one" in why(m.total, nested)
    assert Outer.asked < 20**3  # not 2**20


def test_what_ends_everything_has_room_among_refusals(m: Any) -> None:
    assert m.variants([D] * 200 + [F]) == 200 * 6 + 6
    with pytest.raises(MemoryError):
        m.variants([D] * 200 + [Raising(MemoryError())])


def test_the_table_stays_when_the_package_is_taken_out_of_sys_modules(built: Path) -> None:
    code = (
        "import gc, sys, arrays_nb as m\n"
        "x, wrong = (memoryview(bytearray(24)).cast(c) for c in 'df')\n"
        "for name in [name for name in sys.modules if name.startswith('anyarray')]: del sys.modules[name]\n"
        "gc.collect()\n"
        "assert m.total(x) == 0 and m.give_back(wrong).tolist() == [0] * 6 and type(m.give_back(wrong)).__mro__\n"
        "import anyarray\n"
        "assert m.total(anyarray.view(x)) == 0 and anyarray.view(m.make(3)).shape == (3,)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=built, check=True, env=environment())


# Without the last line, and without anyarray ----------------------------------------------------------------------


def test_plain_type_errors_without_install(plain: Any) -> None:
    assert plain.size(F) == 3
    assert plain.size(D) == -3
    with pytest.raises(TypeError, match=r"Invoked with types: ndarray$") as raised:
        plain.size(np.ones(3, "i4"))
    assert raised.value.__cause__ is None
    with pytest.raises(KeyboardInterrupt):
        plain.size(Raising(KeyboardInterrupt()))


def test_nothing_is_lost_without_install(plain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_value))
    error = MemoryError("of the producer")
    with pytest.raises(TypeError):
        plain.sizes([F, Raising(error)])
    assert seen == [error]
    seen.clear()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # libraries put handlers of their own
    try:
        with pytest.raises(KeyboardInterrupt):  # it is sent again, and comes after the TypeError
            with contextlib.suppress(TypeError):
                plain.sizes([Raising(KeyboardInterrupt())])
            time.sleep(0.1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == []


def test_a_missing_anyarray_is_an_import_error(built: Path) -> None:
    code = (
        "import sys; sys.modules['anyarray'] = None\n"
        "import plain_nb\n"
        "for call in (lambda: plain_nb.size(b'abcd'), lambda: __import__('arrays_nb')):\n"
        "    try: call()\n"
        "    except ImportError as error: print('ImportError')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=built, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["ImportError", "ImportError"], done.stderr


# Beside nb::ndarray, and in stubs ---------------------------------------------------------------------------------


def test_in_one_module_with_ndarray(m: Any) -> None:
    assert m.mixed(F, F) == 3
    assert m.mixed(F, F.copy()) == 0
    assert m.either_kind(F) == "anyarray"
    assert m.either_kind(D) == "nb::ndarray"
    assert m.ndarray(m.make(3)) == 1
    assert m.either_kind(np.ones(2, "i4")) == "nb::ndarray"  # which copies without being told to
    assert "float64, float32 was asked for" in why(m.mixed, F, D)
    assert why(m.mixed, "no array", F) == ""  # nanobind's refusals have no words


def test_signatures(m: Any) -> None:
    assert m.matrix.__doc__ == (
        "matrix(x: typing.Annotated[anyarray.typing.AnyArray, dict(dtype='float32', shape=(None, None), device='cpu')])"
        " -> int"
    )
    assert "dict(dtype='float32', shape=(None,), device='cpu', writable=True)" in m.write.__doc__
    assert "shape=(None, None), order='F', device='cpu'" in m.f_contig.__doc__
    assert "dtype=('float32', 'float64', 'complex128')" in m.dispatch.__doc__
    assert "(arg: anyarray.typing.AnyArray, /)" in m.anything.__doc__
    assert "dict(dtype='float32', device='cuda')" in m.on_cuda.__doc__
    assert "shape=(), device" in m.scalar.__doc__
    assert "copy=None" in m.copied.__doc__
    assert "-> typing.Annotated[anyarray.Array, dict(dtype='float64', shape=(None,), device='cpu')]" in m.make.__doc__
    assert "-> typing.Annotated[torch.Tensor, dict(" in m.as_torch.__doc__


def stub(built: Path, module: str, out: Path) -> str:
    """What nanobind's stub generator makes of a module."""
    command = ["-m", "nanobind.stubgen", "-q", "-i", str(built), "-m", module, "-o", str(out / f"{module}.pyi")]
    subprocess.run([sys.executable, *command], check=True, env=environment())
    return (out / f"{module}.pyi").read_text(encoding="utf-8")


def environment() -> dict[str, str]:
    """For another process, which is to import the anyarray that this one has."""
    paths = [str(Path(aa.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def test_stubs_are_python(built: Path, tmp_path: Path) -> None:
    text = stub(built, "arrays_nb", tmp_path)
    compile(text, "arrays_nb.pyi", "exec")
    assert "def matrix(x: Annotated[anyarray.typing.AnyArray, dict(dtype='float32'" in text
    assert "import anyarray.typing" in text


USE = """
import numpy as np
import plain_nb

plain_nb.write(np.ones((2, 3), "f4"), 2.0)
shape: tuple[int, ...] = plain_nb.make(3).shape
plain_nb.as_numpy(None).sum()
plain_nb.sizes([memoryview(b"")])
plain_nb.write(3, 2.0)
"""


def test_mypy_accepts_stubs(built: Path, tmp_path: Path) -> None:
    """But for overloads that differ in dtype alone, which it can't tell apart; nb::ndarray's are so, too."""
    needs("mypy")
    stub(built, "plain_nb", tmp_path)
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    command = ["-m", "mypy", "--strict", "--disable-error-code", "overload-cannot-match", "use.py"]
    where = {**environment(), "MYPYPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert errors[0].startswith(f"use.py:{USE.count(chr(10))}: ")
    assert "SupportsDLPack" in errors[0]


# The page ---------------------------------------------------------------------------------------------------------


def test_the_page_builds_and_prints_what_it_says(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (HERE.parents[1] / "docs" / "casters.md").read_text(encoding="utf-8")
    source = (HERE / "nanobind_module" / "docs.cpp").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```cpp\n(#include <anyarray/casters/nanobind.h>.*?)^```", page, re.M | re.S)
    assert source.split("\n", 2)[2] == block
    (block,) = re.findall(r"^```cmake\n(.*?)^```", page, re.M | re.S)
    example = (HERE.parents[1] / "examples" / "nanobind" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert example.split("\n", 1)[1].replace("filters.cpp", "docs.cpp").replace("filters", "docs_nb") == block
    monkeypatch.syspath_prepend(str(built))
    (session,) = [text for text in re.findall(r"^```pycon\n(.*?)^```", page, re.M | re.S) if "docs_nb" in text]
    test = doctest.DocTestParser().get_doctest(session, {}, "docs/casters.md", None, 0)
    output: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=output.append).failed == 0, "".join(output)
