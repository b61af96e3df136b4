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
