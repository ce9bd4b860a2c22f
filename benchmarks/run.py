# SPDX-License-Identifier: Apache-2.0
"""Builds the compiled parts against the running Python, then runs the benchmarks: `make bench`, `make bench-smoke`.

python benchmarks/run.py [--smoke] [--json-dir FOLDER] [--build FOLDER]

Exit status: the worst of the benchmarks' own (see imports.py).
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def build(folder: Path) -> Path:
    """Configures and builds; returns the folder that holds the modules."""
    options = [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
    ninja = ["-G", "Ninja"] if importlib.util.find_spec("ninja") is not None else []
    subprocess.run(["cmake", "-S", HERE, "-B", folder, *ninja, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder], check=True, stdout=subprocess.DEVNULL)
    return folder / "modules"


def main() -> int:
    """Runs it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Builds and runs the benchmarks.")
    parser.add_argument("--smoke", action="store_true", help="few windows, no verdict")
    parser.add_argument("--json-dir", type=Path, help="write one JSON file a benchmark here")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "bench", help="build folder")
    options = parser.parse_args()
    modules = build(options.build.resolve())
    worst = 0
    for name in ("imports", "presets", "exports", "convert", "copies", "asarray", "casters", "compile_time"):
        command = [sys.executable, str(HERE / f"{name}.py"), "--modules", str(modules)]
        command += ["--smoke"] if options.smoke else []
        if options.json_dir is not None:
            options.json_dir.mkdir(parents=True, exist_ok=True)
            command += ["--json", str(options.json_dir / f"{name}.json")]
        worst = max(worst, abs(subprocess.run(command, check=False).returncode))
    return worst


if __name__ == "__main__":
    sys.exit(main())
