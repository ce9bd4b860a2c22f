# SPDX-License-Identifier: Apache-2.0
"""The pybind11 casters, as a stranger's extension uses them: what pybind11 documents of py::array holds of ours too."""

from __future__ import annotations

import array
import contextlib
import ctypes
import doctest
import gc
import os
import re
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
from interpreters import INSIDE, SEVERAL
from projects import build, needs

import anyarray as aa

needs("pybind11")

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extensions, built against the package that is installed here."""
    folder = tmp_path_factory.mktemp("pybind11")
    prefix = Path(aa.__file__).parent / "cmake_prefix"
    build(HERE / "pybind11_module", folder, prefix, f"-DPython_EXECUTABLE={sys.executable}")
    return folder


@pytest.fixture
def m(built: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(built))
    import arrays_pb

    return arrays_pb


@pytest.fixture
def beside(built: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same functions with pybind11's own types."""
    monkeypatch.syspath_prepend(str(built))
    import beside_pb

    return beside_pb


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
CUBE = np.arange(24.0).reshape(2, 3, 4)


def why(call: Any, *args: Any, **keywords: Any) -> str:
    """The TypeError of a call, which is pybind11's, and what anyarray adds to it."""
    with pytest.raises(TypeError, match=r"incompatible (function|constructor) arguments") as raised:
        call(*args, **keywords)
    head, _, reasons = str(raised.value).partition("\n\nanyarray: ")
    assert "\nInvoked with: " in head
    return reasons


# Parameters -------------------------------------------------------------------------------------------------------


def test_memory_is_shared_whatever_the_producer(m: Any) -> None:
    assert m.matrix(MATRIX) == MATRIX.ctypes.data
    assert m.matrix(memoryview(MATRIX)) == MATRIX.ctypes.data
    assert m.matrix(x=aa.view(MATRIX)) == MATRIX.ctypes.data
    assert m.matrix((ctypes.c_float * 3 * 2)()) != 0
    assert m.total(array.array("d", [1, 2])) == 3
    assert m.by_reference(D[::-1]) == m.by_rvalue(D[::-1]) == m.array_by_reference(D[::-1]) == 6
    assert m.strides(np.zeros((4, 6), "i2")[::2, ::-1]) == (12, -1)


def test_torch_and_jax(m: Any) -> None:
    torch, jnp = needs("torch"), needs("jax.numpy")
    tensor = torch.ones(2, 3)
    assert m.matrix(tensor) == tensor.data_ptr()
    assert m.any_rank(jnp.ones((2, 2, 2), "float32")) == 3
    assert "requires grad" in why(m.matrix, torch.ones(2, 3, requires_grad=True))


def test_classes_with_the_buffer_protocol(m: Any) -> None:
    model = m.Model(D)
    assert m.total(model) == 10
    memoryview(model)[0] = 5.0
    assert m.total(model) == 14


def test_elements_are_those_of_unchecked(m: Any, beside: Any) -> None:
    assert m.facts(CUBE) == beside.facts(CUBE) == (3, 2, 3, 4, 24, 23.0)
    assert m.facts(CUBE[::-1, :, ::-1]) == beside.facts(CUBE[::-1, :, ::-1])
    for module in (m, beside):
        x = CUBE.copy()
        module.add_one(x)
        assert (x == CUBE + 1).all()


def test_rank_is_checked_before_the_function_not_in_it(m: Any, beside: Any) -> None:
    assert "ndim 2, 3 was asked for" in why(m.facts, CUBE[0])
    with pytest.raises(ValueError, match="3"):
        beside.facts(CUBE[0])


def test_const_takes_read_only_memory_and_plain_asks_for_writable(m: Any, beside: Any) -> None:
    x = F.copy()
    m.write(x, 7)
    assert x[0] == 7
    x.flags.writeable = False
    assert m.any_rank(x) == 1
    assert "read-only" in why(m.write, x, 1.0)
    assert "read-only" in why(m.write, x=bytes(8), value=1.0)
    assert x[0] == 7

    cube = CUBE.copy()
    cube.flags.writeable = False
    assert "read-only" in why(m.add_one, cube)
    with pytest.raises(ValueError, match="not writeable"):
        beside.add_one(cube)
    assert (cube == CUBE).all()


def test_order_is_required_not_made(m: Any, beside: Any) -> None:
    assert m.c_style(MATRIX) == 3
    assert m.f_style(MATRIX.T) == 2
    assert "isn't C-contiguous" in why(m.c_style, MATRIX.T)
    assert "isn't Fortran-contiguous" in why(m.f_style, MATRIX)
    one = np.ones((1, 3), "f4")
    assert m.c_style(one) == m.f_style(one) == 3
    assert beside.c_style(CUBE) == CUBE.ctypes.data
    assert beside.c_style(CUBE.T) != CUBE.ctypes.data  # array_t copies without a word


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
    assert "cuda" in why(m.on_cuda, F)
    memory = np.ones(4, "f4")

    class OnCuda:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {"shape": (4,), "typestr": "<f4", "data": (memory.ctypes.data, False), "version": 3}

    assert m.on_cuda(OnCuda()) == 0
    assert m.anything(OnCuda()) == 1
    assert "cuda" in why(m.any_rank, OnCuda())


def test_what_is_no_array(m: Any) -> None:
    assert "a list is a sequence of Python objects" in why(m.matrix, [[1.0]])
    assert "it is None" in why(m.total, None)
    assert "number" in why(m.total, 3.0)


def test_other_arguments_beside(m: Any) -> None:
    assert m.several(1, F) == 3
    assert m.several(1, F, 2, 3, extra=4) == 5
    assert m.several(x=F, n=0) == 3
    assert m.keyword_only(F, y=D[:1]) == 2
    assert m.keyword_only(y=D[:1], x=F) == 2
    assert "float64" in why(m.several, 1, x=D)
    assert "float32, float64 was asked for" in why(m.keyword_only, F, y=F)
    assert why(m.keyword_only, F, D) == ""  # never asked: the second goes by its name alone
    assert why(m.several, F) == ""


# None -------------------------------------------------------------------------------------------------------------


def test_none(m: Any) -> None:
    assert m.optional(None) == -1
    assert m.optional(F) == 3
    assert (m.defaulted(1), m.defaulted(1, None), m.defaulted(1, x=F)) == (-1, -1, 3)
    assert m.optional_array(None) is None
    assert m.optional_array(F).tolist() == [1, 2, 3]
    assert "float64" in why(m.optional, D)
    assert m.no_none(F) is True
    assert why(m.no_none, None) == ""  # pybind11 refuses it by itself


# Overloads --------------------------------------------------------------------------------------------------------


def test_overloads_by_dtype_rank_order_and_device(m: Any) -> None:
    assert m.which(F) == "float32, 1"
    assert m.which(np.asfortranarray(MATRIX)) == "float32, 2, f_order"
    assert m.which(MATRIX) == "float32, 2"
    assert m.which(D.reshape(3, 1, 1)) == "float64"
    assert m.which(3) == "int"
    assert m.writable_first(F.copy()) == "writable"
    assert m.writable_first(np.frombuffer(bytes(F), "f4")) == "read-only"


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
    kinds = ["float32, 1", "float32, 2, f_order", "float32, 2", "float64", "float32, cuda"]
    assert len(lines) == len(kinds)
    for line, kind in zip(lines, kinds, strict=True):
        assert line.startswith(f"anyarray: argument of type numpy.ndarray isn't view[const {kind}]: ")


def test_the_cause_has_the_whole_trace(m: Any) -> None:
    with pytest.raises(TypeError) as raised:
        m.matrix(F)
    cause = raised.value.__cause__
    assert isinstance(cause, aa.ExchangeError)
    assert [attempt.status for attempt in cause.attempts].count("mismatch") == 1


def test_beside_array_t_in_one_module(m: Any) -> None:
    assert m.numpy_alone([1, 2]) == 2
    assert m.beside_numpy([1, 2], F) == 5
    assert "float64" in why(m.beside_numpy, [1, 2], D)
    assert m.mixed(F) == "float32"
    assert m.mixed(D) == m.mixed([1]) == "converted"


# Copies -----------------------------------------------------------------------------------------------------------


def test_copies_only_where_the_type_says_so(m: Any, beside: Any) -> None:
    assert m.copied(F) == (F.ctypes.data, 1)
    address, value = m.copied(D)
    assert address != D.ctypes.data
    assert value == 1
    assert m.copied(np.array([3], ">f4"))[1] == 3
    assert m.copied(np.array([3], "i8"))[1] == beside.first(np.array([3], "i8")) == 3
    assert m.optional_copy(None) == -1
    assert m.optional_copy(D) == 1
    assert m.copied_list([D, F, np.array([5], "i2")]) == 7
    assert "float64, float32 was asked for" in why(m.matrix, MATRIX.astype("f8"))


def test_copies_into_an_order(m: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert m.c_copied(x) == (x.ctypes.data, 1.0)
    assert m.f_copied(x.T) == (x.ctypes.data, 3.0)
    for call, y in ((m.c_copied, x.T), (m.f_copied, x)):
        address, value = call(y)
        assert address != x.ctypes.data
        assert value == y[0, 1]


def test_copies_are_refused_where_a_kind_would_go(m: Any, beside: Any) -> None:
    assert "complex64 can't be cast to float32" in why(m.copied, np.ones(2, "c8"))
    assert "ndim 2, 1 was asked for" in why(m.copied, MATRIX)
    assert "sequence" in why(m.copied, [1.0])
    assert "float64 can't be cast to int32" in why(m.integers, np.array([1.9]))
    assert beside.first_integer(np.array([1.9])) == 1  # forcecast cuts


def test_noconvert(m: Any, beside: Any) -> None:
    assert m.never_copied(F) == 1
    assert "float64, float32 was asked for" in why(m.never_copied, D)
    assert beside.first_exact(D) == 1
    with pytest.raises(TypeError):
        beside.first_exact(F)


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
    assert memoryview(m.adopt()).tolist() == [1, 2, 3]
    assert m.make(0).shape == (0,)
    assert m.maybe(False) is None
    assert m.maybe(True).shape == (1,)
    for call in (m.empty_result, lambda: m.make(1 << 61)):
        with pytest.raises(ValueError, match="holds nothing"):
            call()


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
    assert m.optional(None) == -1
    assert m.list_sum([view, view]) == 0
    why(m.matrix, view)
    gc.collect()  # the exception's frames
    assert sys.getrefcount(view) == count
    view.release()
    memory.extend(b"free")


def test_results_of_a_library(m: Any) -> None:
    assert type(m.as_numpy(memoryview(F))) is np.ndarray
    assert m.as_numpy(F).tolist() == [2, 4, 6]
    torch, jax = needs("torch"), needs("jax")
    assert isinstance(m.as_torch(F), torch.Tensor)
    assert isinstance(m.as_jax(F), jax.Array)


@pytest.mark.parametrize("name", ["as_given", "as_given_array", "as_given_copy"])
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
    assert type(m.as_given_copy(D)) is np.ndarray


def test_views_as_results_follow_the_policy(m: Any) -> None:
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


def test_keep_alive(m: Any) -> None:
    class Parent:
        pass

    parent = Parent()
    alive = weakref.ref(parent)
    child = m.child(parent)
    del parent
    assert alive() is not None
    del child
    assert alive() is None

    model, x = m.Model(D), D.copy()
    alive_x = weakref.ref(x)
    model.keep(x)
    del x
    assert alive_x() is not None
    del model
    gc.collect()
    assert alive_x() is None


# Containers -------------------------------------------------------------------------------------------------------


def test_arrays_in_containers(m: Any) -> None:
    views = [np.arange(100.0) + i for i in range(50)]
    assert m.list_sum(views) == sum(v.sum() for v in views)
    assert m.list_sum(np.arange(10.0) for _ in range(50)) == 45 * 50
    assert [x.tolist() for x in m.arrays_back([D, D[::-1]])] == [[1, 2, 3], [3, 2, 1]]
    assert m.pair_sum((D, 2.0)) == 12
    assert [x.tolist() for x in m.pair_of_results(F)] == [[2, 4, 6]] * 2
    assert m.nested({"a": [(D, 1), (D, 2)], "b": [(D * 10, 1)]}) == 6 * 3 + 60
    assert (m.either(3), m.either(D)) == (3, 6)
    assert m.list_of_optional([D, None]) == 1006
    assert m.two([D, D * 2]) == -6
    assert "float32, float64" in why(m.list_sum, [D, F])
    assert "float32, float64" in why(m.pair_sum, (F, 1))
    assert "sequence" in why(m.nested, {"a": [([1], 1)]})


def test_callbacks(m: Any) -> None:
    assert m.called(lambda x: np.asarray(x) * 2, D) == 12
    with pytest.raises(RuntimeError, match="Unable to cast"):
        m.called(lambda x: F, D)


def test_cast(m: Any) -> None:
    assert m.cast_array(D) == 3
    assert [x.tolist() for x in m.cast_list([1, 2])] == [[1], [2]]
    with pytest.raises(RuntimeError, match="Unable to cast"):
        m.cast_array(F)


# Stubs, and the page ----------------------------------------------------------------------------------------------


def test_signatures(m: Any) -> None:
    assert m.matrix.__doc__.strip() == (
        "matrix(x: typing.Annotated[anyarray.typing.AnyArray, dict(dtype='float32', shape=(None, None), device='cpu')])"
        " -> int"
    )
    assert "dict(dtype='float32', shape=(None,), device='cpu', writable=True)" in m.write.__doc__
    assert "shape=(None, None), order='F', device='cpu'" in m.f_style.__doc__
    assert "dtype=('float32', 'float64', 'complex128')" in m.dispatch.__doc__
    assert "anything(arg0: anyarray.typing.AnyArray) -> int" in m.anything.__doc__
    assert "dict(dtype='float32', device='cuda')" in m.on_cuda.__doc__
    assert "shape=(), device" in m.scalar.__doc__
    assert "copy=None" in m.copied.__doc__
    assert "-> typing.Annotated[anyarray.Array, dict(dtype='float64', shape=(None,), device='cpu')]" in m.make.__doc__
    assert "-> typing.Annotated[torch.Tensor, dict(" in m.as_torch.__doc__
    assert " | None = None) -> int" in m.defaulted.__doc__
    parameter, result = m.arrays_back.__doc__.split(" -> ")
    assert "collections.abc.Sequence[typing.Annotated[anyarray.typing.AnyArray, " in parameter
    assert "list[typing.Annotated[anyarray.Array, " in result


def stub(built: Path, module: str, out: Path) -> str:
    """What pybind11-stubgen makes of a module."""
    needs("pybind11_stubgen")
    where = environment()
    where["PYTHONPATH"] = os.pathsep.join((str(built), where["PYTHONPATH"]))
    command = [sys.executable, "-m", "pybind11_stubgen", "--exit-code", "-o", str(out), module]
    subprocess.run(command, check=True, env=where)
    return (out / f"{module}.pyi").read_text(encoding="utf-8")


def environment() -> dict[str, str]:
    """For another process, which is to import the anyarray that this one has."""
    paths = [str(Path(aa.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


USE = """
import numpy as np
import plain_pb

plain_pb.write(np.ones((2, 3), "f4"), 2.0)
shape: tuple[int, ...] = plain_pb.make(3).shape
plain_pb.as_numpy(None).sum()
plain_pb.sizes([memoryview(b"")])
plain_pb.write(3, 2.0)
"""


def test_stubs_are_what_mypy_accepts(built: Path, tmp_path: Path) -> None:
    """But for overloads that differ in dtype alone, which it can't tell apart."""
    text = stub(built, "plain_pb", tmp_path)
    assert "def write(x: typing.Annotated[anyarray.typing.AnyArray, dict(dtype='float32'" in text
    needs("mypy")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    command = ["-m", "mypy", "--strict", "--disable-error-code", "overload-cannot-match", "use.py"]
    where = {**environment(), "MYPYPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=where, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert errors[0].startswith(f"use.py:{USE.count(chr(10))}: ")
    assert "SupportsDLPack" in errors[0]


def test_the_page_builds_and_prints_what_it_says(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (HERE.parents[1] / "docs" / "casters.md").read_text(encoding="utf-8")
    source = (HERE / "pybind11_module" / "docs.cpp").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```cpp\n(#include <anyarray/casters/pybind11.h>.*?)^```", page, re.M | re.S)
    assert source.split("\n", 2)[2] == block
    monkeypatch.syspath_prepend(str(built))
    (session,) = [text for text in re.findall(r"^```pycon\n(.*?)^```", page, re.M | re.S) if "docs_pb" in text]
    test = doctest.DocTestParser().get_doctest(session, {}, "docs/casters.md", None, 0)
    output: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=output.append).failed == 0, "".join(output)


# Functions of every kind ------------------------------------------------------------------------------------------


def test_reasons_in_functions_of_every_kind(m: Any) -> None:
    model = m.Model(D)
    assert (model.dot(D), model(D), m.Model.norm(D), m.inner.total(D), model + D) == (14, 14, 6, 6, 6)
    model.weights = D * 2
    assert model.weights.tolist() == [2, 4, 6]
    for call in (
        m.Model,
        lambda x: m.Model(weights=x),
        model.dot,
        model,
        m.Model.norm,
        m.inner.total,
        lambda x: setattr(model, "weights", x),
        lambda x: setattr(m.Model, "shared", x),
        model.keep,
    ):
        assert "float32, float64 was asked for" in why(call, F)
    with pytest.raises(TypeError, match="unsupported operand"):
        model + memoryview(F)


def test_functions_defined_after_install_are_plain_until_the_next(m: Any) -> None:
    with pytest.raises(TypeError) as raised:
        m.late(D)
    before = "anyarray: " in str(raised.value)
    m.install_again()
    m.install_again()
    assert "float64, float32 was asked for" in why(m.late, D)
    assert m.late(F) == 3
    assert before in (False, True)


def test_a_module_without_install_works(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(built))
    import plain_pb

    assert (plain_pb.size(F), plain_pb.size(D)) == (3, -3)
    with pytest.raises(TypeError, match="Invoked with") as raised:
        plain_pb.size(MATRIX)
    assert "anyarray: " not in str(raised.value)


# Errors of others -------------------------------------------------------------------------------------------------


def test_errors_of_the_function_stay_its_own(m: Any) -> None:
    assert m.raises(F) == 1
    with pytest.raises(TypeError) as raised:
        m.raises(D)  # refused by the first, and the second raises in pybind11's own words
    assert str(raised.value).endswith("1. ours")
    assert raised.value.__cause__ is None


def test_an_error_from_inside_gets_its_own_reasons_alone(m: Any) -> None:
    assert m.calls_itself([F]) == 1
    with pytest.raises(TypeError) as raised:
        m.calls_itself([D])
    text = str(raised.value)
    assert "Invoked with: array" in text  # of the inner call
    assert text.count("anyarray: ") == 1
    assert "numpy.ndarray" in text.partition("anyarray: ")[2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit])
def test_what_is_never_passed_over_is_raised(m: Any, error: type[BaseException]) -> None:
    class Interrupting:
        def __dlpack__(self, **_: Any) -> Any:
            raise error

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    for call in (m.total, m.which, m.optional, m.give_back, lambda x: m.list_sum([D, x]), m.Model):
        with pytest.raises(error):
            call(Interrupting())


def test_an_interrupt_while_reasons_are_asked_for(m: Any) -> None:
    class Late:
        asked = 0

        @property
        def __array_interface__(self) -> Any:
            Late.asked += 1
            if Late.asked > 1:
                raise KeyboardInterrupt
            return {"shape": (3,), "typestr": "<f4", "data": (F.ctypes.data, False), "version": 3}

    with pytest.raises(KeyboardInterrupt):
        m.total(Late())


def test_without_anyarray(built: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(built)!r}); sys.modules['anyarray'] = None\n"
        "import plain_pb\n"
        "try:\n    plain_pb.size(memoryview(bytes(8)).cast('f'))\n"
        "except ImportError as error:\n    print('ImportError', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("ImportError"), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="pybind11 has several interpreters from CPython 3.12 on")
def test_each_interpreter_has_its_own_table(built: Path) -> None:
    paths = [str(built), str(Path(aa.__file__).parents[1]), *sys.path]
    code, longer = (INSIDE.format(paths=paths, seconds=seconds) for seconds in (0, 0.5))
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL.format(code=code, longer=longer)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.endswith("all well\n"), done.stdout + done.stderr


def test_calls_of_several_threads(m: Any) -> None:
    stop = time.monotonic() + 0.5
    wrong: list[str] = []

    def refused(x: Any, words: str) -> None:
        while time.monotonic() < stop:
            reasons = why(m.which, x)
            if words not in reasons or reasons.count("anyarray: ") != 4:
                wrong.append(reasons)

    def taken() -> None:
        while time.monotonic() < stop:
            with contextlib.suppress(TypeError):
                m.calls_itself([F])
            if m.which(MATRIX) != "float32, 2":
                wrong.append("taken")

    threads = [threading.Thread(target=refused, args=(np.ones(2, d), d)) for d in ("int8", "int16", "complex64")]
    threads += [threading.Thread(target=taken) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Several interpreters ---------------------------------------------------------------------------------------------

INTERPRETERS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import each_pb as m

WORK = f'''
import sys
sys.path[:0] = {sys.path!r}
import each_pb as m
x, wrong = memoryview(bytearray(24)), memoryview(bytearray(24)).cast("i")
assert m.size(x) == 24
for _ in range(3):
    try:
        m.size(wrong)
    except TypeError as error:
        assert "int32, uint8 was asked for" in str(error), error
m.keep(x)  # what was kept is of an interpreter that ended, whose address this one may have
'''


class Inside:
    def __dlpack__(self, **_):
        one()
        raise ValueError("of the outer one")

    def __dlpack_device__(self):
        return (1, 0)


def one():
    identifier = interpreters.create()
    failed = interpreters.run_string(identifier, WORK)
    interpreters.destroy(identifier)
    assert failed is None, failed.formatted


for _ in range(3):
    try:
        m.size(Inside())  # another interpreter on this thread, between a refusal and its reason
    except TypeError as error:
        text = str(error)
assert text.count("ValueError: of the outer one") == 2, text
for _ in range(20):
    one()
assert m.size(bytearray(3)) == 3
print("done")
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="pybind11 knows interpreters from 3.12 on")
def test_interpreters(built: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(built), *sys.path])}
    command = [sys.executable, "-c", INTERPRETERS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
