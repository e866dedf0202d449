from __future__ import annotations

import pytest

from tests.collectives import gangs


@pytest.fixture(scope="module")
def client():
    """Three plain workers with the plugins; shared by a module, so nobody kills its workers."""
    with gangs.cluster(3) as found:
        yield found
