"""The window over a card's chunks, without a scheduler: bounded, and never stuck."""

from __future__ import annotations

import dask
import dask.array as da
import pytest
from dask.utils import ensure_dict
from hypothesis import given, settings
from hypothesis import strategies as st

from daskasc.planner import Planner
from scheduler_plugins._window import Window


def planned(outputs, cards):
    """Inputs, cards and ranks of a planned graph, and the keys of its collectives."""
    graph = Planner(cards)(
        dask.highlevelgraph.HighLevelGraph.merge(*[y.dask for y in outputs]),
        [y.__dask_keys__() for y in outputs],
    )
    found = {"card": {}, "rank": {}, "gang": {}}
    for layer in graph.layers.values():
        for kind, values in found.items():
            if kind in (layer.annotations or {}):
                values.update({key: layer.annotations[kind](key) for key in layer})
    inputs = {key: set(node.dependencies) for key, node in ensure_dict(graph).items()}
    return inputs, found["card"], found["rank"], set(found["gang"])


def run(inputs, cards, ranks, gangs, in_flight, choose, failing=()):
    """Run all tasks, one at a time; returns the greatest number of ranks of a card in flight."""
    watched = {key: card for key, card in cards.items() if key not in gangs}
    window = Window(in_flight, watched, ranks, inputs)
    held, done, most = set(window.held()), set(), 0
    while len(done) < len(inputs):
        ready = [k for k in inputs if k not in done and k not in held and inputs[k] <= done]
        assert ready, "nothing can run: the window is stuck"
        key = choose(ready, ranks)
        done.add(key)
        if key in watched:
            held -= set(window.finished(key))
        for card in set(cards.values()):
            begun = {ranks[k] for k in done if watched.get(k) == card}
            open_ranks = {
                r
                for r in begun
                if any(watched[k] == card and ranks[k] == r and k not in done for k in watched)
            }
            most = max(most, len(open_ranks))
    assert not held
    assert window.open
    return most


def greedy(ready, ranks):
    """The worst worker: always the task that is furthest ahead."""
    return max(ready, key=lambda key: (ranks[key], str(key)))


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_chunks_in_flight_are_bounded(in_flight):
    x = da.ones((48, 4, 2), chunks=(2, 4, 2)) + 1
    outputs = [x.sum(axis=0), (x * 2).max(axis=0), (x - x.sum(axis=0)).min(axis=0)]
    assert run(*planned(outputs, 2), in_flight, greedy) <= in_flight


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_graph_comes_to_its_end(data):
    length = data.draw(st.integers(1, 40))
    inputs, ranks, cards = {}, {}, {}
    for key in range(length):
        earlier = st.integers(0, key - 1) if key else st.nothing()
        inputs[key] = data.draw(st.sets(earlier, max_size=3)) if key else set()
        floor = max((ranks[i] for i in inputs[key]), default=0.0)
        ranks[key] = floor + data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
        cards[key] = data.draw(st.integers(0, 2))
    gangs = set(data.draw(st.sets(st.integers(0, length - 1), max_size=3)))
    rng = data.draw(st.randoms(use_true_random=False))
    run(inputs, cards, ranks, gangs, data.draw(st.integers(1, 3)), lambda r, _: rng.choice(r))


def test_a_push_opens_the_next_rank():
    window = Window(1, {"a": 0, "b": 0}, {"a": 0.0, "b": 0.5}, {"a": [], "b": []})
    assert window.held() == {"b"}
    assert window.waiting_cards() == [0]
    assert window.push(0) == ["b"]
    assert window.open
    assert window.push(0) == []
