"""Two processes under torchrun, which end in time, or say where they stand.

They meet at 127.0.0.1: gloo and torchrun would ask for the address of this machine's name, and a resolver that does not
answer keeps them waiting. A process that waits for another one for ever ends itself after LIMIT seconds, with a
traceback of all its threads, and torchrun ends the rest.
"""

import os
import subprocess
import sys
from pathlib import Path

IN_TIME = "import faulthandler, os\nfaulthandler.dump_traceback_later(float(os.environ['LIMIT']), exit=True)\n"
LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def two_processes(script: Path, *arguments, limit: float = 150) -> subprocess.CompletedProcess:
    """`script` twice; it begins with IN_TIME, or with the same two lines."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "LIMIT": str(limit)}
    if sys.platform in LOOPBACK:
        env["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2",
         script, *arguments], capture_output=True, text=True, check=False, env=env, timeout=limit + 60)
