"""Chapters 14 and 17: weights of others by our names: trees from the dicts that Hugging Face `transformers` saves.

Its linear layers hold W transposed, (out, in). What is in a dict and has no place in ours is refused, never dropped.
"""

import itertools
import re
from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand import tree

# Names of layers, ours → theirs. {i} is the number of a block; a last "*" stands for W and weight, b and bias.
BERT = {
    "embedding.tokens.E": "embeddings.word_embeddings.weight",
    "embedding.positions.table": "embeddings.position_embeddings.weight",
    "embedding.segments.E": "embeddings.token_type_embeddings.weight",
    "embedding.norm": "embeddings.LayerNorm",
    **{f"blocks.{{i}}.attention.*_{x}": f"encoder.layer.{{i}}.attention.self.{name}"
       for x, name in zip("qkv", ("query", "key", "value"), strict=True)},
    "blocks.{i}.attention.*_o": "encoder.layer.{i}.attention.output.dense",
    "blocks.{i}.norm_1": "encoder.layer.{i}.attention.output.LayerNorm",
    "blocks.{i}.ff.*_1": "encoder.layer.{i}.intermediate.dense",
    "blocks.{i}.ff.*_2": "encoder.layer.{i}.output.dense",
    "blocks.{i}.norm_2": "encoder.layer.{i}.output.LayerNorm",
}
LLAMA = {
    "embedding.tokens.E": "model.embed_tokens.weight",
    "norm": "model.norm",
    **{f"blocks.{{i}}.attention.*_{x}": f"model.layers.{{i}}.self_attn.{x}_proj" for x in "qkvo"},
    "blocks.{i}.norm_1": "model.layers.{i}.input_layernorm",
    "blocks.{i}.ff.*_g": "model.layers.{i}.mlp.gate_proj",
    "blocks.{i}.ff.*_1": "model.layers.{i}.mlp.up_proj",
    "blocks.{i}.ff.*_2": "model.layers.{i}.mlp.down_proj",
    "blocks.{i}.norm_2": "model.layers.{i}.post_attention_layernorm",
}
GPT2 = {
    "embedding.tokens.E": "transformer.wte.weight",
    "embedding.positions.table": "transformer.wpe.weight",
    "norm": "transformer.ln_f",
    "blocks.{i}.norm_1": "transformer.h.{i}.ln_1",
    **{f"blocks.{{i}}.attention.*_{x}": f"transformer.h.{{i}}.attn.{x}_attn" for x in "qkv"},  # after a cut in three
    "blocks.{i}.attention.*_o": "transformer.h.{i}.attn.c_proj",
    "blocks.{i}.norm_2": "transformer.h.{i}.ln_2",
    "blocks.{i}.ff.*_1": "transformer.h.{i}.mlp.c_fc",
    "blocks.{i}.ff.*_2": "transformer.h.{i}.mlp.c_proj",
}
# What their dicts have beside weights, as patterns: numbers of places, frequencies of rope, causal masks.
IN_BERT = r"embeddings\.(position|token_type)_ids"
IN_LLAMA = r"model\.(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq"
IN_GPT2 = r"transformer\.h\.\d+\.attn\.(masked_)?bias"


def from_torch_linear(weight: Float[Array, "d_out d_in"]) -> Float[Array, "d_in d_out"]:
    """W of ours, (in, out), from the weight of torch.nn.Linear, (out, in): its transpose, a copy.

    Square ones too: X W and X Wᵀ have one shape then, and nothing would notice that they are not the same.
    """
    if weight.ndim != 2:
        raise ValueError(f"from_torch_linear: weight has shape {weight.shape}, expected two axes, (out, in)")
    return np.ascontiguousarray(weight.T)


def from_hf_bert(state: dict[str, Array], leave: tuple[str, ...] = ()) -> dict:
    """The tree of an encoder (post, learned, segments, embedding_norm) from the state_dict of a BertModel.

    Its pooler has no place in ours: leave=("pooler.",) leaves names out that begin so. Raises ValueError for names that
    are missing, or that no layer takes.
    """
    return renamed("from_hf_bert", state, state.get, BERT, bias=True, beside=IN_BERT, leave=leave)


def from_hf_llama(state: dict[str, Array], tied: bool = True, leave: tuple[str, ...] = ()) -> dict:
    """The tree of a decoder (rope_half, rms, gated, no bias) from the state_dict of a LlamaForCausalLM.

    Raises ValueError for names that are missing, or that no layer takes: biases, norms of queries and keys, or, if it
    is to be tied, a head that is not the embedding.
    """
    names = LLAMA if tied else LLAMA | {"head.W": "lm_head.weight"}
    some = _without_tied_head(state, LLAMA) if tied else state
    return renamed("from_hf_llama", some, some.get, names, bias=False, beside=IN_LLAMA, leave=leave)


def from_hf_gpt2(state: dict[str, Array], leave: tuple[str, ...] = ()) -> dict:
    """The tree of a decoder (pre, learned, gelu_tanh) from the state_dict of a GPT2LMHeadModel.

    Its weights are (in, out) as ours are; those of queries, keys and values stand side by side in one array. Raises
    ValueError for names that are missing, or that no layer takes, such as a head that is not the embedding.
    """
    parts = {}
    for name, x in _without_tied_head(state, GPT2).items():
        block = re.fullmatch(r"(transformer\.h\.\d+)\.attn\.c_attn\.(weight|bias)", name)
        if block and f"{block[1]}.ln_1.weight" in state:
            if x.shape[-1] % 3:
                raise ValueError(f"from_hf_gpt2: {name} has shape {x.shape}, expected three parts of one width")
            for letter, part in zip("qkv", np.split(x, 3, axis=-1), strict=True):
                parts[name.replace("c_attn", f"{letter}_attn")] = part.T
        else:
            parts[name] = x.T if name.endswith((".c_proj.weight", ".c_fc.weight")) else x
    return renamed("from_hf_gpt2", parts, parts.get, GPT2, bias=True, beside=IN_GPT2, leave=leave)


def _without_tied_head(state, table):
    """A head that is the embedding once more, number by number, says nothing new."""
    head, E = state.get("lm_head.weight"), state.get(table["embedding.tokens.E"])
    tied = head is not None and E is not None and np.array_equal(head, E)
    return {name: x for name, x in state.items() if not (tied and name == "lm_head.weight")}


def renamed(
    where: str, names: Iterable[str], get: Callable[[str], Array], table: dict, bias: bool, beside: str = "",
    leave: tuple[str, ...] = (),
) -> dict:
    """Our tree of their arrays, W turned to (in, out). Blocks are counted until one is missing; all names are used."""
    if isinstance(leave, str):
        raise TypeError(f"{where}: leave is {leave!r}, expected a tuple of beginnings")
    names, flat, used = set(names), {}, set()
    first = next(theirs for ours, theirs in table.items() if ours.endswith("norm_1"))
    layers = next(i for i in itertools.count() if f"{first.format(i=i)}.weight" not in names)
    for ours, theirs in table.items():
        if ours.endswith((".E", ".table", ".W")):
            parts = {ours: theirs}
        else:
            weight = ours.replace("*", "W") if "*" in ours else f"{ours}.gamma"
            offset = ours.replace("*", "b") if "*" in ours else f"{ours}.beta"
            parts = {weight: f"{theirs}.weight"} | ({offset: f"{theirs}.bias"} if bias else {})
        for i in range(layers if "{i}" in ours else 1):
            for mine, other in parts.items():
                mine, other = mine.format(i=i), other.format(i=i)
                if other not in names:
                    raise ValueError(f"{where}: state has no {other!r} among its {len(names)} names")
                x, turn = np.asarray(get(other)), mine.rpartition(".")[2].startswith("W")
                flat[mine] = from_torch_linear(x) if turn else np.ascontiguousarray(x)
                used.add(other)
    unknown = (name for name in sorted(names - used) if not re.fullmatch(beside, name))
    if more := [name for name in unknown if not name.startswith(leave)]:
        others = f" and {len(more) - 6} others" if len(more) > 6 else ""
        raise ValueError(f"{where}: state has {', '.join(more[:6])}{others}, expected nothing that no layer takes")
    return tree.unflatten(flat)
