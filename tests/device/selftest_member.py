"""A member of a crew without a card: does what the names of its questions say."""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def main() -> None:
    if sys.argv[1] == "hang":
        time.sleep(60)
    if sys.argv[1] == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    print(json.dumps({"family": "cpu"}), flush=True)
    for line in sys.stdin:
        name = next(part for part in json.loads(line)["case"] if part)
        if name == "die":
            print("last words", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "hang":
            time.sleep(60)
        print(json.dumps({"outcome": "right", "detail": "", "usable": True}), flush=True)


if __name__ == "__main__":
    main()
