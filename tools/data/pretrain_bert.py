"""Rebuild book/data/bert_small.npz: the small BERT of chapter 14, trained by the chapter's own recipe for longer.

    python tools/data/pretrain_bert.py book/data/bert_small.npz

About two CPU minutes of one thread. Every draw is a function of seed and step, so the same processor and the same torch
give the same bytes; another processor gives other last digits, and a model that is as good. The file holds the
parameters in float16 (names joined by dots), `words`, the vocabulary as newline-separated UTF-8, and `log`, one row an
evaluation: step, loss of the training, loss and accuracy on hidden words of the 1,000 test sentences, accuracy on
pairs of the last documents of the novel, which were held out.
"""

import collections
import io
import re
import sys
import zipfile

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.data import authors, novel
from byhand.init import init_pretrain
from byhand.np.mask import padding_mask
from byhand.np.optim import warmup_cosine
from byhand.np.pretrain import IGNORE, mask_tokens, sentence_pairs
from byhand.pt.pretrain import Pretraining, classify, mlm_head, pool, pretrain
from byhand.pt.train import train

PAD, UNK, CLS, SEP, MASK = range(5)
SPECIAL = (PAD, UNK, CLS, SEP)
STEPS, EVERY, SEED, RATE = 3000, 500, 0, 5e-3
CONFIG = ModelConfig("encoder", vocab=4000, d=64, heads=4, layers=2, n_max=40, position="rope", segments=2)


def words_of(text):
    return re.findall(r"[a-z]+(?:'[a-z]+)?|[0-9]+|[^\w\s]", text.lower())


def plain(text):
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def split_authors():
    """Places of 1,000 sentences for the test, 3,000 that may have labels, 8,000 without."""
    return np.split(np.random.default_rng(14).permutation(12_000), [1000, 4000])


def novel_without(sentences):
    """The paragraphs of the novel in which none of these stands."""
    whole = plain(novel())
    found = [s for s in map(plain, sentences) if s in whole]
    return [p for p in novel().splitlines() if not any(s in plain(p) for s in found)]


def sentences_of(paragraph):
    end = r"(?<!Mr\.)(?<!Mrs\.)(?:(?<=[.!?])|(?<=[.!?]\"))\s+(?=[\"A-Z])"
    return [s for s in re.split(end, paragraph) if words_of(s)]


def data():
    """Vocabulary, ids of single sentences, documents, held-out documents, ids of the test sentences."""
    texts, (test, *train) = authors().texts, split_authors()
    singles = [texts[i] for i in np.concatenate(train)]
    sentences = [s for p in novel_without([texts[i] for i in test]) for s in sentences_of(p)]
    counts = collections.Counter(w for s in singles + sentences for w in words_of(s))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [w for w, _ in counts.most_common(CONFIG.vocab - len(words))]
    number = {w: i for i, w in enumerate(words)}

    def ids(s):
        return [number.get(w, UNK) for w in words_of(s)]

    documents = [[ids(s) for s in sentences[i : i + 100]] for i in range(0, len(sentences), 100)]
    return words, [ids(s) for s in singles], documents[:-7], documents[-7:], [ids(texts[i]) for i in test]


def padded(rows):
    lengths = np.array([min(len(row) + 2, CONFIG.n_max) for row in rows])
    ids = np.full((len(rows), lengths.max()), PAD)
    for k, row in enumerate(rows):
        ids[k, : lengths[k]] = [CLS, *row[: CONFIG.n_max - 2], SEP]
    return {"ids": ids, "segments": np.zeros_like(ids), "mask": padding_mask(lengths, ids.shape[1])}


def hidden(rng, batch):
    ids, targets = mask_tokens(rng, batch["ids"], MASK, CONFIG.vocab, special=SPECIAL)
    return {name: torch.from_numpy(x) for name, x in (batch | {"ids": ids, "targets": targets}).items()}


def main(target):
    torch.set_num_threads(1)
    words, singles, documents, held, test = data()
    module = Pretraining(CONFIG)
    module.load_state_dict(tree.flatten(tree.to_torch(init_pretrain(np.random.default_rng(SEED), CONFIG))))

    def pairs(rng, documents, count):
        return sentence_pairs(rng, documents, count, CONFIG.n_max, cls=CLS, sep=SEP, pad=PAD)

    def batch_at(step):
        rng = np.random.default_rng([SEED, step])
        some = padded([singles[i] for i in rng.integers(len(singles), size=16)])
        return [hidden(rng, pairs(rng, documents, 16)), hidden(rng, some)]

    def loss_fn(module, batch):
        params = tree.unflatten(dict(module.named_parameters()))
        if "labels" not in batch:
            params = {name: params[name] for name in ("encoder", "mlm")}
        return pretrain(params, batch, CONFIG, module.training), int((batch["targets"] != IGNORE).sum())

    probe = hidden(np.random.default_rng(1), padded(test))
    couples = {name: torch.from_numpy(x) for name, x in pairs(np.random.default_rng(2), held, 600).items()}
    log = []

    def evaluate(module):
        params = tree.unflatten(dict(module.named_parameters()))
        chosen, E = probe["targets"] != IGNORE, params["encoder"]["embedding"]["tokens"]["E"]
        logits = mlm_head(module.encoder(probe["ids"], probe["mask"], probe["segments"])[chosen], params["mlm"], E)
        goal = probe["targets"][chosen]
        H = module.encoder(couples["ids"], couples["mask"], couples["segments"])
        said = classify(pool(H, params["pool"]), params["nsp"])
        loss = torch.nn.functional.cross_entropy(logits, goal).item()
        log.append([loss, (logits.argmax(-1) == goal).float().mean().item(),
                    (said.argmax(-1) == couples["labels"]).float().mean().item()])
        print(len(log), np.round(log[-1], 3), flush=True)
        return loss

    run = train(module, batch_at, loss_fn, STEPS, lambda t: warmup_cosine(t, RATE, STEPS // 10, STEPS), seed=SEED,
                betas=(0.9, 0.98), evaluate=evaluate, evaluate_every=EVERY)
    losses = np.array(run.history["loss"]).reshape(-1, EVERY).mean(axis=1)
    table = np.column_stack([np.arange(EVERY, STEPS + 1, EVERY), losses, log[-len(losses):]])
    arrays = {"words": np.frombuffer("\n".join(words).encode(), np.uint8), "log": table.astype(np.float32)}
    arrays |= {path: x.astype(np.float16) for path, x in tree.flatten(run.params).items()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:  # np.savez with a fixed date
        for name, array in arrays.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), file.getvalue(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(sys.argv[1])
