# ruff: noqa: E501
"""Submissions that mean harm, or had an accident: what each is due, and what its writer should hear.

Each is an honest answer to three questions of set 04, with something done to it. Bounded, so that a failure harms
nothing: what deletes or writes does so in the folder MARK alone, memory and children are few, loops are ended by the
limit of the sandbox.
"""

import contextlib
import functools
import json
import re
import sys
import tempfile
import time
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

from byhand.grade.course import grading, submission, syscalls
from byhand.grade.course.inert import inert

REFUSED = "ot permitted" if syscalls.program() else ""  # by the filter of system calls, where there is one
MARK = "/tmp/hostile-scratch"  # stands for a folder outside the sandbox, made for each attack, open to everybody
KEY, QUICK = b"a student's key", 0.15  # of all limits of time
AT_ONCE = 6  # attacks: most of them wait for a limit of time
FULL = {"04.1": 3, "04.2": 2, "04.6": 2}

HEAD = "import numpy as np\nfrom byhand.grade import check, hint\n"
A = '''
def attention(Q, K, V, mask=None):
    S = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
    allowed = np.broadcast_to(True if mask is None else mask, S.shape)
    highest = np.where(allowed, S, -np.inf).max(axis=-1, keepdims=True)
    E = np.where(allowed, np.exp(np.where(allowed, S - highest, 0.0)), 0.0)
    total = E.sum(axis=-1, keepdims=True)
    W = np.divide(E, total, out=np.zeros_like(E), where=total > 0)
    return W @ V, W
'''
B = '''
def softmax_vjp(dA, A):
    return A * (dA - (A * dA).sum(axis=-1, keepdims=True))
'''
C = '''
def related_score(d_k, rho, fourth):
    return rho * np.sqrt(d_k), 1 + rho**2 * (fourth - 2)
'''


class Attack(NamedTuple):
    name: str
    kind: str  # the line of the list that it belongs to
    data: bytes
    due: dict  # points by question
    says: str = ""  # in the text of some question, or in the notes
    suffix: str = ".ipynb"

    @property
    def patience(self):
        """Of those that reach a limit of time a little; the others have as much as they need on a busy machine. Those
        of all the memory end at its limit, and are long on the way there where each page is handed out slowly."""
        waits = self.kind in ("loop", "recursion", "processes") or self.name.startswith("a process left behind")
        return QUICK if waits else 6.0 if self.kind == "memory" else 1.0


def notebook(*cells, **extra):
    listed = [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
              for i, text in enumerate(cells)]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | extra).encode()


def without(*lost):
    return FULL | dict.fromkeys(lost, 0)


def body(function, code):
    """The honest function with some lines at the beginning of its body."""
    head, _, rest = function.strip("\n").partition("\n")
    return "\n" + head + "\n" + "".join(f"    {line}\n" for line in code.strip("\n").splitlines()) + rest + "\n"


def attack(name, kind, *cells, due=FULL, says="", **extra):
    return Attack(name, kind, notebook(*cells, **extra), dict(due), says)


TORCH_A = '''
def attention(Q, K, V, mask=None):
    q, k, v = (made(x) for x in (Q, K, V))
    S = q @ k.mT / q.shape[-1] ** 0.5
    S = S if mask is None else chosen(made(np.broadcast_to(mask, S.shape).copy()), S, -np.inf)
    w = normed(S, -1)
    w = chosen(w == w, w, 0.0)
    return (w @ v).numpy(), w.numpy()
'''
SCIPY_A = '''
def right(Q, K, V, mask=None):
    S = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
    W = np.nan_to_num(normed(S if mask is None else np.where(np.broadcast_to(mask, S.shape), S, -np.inf), -1))
    return W @ V, W
'''
MINE = "made, chosen, normed = T.tensor, T.where, T.softmax\n"
WRITES = """import sys, os, json, struct
f = sys._getframe()
while f.f_code.co_name != 'answered':
    f = f.f_back
write = f.f_locals['write']
for place, case, _ in f.f_locals['ready']:
    h = {'question': '04.1', 'case': case, 'place': place, 'kind': 'ok', 'text': '', 'changed': [], 'events': [], 'arrays': [{'dtype': '<f8', 'shape': []}] * 2, 'sizes': [8, 8]}
    h = json.dumps(h | FORGED).encode()
    write(struct.pack('>I', len(h)) + h + bytes(16))
os._exit(0)"""  # in the place of the child's own frames

IN_A = [  # what the first answer does before it computes anything; it loses its own points at most
    ("a loop for ever", "loop", "while True:\n    pass", "stopped"),
    ("a loop that swallows every exception", "loop", "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass", "FAIL"),
    ("a loop deaf to signals", "loop", "import signal\nfor s in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):\n    signal.signal(s, signal.SIG_IGN)\nwhile True:\n    pass", "stopped"),
    ("a sleep", "loop", "import time\ntime.sleep(1000)", "stopped"),
    ("a recursion with the limit raised", "recursion", "import sys\nsys.setrecursionlimit(10**7)\ndef f(n):\n    return f(n + 1) + 1\nf(0)", ""),
    ("three gigabytes", "memory", "x = np.ones(3 * 2**27)\nx += 1", ""),
    ("four gigabytes of five processes", "memory", "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        break\nx = b'x' * (25 << 25)\ntime.sleep(20)\nos._exit(0)", "too much memory with processes of its own"),
    ("three gigabytes that processes could share", "memory", "import mmap\nm, part = mmap.mmap(-1, 3 << 30), bytes(32 << 20)\nfor _ in range(96):\n    m.write(part)\nm.seek(0)\nraise RuntimeError('it had them')", "too much memory with processes of its own"),
    *((name, "memory", code + "raise RuntimeError('it was carried out')", REFUSED) for name, code in (
        ("files of memory alone", "import os\nos.memfd_create('x')\n"),
        ("memory that outlives its process", "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nif libc.shmget(0, 4096, 0o1600) < 0:\n    raise OSError(ctypes.get_errno(), 'not permitted')\n"))),
    ("fifty children", "processes", "import os, time\nfor _ in range(50):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)", ""),
    ("a scratch folder filled", "disk", "for i in range(100):\n    open(f'/tmp/{i}', 'wb').write(bytes(2**20))", ""),
    ("a sparse file of two gigabytes", "disk", "with open('/tmp/sparse', 'wb') as file:\n    file.truncate(2 * 2**30)\n    file.seek(2 * 2**30 - 1)\n    file.write(b'x')", ""),
    ("a result of a gigabyte", "memory", "return np.ones((2**27,)), np.ones((2, 2))", ""),
    ("the process ended at once", "exit", "import os\nos._exit(0)", "ended in the middle"),
    ("sys.exit", "exit", "import sys\nsys.exit('full marks')", ""),
    ("a segmentation fault", "exit", "import ctypes\nctypes.string_at(0)", "ended in the middle"),
    ("input()", "exit", "input()", ""),
    ("an object equal to everything", "forgery", "class All:\n    __array_priority__ = 1e9\n    def __eq__(self, other):\n        return True\n    def __array__(self, *a, **k):\n        return np.zeros(1)\nreturn All(), All()", ""),
    ("an array that lies about its shape", "forgery", "class Liar(np.ndarray):\n    shape = property(lambda self: Q.shape)\nreturn np.zeros(3).view(Liar), np.zeros(3).view(Liar)", ""),
    ("arrays of objects, to be unpickled", "forgery", "class Boom:\n    def __reduce__(self):\n        return (print, ('unpickled',))\nreturn np.array([Boom()], object), np.array([Boom()], object)", ""),
    ("forged results in every open file", "forgery", "import os, json, struct\nh = json.dumps({'question': '04.1', 'case': 'values', 'kind': 'ok', 'text': '', 'changed': [], 'events': [], 'arrays': [], 'sizes': []}).encode()\nfor fd in range(3, 128):\n    try:\n        os.write(fd, struct.pack('>I', len(h)) + h)\n    except OSError:\n        pass\nreturn np.zeros(2), np.zeros(2)", ""),
    ("garbage in every open file", "forgery", "import os\nfor fd in range(3, 128):\n    try:\n        os.write(fd, b'\\xff' * 4096)\n    except OSError:\n        pass\nos._exit(0)", ""),
    ("stack frames searched for what is expected", "forgery", "import sys, gc\nfound = [x for x in gc.get_objects() if isinstance(x, dict) and 'expected' in x]\nf = sys._getframe()\nwhile f:\n    found += [v for k, v in f.f_locals.items() if 'expected' in k or 'points' in k]\n    f = f.f_back\nif not found:\n    raise RuntimeError('nothing found')\nreturn found[0]", "nothing found"),
    ("solutions read from the disk", "forgery", "import pathlib\nfound = [p for p in map(pathlib.Path, ('/job', '/home', '/tmp')) if p.exists() for p in p.rglob('*') if p.name in ('expected.npz', 'mutants.py', 's04_attention.py', 's04_attention.md')]\nif not found:\n    raise RuntimeError('nothing found')\nreturn found", "nothing found"),
    ("what is asked read again", "forgery", "import os\nfor fd in range(3, 64):\n    try:\n        os.lseek(fd, 0, 0)\n        found = os.read(fd, 10)\n    except OSError:\n        continue\n    assert not found\nassert not [p for p in os.listdir('/job') if p not in ('byhand', 'worker.py')]\nraise RuntimeError('nothing left')", "nothing left"),
    ("the memory searched for other cases", "forgery", "import gc\nfor x in gc.get_objects():\n    if isinstance(x, dict) and (isinstance(x.get('cases'), list) or isinstance(x.get('questions'), list)):\n        return x\nraise RuntimeError('nothing left')", "nothing left"),
    ("the library imported from where it is installed", "forgery", "from byhand.grade.reference.s04_attention import attention as right\nreturn right(Q, K, V, mask)", "not allow"),
    ("the checker patched", "forgery", "import byhand.grade.run as r\nr._collect = lambda *a: r.Result('ok', ())\nreturn np.zeros(2), np.zeros(2)", "not allow"),
    ("the network", "harm", "import socket\nfor port in (22, 80, 443, 8888):\n    s = socket.socket()\n    s.settimeout(1)\n    assert s.connect_ex(('127.0.0.1', port)), 'connected'\nsocket.getaddrinfo('example.org', 80)", ""),
    ("files of the course deleted", "harm", f"import shutil\nshutil.rmtree('{MARK}')", ""),
    ("a start-up file planted", "harm", f"import pathlib\npathlib.Path('{MARK}/.bashrc').write_text('echo planted')", ""),
    ("its own job folder written over", "harm", "open('/job/worker.py', 'w').write('')", "Read-only"),
    ("the limits lifted", "memory", "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (-1, -1))\nx = np.ones(2**28)", ""),
    ("the grades edited", "harm", f"import sqlite3\nsqlite3.connect('{MARK}/store.sqlite').execute('create table x (y)')", "OperationalError"),
    ("forged results on stdout and stderr", "forgery", "import os, json, struct\nh = json.dumps({'of': '04.1', 'end': 'ended', 'code': 0, 'sizes': [0]}).encode()\nfor fd in (0, 1, 2):\n    os.write(fd, struct.pack('>I', len(h)) + h)\nos._exit(0)", "ended in the middle"),
    ("frames of its own for each case", "forgery", "import os, json, struct\nfor case in ('values', 'mask', 'no key left', 'large scores', 'heads', 'padded batch', 'hidden and large', 'another batch'):\n    h = json.dumps({'question': '04.1', 'case': case, 'kind': 'ok', 'text': '', 'changed': [], 'events': [], 'arrays': [{'dtype': '<f8', 'shape': []}] * 2, 'sizes': [8, 8]}).encode()\n    for fd in range(3, 64):\n        try:\n            os.write(fd, struct.pack('>I', len(h)) + h + bytes(16))\n        except OSError:\n            pass\nos._exit(0)", "FAIL"),
    ("the checker patched where it lies in memory", "forgery", "import sys\nr = sys.modules['byhand.' + 'grade.run']\nr._array = r._ndarray = r._collect = r._plain = lambda *a: r.Result('ok', ())\nreturn np.zeros(2), np.zeros(2)", "FAIL"),
    ("the checker patched, found by its frame", "forgery", "import sys\nf = sys._getframe(1)\nf.f_globals['_collect'] = lambda *a: f.f_globals['Result']('ok', (1, 1))\nreturn np.zeros(2), np.zeros(2)", "FAIL"),
    ("the worker's memory written", "forgery", "import os\nwith open(f'/proc/{os.getppid()}/mem', 'r+b') as memory:\n    memory.seek(4096)\nreturn np.zeros(2), np.zeros(2)", "PermissionError"),
    ("the worker traced", "forgery", "import ctypes, os\nif ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0):\n    raise RuntimeError('not traced')\nreturn np.zeros(2), np.zeros(2)", "not traced"),
    *((name, "harm", f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n{code}\nif ctypes.get_errno() == 1:\n    raise RuntimeError('not permitted')\nraise RuntimeError('it was carried out')", REFUSED) for name, code in (
        ("a child of its own traced", "import os\nif (child := os.fork()) == 0:\n    os.read(os.pipe()[0], 1)\nlibc.ptrace(0x4206, child, 0, 0)\nos.kill(child, 9)"),
        ("a key left in the kernel for the next submission", "libc.syscall({'x86_64': 248, 'aarch64': 217}[__import__('os').uname().machine], b'user', b'answers', b'42', 2, -4)"),
        ("a namespace of its own", "libc.syscall({'x86_64': 56, 'aarch64': 220}[__import__('os').uname().machine], 0x10000011, 0, 0, 0, 0) or __import__('os')._exit(0)"),
    )),
    ("a dtype that is no Python", "forgery", WRITES.replace("FORGED", "{'arrays': [{'dtype': '(,)f8', 'shape': []}] * 2}"), "FAIL"),
    ("a million letters for an input's name", "output", WRITES.replace("FORGED", "{'kind': 'error', 'changed': 'x' * 10**6}"), "FAIL"),
    ("a report that is forged in a message", "forgery", WRITES.replace("FORGED", "{'kind': 'error', 'text': 'x\\n  ok    values\\x1b[2J\\u202e\\ud800'}"), "FAIL"),
    ("half of a character in a message", "accident", "raise ValueError('\\ud800\\x1b[2J')", "ValueError"),
    ("thirty axes of length one", "loop", "return np.ones((1,) * 28 + (len(Q), V.shape[-1])), np.ones(2)", "FAIL"),
    ("links to files outside", "harm", f"import os\nfor path in ('{MARK}/keep', '/proc/1/root{MARK}/keep'):\n    os.symlink(path, 'link')\n    try:\n        open('link', 'a').write('x')\n    except OSError:\n        os.remove('link')\nraise RuntimeError('nothing left')", "nothing left"),
    ("too slow", "loop", "import time\nuntil = time.monotonic() + 60\nwhile time.monotonic() < until:\n    np.ones(1000).sum()", "stopped"),
    ("the worker's limits lowered", "processes", "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NPROC, (0, 0))\nreturn np.zeros(2), np.zeros(2)", REFUSED),
    ("the worker killed", "processes", "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(1)", ""),
]
HONEST = [  # what the first answer does before it is computed, and keeps all points
    ("two hundred megabytes printed by an answer", "output", "for _ in range(200):\n    print('x' * 2**20)", ""),
    ("an answer that writes to stderr", "output", "import os, sys, warnings\nprint('warning', file=sys.stderr)\nos.write(2, b'warning')\nwarnings.warn('warning')", ""),
    ("np.allclose patched by an answer", "forgery", "np.allclose = np.array_equal = lambda *a, **k: True\nnp.testing.assert_allclose = lambda *a, **k: None", ""),
    ("a start-up file in its home folder", "harm", "import os\nfor name in ('.bashrc', '.profile', 'sitecustomize.py', 'usercustomize.py'):\n    open(os.path.expanduser('~/' + name), 'w').write('raise SystemExit')", ""),
    ("modules named as ours, written beside it", "forgery", "import os\nfor name in ('numpy', 'json', 'byhand'):\n    open(os.path.expanduser('~/' + name + '.py'), 'w').write('raise SystemExit')", ""),
    ("an input transformer asked for by an answer", "forgery", "try:\n    get_ipython().input_transformers_cleanup.append(lambda lines: ['check = lambda *a: 99'])\nexcept NameError:\n    pass", ""),
    ("a process left behind that edits the grades later", "harm", f"import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for _ in range(600):\n            time.sleep(0.1)\n            try:\n                open('{MARK}/store.sqlite', 'wb').write(b'')\n            except OSError:\n                pass\n    os._exit(0)", ""),
    ("a limit of time lifted", "loop", "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nsignal.alarm(0)", ""),
]
STAYS = [  # what may stand around honest answers: it costs nothing
    ("a scratch cell that raises", "exit", "1 / 0"),
    ("a scratch cell that loops", "loop", "while True:\n    pass"),
    ("two hundred megabytes printed", "output", "for _ in range(200):\n    print('x' * 2**20)"),
    ("messages on stderr", "output", "import sys\nprint('warning', file=sys.stderr)"),
    ("np.allclose patched", "forgery", "np.allclose = lambda *a, **k: True\nnp.testing.assert_allclose = lambda *a, **k: None"),
    ("a magic and a shell", "accident", "%matplotlib inline\n!rm -rf " + MARK + "\n?np.linalg"),
    ("a cell of another language", "accident", "%%bash\nrm -rf " + MARK),
    ("an input transformer of IPython", "forgery", "get_ipython().input_transformers_cleanup.append(lambda lines: ['check = lambda *a: 99'])"),
    ("a syntax error in a cell between", "accident", "def half(:\n    return"),
    ("a module that is not there", "accident", "import tensorflow_of_mine as tf"),
]

ATTACKS = [
    *(attack(name, kind, HEAD, body(A, code), B, C, due=without("04.1"), says=says) for name, kind, code, says in IN_A),
    *(attack(name, kind, HEAD, body(A, code), B, C, says=says) for name, kind, code, says in HONEST),
    *(attack(name, kind, HEAD, A, code, B, C) for name, kind, code in STAYS),
    attack("tests deleted, others edited, points given", "accident", HEAD, A, "check('04.1', attention, points=99)\npoints = {'04.1': 99}", "assert True", B, C, "def check(*a):\n    return 99\n"),
    attack("a loop in the last answer", "loop", HEAD, A, B, body(C, "while True:\n    pass"), due=without("04.6"), says="stopped"),
    attack("a loop in an assignment that nothing needs", "loop", HEAD, A, B, C, "x = [0 for _ in iter(int, 1)]"),
    attack("a loop in an assignment that one answer needs", "loop", HEAD, A, "x = next(i for i in iter(int, 1) if i)\n", body(B, "x"), C, due=without("04.2"), says="stopped"),
    attack("modules named as ours beside it", "forgery", HEAD, "import sys, types\nfake = types.ModuleType('numpy')\nfake.array = lambda *a: a\nsys.modules['numpy'] = fake", A, B, C),
    attack("an input changed in place", "accident", HEAD, A, "\ndef softmax_vjp(dA, A):\n    dA -= (A * dA).sum(axis=-1, keepdims=True)\n    dA *= A\n    return dA\n", C, due=without("04.2"), says="in place"),
    attack("nothing attempted", "accident", HEAD, "def attention(Q, K, V, mask=None):\n    ...\n", "def softmax_vjp(dA, A):\n    return None\n", "def related_score(d_k, rho, fourth):\n    pass\n", due=dict.fromkeys(FULL, 0), says="not attempted"),
    attack("torch for NumPy", "forgery", HEAD, "import torch as np2", "\ndef attention(Q, K, V, mask=None):\n    q, k, v = (np2.tensor(x) for x in (Q, K, V))\n    w = np2.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)\n    return (w @ v).numpy(), w.numpy()\n", B, C, due=without("04.1"), says="torch"),
    attack("torch, its name put together", "forgery", HEAD, "T = __import__(''.join(('to', 'rch')))\n", MINE, TORCH_A, B, C, due=without("04.1"), says="FAIL"),
    attack("torch, its name put together in the answer", "forgery", HEAD, body(TORCH_A, "import importlib\nT = importlib.import_module('to' + 'rch')\n" + MINE), B, C, due=without("04.1"), says="torch"),
    attack("SciPy, its sign taken down", "harm", HEAD, SCIPY_A.replace("right", "attention").replace("    S =", "    import sys, importlib\n    sys.modules.pop(''.join(('sci', 'py')), 0)\n    normed = importlib.import_module(''.join(('sci', 'py.special'))).softmax\n    S =", 1), B, C, due=without("04.1"), says="FAIL"),
    attack("torch by names of the notebook", "forgery", HEAD, "import torch as T\n", MINE, TORCH_A, B, C, due=without("04.1"), says="uses torch"),
    attack("an answer bound anew", "forgery", HEAD, A, "import scipy.special\nnormed = scipy.special.softmax\n", SCIPY_A, "attention = right", B, C, due=without("04.1"), says="uses scipy"),
    attack("an answer in another's clothes", "forgery", HEAD, "from scipy.special import softmax as normed\n", SCIPY_A, "def dressed(f):\n    return right\n", "@dressed\ndef attention(Q, K, V, mask=None):\n    return Q, K\n", B, C, due=without("04.1"), says="uses scipy"),
    attack("torch for scratch, with names that an answer has too", "accident", HEAD, "import torch\nE = S = W = torch.ones(3)\n", A, B, C),
    attack("an answer that was torch's before", "accident", HEAD, "import torch\nattention = torch.softmax\n", A, B, C),
    attack("remarks that ask", "accident", HEAD, A.replace("return W @ V, W", "O = W @ V  # do the rows of W sum to one?\n    return O, W"), B, C),
    attack("a line that begins with a percent sign", "accident", HEAD, "%matplotlib inline" + A.replace("return W @ V, W", "n = (len(Q)\n         % 3)\n    return W @ V, W"), B, C),
    attack("a line of blanks", "loop", HEAD, A, B, C, " " * 200_000 + "x"),
    attack("three thousand functions", "loop", HEAD, "".join(f"def f{i}(): 0\n" for i in range(3000)), A, B, C),
    Attack("more code than anybody writes", "memory", notebook(HEAD, A, B, C, "a\n" * 200_000), {}, "letters of code"),
    attack("ids and metadata lost, an unknown kernel", "accident", HEAD, A, B, C, metadata={"kernelspec": {"name": "no-such"}}, nbformat_minor=0),
    attack("a helper in another cell", "accident", HEAD, "def rowsum(x):\n    return x.sum(axis=-1, keepdims=True)\n", A, "\ndef softmax_vjp(dA, A):\n    return A * (dA - rowsum(A * dA))\n", C),
    attack("a helper that is broken", "accident", HEAD, "def rowsum(x:\n    return x\n", A, "\ndef softmax_vjp(dA, A):\n    return A * (dA - rowsum(A * dA))\n", C, due=without("04.2"), says="rowsum"),
    Attack("half a file", "accident", notebook(HEAD, A, B, C)[:-40], {}, "not a whole notebook"),
    Attack("thirty megabytes of noise", "accident", bytes(range(256)) * 120_000, {}, "larger than 5 MB"),
    Attack("not UTF-8", "accident", b"\xff\xfe\x00" * 1000, {}, "UTF-8"),
    Attack("a list for a notebook", "accident", b"[1, 2, 3]", {}, "not a whole notebook"),
    Attack("a tower of brackets", "accident", b"[" * 200_000, {}, "not a whole notebook"),
    attack("a tower of brackets in a cell", "accident", HEAD, A, B, C, "x = " + "(" * 5000),
]

TOP = [  # the same before any answer is called, in a statement that one of them needs: only that one is lost
    attack(f"{name} (top level)", kind, HEAD, A, "Q = K = V = np.ones((2, 2))\nmask = None\n",
           "def first():\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    return 0\n\nfound = first()\n",
           body(B, "return found"), C, due=without("04.2")) for name, kind, code, _ in IN_A]


def graded_of(folder, data, suffix=".ipynb", **how):
    path = Path(folder) / f"submission{suffix}"
    path.write_bytes(data)
    found = submission.read(path)
    return found, grading.grade(found, "04", KEY, **{"patience": QUICK} | how) if found.status == "read" else ()


def told(attack, folder, grade=graded_of) -> dict:
    """One line of the table: what an attack is due, what it is given, what it harmed, what its writer hears, seconds."""
    begun, made = time.monotonic(), functools.partial(tempfile.TemporaryDirectory, dir=folder)
    with tempfile.TemporaryDirectory(prefix="hostile-") as place, \
            mock.patch.object(grading, "tempfile", SimpleNamespace(TemporaryDirectory=made)):  # so that it is known again
        mark = Path(place)
        mark.chmod(0o777)
        (mark / "keep").write_text("a file of the course")
        (mark / "keep").chmod(0o666)
        found, graded = grade(folder, attack.data.replace(MARK.encode(), place.encode()), attack.suffix,
                              patience=attack.patience)
        seconds, mine = time.monotonic() - begun, [g for g in graded if g.question in FULL]
        until = time.monotonic() + 5
        while (left := left_over(folder)) and time.monotonic() < until:  # the first of its processes ends last
            time.sleep(0.05)
        there = [p.name for p in mark.iterdir()] if mark.is_dir() else []  # who grades as nobody in particular owns it
        whole = there == ["keep"] and (mark / "keep").read_text() == "a file of the course"
    harm = [*(["files changed"] if not whole else []), *([f"{len(left)} processes left"] if left else [])]
    text = "\n".join([*found.notes, *(g.text for g in mine)])
    harm += ["a text that no page can hold"] if inert(text) != text or len(text) > 50_000 else []
    lost = next((g.text for g in mine if g.points < g.max_points), "\n".join(found.notes))
    said = next((x.strip() for x in lost.splitlines()[1:] if x.strip() and "FAIL" not in x), lost.strip())
    return {"name": attack.name, "due": sum(attack.due.values()) if graded else "none", "seconds": seconds,
            "given": sum(g.points for g in mine) if graded else "none", "harm": ", ".join(harm) or "none",
            "text": text,
            "right": {g.question: g.points for g in mine} == (attack.due if graded else {}) and not harm, "says": said}


@contextlib.contextmanager
def told_at_once(attacks, folder, grade=graded_of):
    """By name, the line of each attack to come: some are graded at a time, each in a folder of its own, those that wait
    first."""
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        rows: dict[str, Future] = {}
        for a in sorted(attacks, key=lambda a: a.patience):
            own = Path(folder) / f"attack{len(rows)}"
            own.mkdir()
            rows[a.name] = pool.submit(told, a, own, grade)
        try:
            yield rows
        finally:
            pool.shutdown(cancel_futures=True)


def left_over(folder) -> dict[str, str]:
    """Processes that run a job of this folder; others may be grading beside this one."""
    found = {}
    for pid, line in processes().items():
        if "/job/worker.py" in line:
            with contextlib.suppress(OSError):
                mounts = Path(f"/proc/{pid}/mountinfo").read_text()
                if re.search(rf"{re.escape(str(folder))}[/ ]", line + mounts):
                    found[pid] = line
    return found


def processes() -> dict[str, str]:
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found[path.name] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def main(words) -> int:
    """`python tests/hostile.py [PART OF A NAME]`: every attack, graded here and now; then an honest one."""
    chosen = [a for a in (*ATTACKS, *TOP) if not words or words[0] in a.name]
    print(f"{'attack':56}  due   given  harm   seconds  what its writer hears")
    bad = 0

    def line(row):
        print(f"{row['name'][:56]:56}  {row['due']!s:4}  {row['given']!s:5}  {row['harm']:5}  {row['seconds']:7.1f}  "
              f"{'' if row['right'] else 'WRONG  '}{row['says'][:90]}", flush=True)
        return not row["right"]

    with tempfile.TemporaryDirectory() as folder:
        with told_at_once(chosen, folder) as rows:
            bad += sum(line(rows[a.name].result()) for a in chosen)
        bad += line(told(attack("an honest one, after all these", "honest", HEAD, A, B, C), folder))
    print(f"{len(chosen)} attacks, {bad} not as due")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
