"""Names that other NumPy-like packages offer, read from their sources; writes docs/peers.json.

    python tools/peer_names.py cupy=CHECKOUT/cupy cupynumeric=CHECKOUT/cupynumeric ...

Each argument is a package's name and its folder in a checkout or an installation. Nothing is
imported (these packages want their hardware): the names are what the module's top level binds, by
definition, assignment or import, star imports of its own modules followed; the keys of a dict
``_LAZY_MAPPING``, which asnumpy resolves on use, count as well. Only names that NumPy's top level,
``linalg`` or ``fft`` has as a callable that is no class are kept. A version and a source may follow
the folder: ``cupy=FOLDER@15.0.0@github.com/cupy/cupy``.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "docs" / "peers.json"
MARKERS = ("<<<<<<< ", "=======", ">>>>>>> ")  # asnumpy's sources hold some


def wanted(module: object) -> set[str]:
    """Public callables of a NumPy module that are no classes."""
    return {
        name
        for name in dir(module)
        if not name.startswith("_")
        and callable(value := getattr(module, name))
        and not isinstance(value, type)
    }


def bound(file: Path) -> set[str]:
    """Names that a module binds at its top level."""
    lines = file.read_text().splitlines()
    tree = ast.parse("\n".join(line for line in lines if not line.startswith(MARKERS)))
    names: set[str] = set()
    exported: set[str] | None = None
    for node in statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= imported(node, file)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = {target.id for target in targets if isinstance(target, ast.Name)}
            names |= found
            if "_LAZY_MAPPING" in found and isinstance(node.value, ast.Dict):
                names |= {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
            if "__all__" in found and isinstance(node.value, ast.List | ast.Tuple):
                exported = {e.value for e in node.value.elts if isinstance(e, ast.Constant)}
    if file.name == "__init__.py" or exported is None:
        return names
    return exported


def statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that run when a module is imported; blocks for type checkers do not."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.dump(node.test):
                found += statements(node.body) + statements(node.orelse)
        elif isinstance(node, ast.Try):
            found += statements(node.body)
        else:
            found.append(node)
    return found


def imported(node: ast.ImportFrom, file: Path) -> set[str]:
    """Names that an import binds; a star takes the public names of a module of the package."""
    if node.names[0].name != "*":
        return {alias.asname or alias.name for alias in node.names}
    folder = file.parents[max(node.level, 1) - 1]
    stem = folder.joinpath(*(node.module or "").split("."))
    for source in (stem.with_suffix(".py"), stem / "__init__.py"):
        if node.level and source.exists():
            return {name for name in bound(source) if not name.startswith("_")}
    return set()


def source_of(folder: Path) -> str:
    """Commit of a checkout, or the folder's name for an installation."""
    command = ["git", "-C", str(folder), "log", "-1", "--format=%H %as"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else folder.name


def main(arguments: list[str]) -> None:
    """Read every package named and write the file anew."""
    peers = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for argument in arguments:
        name, _, where = argument.partition("=")
        where, *told = where.split("@")
        folder = Path(where)
        entry = {"version": told[0] if told else "", "source": told[1] if told[1:] else ""}
        entry["source"] = entry["source"] or source_of(folder)
        names = {"numpy": sorted(bound(folder / "__init__.py") & wanted(np))}
        for part, module in (("numpy.linalg", np.linalg), ("numpy.fft", np.fft)):
            file = folder / part.removeprefix("numpy.") / "__init__.py"
            names[part] = sorted(bound(file) & wanted(module)) if file.exists() else []
        # one string a module keeps the file short
        peers[name] = {**entry, **{part: " ".join(found) for part, found in names.items()}}
        print(name, entry, {part: len(found) for part, found in names.items()})
    TARGET.write_text(json.dumps(peers, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
