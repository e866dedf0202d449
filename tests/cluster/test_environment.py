import pytest

from daskasc.cluster._environment import pre_spawn_environment, worker_environment
from daskasc.cluster._options import Cards, ClusterOptions


def env(kind, card, threads=None, **options):
    cards = Cards(kind, 8, None, None, threads)
    return worker_environment(cards, card, ClusterOptions(**options))


def test_one_visible_card_a_process(monkeypatch):
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert env("npu", 3) == {"ASCEND_RT_VISIBLE_DEVICES": "3"}
    assert env("cuda", 3)["CUDA_VISIBLE_DEVICES"] == "3"


def test_cards_come_from_the_parents_list(monkeypatch):
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "2,5,7")
    assert [env("npu", c)["ASCEND_RT_VISIBLE_DEVICES"] for c in range(3)] == ["2", "5", "7"]


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_other_backends_do_not_load_torch_npu(kind):
    assert env(kind, 0)["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_the_users_variables_win():
    given = env("cpu", 0, threads=2, env={"OMP_NUM_THREADS": "5", "MINE": "x"})
    assert given["OMP_NUM_THREADS"] == "5"
    assert given["MINE"] == "x"
    assert env("cpu", 0, threads=2)["OMP_NUM_THREADS"] == "2"


def test_huge_pages_are_asked_for_where_the_library_knows_them(monkeypatch):
    from daskasc.cluster import _environment

    monkeypatch.setattr(_environment.sys, "platform", "linux")
    for version, expected in ((("glibc", "2.36"), 1), (("glibc", "2.31"), 0), (("", ""), 0)):
        monkeypatch.setattr(_environment.platform, "libc_ver", lambda v=version: v)
        assert len(pre_spawn_environment()) == expected
