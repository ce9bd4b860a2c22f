# SPDX-License-Identifier: Apache-2.0
"""Makes the engine that is built into an extension a package: `<extension>._anyarray`, whose modules are those of
anyarray, kept in the extension as text and imported when needed. Run by in_extension.cpp, once an interpreter.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


class Importer:
    """Finds and loads the modules of one such package."""

    def __init__(self, package: str, texts: dict[str, str]) -> None:
        self.package = package
        self.texts = texts

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        module = self.inside(name)
        if module not in self.texts:
            return None
        return ModuleSpec(name, self, origin=self.file(module), is_package=self.is_package(name))

    def inside(self, name: str) -> str:
        """Give the module's name inside the package; "" for one of another package."""
        return name[len(self.package) + 1 :] if name.startswith(self.package + ".") else ""

    def is_package(self, name: str) -> bool:
        return any(module.startswith(self.inside(name) + ".") for module in self.texts)

    def file(self, module: str) -> str:
        """Give what tracebacks call the file."""
        return f"{self.package}/{module.replace('.', '/')}.py"

    def create_module(self, _: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self.get_source(name), self.file(self.inside(name)), "exec"), vars(module))

    def get_source(self, name: str) -> str:
        """Also for tracebacks, which show the lines."""
        return self.texts[self.inside(name)]


def spec_of_engine(extension: str) -> ModuleSpec:
    """Name the engine's module. Extensions that were given the same name are told apart by a number."""
    package = f"{extension}._anyarray"
    number = 1
    while package in sys.modules:
        number += 1
        package = f"{extension}._anyarray{number}"
    return ModuleSpec(f"{package}._core", None)


def package_around(engine: ModuleType, texts: dict[str, str]) -> ModuleType:
    """Make the package of an engine's module."""
    name = engine.__name__.rpartition(".")[0]
    importer = Importer(name, texts)
    package = ModuleType(name, "The engine of anyarray that is built into this extension.")
    shown = {public: getattr(engine, public) for public in ("Array", "DType", "Policy")}
    spec = ModuleSpec(name, importer, is_package=True)
    vars(package).update(shown, _core=engine, __spec__=spec, __loader__=importer, __package__=name, __path__=[])
    sys.meta_path.append(importer)
    return package
