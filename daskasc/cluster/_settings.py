"""Dask configuration that holds while a cluster is open.

Clusters may be closed in any order, twice, or after a failed start. So the settings of all open
clusters are kept in one list over the values found before the first of them::

    base < first opened < ... < last opened        the last one that sets a key decides

Closing one takes it out of the list and applies the rest. A key that somebody else has changed in
the meantime is left as they set it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import dask.config

_MISSING: Any = object()
_lock = threading.Lock()
_open: list[Settings] = []
_base: dict[str, Any] = {}


class Settings:
    """One cluster's configuration values.

    Parameters
    ----------
    values : mapping
        Dotted configuration keys and their values.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def install(self) -> None:
        """Apply the values."""
        with _lock:
            for key in self._values:
                if key not in _base:
                    _base[key] = dask.config.get(key, _MISSING)
            _open.append(self)
            dask.config.set(self._values)

    def change(self, key: str, value: Any) -> None:
        """Give a key of these settings another value; where it was in force, it is replaced."""
        with _lock:
            before = _effective(key)
            self._values[key] = value
            if dask.config.get(key, _MISSING) is before:
                _put(key, _effective(key))

    def restore(self) -> None:
        """Take the values back; does nothing the second time, or when never installed."""
        with _lock:
            if self not in _open:
                return
            effective = {key: _effective(key) for key in self._values}
            _open.remove(self)
            for key, before in effective.items():
                now = dask.config.get(key, _MISSING)
                untouched = now is before or now == before
                after = _effective(key)
                if not any(key in other._values for other in _open):
                    del _base[key]
                if untouched:
                    _put(key, after)


def _effective(key: str) -> Any:
    for settings in reversed(_open):
        if key in settings._values:
            return settings._values[key]
    return _base[key]


def _put(key: str, value: Any) -> None:
    if value is not _MISSING:
        dask.config.set({key: value})
        return
    *path, last = key.split(".")
    node = dask.config.config
    for part in path:
        node = node.get(part, {})
    node.pop(dask.config.canonical_name(last, node), None)
