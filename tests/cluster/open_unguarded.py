"""Opens a cluster wherever this file is imported, so in each worker process as well."""

from daskasc import LocalNPUCluster

LocalNPUCluster(n_workers=1, dashboard_address=":0")
