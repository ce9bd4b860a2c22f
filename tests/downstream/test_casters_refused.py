# SPDX-License-Identifier: Apache-2.0
"""What doesn't compile with the casters, and the sentence that says why."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest
from projects import PACKAGE_PREFIX, compiler, needs

NANOBIND = {
    "or_copy<view<float, 1>> x": "what is written to a copy would be lost",
    "or_copy<array<float, 1>> x": "what is written to a copy would be lost",
    "view<char, 1> x": "T isn't an element type",
    "view<const float, 1>* x": None,
    "or_copy<array<const float, 1>> x": "a copy doesn't know what it was made of",
}


def compiled(code: str, binding: str, folder: Path) -> tuple[bool, str]:
    """Whether code compiles with the headers of a binding library, and what the compiler says."""
    source = folder / "source.cpp"
    source.write_text(code, encoding="utf-8")
    include = [f"-I{one}" for one in (PACKAGE_PREFIX / "include", sysconfig.get_path("include"), binding)]
    command = [*compiler(cxx=True), "-std=c++17", "-fsyntax-only", *include, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


@pytest.mark.parametrize("parameter", NANOBIND)
def test_with_nanobind(parameter: str, tmp_path: Path) -> None:
    include = needs("nanobind").include_dir()

    def of(declaration: str) -> tuple[bool, str]:
        code = (
            "#include <anyarray/casters/nanobind.h>\nusing namespace anyarray;\n"
            f"auto g = []({declaration}) {{ return given_like{{array<float, 1>(), x}}; }};\n"
            "auto f = [] { nanobind::cpp_function(g); };\n"
        )
        return compiled(code, include, tmp_path)

    assert of("view<const float, 1> x") == (True, "")
    right, text = of(parameter)
    assert not right
    assert (NANOBIND[parameter] or "error") in text


PYBIND11_HEAD = """#include <anyarray/casters/pybind11.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
namespace py = pybind11;
using View = anyarray::view<const float, 1>;
using Array = anyarray::array<const float, 1>;
PYBIND11_MODULE(wrong, m) { m.def("f", """
DURING = "shows memory that is held during the call alone"
PYBIND11 = {
    "list": ("[](std::vector<View>) {}", DURING),
    "pair": ("[](std::pair<View, int>) {}", DURING),
    "variant": ("[](std::variant<View, int>) {}", DURING),
    "optional-list": ("[](std::list<std::optional<View>>) {}", DURING),
    "map-result": ("[]() { return std::map<int, View>(); }", DURING),
    "callback": ("[](std::function<void(View)>) {}", DURING),
    "cast": ("[](py::object x) { return x.cast<View>().size(); }", DURING),
    "pointer": ("[](View*) {}", "a parameter is no pointer"),
    "reference": ("[](Array&) {}", "a parameter is no reference that can be changed"),
    "written-copy": ("[](anyarray::or_copy<anyarray::view<float, 1>>) {}", "what is written to a copy would be lost"),
}


@pytest.mark.parametrize("name", PYBIND11)
def test_with_pybind11(name: str, tmp_path: Path) -> None:
    code, words = PYBIND11[name]
    right, text = compiled(f"{PYBIND11_HEAD}{code});\n}}\n", needs("pybind11").get_include(), tmp_path)
    assert not right
    assert words in text
