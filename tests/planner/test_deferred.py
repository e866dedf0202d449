"""Stand-ins for chunk tasks: the same plan as with the tasks, without a cost for each."""

from __future__ import annotations

import gc
import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Task, TaskRef
from dask.blockwise import Blockwise, BlockwiseDepDict, blockwise_token
from dask.highlevelgraph import HighLevelGraph
from dask.tokenize import tokenize

from daskasc.errors import ProjectedMemoryError
from daskasc.planner import Planner, _materialise
from daskasc.planner._bundles import is_bundle
from daskasc.planner._deferred import Deferred, deferred, made

from .cards import on_cards
from .test_planner import data, value

SHAPE = (24, 6, 4)
CHUNKS = (1, 3, 4)
RAGGED = ((5, 1, 7, 3, 8), (2, 4), 4)


class Stored:
    """An array that is read in pieces, as one in a file."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.ndim = values.ndim

    def __getitem__(self, index):
        return self.values[index]


def numbered(block_id=None):
    return np.full(CHUNKS, sum(block_id), "f8")


def read(inline, chunks=CHUNKS):
    return da.from_array(Stored(data("f8", SHAPE)), chunks=chunks, inline_array=inline)


def made_by_number():
    counts = [size // chunk for size, chunk in zip(SHAPE, CHUNKS, strict=True)]
    chunks = tuple((chunk,) * n for chunk, n in zip(CHUNKS, counts, strict=True))
    return da.map_blocks(numbered, chunks=chunks, dtype="f8", meta=np.empty((0, 0, 0)))


SOURCES = {
    "inline": lambda: read(True),
    "not inline": lambda: read(False),
    "ragged": lambda: read(True, RAGGED),
    "numpy": lambda: da.from_array(data("f8", SHAPE), chunks=CHUNKS),
    "by number": made_by_number,
    "constant": lambda: da.ones(SHAPE, chunks=CHUNKS),
    "random": lambda: da.random.default_rng(3).random(SHAPE, chunks=CHUNKS),
    "broadcast": lambda: read(True) + read(True, (24, 3, 4))[:1] + da.arange(4, chunks=4),
}
WORK = {
    "mean": lambda x: [x.mean(axis=0)],
    "std": lambda x: [(2 * x + 1).std()],
    "several": lambda x: [x.mean(axis=(0, 2)), x.max(), x.var(axis=1)],
    "place": lambda x: [x.argmax(axis=0), da.topk(x, 3, axis=0)],
    "wanted as well": lambda x: [x, x.sum(axis=0)],
    "some blocks": lambda x: [x.blocks[1:4].sum(axis=0)],
    "used twice": lambda x: [(x - x.mean(axis=0)).max(axis=0), x + 1],
    "product": lambda x: [da.tensordot(x, x, axes=((0,), (0,)))],
    "scan": lambda x: [x.cumsum(axis=0)[-1]],
    "median": lambda x: [da.median(x, axis=0)],
    "rechunked": lambda x: [x.rechunk((24, 1, 4)).sum(axis=2)],
    "map_blocks": lambda x: [x.map_blocks(np.sqrt).sum(axis=0)],
}


def graph_of(collections):
    graph = collections[0].__dask_graph__()
    for one in collections[1:]:
        graph = type(graph).merge(graph, one.__dask_graph__())
    return graph, [one.__dask_keys__() for one in collections]


def written_out(planned):
    """All tasks, those inside bundles too, with what is known of each."""
    found = {}
    for key, node in planned.graph.items():
        assert not isinstance(node, Deferred)
        if is_bundle(node):
            steps, inputs, ahead = node.args[:3]
            for name, step in made(steps).items():
                found[key, name] = tokenize(step), name
            found[key] = list(steps), inputs, ahead, node.dependencies, node.data_producer
        else:
            found[key] = tokenize(node)
    owners = {key: planned.owners.get(key) for key in planned.graph}
    return found, owners, {key: planned.ranks[key] for key in planned.graph}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("source", SOURCES)
def test_the_plan_is_the_same_as_with_all_tasks(source, work, monkeypatch):
    for cards, bundle in ((1, 64), (3, 4), (4, 1)):
        planner = Planner(cards, bundle=bundle, capacity=2**30)
        graph, keys = graph_of(WORK[work](SOURCES[source]()))
        planned = planner.planned(graph, keys)
        with monkeypatch.context() as patch:
            patch.setattr(_materialise, "deferred", lambda layer: None)
            plain = planner.planned(graph, keys)
        assert written_out(planned) == written_out(plain)
        assert planned.estimate.work == plain.estimate.work


@pytest.mark.parametrize("source", SOURCES)
def test_stand_ins_are_used(source):
    planner = Planner(2, bundle=64)
    planned = planner.planned(*graph_of([SOURCES[source]().mean(axis=0)]))
    bundles = [node for node in planned.graph.values() if is_bundle(node)]
    steps = [step for node in bundles for step in node.args[0].values()]
    assert bool(bundles) == (source != "broadcast")
    assert any(isinstance(step, Deferred) for step in steps) == (source not in PLAIN)
    for node in bundles:  # a worker has what it needs
        again = pickle.loads(pickle.dumps(node.args[0]))
        assert list(again) == list(node.args[0])
        assert tokenize(made(again)) == tokenize(made(node.args[0]))


# dask writes out itself what makes the chunks of these; nothing of the last goes into bundles
PLAIN = {"numpy", "random", "broadcast"}


def test_a_bundle_knows_nothing_of_others_chunks():
    sizes = {}
    for chunks in (256, 4096):
        x = da.from_array(Stored(np.zeros(chunks)), chunks=1, inline_array=True, name=f"x{chunks}")
        x = da.map_blocks(np.sin, x, chunks=x.chunks, dtype="f8")
        graph, keys = graph_of([x.sum()])
        planned = Planner(1, bundle=64).planned(graph, keys)
        bundles = [node for node in planned.graph.values() if is_bundle(node)]
        assert all(isinstance(next(iter(n.args[0].values())), Deferred) for n in bundles)
        blobs = [len(pickle.dumps(node)) - np.zeros(chunks).nbytes for node in bundles]
        sizes[chunks] = max(blobs)
    assert sizes[4096] < 1.1 * sizes[256] + 100


def layer_of(x):
    layers = [one for one in x.__dask_graph__().layers.values() if isinstance(one, Blockwise)]
    return layers[-1]


def test_layers_whose_tasks_differ_in_their_inputs_are_written_out():
    x = da.from_array(data("f8", SHAPE), chunks=CHUNKS)
    assert deferred(layer_of(x + 1)) is None
    layer = layer_of(made_by_number())
    assert isinstance(deferred(layer), Deferred)
    (name,) = layer.io_deps
    for kind in ("produces_tasks", "produces_keys"):
        named = BlockwiseDepDict({(0, 0, 0): "other"}, layer.numblocks[name], **{kind: True})
        layer.io_deps = {name: named}
        assert deferred(layer) is None


def test_a_stand_in_cannot_be_run():
    standing = deferred(layer_of(made_by_number()))
    with pytest.raises(AssertionError, match="stand-in"):
        standing({})


def test_stand_ins_for_different_chunks_are_different():
    standing = deferred(layer_of(made_by_number()))
    first, second = (standing.part([(standing.layer.output, n, 0, 0)]) for n in (0, 1))
    assert first == standing.part([(standing.layer.output, 0, 0, 0)])
    assert first != second
    assert tokenize(first) != tokenize(second)


def begin(values):
    return values[:10]


def test_memory_of_chunks_made_of_different_literals(monkeypatch):
    """Chunks of one size, out of small and of large literals."""
    values = [np.zeros(size) for size in [10] * 64 + [100_000] * 64]
    argument = BlockwiseDepDict({(n,): value for n, value in enumerate(values)})
    task = Task("x", begin, TaskRef(blockwise_token(0)))
    layer = Blockwise("x", "i", task, [(argument, "i")], {})
    x = da.Array(HighLevelGraph({"x": layer}, {"x": set()}), "x", ((10,) * 128,), "f8")
    graph, keys = graph_of([x.sum()])
    planned = Planner(1, bundle=64).planned(graph, keys)
    monkeypatch.setattr(_materialise, "deferred", lambda layer: None)
    plain = Planner(1, bundle=64).planned(graph, keys)
    bundles = [key for key, node in planned.graph.items() if is_bundle(node)]
    assert len(bundles) == 2
    assert all(planned.estimate.work[key] == plain.estimate.work[key] for key in bundles)
    literals = [
        planned.graph[key].args[0][first].literals
        for key in bundles
        for first in list(planned.graph[key].args[0])[:1]
    ]
    assert literals[0] != literals[1]


@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_is_as_before(collecting):
    lazy = on_cards(SHAPE, CHUNKS).mean(axis=0)
    graph, keys = graph_of([lazy])
    (gc.enable if collecting else gc.disable)()
    try:
        Planner(2)(graph, keys)
        assert gc.isenabled() == collecting
        with pytest.raises(ProjectedMemoryError):
            Planner(2, capacity=1, memory_check="error")(graph, keys)
        assert gc.isenabled() == collecting
    finally:
        gc.enable()


def test_values():
    for source, make in SOURCES.items():
        for name, work in WORK.items():
            lazy = work(make())
            expected = dask.compute(*lazy, scheduler="synchronous")
            for one, wanted in zip(lazy, expected, strict=True):
                found = value(one, 3, bundle=8)
                np.testing.assert_allclose(found, wanted, err_msg=f"{source}, {name}")
