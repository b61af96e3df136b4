"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np
import torch


def put_together(patches, height, width, patch):
    *lead, _, f = patches.shape
    c = f // patch**2
    images = np.zeros((*lead, height, width, c))
    for y in range(height):
        for x in range(width):
            row, at = y // patch * (width // patch) + x // patch, (y % patch * patch + x % patch) * c
            images[..., y, x, :] = patches[..., row, at : at + c]
    return images


def cut(images, patch):
    *lead, H, W, c = images.shape
    h, w = H // patch, W // patch
    return np.concatenate([
        images[..., i * patch : (i + 1) * patch, j * patch : (j + 1) * patch, :].reshape(*lead, 1, patch * patch * c)
        for i in range(h) for j in range(w)], axis=-2)


def bill(height, width, channels, patch, d, layers):
    n = height * width // patch**2
    m = n + 1  # the class token
    weights = patch * patch * channels * d
    return m, weights, 2 * n * weights, layers * (24 * m * d * d + 4 * m * m * d)


CUTS = {
    "reshape": lambda x: x,
    "right": lambda x: x.transpose(0, 2, 1, 3, 4),
    "down first": lambda x: x.transpose(2, 0, 1, 3, 4),
    "transposed": lambda x: x.transpose(0, 2, 3, 1, 4),
    "channels first": lambda x: x.transpose(0, 2, 4, 1, 3),
}


def name_the_cut(image, F, patch):
    H, W, c = image.shape
    five = image.reshape(H // patch, patch, W // patch, patch, c)
    return next(name for name, order in CUTS.items() if np.array_equal(order(five).reshape(F.shape), F))


def as_convolution(W, b, patch):
    f, d = W.shape
    c = f // patch**2
    conv = torch.nn.Conv2d(c, d, patch, stride=patch, dtype=W.dtype)
    with torch.no_grad():
        for k in range(f):
            row, column, channel = k // (patch * c), k // c % patch, k % c
            conv.weight[:, channel, row, column] = W[k]
        conv.bias.copy_(b)
    return conv


def pooled_gradients(dy, X, token, mask):
    share = dy / (1 + mask.sum(axis=-1))[..., None]
    return np.where(mask[..., None], share[..., None, :], 0.0), share.reshape(-1, token.size).sum(axis=0)


def weights_of(height, width, c, e, kernel):
    pixels = height * width
    return (pixels * c) * (pixels * e) + pixels * e, kernel**2 * c * e + e, 3 * (c * e + e)


def two_pictures(h, w, patch):
    # a board of black and white squares; with an odd number of columns, or rows, it is still half black
    board = np.zeros((h, w))
    if w % 2 == 0:
        board[:, 1::2] = 1
    else:
        board[1::2] = 1
    picture = np.kron(board, np.ones((patch, patch)))
    return picture, 1 - picture


def rollout(layers, shares):
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
    for A, r in zip(layers, shares, strict=True):
        R = np.einsum("...ij,...jk->...ik", (1 - r) * A.mean(axis=-3) + r * np.eye(n), R)
    row = R[..., 0, 1:]
    return R, row / row.sum(axis=-1, keepdims=True)


def unpacked_gradients(dX, ids, words, n):
    d, m = dX.shape[-1], ids.shape[-1]
    dF, dW, dG = dX[..., :n, :], dX[..., n : n + m, :], dX[..., n + m :, :]
    dE = np.zeros((words, d))
    np.add.at(dE, ids.ravel(), dW.reshape(-1, d))
    both = (dF + dG).reshape(-1, n, d).sum(axis=0)
    return dF, dG, dE, both, np.stack([x.reshape(-1, d).sum(axis=0) for x in (dF, dW, dG)])


def framed(samples, wide, hop):
    seen, n = set(), 0
    while n * hop + wide <= samples:
        seen.update(range(n * hop, n * hop + wide))
        n += 1
    return n, samples - len(seen)
