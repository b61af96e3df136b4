"""Chapter 14: pre-training in PyTorch: hidden words and sentence pairs, the heads, the joint loss."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand.check import Index, NonNegative, Params, Share, Size, checked, needs
from byhand.config import ModelConfig
from byhand.np.pretrain import (
    CLASSIFY,
    HIDE,
    IGNORE,
    MLM,
    POOL,
    REPLACE,
    Rate,
    barred_ids,
    sentence_pairs,
)
from byhand.pt.block import activation, dropout
from byhand.pt.embedding import unembed
from byhand.pt.linear import Linear, linear
from byhand.pt.loss import cross_entropy
from byhand.pt.model import Encoder, encoder
from byhand.pt.norm import LayerNorm, layer_norm

__all__ = ["IGNORE", "MlmHead", "Pretraining", "classify", "mask_tokens", "mlm_head", "pool", "pretrain",
           "sentence_pairs"]


@checked
def mask_tokens(
    rng: torch.Generator,
    ids: Int[Tensor, "*B n"],
    mask_id: Index,
    vocab: Size,
    rate: Rate = 0.15,
    special: tuple[Index, ...] = (),
) -> tuple[Int[Tensor, "*B n"], Int[Tensor, "*B n"]]:
    """Inputs and targets of the masked-word task, as in the NumPy half; rng is on the device of ids."""
    barred = barred_ids(mask_id, special, vocab)

    def uniform():
        return torch.rand(ids.shape, generator=rng, device=ids.device)

    free = ~torch.isin(ids, torch.tensor(barred).to(ids))
    quota = (rate * free.sum(dim=-1, keepdim=True) + 0.5).floor().clamp(min=1)
    order = uniform().where(free, 2)  # at random, special ones last
    chosen = free & (order.argsort(dim=-1).argsort(dim=-1) < quota)
    fate = uniform()
    random = torch.randint(vocab - len(barred), ids.shape, generator=rng, device=ids.device)
    for i in barred:
        random += random >= i  # the ordinary words are numbered past the others
    changed = torch.where(fate < HIDE, mask_id, torch.where(fate < HIDE + REPLACE, random, ids))
    return torch.where(chosen, changed, ids), torch.where(chosen, ids, IGNORE)


@checked
def mlm_head(
    H: Float[Tensor, "*B d"], params: Params(Tensor, MLM), E: Float[Tensor, "V d"], eps: NonNegative = 1e-5
) -> Float[Tensor, "*B V"]:
    """Logits LN(gelu(H W + b)) Eᵀ + bias, with the embedding E again."""
    G = activation(linear(H, params["W"], params["b"]))
    return unembed(layer_norm(G, params["norm"]["gamma"], params["norm"]["beta"], eps), E) + params["bias"]


@checked
def pool(H: Float[Tensor, "*B n d"], params: Params(Tensor, POOL)) -> Float[Tensor, "*B d"]:
    """tanh(h₀ W + b): the sequence as its first token, [CLS], holds it."""
    return linear(H[..., 0, :], params["W"], params["b"]).tanh()


@checked
def classify(
    P: Float[Tensor, "*B d"], params: Params(Tensor, CLASSIFY), p: Share = 0.0, training: bool = False
) -> Float[Tensor, "*B C"]:
    """Logits of C classes: dropout, then a linear map."""
    return linear(dropout(P, p, training), params["W"], params["b"])


@checked
def pretrain(params: dict, batch: dict, config: ModelConfig, training: bool = False) -> Float[Tensor, ""]:
    """L = mean over the chosen words + mean over the pairs, of −log p. params {encoder, mlm}; with {pool, nsp} pairs.

    Picking out the chosen tokens waits for the device once, and saves 85 % of the logits.
    """
    needs("pretrain", "batch", batch, "ids", "mask", "targets")
    segments = batch["segments"] if config.segments else None
    H = encoder(batch["ids"], params["encoder"], config, batch["mask"], segments, training)
    E = params["encoder"]["embedding"]["tokens"]["E"]

    def words(H):
        return mlm_head(H, params["mlm"], E, config.eps)

    def pairs(H):
        return classify(pool(H, params["pool"]), params["nsp"], config.p, training)

    return _losses(H, batch, words, pairs if "nsp" in params else None)


def _losses(H, batch, words, pairs):
    """Of a head for the chosen words, and one for the pairs where there is one."""
    chosen = batch["targets"] != IGNORE
    L = cross_entropy(words(H[chosen]), batch["targets"][chosen])
    return L + cross_entropy(pairs(H), batch["labels"]) if pairs else L


class MlmHead(nn.Module):
    """Parameters {W, b, norm: {gamma, beta}, bias}; the embedding that it is tied to comes with each call."""

    @checked
    def __init__(self, d: Size, vocab: Size, eps: NonNegative = 1e-5):
        super().__init__()
        self.W, self.b = Linear(d, d).W, nn.Parameter(torch.zeros(d))
        self.norm = LayerNorm(d, eps)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, H: Float[Tensor, "*B d"], E: Float[Tensor, "V d"]) -> Float[Tensor, "*B V"]:
        G = activation(linear(H, self.W, self.b))
        return unembed(self.norm(G), E) + self.bias


class Pretraining(nn.Module):
    """The loss of an encoder with its heads, in the tree {encoder, mlm} of the NumPy half; `pairs` adds {pool, nsp}."""

    @checked
    def __init__(self, config: ModelConfig, pairs: bool = True):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.mlm = MlmHead(config.d, config.vocab, config.eps)
        self.pool = Linear(config.d, config.d) if pairs else None
        self.nsp = Linear(config.d, 2) if pairs else None

    def forward(self, batch: dict) -> Float[Tensor, ""]:
        needs("Pretraining", "batch", batch, "ids", "mask", "targets")
        H = self.encoder(batch["ids"], batch["mask"], batch["segments"] if self.config.segments else None)
        E = self.encoder.embedding.tokens.E
        return _losses(H, batch, lambda H: self.mlm(H, E), None if self.nsp is None else self._pairs)

    def _pairs(self, H):
        P = self.pool(H[..., 0, :]).tanh()
        return self.nsp(dropout(P, self.config.p, self.training))
