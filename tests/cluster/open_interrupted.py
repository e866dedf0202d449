"""Opens a cluster and says how that ended."""

import signal

from daskasc import LocalNPUCluster

if __name__ == "__main__":
    # a shell has its background commands ignore interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        LocalNPUCluster(n_workers=2, dashboard_address=":0")
        print("started")
    except KeyboardInterrupt:
        print("interrupted")
