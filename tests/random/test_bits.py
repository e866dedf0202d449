"""The stream of words: known answers, seeds, states, independence."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from dask.base import tokenize

from daskasc import random
from daskasc.errors import DeviceUnavailableError
from daskasc.random import _words
from daskasc.random._bits import of_card
from daskasc.random._mix import mixed

GOLDEN = 0x9E3779B97F4A7C15
# splitmix64.c of Vigna, seeded with 1234567
KNOWN = [6457827717110365317, 3203168211198807973, 9817491932198370423]


def with_state(start: int, gamma: int, position: int = 0) -> random.SplitMix64:
    bits = random.SplitMix64(0)
    bits.state = {
        "bit_generator": "SplitMix64",
        "state": {"start": start, "gamma": gamma, "position": position},
    }
    return bits


def raw(bits: random.SplitMix64, count: int) -> list[int]:
    return [int(x) for x in bits.random_raw(count).asnumpy()]


@pytest.mark.parametrize("count", [3, 40])
def test_known_words(count: int) -> None:
    # the published generator adds gamma before its first word
    bits = with_state(1234567, GOLDEN, 1)
    assert raw(bits, count)[:3] == KNOWN
    assert bits.state["state"]["position"] == 1 + count
    assert with_state(1234567, GOLDEN, 1).random_raw() == KNOWN[0]


def test_words_on_the_card_and_on_the_host_are_the_same() -> None:
    bits = with_state(2**64 - 5, 2**64 - 59, 2**64 - 20)
    start, gamma, first = 2**64 - 5, 2**64 - 59, 2**64 - 20
    expected = [mixed((start + (first + i) * gamma) % 2**64) for i in range(50)]
    assert raw(copy.copy(bits), 50) == expected
    assert copy.copy(bits).host_words(50) == expected
    assert [raw(copy.copy(bits), n) for n in (1, 16, 17)] == [expected[:n] for n in (1, 16, 17)]


def test_blocks_do_not_matter(monkeypatch) -> None:
    def draw() -> list:
        rng = random.default_rng(3)
        floats = [rng.random, rng.standard_normal, rng.standard_exponential]
        drawn = [draw(1001, dtype=dtype) for draw in floats for dtype in ("f4", "f8")]
        drawn += [rng.logistic(size=1001), rng.integers(0, 3 * 2**30, 1001), rng.poisson(30, 1001)]
        return [x.asnumpy() for x in drawn]

    expected = draw()
    monkeypatch.setattr(_words, "_HOST_BLOCK", 100)
    for a, b in zip(expected, draw(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == "f4" else 1e-14)


def test_any_number_of_threads_of_torch_gives_the_same_bits() -> None:
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            rng = random.default_rng(8)
            found.append(
                [
                    rng.standard_normal(70_003).asnumpy(),
                    rng.standard_normal(70_003, dtype="f4").asnumpy(),
                    rng.gamma(0.5, size=70_001).asnumpy(),
                    rng.poisson(50, size=70_001).asnumpy(),
                    rng.integers(0, 10**9, size=70_001).asnumpy(),
                ]
            )
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_streams_of_seeds_do_not_meet() -> None:
    starts = {}
    for seed in range(2000):
        state = random.SplitMix64(seed).state["state"]
        assert state["gamma"] % 2 == 1
        assert (state["gamma"] ^ (state["gamma"] >> 1)).bit_count() >= 24
        starts[state["start"], state["gamma"]] = seed
    assert len(starts) == 2000
    # neighbouring seeds, spawned children and cards: no correlation beyond chance
    sets = [
        [random.SplitMix64(s) for s in range(8)],
        random.SplitMix64(0).spawn(8),
        [of_card(0, card) for card in range(8)],
    ]
    draws = [random.Generator(bits).standard_normal(20_000).asnumpy() for s in sets for bits in s]
    correlation = np.corrcoef(draws[1:8] + draws[8:])
    assert np.abs(correlation - np.eye(len(correlation))).max() < 5 / np.sqrt(20_000)


def test_gammas_with_few_changes_are_replaced() -> None:
    class Words:
        def generate_state(self, n: int, dtype: object) -> list[int]:
            return [5, 2**63]

    np.random.bit_generator.ISeedSequence.register(Words)
    bits = random.SplitMix64(Words())
    assert bits.gamma == (2**63 + 1) ^ 0xAAAAAAAAAAAAAAAA
    assert bits.gamma % 2 == 1


def test_seeds_are_numpys() -> None:
    assert raw(random.SplitMix64([1, 2]), 2) == raw(random.SplitMix64(np.array([1, 2])), 2)
    assert raw(random.SplitMix64(np.random.SeedSequence(4)), 2) == raw(random.SplitMix64(4), 2)
    assert raw(random.SplitMix64(), 2) != raw(random.SplitMix64(), 2)
    rng = random.default_rng(4)
    assert random.default_rng(rng) is rng
    assert random.default_rng(rng.bit_generator).bit_generator is rng.bit_generator
    with pytest.raises(ValueError, match="non-negative"):
        random.default_rng(-1)
    with pytest.raises(TypeError):
        random.default_rng("seed")
    for numpys in (np.random.PCG64(1), np.random.default_rng(1), np.random.RandomState(1)):
        with pytest.raises(TypeError, match="draws on the host"):
            random.default_rng(numpys)
    with pytest.raises(TypeError, match="SplitMix64"):
        random.Generator(np.random.PCG64(1))  # type: ignore[arg-type]


def test_state_can_be_read_and_set() -> None:
    rng = random.default_rng(9)
    rng.normal(size=10)
    state = rng.bit_generator.state
    first = rng.random(5).asnumpy()
    other = random.default_rng(1)
    other.bit_generator.state = state
    np.testing.assert_array_equal(other.random(5).asnumpy(), first)
    for bad, error in (
        ([], TypeError),
        ({"bit_generator": "PCG64"}, ValueError),
        ({**state, "state": {**state["state"], "gamma": 2}}, ValueError),
        ({**state, "state": {**state["state"], "position": -1}}, ValueError),
    ):
        with pytest.raises(error):
            other.bit_generator.state = bad


def test_advance_counts_words() -> None:
    bits = random.SplitMix64(3)
    words = raw(bits, 20)
    assert raw(bits.advance(-20), 20) == words
    assert raw(bits.advance(-5), 5) == words[15:]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("make", [random.default_rng, random.RandomState, random.SplitMix64])
def test_copies_go_on_alike(make, duplicate) -> None:
    def draw(x):
        return x.random_raw(5) if isinstance(x, random.SplitMix64) else x.random(5)

    one = make(6)
    draw(one)
    other = duplicate(one)
    assert type(other) is type(one)
    for _ in range(2):
        np.testing.assert_array_equal(draw(one).asnumpy(), draw(other).asnumpy())


def test_spawned_children_are_seed_sequences_children() -> None:
    rng = random.default_rng(3)
    first, second = rng.spawn(2)
    (third,) = pickle.loads(pickle.dumps(rng)).spawn(1)
    expected = np.random.SeedSequence(3).spawn(3)
    for child, sequence in zip((first, second, third), expected, strict=True):
        assert child.bit_generator.state == random.SplitMix64(sequence).state


def test_tokens_follow_the_state() -> None:
    assert tokenize(random.default_rng(1)) == tokenize(random.default_rng(1))
    used = random.default_rng(1)
    used.random()
    spawned = random.default_rng(1)
    spawned.spawn(1)
    tokens = {tokenize(x) for x in (random.default_rng(1), random.default_rng(2), used, spawned)}
    assert len(tokens) == 4


def test_threads_share_a_generator() -> None:
    rng = random.default_rng(5)
    found: list[int] = []

    def draw() -> None:
        for _ in range(50):
            found.extend(rng.bit_generator.random_raw(4).asnumpy().tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(raw(random.SplitMix64(5), 800))


def test_card_rng(stand_in) -> None:
    own = random.card_rng(5).random(4).asnumpy()
    np.testing.assert_array_equal(own, random.card_rng(5, card=0).random(4).asnumpy())
    sequence = np.random.SeedSequence(5)
    np.testing.assert_array_equal(own, random.card_rng(sequence).random(4).asnumpy())
    others = [random.card_rng(5, card=1), random.default_rng(5), random.default_rng(5).spawn(1)[0]]
    for other in others:
        assert not np.isin(other.random(4).asnumpy(), own).any()


@pytest.mark.usefixtures("stand_ins_only")  # which no process need own
def test_card_rng_needs_a_card() -> None:
    with pytest.raises(DeviceUnavailableError, match="owns none"):
        random.card_rng(5)


def test_generators_unpickle_without_torch() -> None:
    data = pickle.dumps([random.default_rng(1), random.RandomState(1), random.SplitMix64])
    code = (
        "import pickle, sys\n"
        f"made = pickle.loads({data!r})\n"
        "made[0].spawn(2), made[0].bit_generator.state\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
