"""Chapter 3: positions in PyTorch: the same tables, and modules for those that are learned."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand import guard
from byhand.pt.linear import add, gather


def frequencies(d: int, base: float = 10000.0, device=None) -> Float[Tensor, " {d}//2"]:
    """ω_i = base^(−2i/d) for i = 0 … d/2 − 1: from one radian a position to almost none."""
    guard.multiple("frequencies", 2, d=d)
    guard.number("frequencies", low=0, base=base)
    return base ** (-2 * torch.arange(d // 2, dtype=torch.float64, device=device) / d)  # (3.13)


def sinusoidal(n: int, d: int, base: float = 10000.0, offset: int = 0, device=None) -> Float[Tensor, "n d"]:
    """PE[p, 2i] = sin(p ω_i), PE[p, 2i + 1] = cos(p ω_i), p from `offset` on (Vaswani et al. 2017, section 3.5)."""
    guard.count("sinusoidal", n=n)
    guard.count("sinusoidal", low=0, offset=offset)
    return sinusoidal_at(torch.arange(offset, offset + n, device=device), d, base)


def sinusoidal_at(positions: Int[Tensor, "*P"], d: int, base: float = 10000.0) -> Float[Tensor, "*P d"]:
    """The row of `sinusoidal` for each position, in any order."""
    guard.indices("sinusoidal_at", "positions", positions, guard.FAR, half="tensor")
    angle = positions[..., None].double() * frequencies(d, base, positions.device)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # (3.14)


def shift_matrix(delta: float | int, d: int, base: float = 10000.0, device=None) -> Float[Tensor, "d d"]:
    """M with PE(p + δ) = PE(p) M for every p: one 2 × 2 rotation a frequency, so moving is linear."""
    guard.number("shift_matrix", delta=delta)
    angle = delta * frequencies(d, base, device)
    cos, sin = angle.cos(), angle.sin()
    blocks = torch.stack([cos, -sin, sin, cos], dim=-1).reshape(-1, 2, 2)  # (3.16)
    return torch.block_diag(*blocks)


def add_positions(X: Float[Tensor, "*B n d"], P: Float[Tensor, "n d"]) -> Float[Tensor, "*B n d"]:
    """X + P: content and position share the d features."""
    guard.tensors("add_positions", 2, X=X, P=P)
    guard.shape("add_positions", "P", P.shape, X.shape[-2:])
    return add(X, P)  # (3.7)


def concat_positions(X: Float[Tensor, "*B n d"], P: Float[Tensor, "n k"]) -> Float[Tensor, "*B n d+k"]:
    """[X, P]: content and position in features of their own, k of them spent on position."""
    guard.tensors("concat_positions", 2, X=X, P=P)
    guard.shape("concat_positions", "P", P.shape, (X.shape[-2], P.shape[-1]))
    return torch.cat([X, P.expand(*X.shape[:-1], -1)], dim=-1)  # (3.9)


def learned_positions(table: Float[Tensor, "N d"], n: int, offset: int = 0) -> Float[Tensor, "n d"]:
    """Rows offset … offset + n − 1 of a table that is trained like any other; beyond its end there is nothing."""
    guard.tensors("learned_positions", 2, table=table)
    guard.shape("learned_positions", "table", table.shape, table.shape[-2:])
    guard.window("learned_positions", table.shape[0], n, offset)
    return table[offset : offset + n]  # (3.21)


def relative_bias(
    table: Float[Tensor, "H r"], n: int, m: int | None = None, offset: int = 0
) -> Float[Tensor, "H n m"]:
    """bias[h, i, j] = table[h, ρ + clip(j − i − offset, −ρ, ρ)], to be added to the scores.

    One number a head and a distance (Shaw et al. 2018 in the form of Raffel et al. 2020, without their buckets);
    r = 2ρ + 1. Query i stands at position i + offset; m defaults to n + offset.
    """
    guard.tensors("relative_bias", 2, table=table)
    rho = table.shape[-1] // 2
    guard.shape("relative_bias", "table", table.shape, (table.shape[0], 2 * rho + 1))
    away = _distance("relative_bias", n, m, offset, table.device).clamp(-rho, rho)
    return gather(table.mT, away + rho).movedim(-1, 0)  # (3.23)


def alibi_slopes(H: int, device=None) -> Float[Tensor, " H"]:
    """2^(−8h/H) for h = 1 … H. If H is no power of two: those of the one below it, then every other of the next."""
    guard.count("alibi_slopes", H=H)
    whole = 1 << (int(H).bit_length() - 1)
    h = torch.cat([torch.arange(2, 2 * whole + 1, 2), 1 + 2 * torch.arange(H - whole)])  # in halves of a step
    return torch.exp2(-4 * h.to(device=device, dtype=torch.float64) / whole)


def alibi_bias(H: int, n: int, m: int | None = None, offset: int = 0, device=None) -> Float[Tensor, "H n m"]:
    """bias[h, i, j] = −slope_h |j − i − offset|: distance costs, and nothing is learned (Press et al. 2022)."""
    return -alibi_slopes(H, device)[:, None, None] * _distance("alibi_bias", n, m, offset, device).abs()


def rope(
    X: Float[Tensor, "*B n d"],
    positions: Int[Tensor, "..."] | None = None,
    offset: int = 0,
    rope_theta: float = 10000.0,
    interleaved: bool = True,
) -> Float[Tensor, "*B n d"]:
    """Each pair of features of token p turned by p ω_i (Su et al. 2021): for queries and keys, before q · k.

    Pairs are neighbours (2i, 2i + 1), or (i, i + d/2) if not interleaved. Positions are offset … offset + n − 1, or
    given, of shape (n,) or one that repeats to (*B, n).
    """
    guard.tensors("rope", 2, X=X)
    guard.flag("rope", interleaved=interleaved)
    omega = frequencies(X.shape[-1], rope_theta, X.device)
    if positions is None:
        guard.count("rope", low=0, offset=offset)
        positions = torch.arange(offset, offset + X.shape[-2], device=X.device)
    guard.indices("rope", "positions", positions, guard.FAR, half="tensor")
    guard.repeats("rope", "shape of positions", positions.shape, X.shape[:-1])
    angle = positions[..., None] * omega  # in float64: a float32 angle is wrong from a few thousand positions on
    cos, sin = angle.cos().to(X.dtype), angle.sin().to(X.dtype)
    a, b = X.unflatten(-1, (-1, 2)).unbind(-1) if interleaved else X.chunk(2, dim=-1)
    turned = a * cos - b * sin, a * sin + b * cos  # (3.29)
    return torch.stack(turned, dim=-1).flatten(-2) if interleaved else torch.cat(turned, dim=-1)


def interleave_permutation(d: int, device=None) -> Int[Tensor, " d"]:
    """π with rope(X, interleaved)[..., π] = rope(X[..., π], not interleaved): even features first, then odd ones."""
    guard.multiple("interleave_permutation", 2, d=d)
    return torch.arange(d, device=device).reshape(-1, 2).mT.reshape(-1)  # (3.32)


class LearnedPositions(nn.Module):
    """A trained row for each of n positions; state_dict holds `table`."""

    def __init__(self, n: int, d: int):
        super().__init__()
        guard.count("LearnedPositions", n=n, d=d)
        self.table = nn.Parameter(0.02 * torch.randn(n, d))

    def forward(self, n: int, offset: int = 0) -> Float[Tensor, "n d"]:
        return learned_positions(self.table, n, offset)


class RelativeBias(nn.Module):
    """A trained number for each head and distance up to `max_distance`; state_dict holds `table`."""

    def __init__(self, H: int, max_distance: int):
        super().__init__()
        guard.count("RelativeBias", H=H, max_distance=max_distance)
        self.table = nn.Parameter(torch.zeros(H, 2 * max_distance + 1))

    def forward(self, n: int, m: int | None = None, offset: int = 0) -> Float[Tensor, "H n m"]:
        return relative_bias(self.table, n, m, offset)


def _distance(where, n, m, offset, device):
    """j − (i + offset): how far key j stands behind query i, (n, m)."""
    guard.count(where, n=n)
    guard.count(where, low=0, offset=offset)
    m = n + offset if m is None else m
    guard.count(where, m=m)
    return torch.arange(m, device=device) - torch.arange(offset, offset + n, device=device)[:, None]
