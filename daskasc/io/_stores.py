"""Naming Zarr stores by small picklable values, and opening what they name.

A :class:`StoreRef` is what graphs carry in place of an open store. Paths are made absolute, so a
worker with another working directory opens the same files; a zip archive is named by its path and
opened for one read at a time, since an archive keeps an open file. Stores that live in the memory
of this process can be used by the threaded scheduler and refuse to be pickled.

Every failure is turned into an :class:`~daskasc.errors.InputError` that names the store, the array
in it and what can be done.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from daskasc.errors import InputError

if TYPE_CHECKING:
    import zarr

COMPLETE = "daskasc_complete"
"""Attribute that is false in what is still being written and absent in what is complete."""

_OPEN_ARRAYS = 64


@dataclass(frozen=True)
class StoreRef:
    """Where a store is.

    Attributes
    ----------
    kind : {"path", "zip", "url", "object"}
        How `location` is to be read.
    location : str or zarr.abc.store.Store
        Absolute path, address, or a zarr store that can itself be pickled.
    options : tuple of (str, object)
        Storage options of an address.
    """

    kind: str
    location: Any
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return str(self.location)

    def __getstate__(self) -> dict[str, Any]:
        if self.in_memory:
            raise InputError(
                f"store {self}: it lives in the memory of this process, workers in other "
                "processes cannot read it; save it in a folder, or compute with "
                'scheduler="threads"'
            )
        return dict(self.__dict__)

    @property
    def in_memory(self) -> bool:
        """Whether only this process has the data."""
        return self.kind == "object" and type(self.location).__name__.endswith("MemoryStore")

    @property
    def local_path(self) -> Path | None:
        """The file or folder behind the store, None where there is none."""
        return Path(self.location) if self.kind in ("path", "zip") else None

    @contextmanager
    def open(self, mode: str = "r") -> Iterator[Any]:
        """Give the zarr store (an archive is closed again afterwards)."""
        from zarr.storage import FsspecStore, LocalStore, ZipStore

        if self.kind == "zip":
            if mode == "r" and not zipfile.is_zipfile(self.location):
                raise InputError(_no_archive(Path(self.location)))
            store = ZipStore(self.location, mode="r")
            try:
                yield store
            finally:
                store.close()
        elif self.kind == "path":
            yield LocalStore(self.location, read_only=mode == "r")
        elif self.kind == "url":
            yield FsspecStore.from_url(
                self.location, storage_options=dict(self.options), read_only=mode == "r"
            )
        else:
            yield self.location


def store_ref(store: Any, storage_options: dict[str, Any] | None = None) -> StoreRef:
    """Describe `store`.

    Parameters
    ----------
    store : str, path, zarr store or zarr.Array / zarr.Group
        What zarr itself would take.
    storage_options : dict, optional
        Options of the file system behind an address (``s3://...``).

    Raises
    ------
    InputError
        `store` is of another type.
    """
    if isinstance(store, StoreRef):
        return store
    options = tuple(sorted((storage_options or {}).items()))
    if isinstance(store, str) and "://" in store and not store.startswith("file://"):
        return StoreRef("url", store, options)
    if isinstance(store, str) and store.startswith("file://"):
        store = store[len("file://") :]
    if isinstance(store, (str, os.PathLike)):
        path = os.path.abspath(os.path.expanduser(os.fspath(store)))
        return StoreRef("zip" if path.endswith(".zip") else "path", path)
    from zarr.abc.store import Store
    from zarr.storage import LocalStore, ZipStore

    if isinstance(store, LocalStore):
        return StoreRef("path", os.path.abspath(store.root))
    if isinstance(store, ZipStore):
        return StoreRef("zip", os.path.abspath(store.path))
    if isinstance(store, Store):
        return StoreRef("object", store)
    if isinstance(store, dict):
        from zarr.storage import MemoryStore

        return StoreRef("object", MemoryStore(store))
    raise InputError(
        f"store is a {type(store).__name__}; give a path, an address (s3://...) or a zarr store"
    )


def _no_archive(path: Path) -> str:
    if not path.exists():
        return f"no such store: {path}; check the path"
    kind = "a folder" if path.is_dir() else "a file, but no zip archive"
    return f"store {path}: it is {kind}; give the folder of a Zarr store, or a zip archive of one"


def no_group(ref: StoreRef, where: str) -> str:
    """Say what is there in the place of a Zarr group."""
    local = ref.local_path
    if ref.kind == "path" and local is not None:
        if local.is_file():
            return f"{where}: it is a file; give the folder of a Zarr store, or a .zip archive"
        if local.is_dir() and not any(local.iterdir()):
            return f"{where}: it is an empty folder; check the path"
    return f"{where}: there is no Zarr group; for a single array use daskasc.from_zarr"


def split_component(component: str | None) -> str:
    """Path of an array or group inside its store, without slashes at the ends."""
    return (component or "").strip("/")


def named(ref: StoreRef, path: str) -> str:
    """How messages call an array or group: store and path in it."""
    return f"store {ref}" + (f", array {path}" if path else "")


def open_array(ref: StoreRef, path: str, store: Any, mode: str = "r") -> zarr.Array[Any]:
    """Open one array of an open store, failures being named."""
    import zarr
    from zarr.errors import ContainsGroupError, NodeNotFoundError, NodeTypeValidationError

    try:
        return zarr.open_array(store=store, path=path, mode=mode)
    except (
        NodeNotFoundError,
        NodeTypeValidationError,
        ContainsGroupError,
        FileNotFoundError,
    ) as exc:
        raise InputError(_missing(ref, path, store)) from exc
    except Exception as exc:
        raise InputError(
            f"{named(ref, path)}: cannot be opened as Zarr ({describe(exc)}); check that its "
            "metadata (zarr.json, .zarray) is complete"
        ) from exc


def _missing(ref: StoreRef, path: str, store: Any) -> str:
    """Say what is missing, and what is there instead."""
    import zarr

    local = ref.local_path
    if local is not None and not local.exists():
        return f"no such store: {ref}; check the path"
    try:
        arrays = [name for name, _ in zarr.open_group(store=store, mode="r").arrays()]
    except Exception:
        arrays = []
    there = f"the store has {', '.join(sorted(arrays)[:12])}" if arrays else "the store has none"
    if not path:
        return f"store {ref}: there is no array at its root; name one as component: {there}"
    return f"store {ref}: no such array: {path}; {there}"


def check_complete(ref: StoreRef, path: str, attributes: Any) -> None:
    """Refuse what was left half-written."""
    if attributes.get(COMPLETE, True) is False:
        raise InputError(
            f"{named(ref, path)}: writing it was not finished; write it again (overwrite=True) or "
            f"wait for the writer (attribute {COMPLETE!r} is false until it has finished)"
        )


def describe(exc: BaseException) -> str:
    """One line for an exception."""
    text = " ".join(str(exc).split())
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def modified(ref: StoreRef, path: str) -> int | None:
    """Time of the last change of an array's metadata in ns, None where the store has no files."""
    local = ref.local_path
    if local is None:
        return None
    names = [""] if ref.kind == "zip" else [f"{path}/zarr.json", f"{path}/.zarray"]
    for name in names:
        try:
            return os.stat(local / name.lstrip("/") if name else local).st_mtime_ns
        except OSError:
            continue
    return None


def metadata_text(array: zarr.Array[Any]) -> str:
    """Canonical text of an array's metadata, for names that depend on it."""
    return json.dumps(array.metadata.to_dict(), sort_keys=True, default=str)


_cache: OrderedDict[tuple[str, str], zarr.Array[Any]] = OrderedDict()
_cache_lock = Lock()


@contextmanager
def cached_array(ref: StoreRef, path: str, token: str, mode: str = "r") -> Iterator[Any]:
    """Give an open array, kept open in this process under `token` for the next chunk.

    Opening costs about as much as reading a small chunk. Archives are not kept, as they hold a
    file; nor are stores in memory, as they would outlive their owner.
    """
    if ref.kind == "zip" or ref.in_memory:
        with ref.open(mode) as store:
            yield open_array(ref, path, store, mode)
        return
    key = (mode, token)
    with _cache_lock:
        array = _cache.get(key)
        if array is not None:
            _cache.move_to_end(key)
    if array is None:
        with ref.open(mode) as store:
            array = open_array(ref, path, store, mode)
        with _cache_lock:
            _cache[key] = array
            while len(_cache) > _OPEN_ARRAYS:
                _cache.popitem(last=False)
    yield array
