"""Triangular solutions, which dask takes from here for CuPy's arrays only."""

from scipy.linalg import solve_triangular

__all__ = ["solve_triangular"]
