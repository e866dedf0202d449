import itertools

import dask
import pytest

from daskasc.cluster._settings import Settings

KEYS = ("daskasc-test.a.b", "daskasc-test.c")


@pytest.fixture(autouse=True)
def clean():
    yield
    dask.config.config.pop("daskasc-test", None)


def values():
    return [dask.config.get(key, "missing") for key in KEYS]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_any_order_of_closing_restores(order):
    dask.config.set({KEYS[0]: "mine"})
    opened = [Settings({KEYS[0]: n, KEYS[1]: n}) for n in range(3)]
    for settings in opened:
        settings.install()
    remaining = [0, 1, 2]
    for n in order:
        assert values() == [remaining[-1]] * 2
        opened[n].restore()
        remaining.remove(n)
    assert values() == ["mine", "missing"]


def test_restoring_twice_or_without_installing():
    settings = Settings({KEYS[1]: 1})
    settings.restore()
    settings.install()
    settings.restore()
    dask.config.set({KEYS[1]: "later"})
    settings.restore()
    assert values()[1] == "later"


def test_a_value_changed_meanwhile_is_kept():
    settings = Settings({KEYS[0]: 1, KEYS[1]: 1})
    settings.install()
    dask.config.set({KEYS[0]: "user"})
    settings.restore()
    assert values() == ["user", "missing"]


def test_a_with_block_inside_does_not_confuse():
    settings = Settings({KEYS[1]: 1})
    settings.install()
    with dask.config.set({KEYS[1]: 2}):
        pass
    settings.restore()
    assert values()[1] == "missing"


def test_a_changed_value_is_in_force_and_is_taken_back():
    dask.config.set({KEYS[0]: "mine"})
    first, second = Settings({KEYS[0]: 1}), Settings({KEYS[0]: 2})
    first.install()
    first.change(KEYS[0], 10)
    assert dask.config.get(KEYS[0]) == 10
    second.install()
    first.change(KEYS[0], 11)
    assert dask.config.get(KEYS[0]) == 2
    second.restore()
    assert dask.config.get(KEYS[0]) == 11
    dask.config.set({KEYS[0]: "the user's"})
    first.change(KEYS[0], 12)
    assert dask.config.get(KEYS[0]) == "the user's"
    first.restore()
    assert dask.config.get(KEYS[0]) == "the user's"
