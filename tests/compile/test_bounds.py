# SPDX-License-Identifier: Apache-2.0
"""-DANYARRAY_CHECK_BOUNDS: what is out of bounds is named on stderr and ends the program; without it nothing is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import toolchain

SOURCE = """
#include <anyarray/array.h>
#include <cstdlib>
using namespace anyarray;
int main(int argc, char** argv) {
  static float data[64];
  const int n = argc > 2 ? std::atoi(argv[2]) : 0;
  const view<float, 2> s(data + 16, {2, 3});
  const view<float, 2, c_order> c(data + 16, {2, 3});
  const view<float, 2, f_order> f(data + 16, {2, 3});
  const view<float, 1> one(data + 16, {2});
  const std::int64_t shape[] = {2, 3}, strides[] = {12, 4}, index[] = {0, n};
  view<float> any;
  view<float>::from({data + 16, shape, strides, element<float>::dtype, cpu_device, 2, 0}, &any);
  switch (argv[1][0]) {
    case 's': return static_cast<int>(s(0, n));
    case 'c': return static_cast<int>(c(0, n));
    case 'f': return static_cast<int>(f(n, 0));
    case '1': return static_cast<int>(one[n]);
    case 'd': return static_cast<int>(any(0, n));
    case 'a': return static_cast<int>(s.at(index));
    case 'n': return static_cast<int>(n == 0 ? any(0, 0) : any(0));
    default: return 99;
  }
}
"""
SAYS = {
    ("s", 3): "index 3 is out of bounds: the extent is 3 in dimension 1",
    ("s", -1): "index -1 is out of bounds: the extent is 3 in dimension 1",
    ("c", 3): "index 3 is out of bounds: the extent is 3 in dimension 1",
    ("f", 2): "index 2 is out of bounds: the extent is 2 in dimension 0",
    ("1", 2): "index 2 is out of bounds: the extent is 2 in dimension 0",
    ("d", 5): "index 5 is out of bounds: the extent is 3 in dimension 1",
    ("a", -2): "index -2 is out of bounds: the extent is 3 in dimension 1",
    ("n", 1): "1 indices were given, the view has 2 dimensions",
}


@pytest.mark.parametrize("compiler", toolchain.compilers(), ids=lambda c: c.name)
def test_bounds(compiler: toolchain.Compiler, tmp_path: Path) -> None:
    source = tmp_path / "bounds.cpp"
    source.write_text(SOURCE)
    for checked in (True, False):
        program = tmp_path / f"bounds{checked}"
        flags = ["-DANYARRAY_CHECK_BOUNDS"] if checked else []
        done = compiler.run(source, "-std=c++17", "-Wall", "-Wextra", "-Werror", *flags, "-o", str(program))
        assert done.returncode == 0, done.stdout
        for (how, index), says in SAYS.items():
            fine = subprocess.run([program, how, "0"], capture_output=True, text=True)
            assert (fine.returncode, fine.stderr) == (0, "")
            ran = subprocess.run([program, how, str(index)], capture_output=True, text=True)
            assert (ran.returncode < 0, f"anyarray::view: {says}\n" == ran.stderr) == (checked, checked), ran.stderr
