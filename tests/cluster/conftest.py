import dask
import pytest

from tests import forking


@pytest.fixture(scope="package", autouse=True)
def spawned_workers():
    """These tests are about starting: workers start as those of users' programs do."""
    with dask.config.set({forking.METHOD: "spawn"}):
        yield


@pytest.fixture(scope="package")
def cluster2(spawned_workers, tmp_path_factory):
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
