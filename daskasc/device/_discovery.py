"""Which kinds of cards this machine has, found without making a device context.

Asking torch_npu even for a chip's name initialises the driver in the asking process, and a
process that did so must not fork. So nannies and schedulers look at device nodes, installed
packages and environment variables only.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from daskasc.errors import ConfigurationError, DeviceUnavailableError

KINDS = ("npu", "cuda", "cpu")
_VISIBILITY = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "cuda": "CUDA_VISIBLE_DEVICES"}
_NODES = {"npu": re.compile(r"davinci\d+"), "cuda": re.compile(r"nvidia\d+")}
_DEV = Path("/dev")


def _nodes(kind: str) -> int:
    try:
        names = os.listdir(_DEV)
    except OSError:
        return 0
    return sum(1 for name in names if _NODES[kind].fullmatch(name))


def _package_root(name: str) -> Path | None:
    # find_spec of a top-level name reads the file system; it does not import the package
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _software(kind: str) -> bool:
    if kind == "npu":
        return _package_root("torch_npu") is not None
    root = _package_root("torch")
    return root is not None and (root / "lib" / "libtorch_cuda.so").exists()


def _visible(kind: str) -> list[str] | None:
    """Entries of the visibility variable, or None where it is unset."""
    variable = _VISIBILITY[kind]
    value = os.environ.get(variable)
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",") if entry.strip()]
    if kind == "npu":
        if not all(entry.isdecimal() for entry in entries):
            raise ConfigurationError(f'{variable} is {value!r}; allowed: ids such as "0,1,2"')
        ids = [int(entry) for entry in entries]
        # documented: with ids that do not ascend the runtime shows no device at all
        if ids != sorted(set(ids)):
            raise ConfigurationError(f"{variable} is {value!r}; the ids have to ascend")
    elif "-1" in entries:
        entries = entries[: entries.index("-1")]
    return entries


def resolve(kind: str) -> str:
    """Kind of card to use: ``"npu"``, ``"cuda"`` or ``"cpu"``.

    Parameters
    ----------
    kind : {"auto", "npu", "cuda", "cpu"}
        ``"auto"`` takes the first of npu, cuda, cpu that has both device nodes and software.

    Raises
    ------
    DeviceUnavailableError
        The software of the named kind is not installed.
    ConfigurationError
        `kind` is none of the above.
    """
    if kind == "auto":
        return next(k for k in KINDS if k == "cpu" or (count(k) and _nodes(k) and _software(k)))
    if kind not in KINDS:
        raise ConfigurationError(f"device is {kind!r}; allowed: auto, {', '.join(KINDS)}")
    if kind != "cpu" and not _software(kind):
        package = "torch-npu" if kind == "npu" else "a torch with CUDA"
        raise DeviceUnavailableError(
            f'device is "{kind}", but {package} is not installed here; install it, '
            'or use device="cpu" for stand-in cards'
        )
    return kind


def count(kind: str) -> int:
    """Number of cards of a kind that this process may use, visibility variables respected.

    Without device nodes a visibility variable is believed, so that simulators can be used.
    """
    if kind == "cpu":
        return os.cpu_count() or 1
    if kind not in KINDS:
        raise ConfigurationError(f"device is {kind!r}; allowed: {', '.join(KINDS)}")
    nodes, visible = _nodes(kind), _visible(kind)
    if visible is None:
        return nodes
    return min(nodes, len(visible)) if nodes else len(visible)


def allocation_padding(kind: str) -> int:
    """Bytes by which the caching allocator of a kind of card may round up one block.

    torch's allocators hand out multiples of 512 bytes (``kMinBlockSize``), and torch_npu's adds 32
    bytes to each before that. Stand-in cards count what was asked for.
    """
    return {"npu": 544, "cuda": 512}.get(kind, 0)


def is_asynchronous(kind: str) -> bool:
    """Whether cards of a kind compute beside the host; stand-in cards are the host."""
    return kind != "cpu"


def visibility_env(kind: str, card: int) -> dict[str, str]:
    """Environment that makes logical card `card` the only one of a process started with it.

    `card` counts the cards visible here, so a restriction of this process is passed on.
    """
    if kind == "cpu":
        return {}
    if kind not in KINDS:
        raise ConfigurationError(f"device is {kind!r}; allowed: {', '.join(KINDS)}")
    visible = _visible(kind)
    if visible is None:
        return {_VISIBILITY[kind]: str(card)}
    if not 0 <= card < len(visible):
        raise ConfigurationError(
            f"card {card} of {_VISIBILITY[kind]}={','.join(visible)!r} does not exist; "
            f"allowed: 0 to {len(visible) - 1}"
        )
    return {_VISIBILITY[kind]: visible[card]}
