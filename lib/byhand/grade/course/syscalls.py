"""A filter of system calls, the sandbox's second wall: what no answer needs is refused before the kernel looks at it.

libseccomp, where the machine has it, makes the program, and bubblewrap loads it. The first wall holds without it.
"""

import ctypes
import errno
import functools
import os

REFUSED = (  # by name; what this libseccomp does not know, it leaves out
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",  # into other processes
    "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
    "open_tree", "mount_setattr", "open_by_handle_at", "fanotify_init",  # to other files
    "unshare", "setns",  # into other namespaces
    "memfd_create", "memfd_secret", "shmget", "msgget",  # memory that is no process's, and counts for none
    "add_key", "request_key", "keyctl",  # keys stay in the kernel, for the next submission to read
    "bpf", "userfaultfd", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "syslog",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module")  # into the kernel
ALWAYS = {"x86_64": {"ptrace": 101, "keyctl": 250}, "aarch64": {"ptrace": 117, "keyctl": 219}}  # to try without it
NEW = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)  # clone's flags for namespaces
ALLOW, REFUSE, ATTRIBUTE_OPTIMIZE, TREE = 0x7FFF0000, 0x00050000, 8, 2  # of seccomp.h
NOT_EQUAL, MASKED_EQUAL = 1, 7  # how two numbers are compared


class _Compared(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int), ("mask", ctypes.c_uint64),
                ("value", ctypes.c_uint64)]


@functools.cache
def _library():
    """libseccomp, or None where it or the kernel's part of it is missing."""
    if not os.path.exists("/proc/sys/kernel/seccomp/actions_avail"):
        return None
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    for call, *kinds in (("init", ctypes.c_uint32), ("release", ctypes.c_void_p), ("export_bpf", ctypes.c_void_p,
                         ctypes.c_int), ("syscall_resolve_name", ctypes.c_char_p),
                         ("attr_set", ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32),
                         ("rule_add_array", ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint,
                          ctypes.POINTER(_Compared))):
        getattr(library, f"seccomp_{call}").argtypes = kinds
    return library


@functools.cache
def numbers() -> dict[str, int]:
    """The refused calls that this machine has; none where there is no filter."""
    if not (library := _library()):
        return {}
    found = {name: library.seccomp_syscall_resolve_name(name.encode()) for name in REFUSED}
    return {name: number for name, number in found.items() if number >= 0}


@functools.cache
def program() -> bytes:
    """The filter, as the kernel reads it; b"" where none can be made. Calls of another architecture kill their
    process, clone3 is not there, because its flags cannot be seen, clone makes no namespace, and a process changes no
    limits but its own."""
    if not (library := _library()):
        return b""
    known = {name: library.seccomp_syscall_resolve_name(name) for name in (b"clone", b"clone3", b"prlimit64")}
    rules = [(errno.EPERM, number, None) for number in numbers().values()]
    rules += [(errno.EPERM, known[b"clone"], _Compared(0, MASKED_EQUAL, flag, flag)) for flag in NEW]
    rules += [(errno.ENOSYS, known[b"clone3"], None), (errno.EPERM, known[b"prlimit64"], _Compared(0, NOT_EQUAL, 0))]
    context = library.seccomp_init(ALLOW)
    try:
        library.seccomp_attr_set(context, ATTRIBUTE_OPTIMIZE, TREE)  # libseccomp older than 2.5 refuses that
        for error, number, when in rules:
            if library.seccomp_rule_add_array(context, REFUSE | error, number, when is not None,
                                              ctypes.byref(when) if when else None):
                return b""
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _exported(library, context) -> bytes:
    with as_file(b"") as file:
        return b"" if library.seccomp_export_bpf(context, file.fileno()) else os.pread(file.fileno(), 1 << 16, 0)


def as_file(data: bytes):
    """A file without a name that holds these bytes, to be read from its beginning."""
    file = os.fdopen(os.memfd_create("filter"), "w+b", buffering=0)
    file.write(data)
    file.seek(0)
    return file
