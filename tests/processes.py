"""Two processes under torchrun, or under two of them, which end in time, or say where they stand.

They meet at 127.0.0.1: gloo and torchrun would ask for the address of this machine's name, and a resolver that does not
answer keeps them waiting. A process that waits for another one for ever ends itself after LIMIT seconds, with a
traceback of all its threads, and torchrun ends the rest.
"""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

IN_TIME = "import faulthandler, os\nfaulthandler.dump_traceback_later(float(os.environ['LIMIT']), exit=True)\n"
LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def environment(limit: float, **more: str) -> dict[str, str]:
    env = more | os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "LIMIT": str(limit)}
    if sys.platform in LOOPBACK:
        env["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    return env


def two_processes(script: Path, *arguments, limit: float = 150, restarts: int = 0) -> subprocess.CompletedProcess:
    """`script` twice; it begins with IN_TIME, or with the same two lines. Both start again when one of them dies.

    A busy machine may lose a connection, which costs one of the `restarts`: give more of them than deaths.
    """
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2",
         f"--max-restarts={restarts}", script, *arguments],
        capture_output=True, text=True, check=False, env=environment(limit), timeout=limit + 60)


def two_nodes(*command, limit: float = 150, tries: int = 3) -> list[subprocess.CompletedProcess]:
    """Two torchruns that could be on two machines, a process each, which meet at a port of this one.

    The port was free a moment ago; where another program has taken it, and where gloo does not connect, both start
    again, within torchrun or here.
    """
    for _ in range(tries):
        with socket.socket() as asked:
            asked.bind(("127.0.0.1", 0))
            port = asked.getsockname()[1]
        nodes = [subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3",
             "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=book", "--local-addr=127.0.0.1",
             f"--rdzv-conf=is_host={'true' if node == 0 else 'false'}", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(limit, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")) for node in range(2)]
        try:
            with ThreadPoolExecutor() as readers:
                said = list(readers.map(lambda node: node.communicate(timeout=limit), nodes))
        finally:
            for node in nodes:
                node.kill()
        done = [subprocess.CompletedProcess(command, node.returncode, *both)
                for node, both in zip(nodes, said, strict=True)]
        if not any(node.returncode for node in done):
            break
    return done
