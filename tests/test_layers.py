"""Imports go downwards only, lazy ones included; torch stays where the design puts it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = (
    ("daskasc.errors", "daskasc._callers", "daskasc._levels", "daskasc._tabular"),
    ("daskasc.config", "daskasc.topology"),
    ("daskasc.device",),
    ("daskasc._handoff",),
    ("daskasc.array",),
    ("daskasc.profiling",),
    ("daskasc.random", "daskasc.scipy"),
    ("daskasc.drift",),
    ("daskasc.registration",),
    ("daskasc.collectives",),
    ("daskasc.planner",),
    ("daskasc.io",),
    ("daskasc.cluster",),
    ("daskasc.xr",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
PLUGINS_MAY_USE = {"daskasc.errors", "daskasc.config", "daskasc.topology"}
TORCH_LAYERS = {"daskasc.device", "daskasc.array", "daskasc.collectives"}


def modules(package):
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield name, path


def imports(name, path):
    """Every module that a file imports anywhere in it, type-checking blocks excepted."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                stem = package.split(".")
                stem = stem[: len(stem) - node.level + 1]
                base = ".".join([*stem, base] if base else stem)
            yield base, node.lineno
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value, node.lineno


def layer(module):
    """Layer of a module: its longest known prefix, or None."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in RANK:
            return name
    return None


DASKASC = [pair for pair in modules("daskasc") if pair[0] != "daskasc"]


@pytest.mark.parametrize(("name", "path"), DASKASC, ids=[name for name, _ in DASKASC])
def test_every_module_has_a_layer_and_imports_downwards(name, path):
    own = layer(name)
    assert own is not None, f"{name} belongs to no layer: add it to LAYERS"
    for target, line in imports(name, path):
        other = layer(target)
        if other is None or other == own:
            continue
        assert RANK[other] < RANK[own], f"{path}:{line}: {own} must not import {target}"


def test_modules_form_no_circle():
    known = {name: path for name, path in DASKASC}
    graph = {
        name: {target for target, _ in imports(name, path) if target in known and target != name}
        for name, path in DASKASC
    }
    # a package and its own private modules: the package's __init__ hands names on
    for name, targets in graph.items():
        graph[name] = {target for target in targets if not name.startswith(target + ".")}
    state: dict[str, int] = {}

    def visit(name, trail):
        state[name] = 1
        for target in graph[name]:
            assert state.get(target) != 1, " -> ".join([*trail, name, target])
            if target not in state:
                visit(target, [*trail, name])
        state[name] = 2

    for name in graph:
        if name not in state:
            visit(name, [])


@pytest.mark.parametrize(("name", "path"), DASKASC, ids=[name for name, _ in DASKASC])
def test_torch_stays_in_its_layers(name, path):
    for target, line in imports(name, path):
        top = target.split(".")[0]
        if top == "torch":
            assert layer(name) in TORCH_LAYERS, f"{path}:{line} imports torch"
        if top == "torch_npu":
            assert layer(name) == "daskasc.device", f"{path}:{line} imports torch_npu"


def test_torch_npu_is_named_in_the_device_layer_only():
    for name, path in [*DASKASC, *modules("scheduler_plugins")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "npu":
                base = node.value
                if isinstance(base, ast.Name) and base.id == "torch":
                    assert layer(name) == "daskasc.device", f"{path}:{node.lineno} uses torch.npu"


def test_every_public_package_is_an_attribute_of_the_first():
    import daskasc

    folders = {path.parent.name for path in (ROOT / "daskasc").glob("[a-z]*/__init__.py")}
    assert folders - {"registration"} <= set(dir(daskasc))
    assert folders - {"registration"} <= set(daskasc._SUBMODULES)
    assert daskasc.scipy.__name__ == "daskasc.scipy"


PLUGINS = list(modules("scheduler_plugins"))


@pytest.mark.parametrize(("name", "path"), PLUGINS, ids=[name for name, _ in PLUGINS])
def test_scheduler_plugins_use_only_pure_parts(name, path):
    for target, line in imports(name, path):
        if target.split(".")[0] == "daskasc" and target != "daskasc":
            assert layer(target) in PLUGINS_MAY_USE, f"{path}:{line} imports {target}"
        assert target.split(".")[0] not in ("torch", "torch_npu"), f"{path}:{line}"


WITHOUT_TORCH = [
    "daskasc",
    "daskasc.registration",
    "daskasc.scipy",
    "daskasc.device",
    "daskasc.collectives",
    "daskasc.planner",
    "daskasc.profiling",
    "daskasc.cluster",
    "scheduler_plugins.chunk_placement",
    "scheduler_plugins.collective_sequencer",
]


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_import_brings_no_torch(module):
    code = f"import sys, {module}; print(sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "'torch'" not in done.stdout
    assert "'torch_npu'" not in done.stdout


def test_files_are_short():
    long = [
        (str(path), lines)
        for package in ("daskasc", "scheduler_plugins", "examples", "tests", "benchmarks")
        for _, path in modules(package)
        if (lines := len(path.read_text().splitlines())) > 500
    ]
    assert long == []
