# SPDX-License-Identifier: Apache-2.0
"""The nanobind casters, as a stranger's extension uses them: what nanobind documents of nb::ndarray, of ours."""

from __future__ import annotations

import contextlib
import gc
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_both import D, F, InBoth, Raising, Stub, why
from projects import ROOT, environment, needs

LIBRARY, SUFFIX = "nanobind", "nb"
needs(LIBRARY)
pytestmark = pytest.mark.usefixtures("nothing_held")


@pytest.fixture
def stub(built: Path, tmp_path: Path) -> Stub:
    """What nanobind's stub generator makes of a module."""

    def of(module: str) -> str:
        out = tmp_path / "stub.pyi"
        command = ["-m", "nanobind.stubgen", "-q", "-i", str(built), "-m", module, "-o", str(out)]
        subprocess.run([sys.executable, *command], check=True, env=environment())
        return out.read_text(encoding="utf-8")

    return of


class TestInBoth(InBoth):
    """What pybind11's casters do, too."""


# None, and overloads ----------------------------------------------------------------------------------------------


def test_none_by_annotation(m: Any) -> None:
    assert why(m.matrix, None) == why(m.total, None) == ""  # nanobind refuses None before it asks
    assert m.none_allowed(None) == -1
    assert m.none_allowed(F) == 3
    assert (m.none_array(), m.none_array(None), m.none_array(F)) == (False, False, True)


def test_next_overload(m: Any) -> None:
    assert m.next(D) == 2
    assert "float32, float64 was asked for" in why(m.next, F)  # the first took it, and passed it on


# Containers -------------------------------------------------------------------------------------------------------


def test_views_in_containers_are_valid_for_the_call(m: Any) -> None:
    assert m.dynamic_list([np.zeros((2, 3)), np.zeros((1, 1, 4))[:, :, ::2]]) == 303 + 204


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


def test_cast(m: Any) -> None:
    assert m.cast_array(D) == 3
    assert m.is_vector(D)
    assert not m.is_vector(F)
    with pytest.raises(TypeError, match="cast to an anyarray::array"):
        m.cast_view(D)


# Functions of every kind ------------------------------------------------------------------------------------------


def test_reasons_from_inside_a_method(m: Any) -> None:
    model = m.Model(D)
    assert "float32, float64 was asked for" in why(model.call, model.dot, F)


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


def test_signature_of_any_array(m: Any) -> None:
    assert "(arg: anyarray.typing.AnyArray, /)" in m.anything.__doc__


def test_stubs_are_python(stub: Stub) -> None:
    text = stub("arrays_nb")
    compile(text, "arrays_nb.pyi", "exec")
    assert "def matrix(x: Annotated[anyarray.typing.AnyArray, dict(dtype='float32'" in text
    assert "import anyarray.typing" in text


def test_the_example_is_built_as_the_page_says() -> None:
    page = (ROOT / "docs" / "casters.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```cmake\n(.*?)^```", page, re.M | re.S)
    example = (ROOT / "examples" / "nanobind" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert example.split("\n", 1)[1].replace("filters.cpp", "docs.cpp").replace("filters", "docs_nb") == block
