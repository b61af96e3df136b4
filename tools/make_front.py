"""Train the model that sorts digits on the front page, and write it down as it was at three moments of its training.

    python tools/make_front.py            # _ext/static/sorter.js and _ext/static/card.png; half a minute on one core
    python tools/make_front.py --card     # the picture of link previews alone, from the weights that are there

The parameters are rounded to whole numbers from -127 to 127 times a scale for each array; what the file says of a
moment (loss, share of right answers) is that of the rounded model. The seeds are below: a rerun on the same kind of
processor, with as many threads of BLAS, gives the same bytes. Elsewhere sums round otherwise, training takes another
way, and other weights come out that sort as well.
"""

import argparse
import base64
import io
import json
import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.io.files import write_whole
from byhand.np.generate import generate
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.np.model import decoder_backward, decoder_forward
from byhand.np.optim import adam_step, clip_by_global_norm, init_state, warmup_cosine
from byhand.show import house_style, matrix
from byhand.tree import flatten, unflatten
from tqdm import tqdm

STATIC = Path(__file__).resolve().parents[1] / "_ext" / "static"
sys.path.insert(0, str(STATIC.parent))
from course_front import BAR, EOS, MOST, load, look  # noqa: E402

# Of this width and seed the second block alone looks digits up; smaller models, and other seeds, share it out.
CONFIG = {"kind": "decoder", "vocab": 12, "d": 32, "heads": 1, "layers": 2, "n_max": 2 * MOST + 1,
          "position": "learned", "activation": "relu"}
STEPS, KEPT, ROWS = 2500, (0, 200, 2500), 48


def question(rng):
    return rng.integers(10, size=rng.integers(1, MOST + 1)).tolist()


def batch(step):
    """Rows of digits, the bar, the digits in order, the end; and at each place the token to say, -1 where none is."""
    rng = np.random.default_rng([0, step])
    ids, labels = np.full((ROWS, CONFIG["n_max"]), EOS), np.full((ROWS, CONFIG["n_max"]), -1)
    for i in range(ROWS):
        asked = question(rng)
        row = [*asked, BAR, *sorted(asked), EOS]
        ids[i, :len(row) - 1] = row[:-1]
        labels[i, len(asked):len(row) - 1] = row[len(asked) + 1:]
    return ids, labels


def rounded(params):
    """The scale of each array, and all entries divided by it as whole numbers of one byte."""
    arrays = flatten(params)
    scales = {name: float(f"{np.abs(x).max() / 127:.6g}") or 1.0 for name, x in arrays.items()}
    return scales, np.concatenate([np.rint(x / scales[name]).clip(-127, 127).astype(np.int8).ravel()
                                   for name, x in arrays.items()])


def judged(params, config, step):
    """A moment as the file has it."""
    scales, whole = rounded(params)
    start, again = 0, {}
    for name, x in flatten(params).items():
        again[name] = whole[start:start + x.size].reshape(x.shape) * scales[name]
        start += x.size
    ids, labels = batch(STEPS + 1)
    loss, _ = cross_entropy_forward(decoder_forward(ids, unflatten(again), config)[0], labels, ignore_index=-1)
    asked = [question(np.random.default_rng([1, k])) for k in range(1000)]
    said = generate([[*a, BAR] for a in asked], unflatten(again), config, MOST + 1, temperature=0, stop=(EOS,))
    right = sum(row.tolist() == sorted(a) for row, a in zip(said, asked, strict=True))
    return {"step": step, "loss": round(float(loss), 4), "right": right / len(asked), "scales": list(scales.values()),
            "weights": base64.b64encode(whole.tobytes()).decode()}


def train():
    config = ModelConfig(**CONFIG)
    params = init_model(np.random.default_rng(0), config, np.float32)
    state, moments = init_state(params), []
    rate = partial(warmup_cosine, peak=0.006, warmup=100, total=STEPS)
    for step in tqdm(range(STEPS + 1), disable=None):
        if step in KEPT:
            moments.append(judged(params, config, step))
        ids, labels = batch(step)
        logits, cache = decoder_forward(ids, params, config)
        _, inner = cross_entropy_forward(logits, labels, ignore_index=-1)
        grads, _ = clip_by_global_norm(decoder_backward(cross_entropy_backward(np.float32(1), inner), cache), 1.0)
        params, state = adam_step(params, grads, state, rate(step + 1), (0.9, 0.99))
    shapes = {name: list(x.shape) for name, x in flatten(params).items()}
    text = json.dumps({"config": CONFIG, "shapes": shapes, "moments": moments})
    head = "// Written by tools/make_front.py: a model that sorts digits, at three moments of its training.\n"
    write_whole(STATIC / "sorter.js", f"{head}window.byhandSorter = {text};\n".encode())
    for m in moments:
        print(f"step {m['step']:5}  loss {m['loss']:.4f}  right {m['right']:.1%}")


def card():
    """The picture of link previews, 1200 by 630 pixels: where the trained model looks."""
    house_style()
    found, digits = load(), [3, 1, 4, 1, 5, 9, 2, 6]
    said, _, looked = look(found["moments"][-1]["params"], found["config"], digits)
    figure = plt.figure(figsize=(12, 6.3), layout="none")
    figure.text(0.05, 0.62, "Transformers\nby Hand", fontsize=44, weight="bold", color="#0b6674")
    figure.text(0.05, 0.34, "every equation derived,\nforward and backward;\nevery line checked against its equation",
                fontsize=19, color="#24292F", linespacing=1.5)
    ax = figure.add_axes((0.53, 0.08, 0.44, 0.78))
    matrix(np.array(looked), rows=[f"says {k}" for k in said], columns=[str(k) for k in digits], limits=(0, 1), ax=ax)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    write_whole(STATIC / "card.png", picture.getvalue())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--card", action="store_true", help="draw the picture again, and train nothing")
    if not parser.parse_args().card:
        train()
    card()
