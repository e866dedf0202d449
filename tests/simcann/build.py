"""Compiles the stub libraries and the operator kernels, for one Python environment.

Nothing is downloaded. Libraries that exist and are newer than their sources stay.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).with_name("src")
FLAGS = ["-O1", "-std=c++20", "-Wall", "-Wextra", "-fPIC", "-shared"]
LIBRARIES = {
    "ascendcl": ("settings", "device", "stream", "memory", "descriptors"),
    "hccl": ("hccl", "channel"),
    "opapi": ("kernels",),
}
# torch_npu links against them and finds nothing of its own in them
EMPTY = ("acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel")
_PATHS = """
import os, sysconfig, torch
from importlib.util import find_spec
print(os.path.dirname(torch.__file__))
print(os.path.dirname(find_spec("torch_npu").origin))
print(sysconfig.get_paths()["include"])
"""


def build(python: Path, out: Path) -> None:
    """Build everything into `out` for the environment of `python`.

    Raises
    ------
    RuntimeError
        The compiler failed, or torch_npu needs symbols that no library here has.
    """
    out.mkdir(parents=True, exist_ok=True)
    ascendcl = out / "libascendcl.so"
    _library(ascendcl, LIBRARIES["ascendcl"], ["-lpthread"])
    found = _run([str(python), "-c", _PATHS], TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    torch, torch_npu, include = found.split()
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(
                _library,
                out / f"lib{name}.so",
                LIBRARIES[name],
                [f"-L{out}", "-lascendcl", "-lrt"],
            )
            for name in ("hccl", "opapi")
        ]
        jobs += [pool.submit(_empty, out, name) for name in EMPTY]
        jobs.append(pool.submit(_operators, out, torch, torch_npu, include))
        for job in jobs:
            job.result()
    _check_symbols(out, Path(torch_npu) / "lib" / "libtorch_npu.so")


def _library(target: Path, names: tuple[str, ...], links: list[str]) -> None:
    sources = [SOURCES / f"{name}.cpp" for name in names]
    if _is_new(target):
        return
    soname = f"-Wl,-soname,{target.name}"
    _compile([*FLAGS, "-o", str(target), *map(str, sources), soname, *links])


def _empty(out: Path, name: str) -> None:
    target = out / f"lib{name}.so"
    if target.exists():
        return
    nothing = out / "empty.cpp"
    nothing.touch()
    links = ["-Wl,--no-as-needed", f"-L{out}", "-lascendcl"]
    _compile([*FLAGS, "-o", str(target), str(nothing), f"-Wl,-soname,{target.name}", *links])


def _operators(out: Path, torch: str, torch_npu: str, include: str) -> None:
    target = out / "simcann_operators.so"
    if _is_new(target):
        return
    includes = [f"-isystem{torch}/include", f"-isystem{torch}/include/torch/csrc/api/include"]
    links = [f"-L{torch}/lib", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    links += [
        f"-L{torch_npu}/lib",
        "-ltorch_npu",
        f"-L{out}",
        "-lascendcl",
        "-Wl,--allow-shlib-undefined",
    ]
    _compile(
        [
            *FLAGS,
            "-DTORCH_EXTENSION_NAME=simcann_operators",
            *includes,
            f"-isystem{include}",
            str(SOURCES / "operators.cpp"),
            "-o",
            str(target),
            *links,
        ]
    )


def _is_new(target: Path) -> bool:
    if not target.exists():
        return False
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    return target.stat().st_mtime > newest


def _compile(arguments: list[str]) -> None:
    # under a name of its own first: no half library is seen, by another build neither
    place = arguments.index("-o") + 1
    target = Path(arguments[place])
    part = target.with_suffix(f".{os.getpid()}.part")
    try:
        _run([os.environ.get("CXX", "g++"), *arguments[:place], str(part), *arguments[place + 1 :]])
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _check_symbols(out: Path, library: Path) -> None:
    """Name the functions of CANN that torch_npu links against and that are missing here."""
    needed = _symbols(library, "--undefined-only")
    prefixes = ("acl", "Hccl", "rt", "Msprof")
    wanted = {name for name in needed if name.startswith(prefixes)}
    for name in LIBRARIES:
        wanted -= _symbols(out / f"lib{name}.so", "--defined-only")
    if wanted:
        raise RuntimeError(
            f"{library.name} needs functions that the stub libraries lack: "
            f"{', '.join(sorted(wanted))}; add them in {SOURCES}"
        )


def _symbols(library: Path, which: str) -> set[str]:
    lines = _run(["nm", "-D", which, str(library)]).splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines if line.split()}


def _run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=600
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    build(Path(sys.executable), Path(sys.argv[1]))
