# SPDX-License-Identifier: Apache-2.0
"""Makes the engine that is built into an extension a package: `<extension>._anyarray`, whose modules are those of
anyarray, kept in the extension as text and imported when needed. Run by in_extension.cpp, once an interpreter.
"""

import sys
from importlib.machinery import ModuleSpec


class Importer:
    """Finds and loads the modules of one such package."""

    def __init__(self, package, texts):
        self.package = package
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        package, _, module = name.rpartition(".")
        if package != self.package or module not in self.texts:
            return None
        return ModuleSpec(name, self, origin=f"{package}/{module}.py")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        spec = module.__spec__
        exec(compile(self.get_source(spec.name), spec.origin, "exec"), module.__dict__)

    def get_source(self, name):
        """Also for tracebacks, which show the lines."""
        return self.texts[name.rpartition(".")[2]]


def spec_of_engine(extension):
    """The spec of the engine's module. Extensions that were given the same name are told apart by a number."""
    package = f"{extension}._anyarray"
    number = 1
    while package in sys.modules:
        number += 1
        package = f"{extension}._anyarray{number}"
    return ModuleSpec(f"{package}._core", None)


def package_around(engine, texts):
    """Make the package of an engine's module; gives it."""
    name = engine.__name__.rpartition(".")[0]
    importer = Importer(name, texts)
    package = type(sys)(name, "The engine of anyarray that is built into this extension.")
    package.__spec__ = ModuleSpec(name, importer, is_package=True)
    package.__loader__, package.__package__, package.__path__ = importer, name, []
    package._core, package.Array, package.DType, package.Policy = engine, engine.Array, engine.DType, engine.Policy
    sys.meta_path.append(importer)
    return package
