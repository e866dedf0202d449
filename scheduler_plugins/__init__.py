"""Plugins of the Dask scheduler, preloaded by name; they need no torch and no card."""
