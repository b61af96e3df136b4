"""Runs: many processes: parameters whole in each (DistributedDataParallel), or each with its share (FSDP2)."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

PARALLEL = (DistributedDataParallel, FSDPModule)


def many() -> bool:
    """Whether this process trains together with others, as torchrun starts them."""
    return dist.is_available() and dist.is_initialized()


def meet(backend: str) -> None:
    """The processes that torchrun started find each other, after a restart too.

    The table in which each writes its address is torchrun's, outlives a restart, and has the addresses of the dead: who
    reads one of them is refused. So the living write under another name. On several machines each torchrun counts its
    own restarts; there TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 gives each start a table of its own.
    """
    start, machines = (os.environ.get(name) for name in ("TORCHELASTIC_RESTART_COUNT", "GROUP_WORLD_SIZE"))
    if start in (None, "0") or machines != "1":
        dist.init_process_group(backend)
    else:
        store, rank, world = next(dist.rendezvous("env://"))
        dist.init_process_group(
            backend, store=dist.PrefixStore(f"start {start}", store), rank=rank, world_size=world)


def cut(module, place, parallel, compile):
    """FSDP2: each block by itself, so that one at a time is whole, and what is left as one more."""
    if compile or not parallel:
        raise ValueError("train: shard is True" + (
            " and compile too, expected one of them" if compile else " in one process, expected it under torchrun"))
    mesh = dist.device_mesh.init_device_mesh(place.type, (dist.get_world_size(),))
    for layers in [m for m in module.modules() if isinstance(m, nn.ModuleList)]:
        for layer in layers:
            fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)


@contextmanager
def apart(module):
    """Gradients stay in their processes."""
    if isinstance(module, DistributedDataParallel):
        with module.no_sync():
            yield
    else:
        module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            module.set_requires_gradient_sync(True)


@contextmanager
def cut_after(module):
    """A forward that no backward follows, then each process with its share again.

    FSDP2 leaves the root's parameters whole after a forward, since a backward would need them next. Until it has cut
    them, the module has other parameters than its optimiser, and what is saved would lack their moments.
    """
    try:
        yield
    finally:
        for part in [m for m in module.modules() if isinstance(m, FSDPModule)]:
            part.reshard()


def of_the_first(step: int | None, place: torch.device) -> int | None:
    """What the first of the processes has, if there are many.

    It reads when its own saves have ended, while another may not see the last of them yet, or sees one that is about to
    be removed; and who goes on from another step than the rest would wait for them for ever.
    """
    if not many():
        return step
    dist.broadcast(box := torch.tensor(-1 if step is None else step, device=place), 0)
    return None if box.item() < 0 else int(box.item())


def whole(x):
    """A tensor that is cut over processes, brought together."""
    return x.full_tensor() if hasattr(x, "full_tensor") else x


def share(x):
    """This process's share of it."""
    return x.to_local() if hasattr(x, "to_local") else x


def laid_out_as(p: Tensor, x: Tensor) -> Tensor:
    """The whole tensor x as p lies: as it is, or the shares of it where p is cut over processes."""
    return distribute_tensor(x.to(p.device), p.device_mesh, p.placements) if isinstance(p, DTensor) else x
