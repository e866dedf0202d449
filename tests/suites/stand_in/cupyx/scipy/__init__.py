"""Of CuPy's companion package, the one module that dask looks for."""
