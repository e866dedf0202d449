"""What the drift finder says where there is little to compare, and what it refuses."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pytest

from daskasc.array import from_numpy
from daskasc.array._dispatch import TABLE
from daskasc.drift import Tolerance, compare


def first_line(report: Any) -> str:
    return str(report).splitlines()[0]


def test_arguments_that_cannot_be_followed_are_refused() -> None:
    data = np.arange(3.0)
    with pytest.raises(TypeError, match=r"first argument must be a function.*numpy\.ndarray"):
        compare(data, np.sum)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"dask.*\.compute\(\)"):
        compare(np.sum, [dask.array.from_array(data)])
    xarray = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match=r"DataArray: pass its \.values"):
        compare(lambda t: t + 1, t=xarray.DataArray(data))


@pytest.mark.parametrize(
    ("tolerance", "kind", "words"),
    [
        (-1, ValueError, "ulps of a tolerance is -1; it has to be 0 or more"),
        (float("nan"), ValueError, "has to be 0 or more"),
        ("x", TypeError, "ulps of a tolerance is 'x'; it has to be a number"),
        (True, TypeError, "has to be a number"),
    ],
)
def test_tolerances_that_are_none(tolerance: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        compare(np.sum, np.arange(3.0), tolerance=tolerance)
    with pytest.raises(kind, match="accumulated"):
        Tolerance(accumulated={"float32": tolerance})


def test_a_program_that_raises_is_said_to() -> None:
    def program(x: Any) -> Any:
        x + 1
        raise RuntimeError("my bug")

    line = program.__code__.co_firstlineno + 2
    report = compare(program, np.arange(3.0))
    assert first_line(report) == (
        "the program raised RuntimeError: my bug, on both sides at "
        f"tests/test_drift_reports.py:{line}, after 1 operator"
    )
    assert str(report).splitlines()[1] == "no drift in 1 operator up to there"
    assert not report.drifted
    report = compare(program)
    assert "missing 1 required positional argument: 'x', on both sides, after 0" in str(report)
    assert "nothing was compared" in str(report)
    report = compare(lambda x: x[7], np.arange(3.0))
    assert first_line(report).startswith("the program raised IndexError: index 7 is out of bounds")
    assert "on both sides at tests/test_drift_reports.py:" in first_line(report)
    report = compare(lambda x: x.ctypes, np.arange(3.0))
    assert "by compare itself" in first_line(report)


def test_a_program_that_raises_on_one_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, np.sum, lambda *args, **kwargs: from_numpy(np.zeros(())))
    report = compare(lambda x: np.sum(x, axis=3), np.zeros((2, 2)))
    assert report.drifted
    assert "on NumPy's side at tests/test_drift_reports.py:" in first_line(report)
    assert str(report).splitlines()[1].startswith("numpy.sum drifts (error), operator 1 of 1")


def test_nothing_compared_is_not_no_drift() -> None:
    def program(x: Any) -> Any:
        return np.asarray(x).sum()

    for given in ([1.0, 2.0], 3, np.array(["a", "b"])):
        report = compare(len if isinstance(given, np.ndarray) else program, given)
        assert report.operators == []
        assert str(report).startswith("nothing was compared: no operator ran on an array")
        assert "no drift" not in str(report)
    assert str(compare(np.sum, np.arange(3.0))).startswith("no drift in 1 operator\n")


def test_names_that_numpy_had_once_are_no_trouble() -> None:
    report = compare(lambda x: x.astype(str), np.arange(3))
    assert report.operators[0].name == "ndarray.astype"


def test_functions_of_scipy_run_on_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scipy")
    from daskasc.scipy import ndimage, special

    def program(x: Any) -> Any:
        out = np.zeros_like(x)
        ndimage.uniform_filter(x, 3, output=out)
        return special.erf(out), special.softmax(out, axis=0), ndimage.label(out > 0)[0]

    x = np.random.default_rng(0).normal(size=(9, 7))
    report = compare(program, x)
    assert not report.accumulated, report
    names = [op.name for op in report.operators]
    assert "scipy.ndimage.uniform_filter" in names
    assert "scipy.special.softmax" in names
    assert report.operators[names.index("scipy.ndimage.label")].on_host
    import scipy.ndimage

    filtered = scipy.ndimage.uniform_filter(x, 3)
    np.testing.assert_array_equal(report.result[0], scipy.special.erf(filtered))

    from daskasc.scipy.ndimage import _names

    right = _names.functions["laplace"]
    faulty = _names._wrapped("laplace", lambda x: right(x) + (x == 1.0), scipy.ndimage.laplace)
    report = compare(faulty, np.arange(20.0))
    assert report.first is not None
    assert report.first.name == "scipy.ndimage.laplace"
    assert report.reproduction is not None
    assert report.reproduction.size == 1
    exec(report.reproduction.script, {})
    assert len(capsys.readouterr().out.splitlines()) == 2
