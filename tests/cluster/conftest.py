import pytest


@pytest.fixture(scope="session")
def cluster2(tmp_path_factory):
    """Two cards, shared by this folder; nobody kills its workers."""
    from daskasc import LocalNPUCluster

    directory = tmp_path_factory.mktemp("cards")
    with LocalNPUCluster(
        n_workers=2, dashboard_address=":0", local_directory=str(directory)
    ) as cluster:
        yield cluster


@pytest.fixture
def client2(cluster2):
    """A client of the two cards."""
    with cluster2.get_client() as client:
        yield client
