"""dask's own CuPy tests, as its wheel has them."""
