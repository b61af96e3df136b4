"""Sizes of a layer or of a whole model, checked once, when they are written down; and the parameters that it then has.

Functions of a layer get the numbers that they use, and no config.
"""

from dataclasses import dataclass
from typing import Literal

from byhand.check import Index, Positive, Share, Size, checked, groups, multiple_of

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Position = Literal["sinusoidal", "learned", "rope", "rope_half", "alibi", "relative", "none"]


@checked
@dataclass(frozen=True)
class AttentionConfig:
    """One attention head."""

    d: Size  # width of a token
    d_k: Size  # width of a query and of a key: they meet in a dot product, so it is the same number
    d_v: Size  # width of a value, and so of the output
    bias: bool = True  # whether the three linear maps add a bias


@checked
@dataclass(frozen=True)
class ModelConfig:
    """A whole model: an encoder (BERT), a decoder (GPT, LLaMA), or an encoder–decoder (Vaswani et al. 2017)."""

    kind: Literal["encoder", "decoder", "encoder_decoder"]
    vocab: Size  # words, of the target if there are two languages
    d: Size  # width of a token in the stream
    heads: Size  # in every attention layer
    layers: Size  # blocks; in an encoder–decoder, of each side
    d_ff: Size | None = None  # inner width of the feed-forward layer; None: 4 d
    n_max: Size = 1024  # longest sequence
    source_vocab: Size | None = None  # words of the source; None: both sides share one embedding
    position: Position = "sinusoidal"  # rope turns pairs of neighbours, rope_half features half a head apart
    rope_theta: Positive = 10000.0  # base of the wavelengths of rope and of sinusoids
    max_distance: Size = 16  # of relative positions: further away counts as this far
    kv_heads: Size | None = None  # heads of keys and values, each shared by a group; None: as many as heads
    norm_first: bool = True  # pre-norm, F(LN(X)); False: post-norm, LN(X + F(X))
    residual: bool = True  # whether what a sublayer reads is added to what it gives
    alpha: float = 1.0  # factor of the stream in each residual; DeepNorm
    activation: Activation = "gelu"
    gated: bool = False  # whether the feed-forward layer has a gate; SwiGLU with silu
    bias: bool = True  # whether linear maps add a bias
    rms: bool = False  # RMSNorm in place of LayerNorm
    eps: Positive = 1e-5  # inside the root of every norm
    embedding_norm: bool = False  # a norm right after the embedding; BERT
    scale_embedding: bool = False  # rows of the embedding times √d; Vaswani et al. 2017
    segments: Index = 0  # kinds of segments, each with a vector that its tokens receive; BERT has 2
    tied: bool = True  # whether logits use the embedding again; a decoder alone has logits
    p: Share = 0.0  # share that dropout drops, after the embedding and in every sublayer

    def __post_init__(self):
        groups("ModelConfig", self.heads, self.groups)
        multiple_of("ModelConfig", self.heads, d=self.d)
        if self.position in ("rope", "rope_half"):
            multiple_of("ModelConfig", 2, **{"d / heads": self.d // self.heads})
        if self.position == "sinusoidal":
            multiple_of("ModelConfig", 2, d=self.d)
        if self.source_vocab is not None and self.kind != "encoder_decoder":
            raise ValueError(f"ModelConfig: source_vocab is {self.source_vocab} in a {self.kind}, expected None")
        if self.segments and self.kind != "encoder":
            raise ValueError(f"ModelConfig: segments is {self.segments} in a {self.kind}, expected 0")

    @property
    def width(self) -> int:
        """Inner width of the feed-forward layer."""
        return 4 * self.d if self.d_ff is None else self.d_ff

    @property
    def groups(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def in_attention(self) -> str:
        """What attention itself does about positions; the others are added to the embedding."""
        return "none" if self.position in ("sinusoidal", "learned") else self.position

    @property
    def options(self) -> dict:
        """What each block is told."""
        return {"heads": self.heads, "kv_heads": self.kv_heads, "norm_first": self.norm_first,
                "residual": self.residual, "alpha": self.alpha, "activation": self.activation,
                "position": self.in_attention, "rope_theta": self.rope_theta, "eps": self.eps}

    # The parameters, name → shape: what every tree of this model holds, in both halves and on disk.

    @property
    def shapes(self) -> dict:
        """The whole tree."""
        if self.kind != "encoder_decoder":
            return self.side(self.kind)
        return {name: self.side(name) for name in ("encoder", "decoder")}

    def side(self, name: str) -> dict:
        """Of "encoder" or "decoder"; a decoder reads the encoder's embedding where both sides share one."""
        decoder, two = name == "decoder", self.kind == "encoder_decoder"
        vocab = self.vocab if decoder or self.source_vocab is None else self.source_vocab
        shared = decoder and two and self.source_vocab is None
        embedding = {} if shared else {"embedding": self.embedding(vocab)}
        head = {"head": {"W": (self.d, vocab)}} if decoder and not self.tied else {}
        return embedding | self.stack(cross=decoder and two) | head

    def embedding(self, vocab: int | None = None) -> dict:
        """Of an embedding of so many words; None: of any number."""
        tree = {"tokens": {"E": (vocab, self.d)}}
        if self.segments:
            tree["segments"] = {"E": (self.segments, self.d)}
        if self.position == "learned":
            tree["positions"] = {"table": (self.n_max, self.d)}
        return tree | ({"norm": self.norm} if self.embedding_norm else {})

    def stack(self, cross: bool = False) -> dict:
        """Of the blocks, and the last norm; `cross` where blocks read a memory."""
        blocks = {str(i): self.block(cross) for i in range(self.layers)}
        return {"blocks": blocks} | ({"norm": self.norm} if self.norm_first else {})

    def block(self, cross: bool = False) -> dict:
        tree = {"attention": self.attention(self.position == "relative"), "norm_1": self.norm,
                "ff": self.feed_forward, "norm_2": self.norm}
        return tree | ({"cross": self.attention(), "norm_c": self.norm} if cross else {})

    def attention(self, relative: bool = False) -> dict:
        d, narrow = self.d, self.d // self.heads * self.groups
        tree = {"W_q": (d, d), "b_q": (d,), "W_k": (d, narrow), "b_k": (narrow,), "W_v": (d, narrow), "b_v": (narrow,),
                "W_o": (d, d), "b_o": (d,), "table": (self.heads, 2 * self.max_distance + 1)}
        return {name: shape for name, shape in tree.items()
                if (self.bias or name[0] != "b") and (relative or name != "table")}

    @property
    def feed_forward(self) -> dict:
        d, wide = self.d, self.width
        tree = {"W_1": (d, wide), "W_2": (wide, d), "W_g": (d, wide), "b_1": (wide,), "b_2": (d,)}
        return {name: shape for name, shape in tree.items()
                if (self.bias or name[0] != "b") and (self.gated or name != "W_g")}

    @property
    def norm(self) -> dict:
        return {"gamma": (self.d,)} if self.rms else {"gamma": (self.d,), "beta": (self.d,)}
