"""The drift finder: injected faults are named with their smallest input, right programs are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pytest

from daskasc import device
from daskasc.array import AscendArray, from_numpy
from daskasc.array._dispatch import TABLE
from daskasc.drift import Tolerance, compare
from daskasc.drift._differences import Bound, measure

OWN = Bound(own=True)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    torch = device.torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def chain(x: Any, y: Any) -> Any:
    """Ten operators; the fifth is the cumulative sum."""
    a = x * 2.0  # 1
    b = a + y  # 2
    c = np.abs(b)  # 3
    d = np.sqrt(c)  # 4
    e = np.cumsum(d, axis=1)  # 5
    f = np.where(e > 2.0, e, 0.0)  # 6, 7
    g = f.T  # 8
    h = np.exp(-g)  # 9, 10
    return h.mean(axis=0)  # 11


def arguments() -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    return random.normal(size=(6, 9)), random.normal(size=9)


def value(found: AscendArray) -> Any:
    return found + (found > 3.0)


def nan(found: AscendArray) -> Any:
    return np.where(found > 3.0, np.nan, found)


def dtype(found: AscendArray) -> Any:
    return found.astype(np.float32).astype(np.float32)


def shape(found: AscendArray) -> Any:
    return found[..., None]


def error(found: AscendArray) -> Any:
    raise IndexError("no such axis")


FAULTS: dict[str, Callable[[Any], Any]] = {
    one.__name__: one for one in (value, nan, dtype, shape, error)
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_named_with_its_smallest_input(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = TABLE[np.cumsum]

    def wrong(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return FAULTS[kind](right(a, axis, dtype, out))

    monkeypatch.setitem(TABLE, np.cumsum, wrong)
    x, y = arguments()
    report = compare(chain, x, y)
    assert report.drifted
    assert report.first is not None
    assert report.first is report.first_own
    assert report.first.name == "numpy.cumsum"
    assert report.first.number == 5
    assert report.first.own is not None
    assert report.first.own.kind == kind
    assert report.first.where.endswith(f"test_drift.py:{chain.__code__.co_firstlineno + 6}")
    assert report.reproduction is not None
    assert 1 <= report.reproduction.size <= 2
    assert report.reproduction.difference.kind == kind
    # what is printed can be pasted, and gives what is said
    found = eval(report.reproduction.expression, {"np": np})
    np.testing.assert_array_equal(found, report.reproduction.host)
    assert "drifts" in str(report)
    assert "numpy.cumsum" in str(report).splitlines()[0]
    # NumPy's side is what the function gives
    np.testing.assert_array_equal(report.result, chain(x, y))


def test_the_script_runs_on_both_sides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = TABLE[np.cumsum]
    monkeypatch.setitem(TABLE, np.cumsum, lambda a, *args, **kw: right(a, *args, **kw) + 1)
    report = compare(chain, *arguments())
    assert report.reproduction is not None
    exec(report.reproduction.script, {})
    numpy_line, card_line = capsys.readouterr().out.strip().splitlines()
    assert numpy_line == repr(report.reproduction.host)
    assert card_line.startswith("AscendArray(")


def fault_of_operator(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any) -> None:
    right = getattr(AscendArray, name)
    monkeypatch.setattr(AscendArray, name, lambda self, *args: wrong(right, self, *args))


def test_a_faulty_operator_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(right: Any, self: Any, other: Any) -> Any:
        found = right(self, other)
        return found * np.where(self == 7.0, 1.001, 1.0)

    fault_of_operator(monkeypatch, "__add__", wrong)
    data = np.arange(100.0)
    report = compare(lambda x: np.sqrt(x * 1.0 + 3.0), data)
    assert report.first is not None
    assert report.first.name == "operator.add"
    assert report.reproduction is not None
    assert report.reproduction.size == 1
    assert eval(report.reproduction.expression, {"np": np}) == report.reproduction.host
    # further operators only inherit it
    assert [op.verdict for op in report.operators] == ["", "drifts", "inherits"]


def test_a_faulty_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(right: Any, self: Any, index: Any, given: Any) -> None:
        right(self, index, given)
        if isinstance(index, AscendArray):
            right(self, 0, -1.0)

    fault_of_operator(monkeypatch, "__setitem__", wrong)

    def program(x: Any) -> Any:
        x[2:4] = 1.0
        x[x > 50] = 0.0
        return x.sum()

    data = np.arange(100.0)
    report = compare(program, data)
    assert report.first is not None
    assert report.first.name == "ndarray.__setitem__"
    assert report.first.number == 3
    assert report.reproduction is not None
    assert report.reproduction.size <= 2
    assert np.array_equal(data, np.arange(100.0)), "an argument was changed"


def test_an_integer_off_by_one_and_two_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TABLE[np.searchsorted]

    def wrong(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
        return right(a, v, "right", sorter)

    monkeypatch.setitem(TABLE, np.searchsorted, wrong)
    report = compare(np.searchsorted, np.arange(50), np.arange(3, 90, 2))
    assert report.reproduction is not None
    assert report.reproduction.size == 2
    assert report.reproduction.difference.ulps == 0


def test_errors_on_both_sides_are_no_drift() -> None:
    def program(x: Any) -> Any:
        try:
            x[99]
        except IndexError:
            pass
        return np.concatenate([x, x[None]])

    report = compare(program, np.arange(3))
    assert not report.drifted
    assert isinstance(report.error, ValueError)
    assert report.result is None
    assert report.operators[-1].result == "ValueError"


def test_another_error_type_is_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("axis")

    monkeypatch.setitem(TABLE, np.sum, wrong)
    report = compare(lambda x: np.sum(x, axis=3), np.zeros((2, 2)))
    assert report.first is not None
    assert report.first.own is not None
    assert report.first.own.kind == "error"
    assert isinstance(report.error, np.exceptions.AxisError)


def test_rounding_that_a_subtraction_brings_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TABLE[np.sum]

    def rounded(a: Any, *args: Any, **kwargs: Any) -> Any:
        # as far off as another order of adding may be
        return right(a, *args, **kwargs) * np.float32(1 + 6e-7)

    monkeypatch.setitem(TABLE, np.sum, rounded)

    def program(x: Any) -> Any:
        total = np.sum(x, dtype="f4")
        return (total - np.float32(8) * x[0]) * np.float32(2)

    report = compare(program, np.full(8, 1.1, "f4"))
    assert report.first_own is None
    assert report.first is report.first_accumulated
    assert report.first is not None
    assert report.first.name == "operator.sub"
    assert report.first.verdict == "inherits"
    assert report.reproduction is not None
    assert report.reproduction.size == 8 or report.reproduction.size == 1
    assert report.drifted, "nothing is left of the digits"


def test_an_anomaly_carries_rounding_and_does_not_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TABLE[np.mean]

    def rounded(a: Any, *args: Any, **kwargs: Any) -> Any:
        return right(a, *args, **kwargs) * np.float32(1 + 6e-7)

    monkeypatch.setitem(TABLE, np.mean, rounded)
    temperatures = np.random.default_rng(0).normal(280, 5, (200, 8)).astype("f4")
    report = compare(lambda t: (t - np.mean(t, axis=0)) / np.float32(5), temperatures)
    assert not report.drifted
    assert report.accumulated
    assert [op.verdict for op in report.operators] == ["", "inherits", "inherits"]
    first, second = str(report).splitlines()[:2]
    assert first == "no drift in 3 operators, but rounding has grown"
    assert second.startswith("operator.sub carries rounding of earlier operators")
    assert "\ninherits: right by itself; its operands differed already" in str(report)


def test_control_flow_follows_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TABLE[np.any]
    monkeypatch.setitem(TABLE, np.any, lambda *args, **kwargs: ~right(*args, **kwargs))

    def program(x: Any) -> Any:
        return x * 2 if np.any(x > 3, keepdims=False) else x

    report = compare(program, np.arange(6))
    assert [op.name for op in report.operators] == [
        "operator.gt",
        "numpy.any",
        "bool",
        "operator.mul",
    ]
    assert report.operators[2].verdict == "inherits"
    np.testing.assert_array_equal(report.result, np.arange(6) * 2)


def test_arguments_and_results_may_be_nested() -> None:
    data = {"a": [np.arange(4.0), 2], "b": (np.ones((2, 2)),)}

    def program(given: Any, factor: Any, *, extra: Any) -> Any:
        first, count = given["a"]
        first += count
        given["b"][0][...] = 5
        return {"sum": first * factor, "both": [given["b"][0], (extra @ extra, "text")]}

    report = compare(program, data, 3, extra=np.eye(3))
    assert not report.drifted, report
    np.testing.assert_array_equal(report.result["sum"], (np.arange(4.0) + 2) * 3)
    np.testing.assert_array_equal(report.card_result["both"][0], np.full((2, 2), 5))
    assert report.result["both"][1][1] == "text"
    np.testing.assert_array_equal(data["a"][0], np.arange(4.0))
    np.testing.assert_array_equal(data["b"][0], np.ones((2, 2)))


def test_arrays_of_the_card_are_copied() -> None:
    card = from_numpy(np.arange(3.0))

    def program(x: Any) -> Any:
        x *= 2
        return x

    report = compare(program, card)
    assert not report.drifted
    np.testing.assert_array_equal(card.asnumpy(), np.arange(3.0))


def test_out_where_and_ufunc_methods() -> None:
    def program(x: Any, y: Any) -> Any:
        target = np.zeros_like(x)
        np.add(x, y, out=target, where=x > 0)
        np.multiply(target, 2, out=target)
        np.add.at(target, np.array([0, 0, 1]), 1.0)
        np.copyto(x, target)
        x.sort()
        return np.add.reduce(x), np.multiply.outer(x, y), np.maximum.accumulate(target)

    x, y = np.linspace(-1, 1, 7), np.linspace(0, 3, 7)
    report = compare(program, x, y)
    assert not report.drifted, report
    names = [op.name for op in report.operators]
    for name in ("numpy.add.at", "numpy.copyto", "ndarray.sort", "numpy.multiply.outer"):
        assert name in names


def test_implicit_conversion_is_named() -> None:
    report = compare(lambda x: np.asarray(x) + 1, np.arange(3))
    assert report.first is not None
    assert report.first.name == "numpy.asarray"
    assert report.first.own is not None
    assert "HostConversionError" in report.first.own.text
    np.testing.assert_array_equal(report.result, np.arange(3) + 1)


def test_host_fallbacks_are_marked_and_forbidden_ones_are_drift() -> None:
    def program(x: Any) -> Any:
        return np.histogram_bin_edges(x, "stone")

    with dask.config.set({"daskasc.fallback": "warn"}):
        report = compare(program, np.array([1.0, 2.0, 2.0, 4.0]))
    assert not report.drifted, report
    assert any(op.on_host for op in report.operators)
    with dask.config.set({"daskasc.fallback": "error"}):
        report = compare(program, np.array([1.0, 2.0, 2.0, 4.0]))
    assert report.first is not None
    assert "HostFallbackError" in str(report)


def test_tolerances() -> None:
    def program(x: Any) -> Any:
        return x + 1

    near = np.nextafter(np.float32(1), np.float32(2))
    one, other = np.ones(2, "f4"), from_numpy(np.array([1, near], "f4"))
    assert measure(one, other, Tolerance(), OWN).difference is None
    assert measure(one, other, Tolerance(), OWN).ulps == 1
    strict = measure(one, other, Tolerance(ulps=0), OWN).difference
    assert strict is not None
    assert strict.ulps == 1
    assert measure(one, other, Tolerance(ulps=0, rtol={"float32": 1e-6}), OWN).difference is None
    zeros = np.array([-0.0]), from_numpy(np.array([0.0]))
    assert measure(*zeros, Tolerance(), OWN).difference is None
    signed = measure(*zeros, Tolerance(signed_zeros=True), OWN).difference
    assert signed is not None
    assert signed.kind == "zero"
    assert not compare(program, np.arange(4.0), tolerance=0).drifted


def program_of_many_functions(x: Any, m: Any, k: Any) -> Any:
    """Different functions of NumPy, each used as climate code would."""
    n = np.where(x > 1.5, np.nan, x)
    positive = np.abs(x) + 0.5
    results = [
        *(
            f(positive)
            for f in (np.sqrt, np.log, np.exp, np.sin, np.cos, np.tanh, np.log1p, np.cbrt)
        ),
        *(f(x) for f in (np.floor, np.ceil, np.rint, np.sign, np.arctan, np.square, np.isnan)),
        *(f(n) for f in (np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanstd, np.nanmedian)),
        *(f(x, axis=0) for f in (np.sum, np.mean, np.std, np.var, np.max, np.min, np.median)),
        *(f(x, axis=1) for f in (np.argmax, np.argmin, np.sort, np.argsort, np.cumsum, np.diff)),
        np.concatenate([x, x + 1]),
        np.stack([x, x], axis=1),
        np.percentile(x, [10, 50, 90], axis=0),
        np.histogram(x, bins=5)[0],
        np.unique(k),
        np.bincount(k),
        np.isin(k, [1, 2]),
        np.roll(x, 2, axis=1),
        np.flip(x, 0),
        np.tile(x, (2, 1)),
        np.repeat(x, 2, axis=0),
        np.clip(x, -1, 1),
        np.outer(x[0], x[1]),
        np.einsum("ij,kj->ik", x, x),
        np.linalg.solve(m, x[:4, :4]),
        np.linalg.norm(x),
        np.fft.rfft(x, axis=1),
        np.interp(x[0], np.arange(5.0), np.arange(5.0) ** 2),
        np.gradient(x, axis=0),
        np.take_along_axis(x, np.argsort(x, axis=1), 1),
        np.searchsorted(np.sort(x[0]), x[1]),
        np.add.reduce(x, axis=1),
        np.maximum(x, 0),
        np.arctan2(x, positive),
        np.hypot(x, positive),
        np.nan_to_num(n),
        np.trapezoid(x, axis=1),
        np.pad(x, 1, mode="edge"),
        np.count_nonzero(x > 0),
        np.nonzero(x > 0),
        x.reshape(-1)[::2],
        x[k],
        float(x.sum()),
    ]
    x[x < 0] = 0
    x[1:3] *= 2
    results.append(x)
    return results


@pytest.mark.parametrize("precision", ["f4", "f8"])
def test_a_right_program_does_not_drift(precision: str) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(20, 12)).astype(precision)
    m = (random.normal(size=(4, 4)) + 4 * np.eye(4)).astype(precision)
    k = random.integers(0, 6, 30)
    with np.errstate(all="ignore"):
        report = compare(program_of_many_functions, x, m, k)
    assert not report.drifted, report
    assert report.error is None
    assert len({op.name for op in report.operators}) >= 60
    assert str(report).startswith("no drift in ")
    assert report.reproduction is None
