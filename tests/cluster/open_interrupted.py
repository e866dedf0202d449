"""Opens a cluster and says how that ended."""

from daskasc import LocalNPUCluster

if __name__ == "__main__":
    try:
        LocalNPUCluster(n_workers=2, dashboard_address=":0")
        print("started")
    except KeyboardInterrupt:
        print("interrupted")
