# SPDX-License-Identifier: Apache-2.0
"""What the casters of both binding libraries do, over the functions of in_both.h: a class of tests for each to inherit.

The tests of each library stay in a file of their own, so that each builds its extensions once.
"""

from __future__ import annotations

import array
import ctypes
import doctest
import gc
import re
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import HERE, ROOT, environment, needs

import anyarray as aa

F = np.arange(1, 4, dtype="f4")
D = np.arange(1.0, 4.0)
MATRIX = np.ones((2, 3), "f4")

Stub = Callable[[str], str]


def why(call: Any, *args: Any, **keywords: Any) -> str:
    """The TypeError of a call, which is the binding library's, and what anyarray adds to it."""
    with pytest.raises(TypeError, match=r"incompatible (function|constructor) arguments") as raised:
        call(*args, **keywords)
    head, _, reasons = str(raised.value).partition("\n\nanyarray: ")
    assert re.search(r"\nInvoked with( types)?: ", head)
    return reasons


class Raising:
    """An array whose export raises what isn't passed over."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __dlpack__(self, **_: Any) -> Any:
        raise self.error

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Wrong(Raising):
    """The same when it is asked for the second time, for the words; at first it is no array of that kind."""

    asked = False

    def __dlpack__(self, **_: Any) -> Any:
        if self.asked:
            raise self.error
        self.asked = True
        return F.__dlpack__()


USE = """
import numpy as np
import {module} as m

m.write(np.ones((2, 3), "f4"), 2.0)
shape: tuple[int, ...] = m.make(3).shape
m.as_numpy(None).sum()
m.sizes([memoryview(b"")])
m.write(3, 2.0)
"""


class InBoth:
    """For a class in a module of tests that names its `LIBRARY`, and what the names of its extensions end in, `SUFFIX`;
    its fixture `stub` makes a stub of one of these.
    """

    # Parameters -------------------------------------------------------------------------------------------------------

    def test_memory_is_shared_whatever_the_producer(self, m: Any) -> None:
        assert m.matrix(MATRIX) == MATRIX.ctypes.data
        assert m.matrix(memoryview(MATRIX)) == MATRIX.ctypes.data
        assert m.matrix(x=aa.view(MATRIX)) == MATRIX.ctypes.data
        assert m.matrix((ctypes.c_float * 3 * 2)()) != 0  # nb::ndarray crashes the process on this one
        assert m.total(array.array("d", [1, 2])) == 3
        assert m.by_reference(D[::-1]) == 6
        assert m.strides(np.zeros((4, 6), "i2")[::2, ::-1]) == (12, -1)

    def test_torch_and_jax(self, m: Any) -> None:
        torch, jnp = needs("torch"), needs("jax.numpy")
        tensor = torch.ones(2, 3)
        assert m.matrix(tensor) == tensor.data_ptr()
        assert m.any_rank(jnp.ones((2, 2, 2), "float32")) == 3
        assert "requires grad" in why(m.matrix, torch.ones(2, 3, requires_grad=True))

    def test_const_takes_read_only_memory_and_plain_asks_for_writable(self, m: Any) -> None:
        x = F.copy()
        m.write(x, 7)
        assert x[0] == 7
        x.flags.writeable = False
        assert m.any_rank(x) == 1
        assert "read-only" in why(m.write, x, 1.0)
        assert "read-only" in why(m.write, x=bytes(8), value=1.0)
        assert x[0] == 7

    def test_order_is_required(self, m: Any) -> None:
        assert m.c_contig(MATRIX) == 3
        assert m.f_contig(MATRIX.T) == 2
        assert "isn't C-contiguous" in why(m.c_contig, MATRIX.T)
        assert "isn't Fortran-contiguous" in why(m.f_contig, MATRIX)
        both = np.ones((1, 3), "f4")
        assert m.c_contig(both) == m.f_contig(both) == 3

    def test_rank_and_dtype_are_required(self, m: Any) -> None:
        reasons = why(m.matrix, F)
        assert reasons.startswith("argument of type numpy.ndarray isn't view[const float32, 2]: ")
        assert "ndim 1, 2 was asked for" in reasons
        assert "dtype float64, float32 was asked for" in why(m.matrix, MATRIX.astype("f8"))
        assert "dtype >f4" in why(m.matrix, MATRIX.astype(">f4"))
        assert m.any_rank(np.float32(1)) == 0
        assert m.scalar(np.array(2.5)) == 2.5
        assert m.any_dtype(np.zeros((2, 5), "M8[s]")) == 40

    def test_dtypes_are_told_apart_in_one_function(self, m: Any) -> None:
        assert [m.dispatch(np.ones(2, dtype)) for dtype in ("f4", "f8", "c16")] == ["f", "d", "z"]
        assert "int32" in why(m.dispatch, np.ones(2, "i4"))

    def test_devices(self, m: Any) -> None:
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

    def test_what_is_no_array(self, m: Any) -> None:
        assert "a list is a sequence of Python objects" in why(m.matrix, [[1.0]])
        assert "number" in why(m.total, 3.0)

    # None -------------------------------------------------------------------------------------------------------------

    def test_none(self, m: Any) -> None:
        assert m.optional(None) == -1
        assert m.optional(F) == 3
        assert (m.defaulted(1), m.defaulted(1, None), m.defaulted(1, x=F)) == (-1, -1, 3)
        assert m.optional_array(None) is None
        assert m.optional_array(F).tolist() == [1, 2, 3]
        assert "float64" in why(m.optional, D)

    # Overloads --------------------------------------------------------------------------------------------------------

    def test_overloads_by_dtype_rank_order_and_device(self, m: Any) -> None:
        assert m.which(F) == "float32, 1"
        assert m.which(np.asfortranarray(MATRIX)) == "float32, 2, f_order"
        assert m.which(MATRIX) == "float32, 2"
        assert m.which(D.reshape(3, 1, 1)) == "float64"
        assert m.which(3) == "int"
        assert m.writable_first(F.copy()) == "writable"
        assert m.writable_first(np.frombuffer(F.tobytes(), "f4")) == "read-only"

    def test_a_refusal_leaves_no_exception(self, m: Any) -> None:
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

    def test_one_line_a_candidate(self, m: Any) -> None:
        lines = ("anyarray: " + why(m.which, np.ones(2, "i8"))).splitlines()
        kinds = ["float32, 1", "float32, 2, f_order", "float32, 2", "float64", "float32, cuda"]
        assert len(lines) == len(kinds)
        for line, kind in zip(lines, kinds, strict=True):
            assert line.startswith(f"anyarray: argument of type numpy.ndarray isn't view[const {kind}]: ")

    def test_the_cause_has_the_whole_trace(self, m: Any) -> None:
        with pytest.raises(TypeError) as raised:
            m.matrix(F)
        cause = raised.value.__cause__
        assert isinstance(cause, aa.ExchangeError)
        assert [attempt.status for attempt in cause.attempts].count("mismatch") == 1

    # Copies -----------------------------------------------------------------------------------------------------------

    def test_copies_only_where_the_type_says_so(self, m: Any) -> None:
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

    def test_copies_are_refused_where_a_kind_would_go(self, m: Any) -> None:
        assert "complex64 can't be cast to float32" in why(m.copied, np.ones(2, "c8"))
        assert "ndim 2, 1 was asked for" in why(m.copied, MATRIX)
        assert "sequence" in why(m.copied, [1.0])

    def test_noconvert(self, m: Any) -> None:
        assert m.never_copied(F) == 1
        assert "float64, float32 was asked for" in why(m.never_copied, D)

    def test_overloads_that_need_no_copy_come_first(self, m: Any) -> None:
        assert m.exact_first(F) == "float32"
        assert m.exact_first(D) == "float64"
        assert m.exact_first(np.ones(2, "i4")) == "float32"

    def test_a_copy_is_kept_by_an_array(self, m: Any) -> None:
        x = np.arange(6.0).reshape(2, 3).T
        kept = m.kept_copy(x)
        assert (str(kept.dtype), kept.tolist()) == ("float32", x.tolist())
        same = np.ones((2, 2), "f4")
        assert m.kept_copy(same).ptr == same.ctypes.data

    # Results ----------------------------------------------------------------------------------------------------------

    def test_arrays_become_arrays(self, m: Any) -> None:
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

    def test_arrays_keep_what_they_were_taken_from(self, m: Any) -> None:
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

    def test_views_are_given_back_at_the_end_of_the_call(self, m: Any) -> None:
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

    def test_results_of_a_library(self, m: Any) -> None:
        assert type(m.as_numpy(memoryview(F))) is np.ndarray
        assert m.as_numpy(F).tolist() == [2, 4, 6]
        torch, jax, pa = needs("torch"), needs("jax"), needs("pyarrow")
        assert isinstance(m.as_torch(F), torch.Tensor)
        assert isinstance(m.as_jax(F), jax.Array)
        assert isinstance(m.as_pyarrow(F), pa.Array)

    @pytest.mark.parametrize("name", ["as_given", "as_given_array", "as_given_copy", "as_given_object"])
    def test_results_of_the_callers_kind(self, m: Any, name: str) -> None:
        call = getattr(m, name)
        torch, jnp = needs("torch"), needs("jax.numpy")
        assert type(call(F)) is np.ndarray
        assert isinstance(call(torch.ones(2)), torch.Tensor)
        assert isinstance(call(jnp.ones(2, "float32")), jnp.ndarray)
        for other in (memoryview(F), aa.view(F), array.array("f", [1, 2, 3])):
            assert isinstance(call(other), aa.Array)
            assert call(other).tolist() == [2, 4, 6]

    def test_a_copied_parameter_still_knows_its_kind(self, m: Any) -> None:
        torch = needs("torch")
        assert m.as_given_copy(torch.ones(2, dtype=torch.float64)).tolist() == [2, 2]
        assert isinstance(m.as_given_copy(torch.ones(2, dtype=torch.float64)), torch.Tensor)
        assert type(m.as_given_copy(D)) is np.ndarray

    def test_views_as_results_follow_the_policy(self, m: Any) -> None:
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

    def test_containers(self, m: Any) -> None:
        views = [np.arange(100.0) + i for i in range(50)]
        assert m.list_sum(views) == sum(v.sum() for v in views)
        assert m.list_sum([memoryview(bytearray(80)).cast("d") for _ in range(50)]) == 0
        assert [x.tolist() for x in m.arrays_back([D, D[::-1]])] == [[1, 2, 3], [3, 2, 1]]
        assert m.pair_sum((D, 2.0)) == 12
        assert m.nested({"a": [(D, 1), (D, 2)], "b": [(D * 10, 1)]}) == 6 * 3 + 60
        assert (m.either(3), m.either(D)) == (3, 6)
        assert m.list_of_optional([D, None]) == 1006
        assert m.two([D, D * 2]) == -6
        assert "float32, float64" in why(m.list_sum, [D, F])
        assert "float32, float64" in why(m.pair_sum, (F, 1))
        assert "sequence" in why(m.nested, {"a": [([1], 1)]})

    # Functions of every kind, and errors that aren't ours -------------------------------------------------------------

    def test_reasons_in_methods_and_submodules(self, m: Any) -> None:
        model = m.Model(D)
        assert (model.dot(D), m.Model.norm(D), m.sub.total(D)) == (14, 6, 6)
        model.weights = D * 2
        assert model.weights.tolist() == [2, 4, 6]
        assert model + D == 28
        for call in (
            m.Model,
            lambda x: m.Model(weights=x),
            model.dot,
            m.Model.norm,
            m.sub.total,
            lambda x: setattr(model, "weights", x),
        ):
            assert "float32, float64 was asked for" in why(call, F)
        for other in (object(), memoryview(F)):
            with pytest.raises(TypeError, match="unsupported operand") as raised:
                model + other
            assert raised.value.__cause__ is None

    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, SystemExit])
    def test_what_ends_everything_is_raised_as_it_is(self, m: Any, error: type[BaseException]) -> None:
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

    def test_a_missing_anyarray_is_an_import_error(self, built: Path, m: Any, plain: Any) -> None:
        code = (
            "import sys; sys.modules['anyarray'] = None\n"
            f"import {plain.__name__} as plain\n"
            f"for call in (lambda: plain.size(memoryview(bytes(8)).cast('f')), lambda: __import__({m.__name__!r})):\n"
            "    try: call()\n"
            "    except ImportError as error: print('ImportError')\n"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=built, capture_output=True, text=True, check=False)
        assert done.stdout.split() == ["ImportError", "ImportError"], done.stderr

    # Stubs, and the page ----------------------------------------------------------------------------------------------

    def test_signatures(self, m: Any) -> None:
        assert m.matrix.__doc__.strip() == (
            "matrix(x: typing.Annotated[anyarray.typing.AnyArray, "
            "dict(dtype='float32', shape=(None, None), device='cpu')]) -> int"
        )
        assert "dict(dtype='float32', shape=(None,), device='cpu', writable=True)" in m.write.__doc__
        assert "shape=(None, None), order='F', device='cpu'" in m.f_contig.__doc__
        assert "dtype=('float32', 'float64', 'complex128')" in m.dispatch.__doc__
        assert "dict(dtype='float32', device='cuda')" in m.on_cuda.__doc__
        assert "shape=(), device" in m.scalar.__doc__
        assert "copy=None" in m.copied.__doc__
        made = "-> typing.Annotated[anyarray.Array, dict(dtype='float64', shape=(None,), device='cpu')]"
        assert made in m.make.__doc__
        assert "-> typing.Annotated[torch.Tensor, dict(" in m.as_torch.__doc__

    def test_mypy_accepts_stubs(self, plain: Any, stub: Stub, tmp_path: Path) -> None:
        """But for overloads that differ in dtype alone, which it can't tell apart; nb::ndarray's are so, too."""
        needs("mypy")
        name = plain.__name__
        (tmp_path / f"{name}.pyi").write_text(stub(name), encoding="utf-8")
        (tmp_path / "use.py").write_text(USE.format(module=name), encoding="utf-8")
        command = ["-m", "mypy", "--strict", "--disable-error-code", "overload-cannot-match", "use.py"]
        where = {**environment(), "MYPYPATH": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=where, capture_output=True, text=True, check=False
        )
        errors = [line for line in done.stdout.splitlines() if ": error:" in line]
        assert len(errors) == 1, done.stdout + done.stderr
        assert errors[0].startswith(f"use.py:{USE.count(chr(10))}: ")
        assert "SupportsDLPack" in errors[0]

    def test_the_page_builds_and_prints_what_it_says(
        self, built: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        library, module = request.module.LIBRARY, f"docs_{request.module.SUFFIX}"
        page = (ROOT / "docs" / "casters.md").read_text(encoding="utf-8")
        source = (HERE / f"{library}_module" / "docs.cpp").read_text(encoding="utf-8")
        (block,) = re.findall(rf"^```cpp\n(#include <anyarray/casters/{library}.h>.*?)^```", page, re.M | re.S)
        assert source.split("\n", 2)[2] == block
        monkeypatch.syspath_prepend(str(built))
        (session,) = [text for text in re.findall(r"^```pycon\n(.*?)^```", page, re.M | re.S) if module in text]
        test = doctest.DocTestParser().get_doctest(session, {}, "docs/casters.md", None, 0)
        output: list[str] = []
        assert doctest.DocTestRunner(verbose=False).run(test, out=output.append).failed == 0, "".join(output)
