"""Random chunks do not depend on the cards that draw them; each card has a stream of its own."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np

from daskasc import device, random


def test_four_cards_draw_what_one_process_draws(client4) -> None:
    with dask.config.set({"array.backend": "ascend", "daskasc.fallback": "error"}):
        x = da.random.default_rng(5).normal(size=(64, 30), chunks=(8, 30))
        y = da.random.RandomState(5).gamma(0.7, size=40, chunks=10)
    alone = [z.compute(scheduler="synchronous").asnumpy() for z in (x, y)]
    for z, expected in zip((x, y), alone, strict=True):
        found = client4.compute(z).result()
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


def test_a_used_generator_goes_to_a_card(client4) -> None:
    rng = random.default_rng(5)
    rng.random(3)
    found = client4.submit(lambda generator: generator.normal(size=4), rng, pure=False).result()
    np.testing.assert_array_equal(found, rng.normal(size=4).asnumpy())


def draw() -> tuple[int | None, np.ndarray]:
    return device.current().card, random.card_rng(7).random(50).asnumpy()


def test_each_card_has_a_stream_of_its_own(client4) -> None:
    drawn = dict(client4.run(draw).values())
    assert sorted(drawn) == [0, 1, 2, 3]
    assert len(np.unique(np.concatenate(list(drawn.values())))) == 200
    for card, numbers in drawn.items():
        expected = random.card_rng(7, card=card).random(50).asnumpy()
        np.testing.assert_array_equal(numbers, expected)
