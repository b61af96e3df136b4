"""Train the translators of chapter 13: writes weights, config, vocabulary and log into book/data/translation_de or _es.

    python tools/train_translation.py de
    python tools/train_translation.py es

About a quarter of an hour of one core each. A run that was interrupted goes on from its last checkpoint, which is in
_build/translation_de unless --folder names another place; --fresh begins anew. SHA256 of byhand/data.py and
book/data/LICENSES.md state the digests of what the script prints.
"""

import argparse
import functools
import hashlib
import json
import platform
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sacrebleu
import torch
from byhand import pt, tree
from byhand.config import ModelConfig
from byhand.data import data_dir
from byhand.io.files import write_whole
from byhand.io.safetensors import save_safetensors
from byhand.metrics import chrf, corpus_bleu
from byhand.np.optim import warmup_cosine
from byhand.pt.model import EncoderDecoder
from byhand.pt.train import train
from byhand.pt.translate import epoch, loss_and_weight, translate
from byhand.text import BPETokenizer
from byhand.translator import SPECIALS, split_pairs, words

FLAGS = {"steps": 5000, "batch": 64, "vocab": 3000, "width": 128, "heads": 4, "layers": 2, "rate": 2e-3,
         "dropout": 0.15, "smoothing": 0.1, "every": 250, "seed": 0}
BEAMS = (1, 4)
MAX_LEN = 48  # tokens of a translation


def arguments(argv=None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=("de", "es"))
    for name, value in FLAGS.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    parser.add_argument("--folder", type=Path, help="of the checkpoints; default _build/translation_LANGUAGE")
    parser.add_argument("--out", type=Path, help="of the result; default book/data/translation_LANGUAGE")
    parser.add_argument("--fresh", action="store_true", help="forget the checkpoints of an earlier run")
    return parser.parse_args(argv)


def command(a: argparse.Namespace) -> str:
    """What reproduces the run, the defaults written out, without the places of files."""
    return f"python tools/train_translation.py {a.language} " + " ".join(f"--{x} {getattr(a, x)}" for x in FLAGS)


def scores(found: list[str], real: list[str]) -> dict:
    """By our metrics; sacrebleu must agree."""
    ours = corpus_bleu([words(x) for x in found], [[words(x)] for x in real]).score, chrf(found, [[x] for x in real])
    theirs = (sacrebleu.corpus_bleu([" ".join(words(x)) for x in found], [[" ".join(words(x)) for x in real]],
                                    tokenize="none", smooth_method="none", force=True).score,
              sacrebleu.corpus_chrf(found, [real], eps_smoothing=False).score)
    assert np.allclose(ours, theirs, atol=1e-9), (ours, theirs)
    return {"bleu": round(ours[0], 2), "chrf": round(ours[1], 2), "pairs": len(real)}


def main(argv=None) -> None:
    a = arguments(argv)
    root = Path(__file__).parents[1]
    folder = a.folder or root / "_build" / f"translation_{a.language}"
    out = a.out or data_dir() / f"translation_{a.language}"
    if a.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    split = split_pairs(a.language)
    text = "\n".join(f"{row.english}\n{row.other}" for row in split.train)
    tokenizer = BPETokenizer.train(text, a.vocab, SPECIALS)
    pad, bos, eos = (tokenizer.specials[name] for name in SPECIALS)

    def ids(rows):
        return [(np.array(tokenizer.encode(row.english)), np.array(tokenizer.encode(row.other))) for row in rows]

    pairs, dev = ids(split.train), ids(split.dev)
    per_epoch = -(-len(pairs) // a.batch)
    config = ModelConfig(kind="encoder_decoder", vocab=len(tokenizer), d=a.width, heads=a.heads, layers=a.layers,
                         position="rope", n_max=64, p=a.dropout)
    module = EncoderDecoder(config, np.random.default_rng(a.seed)).to(pt.device())

    @functools.lru_cache(maxsize=1)
    def batches(k):  # of epoch k: a function of the seed and k alone, so that a run can go on
        return epoch(pairs, a.batch, pad, bos, eos, np.random.default_rng([a.seed, k]), pt.device())

    held = epoch(dev, 128, pad, bos, eos, np.random.default_rng(0), pt.device())

    def evaluate(module):
        parts = [loss_and_weight(module, batch) for batch in held]
        return sum(float(L) * int(w) for L, w in parts) / sum(int(w) for _, w in parts)

    print(f"{len(pairs)} training pairs, {len(dev)} of development, {len(split.test)} of test, of which "
          f"{split.near.sum()} are near a training pair; {per_epoch} steps an epoch, "
          f"{sum(p.numel() for p in module.parameters()):,} parameters", flush=True)
    began = time.process_time()
    run = train(module, lambda step: [batches((step - 1) // per_epoch)[(step - 1) % per_epoch]],
                lambda module, batch: loss_and_weight(module, batch, a.smoothing), a.steps,
                lambda step: warmup_cosine(step, a.rate, a.steps // 10, a.steps), seed=a.seed, weight_decay=0.05,
                evaluate=evaluate, evaluate_every=a.every, folder=folder, save_every=a.every,
                config=asdict(config) | {"command": command(a)})
    seconds = time.process_time() - began

    # What is measured is what is kept: weights that were rounded to 16 bits.
    half = tree.map_tree(lambda x: x.astype(np.float16), run.best)
    params = tree.to_torch(tree.map_tree(lambda x: x.astype(np.float32), half), pt.device())
    sources, real = [pair[0] for pair in ids(split.test)], [row.other for row in split.test]
    table, examples = {}, {}
    for beam in BEAMS:
        found = translate(sources, params, config, pad, bos, eos, max_len=MAX_LEN, beam=beam)
        examples[beam] = found = [tokenizer.decode(y) for y in found]
        parts = {"far": ~split.near, "near": split.near, "all": np.ones_like(split.near)}
        table[f"beam {beam}"] = {name: scores([found[i] for i in np.flatnonzero(part)],
                                              [real[i] for i in np.flatnonzero(part)]) for name, part in parts.items()}
    log = {
        "command": command(a), "seed": a.seed, "cpu seconds of the last start": round(seconds),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__,
                     "sacrebleu": sacrebleu.__version__},
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads, {pt.device().type}",
        "pairs": {"train": len(pairs), "dev": len(dev), "test": len(split.test), "near": int(split.near.sum())},
        "parameters": sum(x.size for x in tree.flatten(half).values()),
        "loss": [round(float(np.mean(part)), 4) for part in np.array_split(run.history["loss"], min(a.steps, 60))],
        "evaluated at": run.history["evaluated_at"].tolist(),
        "evaluation": [round(float(x), 4) for x in run.history["evaluation"]],
        "scores": table,
        "examples": [[row.english, row.other, examples[BEAMS[-1]][i], bool(split.near[i])]
                     for i, row in enumerate(split.test[:40])],
    }
    out.mkdir(parents=True, exist_ok=True)
    save_safetensors(half, out / "weights.safetensors")
    tokenizer.save(out / "vocabulary.json")
    for name, body in (("config.json", asdict(config)), ("log.json", log)):
        write_whole(out / name, (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode())
    for path in sorted(out.iterdir()):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.parent.name}/{path.name}, "
              f"{path.stat().st_size:,} bytes")
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
