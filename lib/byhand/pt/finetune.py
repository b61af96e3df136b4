"""Chapter 14: fine-tuning in PyTorch: a classifier over an encoder, free or frozen, and LoRA around any module."""

import copy
import math
from contextlib import nullcontext
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from byhand import tree
from byhand.check import AtLeast, Size, checked
from byhand.config import ModelConfig
from byhand.np.finetune import adaptable, join_tree, split_tree  # trees are trees
from byhand.pt.block import dropout
from byhand.pt.linear import Linear
from byhand.pt.model import Encoder, encoder
from byhand.pt.pretrain import classify, pool

__all__ = ["Classifier", "Lora", "classifier", "join_tree", "lora", "lora_merge", "merged", "split_tree"]


@checked
def classifier(
    params: dict,
    ids: Int[Tensor, "*B n"],
    config: ModelConfig,
    mask: Bool[Tensor, "..."] | None = None,
    segments: Int[Tensor, "*B n"] | None = None,
    frozen: bool = False,
    training: bool = False,
) -> Float[Tensor, "*B C"]:
    """Logits: encoder, pool, linear map. params {encoder, pool, head: {W, b}}. Frozen, the encoder stores nothing."""
    with torch.no_grad() if frozen else nullcontext():
        H = encoder(ids, params["encoder"], config, mask, segments, training)
    return classify(pool(H, params["pool"]), params["head"], config.p, training)


@checked
def lora(
    X: Float[Tensor, "*N d_in"],
    A: Float[Tensor, "d_in r"],
    B: Float[Tensor, "r d_out"],
    W: Float[Tensor, "d_in d_out"],
    alpha: float = 16.0,
) -> Float[Tensor, "*N d_out"]:
    """Y = X W + (α/r) X A B (Hu et al. 2021): W is frozen, A and B are trained."""
    return X @ W.detach() + alpha / A.shape[-1] * (X @ A @ B)


@checked
def lora_merge(
    W: Float[Tensor, "d_in d_out"], A: Float[Tensor, "d_in r"], B: Float[Tensor, "r d_out"], alpha: float = 16.0
) -> Float[Tensor, "d_in d_out"]:
    """W + (α/r) A B: one matrix, as fast as W was. With −alpha it is taken off again."""
    return W + alpha / A.shape[-1] * (A @ B)


@checked
def merged(params: dict, lora: dict, alpha: float = 16.0) -> dict:
    """The tree with every adapter of `lora` merged into its matrix; the other leaves are those of `params`."""
    flat, pairs = tree.flatten(params), tree.flatten(lora)
    for path in dict.fromkeys(name.rpartition(".")[0] for name in pairs):
        if path not in flat:
            raise ValueError(f"merged: lora adapts {path}, expected one of {', '.join(flat)}")
        flat[path] = lora_merge(flat[path], pairs[f"{path}.A"], pairs[f"{path}.B"], alpha)
    return tree.unflatten(flat)


class Classifier(nn.Module):
    """Encoder, pool and head, in the tree of the NumPy half. Frozen, the encoder has no gradient and stays as it is."""

    @checked
    def __init__(self, config: ModelConfig, classes: Annotated[int, AtLeast(2)], frozen: bool = False):
        super().__init__()
        self.config, self.frozen = config, frozen
        self.encoder = Encoder(config).requires_grad_(not frozen)
        self.pool, self.head = Linear(config.d, config.d), Linear(config.d, classes)

    def forward(
        self,
        ids: Int[Tensor, "*B n"],
        mask: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "*B n"] | None = None,
    ) -> Float[Tensor, "*B C"]:
        with torch.no_grad() if self.frozen else nullcontext():
            H = self.encoder(ids, mask, segments)
        P = self.pool(H[..., 0, :]).tanh()
        return self.head(dropout(P, self.config.p, self.training))


class Lora(nn.Module):
    """Any module, frozen but for what `free` names, with adapters {A, B} for the matrices that `patterns` name.

    `trained` and `total` count parameters; `merge()` gives a plain module that computes the same.
    """

    @checked
    def __init__(
        self,
        net: nn.Module,
        patterns: tuple[str, ...] = ("W_q", "W_v"),
        r: Size = 8,
        alpha: float = 16.0,
        free: tuple[str, ...] = (),
        rng: torch.Generator | None = None,
    ):
        super().__init__()
        self.net, self.alpha, params = net, alpha, tree.unflatten(dict(net.named_parameters()))
        trainable = tree.flatten(split_tree(params, free)[0]) if free else {}
        for name, x in net.named_parameters():
            x.requires_grad_(name in trainable)
        self.adapters = nn.ModuleDict()
        for path, W in tree.flatten(split_tree(params, patterns)[0]).items():
            adaptable("Lora", path, W, r)
            *parents, name = path.split(".")
            node = self.adapters
            for parent in parents:
                if parent not in node:
                    node[parent] = nn.ModuleDict()
                node = node[parent]
            A = torch.randn(W.shape[0], r, generator=rng) / math.sqrt(W.shape[0])  # same draws on any device
            node[name] = nn.ParameterDict({"A": A.to(W), "B": W.new_zeros(r, W.shape[1])})

    def _weights(self):
        pairs = tree.unflatten(dict(self.adapters.named_parameters()))
        return tree.flatten(merged(tree.unflatten(dict(self.net.named_parameters())), pairs, self.alpha))

    def forward(self, *args, **kwargs):
        """The module with its adapters merged for this call; their gradients go through W + (α/r) A B."""
        return torch.func.functional_call(self.net, self._weights(), args, kwargs)

    @torch.no_grad()
    def merge(self) -> nn.Module:
        """A copy of the module with the adapters in its matrices; this one stays as it is."""
        plain = copy.deepcopy(self.net).requires_grad_()
        plain.load_state_dict(self._weights(), strict=False)
        return plain

    @property
    def trained(self) -> int:
        """How many parameters get a gradient."""
        return sum(x.numel() for x in self.parameters() if x.requires_grad)

    @property
    def total(self) -> int:
        """How many there are, adapters included."""
        return sum(x.numel() for x in self.parameters())
