"""Sizes of a layer, checked once, when they are written down. Functions get the numbers that they use, not these."""

from dataclasses import dataclass

from byhand import guard


@dataclass(frozen=True)
class AttentionConfig:
    """One attention head."""

    d: int  # width of a token
    d_k: int  # width of a query and of a key: they meet in a dot product, so it is the same number
    d_v: int  # width of a value, and so of the output
    bias: bool = True  # whether the three linear maps add a bias

    def __post_init__(self):
        guard.count("AttentionConfig", d=self.d, d_k=self.d_k, d_v=self.d_v)
        if not isinstance(self.bias, bool):
            raise TypeError(f"AttentionConfig: bias is {type(self.bias).__name__}, expected bool")


@dataclass(frozen=True)
class ModelConfig:
    """A whole model: an encoder (BERT), a decoder (GPT, LLaMA), or an encoder–decoder (Vaswani et al. 2017)."""

    kind: str  # encoder, decoder or encoder_decoder
    vocab: int  # words, of the target if there are two languages
    d: int  # width of a token in the stream
    heads: int  # in every attention layer
    layers: int  # blocks; in an encoder–decoder, of each side
    d_ff: int | None = None  # inner width of the feed-forward layer; None: 4 d
    n_max: int = 1024  # longest sequence
    source_vocab: int | None = None  # words of the source; None: both sides share one embedding
    position: str = "sinusoidal"  # learned, rope (pairs of neighbours), rope_half, alibi, relative or none
    rope_theta: float = 10000.0  # base of the wavelengths of rope and of sinusoids
    max_distance: int = 16  # of relative positions: further away counts as this far
    kv_heads: int | None = None  # heads of keys and values, each shared by a group; None: as many as heads
    norm_first: bool = True  # pre-norm, F(LN(X)); False: post-norm, LN(X + F(X))
    residual: bool = True  # whether what a sublayer reads is added to what it gives
    alpha: float = 1.0  # factor of the stream in each residual; DeepNorm
    activation: str = "gelu"  # relu, gelu, gelu_tanh or silu
    gated: bool = False  # whether the feed-forward layer has a gate; SwiGLU with silu
    bias: bool = True  # whether linear maps add a bias
    rms: bool = False  # RMSNorm in place of LayerNorm
    eps: float = 1e-5  # inside the root of every norm
    embedding_norm: bool = False  # a norm right after the embedding; BERT
    scale_embedding: bool = False  # rows of the embedding times √d; Vaswani et al. 2017
    segments: int = 0  # kinds of segments, each with a vector that its tokens receive; BERT has 2
    tied: bool = True  # whether logits use the embedding again; a decoder alone has logits
    p: float = 0.0  # share that dropout drops, after the embedding and in every sublayer

    def __post_init__(self):
        where = "ModelConfig"
        guard.count(where, vocab=self.vocab, d=self.d, layers=self.layers, d_ff=self.width, n_max=self.n_max,
                    max_distance=self.max_distance)
        guard.count(where, low=0, segments=self.segments)
        guard.groups(where, self.heads, self.groups)
        guard.multiple(where, self.heads, d=self.d)
        guard.number(where, low=0, rope_theta=self.rope_theta, eps=self.eps)
        guard.number(where, alpha=self.alpha)
        guard.within(where, 0, 1, p=self.p)
        if self.source_vocab is not None:
            guard.count(where, source_vocab=self.source_vocab)
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{where}: {name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        for name in ("norm_first", "residual", "gated", "bias", "rms", "embedding_norm", "scale_embedding", "tied"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{where}: {name} is {type(getattr(self, name)).__name__}, expected bool")
        if self.position in ("rope", "rope_half"):
            guard.multiple(where, 2, **{"d / heads": self.d // self.heads})
        if self.position == "sinusoidal":
            guard.multiple(where, 2, d=self.d)
        if self.source_vocab is not None and self.kind != "encoder_decoder":
            raise ValueError(f"{where}: source_vocab is {self.source_vocab} in a {self.kind}, expected None")
        if self.segments and self.kind != "encoder":
            raise ValueError(f"{where}: segments is {self.segments} in a {self.kind}, expected 0")

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
        return self.position if self.position in guard.POSITIONS else "none"


CHOICES = {
    "kind": ("encoder", "decoder", "encoder_decoder"),
    "position": ("sinusoidal", "learned", "rope", "rope_half", "alibi", "relative", "none"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu"),
}
