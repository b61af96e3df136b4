"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of

_isfinite, _sort = np.isfinite, np.lexsort

# 15.1, 15.2


def rows(h, w, p, c, lead=()):
    """Squares of some images."""
    return lambda rng: {"patches": rng.normal(size=(*lead, h * w, p * p * c)), "height": h * p, "width": w * p,
                        "patch": p}


def pictures(h, w, p, c, lead=()):
    return lambda rng: {"images": rng.normal(size=(*lead, h * p, w * p, c)), "patch": p}


# 15.3


def model(height, width, channels, patch, d, layers):
    return lambda rng: {"height": height, "width": width, "channels": channels, "patch": patch, "d": d,
                        "layers": layers}


def some_model(rng):
    p = int(rng.integers(3, 7))
    return {"height": p * int(rng.integers(3, 9)), "width": p * int(rng.integers(3, 9)), "channels": 3, "patch": p,
            "d": int(rng.integers(10, 90)), "layers": int(rng.integers(2, 9))}


# 15.4

CUTS = ("right", "reshape", "down first", "transposed", "channels first")


def _cut(image, p, name):
    H, W, c = image.shape
    five = image.reshape(H // p, p, W // p, p, c)
    axes = {"right": (0, 2, 1, 3, 4), "reshape": (0, 1, 2, 3, 4), "down first": (2, 0, 1, 3, 4),
            "transposed": (0, 2, 3, 1, 4), "channels first": (0, 2, 4, 1, 3)}[name]
    return five.transpose(axes).reshape(H * W // (p * p), p * p * c)


def exhibits(h, w, p, c, names, flat=False):
    """As many pairs of an image and its rows as there are names, in an order of chance.

    flat: the squares of the first row and column have one colour, the same in all channels.
    """

    def make(rng):
        order = [names[k] for k in rng.permutation(len(names))]
        images = rng.normal(size=(len(names), h * p, w * p, c))
        if flat:
            images[:, :p] = images[:, :, :p] = 1.0
        return {"images": images, "F": np.stack([_cut(x, p, name) for x, name in zip(images, order, strict=True)]),
                "patch": p}

    return make


def name_all(answer, inputs):
    from ...model import places_of_names

    pairs = list(zip(inputs["images"], inputs["F"], strict=True))
    found = places_of_names(CUTS, "exhibit", pairs, lambda pair: answer(pair[0], pair[1], inputs["patch"]))
    return None if found is None else np.array(found)


# 15.5


def embedding(p, c, d, H, W, batch):
    return lambda rng: {"W": rng.normal(size=(p * p * c, d)), "b": rng.normal(size=d), "patch": p,
                        "images": rng.normal(size=(batch, H, W, c))}


def convolve(answer, inputs):
    """What the layer says to the images, as rows of tokens, and whether it would learn."""
    import torch

    conv = answer(inputs["W"], inputs["b"], inputs["patch"])
    if conv is None or conv is Ellipsis:
        return None
    if not isinstance(conv, torch.nn.Conv2d):
        raise WrongAnswer(f"returned {kind_of(conv)}, expected an nn.Conv2d")
    images, W = inputs["images"].movedim(-1, 1), inputs["W"]
    if conv.in_channels != images.shape[1] or conv.out_channels != W.shape[1]:
        turned = (conv.in_channels, conv.out_channels) == (W.shape[1], images.shape[1])
        raise WrongAnswer(f"a convolution from {conv.in_channels} to {conv.out_channels} channels, expected from "
                          f"{images.shape[1]} to {W.shape[1]}"
                          + (": nn.Conv2d is given the channels that come in first" if turned else
                             ": W has patch² rows for each channel that comes in, and a column for each that goes out"))
    numbers = conv.weight.detach().double().ravel()
    if not any(torch.isclose(numbers, x, rtol=1e-5, atol=0).any() for x in W.ravel()):
        raise WrongAnswer("no number of W is among the weights of the layer: it is as PyTorch drew it, copy W into it")
    parts = [conv.weight] if conv.bias is None else [conv.weight, conv.bias]
    kept = all(isinstance(x, torch.nn.Parameter) for x in parts)
    with torch.no_grad():
        out = conv.double()(images) if kept else torch.nn.functional.conv2d(
            images, *(x.double() for x in parts), stride=conv.stride, padding=conv.padding)
    # 1 is right; the other numbers tell mistakes apart
    learns = 3 if not kept else 2 if conv.bias is None else int(all(x.requires_grad for x in parts))
    return out.flatten(2).mT.contiguous(), np.array(out.shape), np.array(learns)


# 15.6


def pooled(n, d, lead=(), mask="some"):
    def make(rng):
        real = rng.random((*lead, n)) < 0.6
        if mask == "none real":
            real[..., 0, :] = False
            real[..., 1:, 0] = True
        elif mask == "some":
            real[..., 0], real[..., -1] = True, False
        return {"dy": rng.normal(size=(*lead, d)), "X": rng.normal(size=(*lead, n, d)), "token": rng.normal(size=d),
                "mask": real}

    return make


# 15.7


def layer(height, width, c, e, kernel):
    return lambda rng: {"height": height, "width": width, "c": c, "e": e, "kernel": kernel}


def some_layer(rng):
    return {"height": int(rng.integers(5, 20)), "width": int(rng.integers(21, 40)), "c": int(rng.integers(2, 5)),
            "e": int(rng.integers(6, 30)), "kernel": int(rng.integers(3, 9))}


# 15.8


def board(h, w, patch):
    return lambda rng: {"h": h, "w": w, "patch": patch}


def some_board(rng):
    return {"h": int(rng.integers(3, 9)), "w": 2 * int(rng.integers(2, 5)), "patch": int(rng.integers(2, 5))}


PAIR = ("opposite", "same_squares")


def _about_picture(picture, h, w, p):
    """What a picture of another shape seems to be."""
    shape, whole = picture.shape, (h * p, w * p)
    known = {
        (h, w): "one number for each square, where a square has patch × patch pixels",
        (w * p, h * p): "height and width are exchanged",
        (h * w, p * p): "these are the rows of a picture cut into squares, and the picture itself is asked for",
        (h, w, p, p): "the squares stand one by one: put them together",
        (h, p, w, p): "the two axes of each side are still apart: a reshape puts them together",
        (*whole, 1): "there is no axis for channels here", (1, *whole): "there is no axis for channels here",
        (h * w * p * p,): "it is in one row", (h * w,): "one number for each square, in one row",
    }
    return f": {known[shape]}" if shape in known else ""


def measure_pair(inputs, arrays):
    """Whether the two are opposite everywhere (1), and made of the same squares (1)."""
    h, w, p = inputs["h"], inputs["w"], inputs["patch"]
    squares = []
    for name, picture in zip(("first", "second"), arrays, strict=True):
        if picture.shape != (h * p, w * p):
            raise WrongAnswer(f"the {name} picture has shape {picture.shape}, expected ({h * p}, {w * p})"
                              + _about_picture(picture, h, w, p))
        if picture.dtype.kind not in "iufb" or not _isfinite(picture).all():
            raise WrongAnswer(f"the {name} picture contains nan or inf, or is no array of real numbers")
        picture = picture.astype(np.float64)
        if not np.isin(picture, (0.0, 1.0)).all():
            raise WrongAnswer(f"the {name} picture has entries other than 0 and 1, such as "
                              f"{picture[~np.isin(picture, (0.0, 1.0))][0]:g}")
        bag = picture.reshape(h, p, w, p).swapaxes(1, 2).reshape(h * w, p * p)
        squares.append(bag[_sort(bag.T)])
    first, second = (picture.astype(np.float64) for picture in arrays)
    # 1 is right; the other numbers tell mistakes apart
    opposite = 1 if (abs(first - second) == 1).all() else 2 if np.array_equal(first, second) else 0
    plain = all((bag == bag[:, :1]).all() for bag in squares)  # every square of one colour
    same = 1 if np.array_equal(*squares) else 2 if not plain else 3 if first.min() == first.max() else 0
    return np.array(opposite), np.array(same)


# 15.9


def weights(L, H, n, lead=(), shares=None):
    def make(rng):
        layers = rng.dirichlet(np.ones(n), size=(L, *lead, H, n))
        given = rng.uniform(0.2, 0.8, size=L) if shares is None else np.full(L, shares)
        return {"layers": layers, "shares": given}

    return make


# 15.10


def sequence(n, m, d, words, lead=(), repeat=False):
    def make(rng):
        ids = rng.integers(words - 1, size=(*lead, m))  # the last word never occurs
        if repeat:
            ids[..., 1] = ids[..., 0]
        return {"dX": rng.normal(size=(*lead, n + m + n, d)), "ids": ids, "words": words, "n": n}

    return make


# 15.11


def sound(samples, wide, hop):
    return lambda rng: {"samples": samples, "wide": wide, "hop": hop}


def some_sound(rng):
    wide = int(rng.integers(20, 60))
    return {"samples": int(rng.integers(300, 900)), "wide": wide, "hop": wide // 3}
