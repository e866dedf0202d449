"""Worker preload: attaching this worker's card takes longer than any test waits."""

import time

from daskasc import device


def dask_setup(worker):
    def attach(*args, **kwargs):
        time.sleep(60)

    device.attach = attach
