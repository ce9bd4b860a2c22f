# SPDX-License-Identifier: Apache-2.0
# Everything that a person or CI does here is one target. Needs g++ (or clang++), make and Python >= 3.10; cmake,
# ninja and all Python packages come from the package index into .venv.
#   make demo PYTHON=python3.12        another interpreter (used when .venv is first made)
#   make test-python K=dlpack          only the Python tests whose name matches
#   make test-python TESTS=tests/python/test_array.py
PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
K ?=

ROOT := $(CURDIR)
BIN := $(VENV)/bin
RUN := PATH="$(abspath $(BIN)):$$PATH"
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# A file's tests stay in one process: what they share is built once. One that hangs ends its process, with all stacks.
LIMIT := --timeout=600 --timeout-method=thread
# A process that ended ends the run: pytest-xdist 3.8 waits forever for the files of one that it replaced.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --max-worker-restart=0 $(LIMIT) $(if $(K),-k "$(K)")
SOURCES := $(shell find src include python cmake -type f -not -name '*.pyc' -not -name '*_test.cpp') \
           CMakeLists.txt pyproject.toml README.md LICENSE
# `pip install .` without build isolation keeps its build folder: a second build takes seconds.
INSTALL = $(PIP) install --no-build-isolation --config-settings=build-dir=build/$(notdir $(VENV))

# Import names whose absence makes a test fail instead of skip. REQUIRE=rustc: the compiler of Rust is one more.
REQUIRE ?=
SMALL := numpy,ml_dtypes,pyarrow,tvm_ffi,nanoarrow,PIL,array_api_strict$(REQUIRE:%=,%)
LARGE := $(SMALL),torch,jax,pandas,polars,mpi4py,nanobind,pybind11,pybind11_stubgen,cuda,dlpack,duckdb

export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
export CTEST_PARALLEL_LEVEL = $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all test-cpp test-python compilers downstream wheel test-wheel lint format asan bench bench-smoke \
        pythons abi3 clean distclean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/' | expand -t 14

# --- environments -----------------------------------------------------------------------------------------------

$(VENV)/.tools:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "anyarray needs Python 3.10 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'scikit-build-core>=1.0' 'cmake>=3.21' ninja
	@touch $@

# One stamp a set of extras: installs anyarray as a user gets it, and what the extras name.
$(VENV)/.with-%: $(VENV)/.tools $(SOURCES)
	@echo "installing anyarray[$*] into $(VENV)"
	$(RUN) $(INSTALL) '.[$*]'
	@touch $@

# --- the main job -----------------------------------------------------------------------------------------------

demo: $(VENV)/.with-demo  ## take the arrays of the installed libraries, check them, print the matrix
	$(BIN)/anyarray matrix

# --- tests ------------------------------------------------------------------------------------------------------

test: test-cpp  ## build and pass all tests, with the small libraries
	$(MAKE) test-python

# But for what is the same whatever is installed: the repository itself, sdist, wheel, what is built, and what is compared
# with NumPy alone.
SAME := tests/compile tests/test_distributions.py tests/test_structure.py tests/test_abi.py \
        $(addprefix tests/downstream/test_,without_python.py built_in.py copies.py plain_c.py versions.py cython.py abi3.py) \
        $(addprefix tests/python/test_,typing.py numpy_suite.py policy_type.py)
test-all: test-cpp  ## the same with every library that anyarray is tested with
	$(MAKE) $(VENV)/.with-test,peers
	$(RUN) ANYARRAY_REQUIRE=$(LARGE) $(PYTEST) $(addprefix --ignore=,$(SAME)) tests

test-cpp: $(VENV)/.with-test  ## the C++ tests, our definitions of foreign structs held to the installed headers
	$(RUN) cmake --preset release -DANYARRAY_FOREIGN_HEADERS=ON -DPython_EXECUTABLE=$(abspath $(BIN))/python
	$(RUN) cmake --build --preset release
	$(RUN) ctest --preset release
	$(RUN) ANYARRAY_COMPILERS=first $(PYTEST) tests/compile

test-python: $(VENV)/.with-test  ## the Python tests
	$(RUN) ANYARRAY_REQUIRE=$(SMALL) $(PYTEST) --ignore=tests/compile $(or $(TESTS),tests)

# libcu++ and the reference implementation of mdspan come as Python packages: only their headers are used.
compilers: $(VENV)/.with-test  ## public headers, views and what must not compile, with each compiler here, C++17 to 23
	$(PIP) install nvidia-cuda-cccl && $(PIP) install --no-deps libraft-cu12==25.6.0 || \
	  echo "NOT RUN: the headers of cuda::std::mdspan and Kokkos's mdspan couldn't be installed"
	$(RUN) $(PYTEST) tests/compile

downstream: $(VENV)/.with-test  ## projects that use the installed package, the README's examples
	$(RUN) $(PYTEST) tests/downstream tests/test_readme.py

# What is released: sdist and wheel, and the wheel tested in an environment of its own, as cibuildwheel does it in its
# containers by the same target. Tests of the rows that need no library but NumPy, of exports, of projects in C++.
WHEEL_TESTS := $(addprefix tests/python/test_,array.py numpy_row.py buffer_row.py dlpack_row.py produce.py) \
               $(addprefix tests/downstream/test_,downstream.py extension.py plain_c.py without_python.py)
wheel: $(VENV)/.with-test  ## sdist and wheel in dist/, auditwheel's verdict, the wheel tested by itself
	rm -rf dist build/wheel-venv
	$(BIN)/python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")'
	$(RUN) $(PIP) wheel --no-build-isolation --no-deps --wheel-dir dist dist/*.tar.gz
	$(BIN)/auditwheel show dist/*.whl
	$(BIN)/python -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip --disable-pip-version-check --quiet install "$$(ls $(ROOT)/dist/*.whl)[test-wheel]"
	PATH="$(ROOT)/build/wheel-venv/bin:$$PATH" $(MAKE) test-wheel

test-wheel:  # with the Python that is first on PATH, in which the wheel is installed
	python -m pytest $(WHEEL_TESTS)

# ASan and UBSan: the C++ tests with the leak check; then the Python tests on an extension built with both. The
# interpreter and the libraries leak at exit, so leaks are counted by the tests themselves there.
# Not those whose work is done by processes that run others' code: preloading costs. Plain processes take a few files
# each, not workers of xdist: what ends one is told with its own output.
OF_PROCESSES := test_cli.py test_order.py test_order_probes.py test_exchange_matrix.py test_numpy_suite.py test_typing.py
ASAN_TESTS = $(filter-out $(addprefix tests/python/,$(OF_PROCESSES)),$(or $(TESTS),$(wildcard tests/python/test_*.py)))
ASAN_PRELOAD = $(shell $(or $(CXX),c++) -print-file-name=libasan.so):$(shell $(or $(CXX),c++) -print-file-name=libstdc++.so.6)
asan: $(VENV)/.with-test  ## C++ and Python tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(RUN) cmake --preset asan
	$(RUN) cmake --build --preset asan
	$(RUN) ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan
	rm -rf build/asan-site
	$(RUN) $(PIP) install --no-build-isolation --no-deps --target build/asan-site \
	  --config-settings=build-dir=build/asan-python --config-settings=cmake.build-type=RelWithDebInfo \
	  --config-settings=cmake.define.ANYARRAY_SANITIZE=ON .
	printf '%s\n' $(ASAN_TESTS) | $(RUN) xargs -P $(JOBS) -n 6 env \
	  PYTHONPATH=$(ROOT)/build/asan-site LD_PRELOAD=$(ASAN_PRELOAD) PYTHONMALLOC=malloc \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 ANYARRAY_SANITIZED=1 \
	  $(BIN)/python -m pytest $(LIMIT)

# The oldest and the newest Python, and the oldest with NumPy 1; an interpreter that isn't there is named.
find_python = $(shell for p in python$(1) $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$(1).*/bin/python$(1); do \
                "$$p" -c '' 2>/dev/null && { command -v "$$p"; break; }; done)
# Not what differs by compiler and CMake alone.
OF_PYTHON := tests/python tests/test_package.py tests/downstream/test_extension.py
OF_NUMPY := numpy_row interface_rows struct_row cuda_row array_method_row
PYTHON_OLDEST ?= $(call find_python,3.10)
PYTHON_NEWEST ?= $(call find_python,3.13)
pythons:  ## the Python tests on the oldest and newest Python, and with NumPy 1
ifeq ($(PYTHON_OLDEST),)
	@echo "NOT RUN: python3.10 is not on this machine: its tests, and those with NumPy 1, did not run"
else
	$(MAKE) test-python VENV=.venv-3.10 PYTHON=$(PYTHON_OLDEST) TESTS="$(OF_PYTHON)"
	$(MAKE) .venv-3.10-numpy1/.tools VENV=.venv-3.10-numpy1 PYTHON=$(PYTHON_OLDEST)
	.venv-3.10-numpy1/bin/python -m pip --disable-pip-version-check --quiet install 'numpy<2' 'pytest>=8' 'hypothesis>=6'
	PATH="$(ROOT)/.venv-3.10-numpy1/bin:$$PATH" .venv-3.10-numpy1/bin/python -m pip --disable-pip-version-check \
	  --quiet install --no-build-isolation --config-settings=build-dir=build/.venv-3.10-numpy1 .
	PATH="$(ROOT)/.venv-3.10-numpy1/bin:$$PATH" ANYARRAY_REQUIRE=numpy \
	  .venv-3.10-numpy1/bin/python -m pytest $(addprefix tests/python/test_,$(addsuffix .py,$(OF_NUMPY)))
endif
ifeq ($(PYTHON_NEWEST),)
	@echo "NOT RUN: python3.13 is not on this machine: its tests did not run"
else
	$(MAKE) test-python VENV=.venv-3.13 PYTHON=$(PYTHON_NEWEST) TESTS="$(OF_PYTHON)"
endif
	$(MAKE) abi3

# $(1) builds, and both run it.
ABI3 = PATH="$(ROOT)/$(1)/bin:$$PATH" ANYARRAY_OTHER_PYTHONS=$(ROOT)/$(2)/bin/python \
       $(1)/bin/python -m pytest tests/downstream/test_abi3.py
abi3:  ## one binary for the limited API, built by the oldest and by the newest Python, each time run by both
ifeq ($(and $(PYTHON_OLDEST),$(PYTHON_NEWEST)),)
	@echo "NOT RUN: this needs python3.10 and python3.13: no binary was built by one and run by the other"
else
	$(MAKE) .venv-3.10/.with-test VENV=.venv-3.10 PYTHON=$(PYTHON_OLDEST)
	$(MAKE) .venv-3.13/.with-test VENV=.venv-3.13 PYTHON=$(PYTHON_NEWEST)
	$(call ABI3,.venv-3.10,.venv-3.13)
	$(call ABI3,.venv-3.13,.venv-3.10)
endif

# --- benchmarks -------------------------------------------------------------------------------------------------

bench: $(VENV)/.with-bench  ## what imports and exports cost, beside floors and peers; fails where a target is missed
	$(RUN) $(BIN)/python benchmarks/run.py

bench-smoke: $(VENV)/.with-bench  ## the benchmarks once, fast: that they run, not what they show
	$(RUN) $(BIN)/python benchmarks/run.py --smoke

# --- style ------------------------------------------------------------------------------------------------------

CXX_FILES = $(shell find $(wildcard include src tests benchmarks examples) -name '*.h' -o -name '*.cpp')
PY_DIRS = $(wildcard python src tests benchmarks examples docs)
TIDY_FILES = $(shell find src tests/cpp -name '*.cpp')

lint: $(VENV)/.with-lint  ## clang-format, clang-tidy, ruff, mypy --strict
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)
	$(BIN)/ruff check $(PY_DIRS)
	$(BIN)/ruff format --check $(PY_DIRS)
	$(BIN)/mypy --python-executable $(BIN)/python
	$(RUN) cmake --preset dev -DPython_EXECUTABLE=$(abspath $(BIN))/python
	printf '%s\n' $(TIDY_FILES) | xargs -P $(JOBS) -n 4 $(BIN)/clang-tidy --quiet -p build/dev

format: $(VENV)/.with-lint  ## rewrite all files in the project's format
	$(BIN)/clang-format -i $(CXX_FILES)
	$(BIN)/ruff check --fix-only $(PY_DIRS)
	$(BIN)/ruff format $(PY_DIRS)

docs: $(VENV)/.with-test  ## write the generated tables of docs/; CHECK=FILE: what anyarray order --check --json gave
	$(BIN)/python docs/generate.py $(if $(CHECK),--check $(CHECK))
	$(BIN)/python docs/generate_abi.py

clean:  ## remove what was built
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
	rm -f .venv*/.with-*

distclean: clean  ## remove the environments too
	rm -rf .venv .venv-*
