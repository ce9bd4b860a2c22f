# SPDX-License-Identifier: Apache-2.0
"""The pybind11 casters, as a stranger's extension uses them: what pybind11 documents of py::array holds of ours too."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_both import MATRIX, D, F, InBoth, Stub, why
from interpreters import INSIDE, SEVERAL
from projects import environment, needs

import anyarray as aa

LIBRARY, SUFFIX = "pybind11", "pb"
needs(LIBRARY)
pytestmark = pytest.mark.usefixtures("nothing_held")

CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture
def beside(bound: Callable[[str], Any]) -> Any:
    """The same functions with pybind11's own types."""
    return bound("beside")


@pytest.fixture
def stub(built: Path, tmp_path: Path) -> Stub:
    """What pybind11-stubgen makes of a module."""
    needs("pybind11_stubgen")

    def of(module: str) -> str:
        command = [sys.executable, "-m", "pybind11_stubgen", "--exit-code", "-o", str(tmp_path), module]
        subprocess.run(command, check=True, env=environment(built))
        return (tmp_path / f"{module}.pyi").read_text(encoding="utf-8")

    return of


class TestInBoth(InBoth):
    """What nanobind's casters do, too."""


# Parameters -------------------------------------------------------------------------------------------------------


def test_parameters_by_reference(m: Any) -> None:
    assert m.by_rvalue(D[::-1]) == m.array_by_reference(D[::-1]) == 6


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


def test_memory_is_asked_for_before_the_function_not_in_it(m: Any, beside: Any) -> None:
    cube = CUBE.copy()
    cube.flags.writeable = False
    assert "read-only" in why(m.add_one, cube)
    with pytest.raises(ValueError, match="not writeable"):
        beside.add_one(cube)
    assert (cube == CUBE).all()


def test_order_is_not_made(m: Any, beside: Any) -> None:
    assert "isn't C-contiguous" in why(m.c_contig, MATRIX.T)
    assert beside.c_style(CUBE) == CUBE.ctypes.data
    assert beside.c_style(CUBE.T) != CUBE.ctypes.data  # array_t copies without a word


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


def test_none_is_no_array(m: Any) -> None:
    assert "it is None" in why(m.total, None)
    assert m.no_none(F) is True
    assert why(m.no_none, None) == ""  # pybind11 refuses it by itself


def test_beside_array_t_in_one_module(m: Any) -> None:
    assert m.numpy_alone([1, 2]) == 2
    assert m.beside_numpy([1, 2], F) == 5
    assert "float64" in why(m.beside_numpy, [1, 2], D)
    assert m.mixed(F) == "float32"
    assert m.mixed(D) == m.mixed([1]) == "converted"


# Copies -----------------------------------------------------------------------------------------------------------


def test_copies_beside_those_of_array_t(m: Any, beside: Any) -> None:
    assert m.copied(np.array([3], "i8"))[1] == beside.first(np.array([3], "i8")) == 3
    assert "float64 can't be cast to int32" in why(m.integers, np.array([1.9]))
    assert beside.first_integer(np.array([1.9])) == 1  # forcecast cuts
    assert beside.first_exact(D) == 1
    with pytest.raises(TypeError):
        beside.first_exact(F)


def test_copies_into_an_order(m: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert m.c_copied(x) == (x.ctypes.data, 1.0)
    assert m.f_copied(x.T) == (x.ctypes.data, 3.0)
    for call, y in ((m.c_copied, x.T), (m.f_copied, x)):
        address, value = call(y)
        assert address != x.ctypes.data
        assert value == y[0, 1]


# Results ----------------------------------------------------------------------------------------------------------


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


def test_iterables_and_pairs_of_results(m: Any) -> None:
    assert m.list_sum(np.arange(10.0) for _ in range(50)) == 45 * 50
    assert [x.tolist() for x in m.pair_of_results(F)] == [[2, 4, 6]] * 2


def test_callbacks(m: Any) -> None:
    assert m.called(lambda x: np.asarray(x) * 2, D) == 12
    with pytest.raises(RuntimeError, match="Unable to cast"):
        m.called(lambda x: F, D)


def test_cast(m: Any) -> None:
    assert m.cast_array(D) == 3
    assert [x.tolist() for x in m.cast_list([1, 2])] == [[1], [2]]
    with pytest.raises(RuntimeError, match="Unable to cast"):
        m.cast_array(F)


# Signatures, and stubs ----------------------------------------------------------------------------------------------


def test_signatures_of_its_own(m: Any) -> None:
    assert "anything(arg0: anyarray.typing.AnyArray) -> int" in m.anything.__doc__
    assert " | None = None) -> int" in m.defaulted.__doc__
    parameter, result = m.arrays_back.__doc__.split(" -> ")
    assert "collections.abc.Sequence[typing.Annotated[anyarray.typing.AnyArray, " in parameter
    assert "list[typing.Annotated[anyarray.Array, " in result


def test_stubs_have_the_signatures(stub: Stub) -> None:
    assert "def write(x: typing.Annotated[anyarray.typing.AnyArray, dict(dtype='float32'" in stub("plain_pb")


# Functions of every kind ------------------------------------------------------------------------------------------


def test_reasons_in_functions_of_every_kind(m: Any) -> None:
    model = m.Model(D)
    assert model(D) == 14
    for call in (model, lambda x: setattr(m.Model, "shared", x), model.keep):
        assert "float32, float64 was asked for" in why(call, F)


def test_functions_defined_after_install_are_plain_until_the_next(m: Any) -> None:
    with pytest.raises(TypeError) as raised:
        m.late(D)
    before = "anyarray: " in str(raised.value)
    m.install_again()
    m.install_again()
    assert "float64, float32 was asked for" in why(m.late, D)
    assert m.late(F) == 3
    assert before in (False, True)


def test_a_module_without_install_works(plain: Any) -> None:
    assert (plain.size(F), plain.size(D)) == (3, -3)
    with pytest.raises(TypeError, match="Invoked with") as raised:
        plain.size(MATRIX)
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
