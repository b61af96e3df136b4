"""Chapter 3: positions in PyTorch: the same tables, and modules for those that are learned."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand.check import Base, Offset, Size, checked, less_than, multiple_of, same_shape
from byhand.pt.linear import add, gather


@checked
def frequencies(d: Size, base: Base = 10000.0, device=None) -> Float[Tensor, " {d}//2"]:
    """ω_i = base^(−2i/d) for i = 0 … d/2 − 1: from one radian a position to almost none."""
    multiple_of("frequencies", 2, d=d)
    return base ** (-2 * torch.arange(d // 2, dtype=torch.float64, device=device) / d)  # (3.13)


@checked
def sinusoidal(n: Size, d: Size, base: Base = 10000.0, offset: Offset = 0, device=None) -> Float[Tensor, "n d"]:
    """PE[p, 2i] = sin(p ω_i), PE[p, 2i + 1] = cos(p ω_i), p from `offset` on (Vaswani et al. 2017, section 3.5)."""
    return sinusoidal_at(torch.arange(offset, offset + n, device=device), d, base)


@checked
def sinusoidal_at(positions: Int[Tensor, "*P"], d: Size, base: Base = 10000.0) -> Float[Tensor, "*P d"]:
    """The row of `sinusoidal` for each position, in any order."""
    angle = positions[..., None].double() * frequencies(d, base, positions.device)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # (3.14)


@checked
def shift_matrix(delta: float | int, d: Size, base: Base = 10000.0, device=None) -> Float[Tensor, "d d"]:
    """M with PE(p + δ) = PE(p) M for every p: one 2 × 2 rotation a frequency, so moving is linear."""
    angle = delta * frequencies(d, base, device)
    cos, sin = angle.cos(), angle.sin()
    blocks = torch.stack([cos, -sin, sin, cos], dim=-1).reshape(-1, 2, 2)  # (3.16)
    return torch.block_diag(*blocks)


@checked
def add_positions(X: Float[Tensor, "*B n d"], P: Float[Tensor, "n d"]) -> Float[Tensor, "*B n d"]:
    """X + P: content and position share the d features."""
    return add(X, P)  # (3.7)


@checked
def concat_positions(X: Float[Tensor, "*B n d"], P: Float[Tensor, "n k"]) -> Float[Tensor, "*B n d+k"]:
    """[X, P]: content and position in features of their own, k of them spent on position."""
    return torch.cat([X, P.expand(*X.shape[:-1], -1)], dim=-1)  # (3.9)


@checked
def learned_positions(table: Float[Tensor, "N d"], n: Size, offset: Offset = 0) -> Float[Tensor, "n d"]:
    """Rows offset … offset + n − 1 of a table that is trained like any other; beyond its end there is nothing."""
    less_than("learned_positions", len(table), "rows of table", last_position=offset + n - 1)
    return table[offset : offset + n]  # (3.21)


@checked
def relative_bias(
    table: Float[Tensor, "H r"],
    n: Size,
    m: Size | None = None,
    offset: Offset = 0,
    positions: Int[Tensor, "*P n"] | None = None,
) -> Float[Tensor, "*P H n m"]:
    """bias[h, i, j] = table[h, ρ + clip(j − i − offset, −ρ, ρ)], to be added to the scores.

    One number a head and a distance (Shaw et al. 2018 in the form of Raffel et al. 2020, without their buckets);
    r = 2ρ + 1. Query i stands at position i + offset; m defaults to n + offset. Where tokens do not stand at 0, 1, …,
    `positions` says where, and m is n.
    """
    H, r = table.shape
    rho = r // 2
    same_shape("relative_bias", (H, 2 * rho + 1), table=table.shape)
    away = _distance("relative_bias", n, m, offset, positions, table.device).clamp(-rho, rho)
    return gather(table.mT, away + rho).movedim(-1, -3)  # (3.23)


@checked
def alibi_slopes(H: Size, device=None) -> Float[Tensor, " H"]:
    """2^(−8h/H) for h = 1 … H. If H is no power of two: those of the one below it, then every other of the next."""
    whole = 1 << (H.bit_length() - 1)
    h = torch.cat([torch.arange(2, 2 * whole + 1, 2), 1 + 2 * torch.arange(H - whole)])  # in halves of a step
    return torch.exp2(-4 * h.to(device=device, dtype=torch.float64) / whole)


@checked
def alibi_bias(
    H: Size,
    n: Size,
    m: Size | None = None,
    offset: Offset = 0,
    positions: Int[Tensor, "*P n"] | None = None,
    device=None,
) -> Float[Tensor, "*P H n m"]:
    """bias[h, i, j] = −slope_h |j − i − offset|: distance costs, and nothing is learned (Press et al. 2022).

    Where tokens do not stand at 0, 1, …, `positions` says where, and m is n.
    """
    distance = _distance("alibi_bias", n, m, offset, positions, device)
    return -alibi_slopes(H, distance.device)[:, None, None] * distance.abs()[..., None, :, :]  # (3.25)


@checked
def rope(
    X: Float[Tensor, "*B n d"],
    positions: Int[Tensor, "*#B n"] | None = None,
    offset: Offset = 0,
    rope_theta: Base = 10000.0,
    interleaved: bool = True,
) -> Float[Tensor, "*B n d"]:
    """Each pair of features of token p turned by p ω_i (Su et al. 2021): for queries and keys, before q · k.

    Pairs are neighbours (2i, 2i + 1), or (i, i + d/2) if not interleaved. Positions are 0 … n − 1, or given, of shape
    (n,) or one that repeats to (*B, n), each plus `offset`.
    """
    positions = torch.arange(X.shape[-2], device=X.device) if positions is None else positions
    places = positions.long() + offset  # int32 could run over
    angle = places[..., None] * frequencies(X.shape[-1], rope_theta, X.device)
    cos, sin = angle.cos().to(X.dtype), angle.sin().to(X.dtype)  # a float32 angle is wrong far out
    a, b = X.unflatten(-1, (-1, 2)).unbind(-1) if interleaved else X.chunk(2, dim=-1)
    turned = a * cos - b * sin, a * sin + b * cos  # (3.29)
    return torch.stack(turned, dim=-1).flatten(-2) if interleaved else torch.cat(turned, dim=-1)


@checked
def interleave_permutation(d: Size, device=None) -> Int[Tensor, " d"]:
    """π with rope(X, interleaved)[..., π] = rope(X[..., π], not interleaved): even features first, then odd ones."""
    multiple_of("interleave_permutation", 2, d=d)
    return torch.arange(d, device=device).reshape(-1, 2).mT.reshape(-1)  # (3.32)


class LearnedPositions(nn.Module):
    """A trained row for each of n positions; state_dict holds `table`."""

    @checked
    def __init__(self, n: Size, d: Size):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(n, d))

    def forward(
        self, n: Size, offset: Offset = 0, positions: Int[Tensor, "*P n"] | None = None
    ) -> Float[Tensor, "*P n d"]:
        """Rows offset … offset + n − 1; where tokens do not stand at 0, 1, …, those of `positions`."""
        return learned_positions(self.table, n, offset) if positions is None else gather(self.table, positions)


class RelativeBias(nn.Module):
    """A trained number for each head and distance up to `max_distance`; state_dict holds `table`."""

    @checked
    def __init__(self, H: Size, max_distance: Size):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(H, 2 * max_distance + 1))

    def forward(
        self, n: Size, m: Size | None = None, offset: Offset = 0, positions: Int[Tensor, "*P n"] | None = None
    ) -> Float[Tensor, "*P H n m"]:
        return relative_bias(self.table, n, m, offset, positions)


def _distance(where, n, m, offset, positions, device):
    """How far key j stands behind query i, (*P, n, m): j − i − offset, or that of their positions."""
    if positions is None:
        keys = torch.arange(n + offset if m is None else m, device=device)
        return keys - torch.arange(offset, offset + n, device=device)[:, None]
    if m not in (None, n):
        raise ValueError(f"{where}: m is {m}, expected {n}, as many keys as there are positions")
    return positions.long()[..., None, :] - positions[..., None] - offset
