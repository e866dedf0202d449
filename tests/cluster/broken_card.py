"""Worker preload: this worker's card cannot be attached."""

from daskasc import device
from daskasc.errors import ConfigurationError


def dask_setup(worker):
    def attach(*args, **kwargs):
        raise ConfigurationError("the card is unplugged")

    device.attach = attach
