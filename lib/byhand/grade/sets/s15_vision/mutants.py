"""Known wrong answers, each with the message that names the misconception."""

import itertools

import numpy as np

from ...model import Mutant

# 15.1


def _together(order=(0, 2, 1, 3, 4), grid=lambda h, w, p, c: (h, w, p, p, c)):
    """The five axes of the rows, brought into another order."""

    def function(patches, height, width, patch):
        *lead, _, f = patches.shape
        h, w, c = height // patch, width // patch, f // patch**2
        k = len(lead)
        five = patches.reshape(*lead, *grid(h, w, patch, c))
        five = five.transpose(*range(k), *(k + a for a in order))
        return five.reshape(*lead, height, width, c)

    return function


def _one_channel(patches, height, width, patch):
    full = _together()(patches, height, width, patch)
    return full.mean(axis=-1, keepdims=True)


def _first_batch(patches, height, width, patch):
    full = _together()(patches, height, width, patch)
    return full.reshape(-1, *full.shape[-3:])


def _wide_grid(patches, height, width, patch):
    return np.swapaxes(_together()(patches, width, height, patch), -3, -2)


def _from_the_front(patches, height, width, patch):
    *lead, _, f = patches.shape
    five = patches.reshape(*lead, height // patch, width // patch, patch, patch, f // patch**2)
    return np.swapaxes(five, 1, 2).reshape(*lead, height, width, f // patch**2)


def _by_height(patches, height, width, patch):
    """Square k put into row k // h and column k % h, where there is such a place."""
    *lead, n, f = patches.shape
    h, c = height // patch, f // patch**2
    images = np.zeros((*lead, height, width, c))
    for k in range(n):
        y, x = k // h * patch, k % h * patch
        if y < height and x < width:
            images[..., y : y + patch, x : x + patch, :] = patches[..., k, :].reshape(*lead, patch, patch, c)
    return images


def _upwards(patches, w):
    *lead, n, f = patches.shape
    return patches.reshape(*lead, n // w, w, f)[..., ::-1, :, :].reshape(patches.shape)


ORDERS = [(*order, 4) for order in itertools.permutations(range(4))]  # of the four axes beside the channels


def _spoken(order, names=("row of squares", "column of squares", "row of pixels", "column of pixels")):
    return ", ".join(names[k] for k in order[:4])


TOGETHER_ALL = ("one image", "colours", "two axes in front")
TOGETHER = (
    Mutant("the wrong pair exchanged", _together((0, 1, 3, 2, 4)),
           "The pixels' rows and columns are exchanged, and the squares stay where they were: the pair to exchange is "
           "the column of the square and the row of the pixel, so that a line of the image runs through all squares "
           "beside each other.", "15.1", TOGETHER_ALL),
    Mutant("stacked, then side by side", _together((1, 2, 0, 3, 4)),
           "Squares that are beside each other are put below each other, and rows of squares side by side: the other "
           "way round, the w squares of a row stand side by side, and the rows below each other.", "15.1",
           TOGETHER_ALL),
    Mutant("reshape alone", _together((0, 1, 2, 3, 4)),
           "A reshape alone: in memory the pixels of a square stand together, those of a line of the image must. Read "
           "the rows as five axes, exchange two, and only then flatten.", "15.1", TOGETHER_ALL),
    Mutant("down, then right", _together((1, 2, 0, 3, 4), lambda h, w, p, c: (w, h, p, p, c)),
           "The squares are put down column by column; row i·w + j of the matrix is the square in row i and column j: "
           "left to right, then down.", "15.1", TOGETHER_ALL),
    Mutant("pixels transposed", _together((0, 3, 1, 2, 4)),
           "Each square is turned over its diagonal: within a square the pixels run left to right, then down, too.",
           "15.1", TOGETHER_ALL),
    Mutant("both transposed", _wide_grid,
           "The squares run down column by column and their pixels too: everything is the transpose of what it should "
           "be. Left to right comes first, both times.", "15.1", TOGETHER_ALL),
    Mutant("channels first", _together((0, 3, 1, 4, 2), lambda h, w, p, c: (h, w, c, p, p)),
           "The channels are taken as the slowest index of a row; the channels of a pixel stand side by side, so they "
           "are the fastest.", "15.1", ("colours", "two axes in front")),
    Mutant("channels in the middle", _together((0, 2, 1, 4, 3), lambda h, w, p, c: (h, w, p, c, p)),
           "A row is read as (row, channel, column): the channels of a pixel stand side by side, so by (15.1) it is "
           "(row, column, channel).", "15.1", ("colours", "two axes in front")),
    Mutant("channels in front in memory", _together((4, 0, 2, 1, 3)),
           "The axes are put in the order (channel, height, width), as PyTorch has them, and then reshaped to one that "
           "ends in the channel: the shape is right and the numbers are elsewhere. The channel stays the last axis.",
           "15.1", ("colours", "two axes in front")),
    Mutant("grey", _one_channel,
           "There is one channel in the result. The number of channels is the width of a row divided by patch².",
           "15.1", ("colours", "two axes in front")),
    Mutant("axes counted from the front", _from_the_front,
           "The exchange counts its axes from the front, so with axes in front it moves others. Count from the end.",
           "15.1", ("two axes in front",)),
    Mutant("divided by the height", _by_height,
           "Square k is put into row k // h and column k % h, with h the rows of the grid: each row of the grid has "
           "w = width / patch squares, so it is k // w and k % w.", "15.1", TOGETHER_ALL),
    Mutant("axes in front joined", _first_batch,
           "The axes in front are flattened into one; they come out as they went in.", "15.1", ("one image",
                                                                                             "two axes in front")),
    Mutant("grid turned", _together((0, 2, 1, 3, 4), lambda h, w, p, c: (w, h, p, p, c)),
           "Height and width of the grid are exchanged: there are height / patch rows of squares, and width / patch in "
           "each. With a square image nobody would notice.", "15.1", TOGETHER_ALL),
    Mutant("image on its side", lambda *given: np.swapaxes(_together()(*given), -3, -2),
           "The image lies on its side: rows and columns of pixels are exchanged at the end. It is (height, width, c).",
           "15.1", TOGETHER_ALL),
    Mutant("channels in front", lambda *given: np.moveaxis(_together()(*given), -1, -3),
           "The channels stand in front of height and width, as PyTorch has them; here they are the last axis.", "15.1",
           TOGETHER_ALL),
    Mutant("upside down", lambda *given: _together()(*given)[..., ::-1, :, :],
           "The image is upside down: its first line is that of the first squares, counted from above.", "15.1",
           TOGETHER_ALL),
    Mutant("squares from below", lambda patches, height, width, patch: _together()(
        _upwards(patches, width // patch), height, width, patch),
           "The rows of squares are put down from below, and each square is upright: the first squares are above.",
           "15.1", TOGETHER_ALL),
    Mutant("mirrored", lambda *given: _together()(*given)[..., ::-1, :],
           "The image is mirrored: left to right, the first square is the one at the left.", "15.1", TOGETHER_ALL),
    Mutant("first image alone", lambda patches, *rest: _together()(
        patches.reshape(-1, *patches.shape[-2:])[0], *rest),
           "One image comes back, the first; all that are in front of the rows are to be put together.", "15.1",
           ("two axes in front",)),
    *(Mutant(f"order {order}", _together(order),
             f"The axes of the rows stand in the order {_spoken(order)}. An image counts in the order row of squares, "
             "row of pixels, column of squares, column of pixels.", "15.1", TOGETHER_ALL)
      for order in ORDERS if order not in ((0, 2, 1, 3, 4), (0, 1, 3, 2, 4), (1, 2, 0, 3, 4), (0, 1, 2, 3, 4),
                                           (0, 3, 1, 2, 4))),
)

# 15.2


def _cut(order=(0, 2, 1, 3, 4), turned=False):
    def function(images, patch):
        *lead, H, W, c = images.shape
        h, w, k = H // patch, W // patch, len(lead)
        shape = (w, patch, h, patch, c) if turned else (h, patch, w, patch, c)
        five = images.reshape(*lead, *shape).transpose(*range(k), *(k + a for a in order))
        return five.reshape(*lead, h * w, patch * patch * c)

    return function


def _from_the_end(images, patch):
    """One exchange of axes, counted from the front: right for one image alone."""
    *lead, H, W, c = images.shape
    h, w = H // patch, W // patch
    five = images.reshape(*lead, h, patch, w, patch, c)
    return np.swapaxes(five, 1, 2).reshape(*lead, h * w, patch * patch * c) if five.ndim > 5 else _cut()(images, patch)


def _joined(images, patch):
    found = _cut()(images, patch)
    return found.reshape(-1, *found.shape[-2:])


CUT_ALL = ("one image", "a batch", "two axes in front")
CUTTING = (
    Mutant("the code as it is", _cut((2, 0, 3, 1, 4)),
           "That is the code as it was: the squares run down, then right, and so do the pixels of each. Both pairs of "
           "axes are in the wrong order.", "15.1", CUT_ALL),
    Mutant("pixels before squares", _cut((2, 3, 0, 1, 4)),
           "A row of the result is no square: its pixels are far apart in the image. The two axes that say which "
           "square it is come first, then the two that say which pixel in it.", "15.1", CUT_ALL),
    Mutant("down, then right", _cut((2, 0, 1, 3, 4)),
           "The pixels of a square are in order now, the squares are not: they still run down column by column.",
           "15.1", CUT_ALL),
    Mutant("pixels transposed", _cut((0, 2, 3, 1, 4)),
           "The squares are in order now, their pixels are not: within a square they still run down, then right.",
           "15.1", CUT_ALL),
    Mutant("reshape alone", _cut((0, 1, 2, 3, 4)),
           "Without any exchange of axes a row is a strip of the image, not a square.", "15.1", CUT_ALL),
    Mutant("channels first", _cut((0, 2, 4, 1, 3)),
           "The channels come first in each row; the channels of a pixel stand side by side.", "15.1", CUT_ALL),
    Mutant("axes counted from the front", _from_the_end,
           "The exchange counts its axes from the front, so with a batch it moves other axes than without. Count from "
           "the end.", "15.1", ("a batch", "two axes in front")),
    Mutant("axes in front joined", _joined,
           "The axes in front are flattened into one; they come out as they went in.", "15.1",
           ("one image", "two axes in front")),
    Mutant("grid turned", _cut((0, 2, 1, 3, 4), turned=True),
           "The image is read as if it were as wide as it is high: there are H / patch rows of squares and W / patch "
           "in each.", "15.1", CUT_ALL),
    Mutant("channels first, down first", _cut((2, 0, 4, 1, 3)),
           "The squares run down, then right, and in each row the channels come first: the channels of a pixel stand "
           "side by side.", "15.1", CUT_ALL),
    Mutant("channels first, pixels transposed", _cut((0, 2, 4, 3, 1)),
           "In each row the channels come first, and the pixels run down: the channels of a pixel stand side by side.",
           "15.1", CUT_ALL),
    Mutant("grid left standing", lambda images, patch: _cut()(images, patch).reshape(
        *images.shape[:-3], images.shape[-3] // patch, images.shape[-2] // patch, -1),
           "The grid is still there, (h, w, f): the squares are the rows of one matrix, (h · w, f).", "15.1", CUT_ALL),
    Mutant("rows for columns", lambda images, patch: _cut()(images, patch).mT,
           "The squares stand in the columns; they are the rows.", "15.1", CUT_ALL),
    Mutant("squares in front", lambda images, patch: np.moveaxis(_cut()(images, patch), -2, 0),
           "The squares stand in front of the axes for the images, as np.stack puts them by itself: they are the last "
           "axis but one.", "15.1", ("a batch", "two axes in front")),
    Mutant("squares in front, and a reshape", lambda images, patch: np.moveaxis(_cut()(images, patch), -2, 0).reshape(
        _cut()(images, patch).shape),
           "The squares were put in front of the axes for the images, and a reshape only renamed the places: they are "
           "the last axis but one, so stack them there.", "15.1", ("a batch", "two axes in front")),
    Mutant("squares from below", lambda images, patch: _upwards(_cut()(images, patch), images.shape[-2] // patch),
           "The rows of squares come from below; the first squares are above.", "15.1", CUT_ALL),
    *(Mutant(f"order {order}", _cut(order),
             "The axes of the image stand in the order "
             + _spoken(order, ("row of squares", "row of pixels", "column of squares", "column of pixels"))
             + ". The rows count in the order row of squares, column of squares, row of pixels, column of pixels.",
             "15.1", CUT_ALL)
      for order in ORDERS if order not in ((0, 2, 1, 3, 4), (2, 0, 3, 1, 4), (2, 3, 0, 1, 4), (2, 0, 1, 3, 4),
                                           (0, 2, 3, 1, 4), (0, 1, 2, 3, 4))),
)

# 15.3


def _bill(tokens=1, weights=lambda p, c, d: p * p * c * d, embed=lambda n, p, c, d: 2 * n * p * p * c * d,
          maps=24, pairs=4, layers=lambda x: x, grid=lambda H, W, p: H * W // (p * p), read=1, places=0):
    def function(height, width, channels, patch, d, layers_):
        n = grid(height, width, patch)
        m, k = n + tokens, n + tokens * read
        return (m, weights(patch, channels, d) + places * m * d, embed(n, patch, channels, d),
                layers(layers_) * (maps * k * d * d + pairs * k * k * d))

    def called(height, width, channels, patch, d, layers):
        return function(height, width, channels, patch, d, layers)

    return called


BILL_ALL = ("grey", "colours", "halved squares")
BILLS = (
    Mutant("no class token", _bill(tokens=0),
           "The class token is a token too: the blocks read one more row than there are squares.", "15.2", BILL_ALL),
    Mutant("class token embedded", _bill(embed=lambda n, p, c, d: 2 * (n + 1) * p * p * c * d),
           "The class token is counted in the patch embedding; it is a row of its own and comes in behind it.", "15.2",
           BILL_ALL),
    Mutant("one for a multiplication", _bill(embed=lambda n, p, c, d: n * p * p * c * d, maps=12, pairs=2),
           "A multiplication and its addition are counted as one operation; in this course they are two.", "9.9",
           BILL_ALL),
    Mutant("no channels", _bill(weights=lambda p, c, d: p * p * d, embed=lambda n, p, c, d: 2 * n * p * p * d),
           "The channels are missing: a square has patch² times channels numbers.", "15.1", ("colours",
                                                                                           "halved squares")),
    Mutant("a side for a square", _bill(weights=lambda p, c, d: p * c * d, embed=lambda n, p, c, d: 2 * n * p * c * d),
           "A square is counted with patch pixels: it has patch × patch, each with all channels.", "15.1", BILL_ALL),
    Mutant("attention without its products", _bill(pairs=0),
           "The scores and the mean of the values are missing: 4 m² d a block, and they are what small squares make "
           "dear.", "9.9", BILL_ALL),
    Mutant("scores alone", _bill(pairs=2),
           "Only the scores are counted, 2 m² d; the mean of the values takes as much again.", "9.9", BILL_ALL),
    Mutant("no feed-forward", _bill(maps=8),
           "The feed-forward layers are missing: two products with 4 d² weights, 16 m d² operations.", "9.9",
           BILL_ALL),
    Mutant("no maps of attention", _bill(maps=16),
           "8 m d² operations are missing in each block. So much take the four maps of attention, and as much each of "
           "the two layers of the feed-forward network.", "9.9", BILL_ALL),
    Mutant("a map too few", _bill(maps=22),
           "2 m d² operations are missing in each block, one map of attention: there are four, the one behind the "
           "heads among them.", "9.9", BILL_ALL),
    Mutant("narrow feed-forward", _bill(maps=12),
           "The feed-forward layer is taken as d wide; its inner width is 4 d, so its two products take 16 m d².",
           "9.9", BILL_ALL),
    Mutant("pairs not squared", lambda height, width, channels, patch, d, layers: (
        height * width // patch**2 + 1, patch**2 * channels * d, 2 * height * width * channels * d,
        layers * 28 * (height * width // patch**2 + 1) * d * d),
           "Scores and means are counted as 4 m d²; every row meets every row, so it is 4 m² d.", "9.9", BILL_ALL),
    Mutant("blocks without class token", _bill(read=0),
           "The class token is counted among the tokens, and not in the work of the blocks, which read it too.", "15.2",
           BILL_ALL),
    Mutant("blocks at half price", _bill(maps=12, pairs=2),
           "The blocks are at half their price: a multiplication and its addition are two operations, as they are in "
           "the embedding.", "9.9", BILL_ALL),
    Mutant("places among the weights", _bill(places=1),
           "The positions are counted among the weights of the patch embedding; they are no part of it.", "15.1",
           BILL_ALL),
    Mutant("one block", _bill(layers=lambda x: 1), "One block is counted, not all of them.", "15.3", BILL_ALL),
    Mutant("a side for an area", _bill(grid=lambda H, W, p: H * W // p),
           "The pixels are divided by patch; a square covers patch × patch of them.", "15.1", BILL_ALL),
    Mutant("with biases", _bill(weights=lambda p, c, d: p * p * c * d + d),
           "The bias is counted among the weights of the embedding.", "15.1", BILL_ALL),
    Mutant("embedding once", _bill(embed=lambda n, p, c, d: 2 * p * p * c * d),
           "The embedding is counted for one square; all of them are multiplied by the same matrix.", "15.1",
           BILL_ALL),
    Mutant("embedding at half price", _bill(embed=lambda n, p, c, d: n * p * p * c * d),
           "The embedding is at half its price: a multiplication and its addition are two operations.", "15.1",
           BILL_ALL),
    Mutant("channels twice", _bill(embed=lambda n, p, c, d: 2 * n * p * p * c * c * d),
           "The channels are counted twice in the embedding: a row has patch² times channels numbers, all of it.",
           "15.1", ("colours", "halved squares")),
    Mutant("a token a channel", lambda H, W, c, p, d, layers: _bill()(H * c, W, 1, p, d, layers)[:1] + (
        p * p * c * d,) + (_bill()(H * c, W, c, p, d, layers)[2], _bill()(H * c, W, 1, p, d, layers)[3]),
           "The channels are counted among the tokens: a square with all its channels is one row.", "15.1",
           ("colours", "halved squares")),
    Mutant("weights for every square", lambda H, W, c, p, d, layers: (
        (o := _bill()(H, W, c, p, d, layers))[0], o[1] * (o[0] - 1), *o[2:]),
           "The weights are counted once for every square; all squares are multiplied by the same matrix.", "15.1",
           BILL_ALL),
    Mutant("two more tokens", _bill(tokens=2),
           "Two tokens are added to the squares: there is one, the class token.", "15.2", BILL_ALL),
    Mutant("a backward pass", lambda H, W, c, p, d, layers: (
        (o := _bill()(H, W, c, p, d, layers))[0], o[1], 3 * o[2], 3 * o[3]),
           "This is three times the forward pass, as for training; what one image costs is asked.", "15.1", BILL_ALL),
    Mutant("blocks with the embedding", lambda H, W, c, p, d, layers: (
        *(o := _bill()(H, W, c, p, d, layers))[:3], o[3] + o[2]),
           "The embedding is counted among the blocks; it is a number of its own.", "15.1", BILL_ALL),
    Mutant("pairs of squares alone", lambda H, W, c, p, d, layers: (
        *(o := _bill()(H, W, c, p, d, layers))[:3], layers * (24 * o[0] * d * d + 4 * (o[0] - 1) ** 2 * d)),
           "Scores and means are counted without the class token, which attends and is attended to as well.", "15.2",
           BILL_ALL),
    Mutant("maps of squares alone", lambda H, W, c, p, d, layers: (
        *(o := _bill()(H, W, c, p, d, layers))[:3], layers * (24 * (o[0] - 1) * d * d + 4 * o[0] ** 2 * d)),
           "The maps are counted without the class token, which goes through them as well.", "15.2", BILL_ALL),
    Mutant("pairs without width", lambda H, W, c, p, d, layers: (
        *(o := _bill()(H, W, c, p, d, layers))[:3], layers * (24 * o[0] * d * d + 4 * o[0] ** 2)),
           "A score is counted as one product of two numbers; it is one of two rows of d numbers, so it is 4 m² d.",
           "9.9", BILL_ALL),
    Mutant("width and rows exchanged", lambda H, W, c, p, d, layers: (
        *(o := _bill()(H, W, c, p, d, layers))[:3], layers * (24 * o[0] ** 2 * d + 4 * o[0] * d * d)),
           "Rows and width are exchanged: the maps take 24 m d², scores and means 4 m² d.", "9.9", BILL_ALL),
    Mutant("no pair with what comes later", lambda H, W, c, p, d, layers: (
        *(o := _bill()(H, W, c, p, d, layers))[:3], layers * (24 * o[0] * d * d + 2 * o[0] * (o[0] + 1) * d)),
           "Only pairs with an earlier token are counted; in an image every token sees all.", "15.1", BILL_ALL),
    *(Mutant(f"blocks with {a} and {b}", _bill(maps=a, pairs=b),
             f"A block is counted with {a} m d² + {b} m² d. Four maps of attention take 8 m d², the two of the "
             "feed-forward network 16 m d²; the scores take 2 m² d, and the mean of the values as much.", "9.9",
             BILL_ALL)
      for a in (0, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32, 40, 48) for b in (0, 1, 2, 4, 8)
      if (a, b) not in ((24, 4), (24, 0), (24, 2), (8, 4), (16, 4), (22, 4), (12, 4), (12, 2), (0, 0), (28, 0))),
)

# 15.4

_ORDERS = {"right": (0, 2, 1, 3, 4), "reshape": (0, 1, 2, 3, 4), "down first": (2, 0, 1, 3, 4),
           "transposed": (0, 2, 3, 1, 4), "channels first": (0, 2, 4, 1, 3)}


def _names(order=tuple(_ORDERS), say=lambda name: name, look=lambda x: x, without=(), orders=_ORDERS,
           default="right"):
    def function(image, F, patch):
        H, W, c = image.shape
        five = image.reshape(H // patch, patch, W // patch, patch, c)
        for name in order:
            made = five.transpose(orders[name]).reshape(F.shape)
            if name not in without and np.array_equal(look(made), look(F)):
                return say(name)
        return default

    return function


def _last_two(image, F, patch):
    name = _names(without=("transposed", "channels first"), default="")(image, F, patch)
    return name or _names(("transposed", "channels first"), look=lambda F: F[0])(image, F, patch)


def _turned(default):
    """Candidates for an image whose height and width are exchanged."""

    def function(image, F, patch):
        H, W, c = image.shape
        return _names(default=default)(image.reshape(W, H, c), F, patch)

    return function


_TURN = {"down first": "transposed", "transposed": "down first"}
EXHIBIT_ALL = ("five exhibits", "colours in another grid", "a corner of one colour")
NAMING = (
    Mutant("always right", lambda image, F, patch: "right",
           "Everything is called right. Four kinds of exhibit are not: compare the rows with the squares of the "
           "image.", "15.1", EXHIBIT_ALL),
    Mutant("two names exchanged", _names(say=lambda name: _TURN.get(name, name)),
           "'down first' and 'transposed' are exchanged: the first is about the order of the squares, the second about "
           "that of the pixels in a square.", "15.1", EXHIBIT_ALL),
    Mutant("first row alone", _names(("right", "down first", "reshape", "transposed", "channels first"),
                                     look=lambda F: F[0]),
           "An exhibit whose squares run down, then right, is called right. If you look at the first row alone: square "
           "0 is the upper left one in whatever order they run. If you look at all: its rows are the squares of one "
           "column after those of the other, and their pixels stay in order.", "15.1", EXHIBIT_ALL),
    *(Mutant(f"first two rows alone, {order[0]} first", _names(order, look=lambda F: F[:2]),
             "Two rows are not enough: where the squares at the border are of one colour, the first rows are the same "
             "in whatever order they were made. Compare all of them.", "15.1", ("a corner of one colour",))
      for order in (tuple(_ORDERS), ("reshape", "right", "down first", "transposed", "channels first"))),
    Mutant("rows as sets", _names(("right", "transposed", "channels first", "down first", "reshape"),
                                  look=lambda F: np.sort(F, axis=1)),
           "The order in a row is not seen, as where rows are compared as sets of numbers, by their sums, or by their "
           "first number alone: a square that is transposed, or that has its channels first, holds the same numbers "
           "and begins with the same one.", "15.1", EXHIBIT_ALL),
    Mutant("the first row tells the last two apart", _last_two,
           "The first row alone tells transposed from channels first: where the square in the corner has one colour, "
           "it is the same in both. Compare all rows.", "15.1", ("a corner of one colour",)),
    *(Mutant(f"{name} taken for {default}", _names(without=(name,), default=default), says, "15.1", EXHIBIT_ALL)
      for name, says in {
          "right": "The right exhibit is accused.",
          "channels first": "The exhibit with its channels first is not recognised: in each row all numbers of one "
                            "channel, in the order of the pixels, stand before those of the next.",
          "reshape": "The exhibit of a mere reshape is not recognised: its rows are strips of the image.",
          "down first": "The exhibit whose squares run down, then right, is not recognised. Its first row is right, "
                        "and so is the order in every row.",
          "transposed": "The exhibit whose squares are turned over their diagonal is not recognised: its squares are "
                        "in order, and their pixels run down, then right."}.items()
      for default in _ORDERS if default != name and (name, default) != ("down first", "right")),
    *(Mutant(f"{name} not named", _names(without=(name,), default=None), says, "15.1", EXHIBIT_ALL)
      for name, says in {
          "right": "The exhibit that is right gets no name.",
          "channels first": "The exhibit with its channels first gets no name: in each row all numbers of one channel, "
                            "in the order of the pixels, stand before those of the next.",
          "reshape": "The exhibit of a mere reshape gets no name: its rows are strips of the image.",
          "down first": "The exhibit whose squares run down, then right, gets no name. Only the order of the squares "
                        "is another: each square holds its pixels left to right, then down, as the right one does.",
          "transposed": "The exhibit whose squares are turned over their diagonal gets no name: its squares are in "
                        "order, and their pixels run down, then right, each with its channels side by side.",
      }.items()),
    *(Mutant(f"grid turned, {default} for the rest", _turned(default),
             "The candidates are made for a grid with its sides exchanged: the image is (height, width, channels), so "
             "there are height / patch rows of squares. Only a mere reshape does not mind.", "15.1", EXHIBIT_ALL)
      for default in (None, *_ORDERS) if default != "reshape"),
    *(Mutant(f"{a} and {b} exchanged", _names(say=lambda name, a=a, b=b: {a: b, b: a}.get(name, name)),
             f"'{a}' and '{b}' are exchanged: read in the list what each name stands for.", "15.1", EXHIBIT_ALL)
      for a, b in itertools.combinations(_ORDERS, 2) if {a, b} != {"down first", "transposed"}),
)

# 15.5


def _convolution(load, stride=None, bias=True, learns=True, padding=0, has=True, single=False):
    def function(W, b, patch):
        import torch

        f, d = W.shape
        c = f // patch**2
        conv = torch.nn.Conv2d(c, d, patch, stride=stride or patch, padding=padding and patch // 2, bias=has,
                               dtype=torch.float32 if single else W.dtype)
        with torch.no_grad():
            conv.weight.copy_(load(W, patch, c, d))
            if has:
                conv.bias.copy_(b if bias else 0 * b)
        if learns == "no parameter":
            values = conv.weight.detach().clone()
            del conv.weight
            conv.weight = values
        elif not learns:
            conv.requires_grad_(False)
        return conv

    return function


def _right(W, p, c, d):
    return W.reshape(p, p, c, d).permute(3, 2, 0, 1)


CONV = ("tokens", "grey", "colours in a batch")
CONVOLUTIONS = (
    Mutant("rows of W as outputs", _convolution(lambda W, p, c, d: W.reshape(d, p, p, c).permute(0, 3, 1, 2)),
           "W is reshaped to (out, row, column, channel), and its outputs are its columns: transpose it first.", "15.1",
           CONV),
    Mutant("single precision", _convolution(_right, single=True),
           "The layer is float32, torch's own choice, and digits of W are lost: hand on dtype=W.dtype.", "15.1", CONV),
    Mutant("reshape alone", _convolution(lambda W, p, c, d: W.T.reshape(d, c, p, p)),
           "The weights are reshaped to (out, channel, row, column) without moving an axis. In a row of the patches "
           "the channel is the fastest index: read W as (row, column, channel, out) first.", "15.1",
           ("tokens", "colours in a batch")),
    Mutant("all wrong", _convolution(lambda W, p, c, d: W.reshape(d, c, p, p)),
           "W has the outputs in its columns, and is read as if they were the rows: transpose, or permute, before any "
           "reshape to (out, …).", "15.1", CONV),
    Mutant("taps transposed", _convolution(lambda W, p, c, d: _right(W, p, c, d).mT),
           "Rows and columns of the taps are exchanged: the last axis of the weights of nn.Conv2d is the column.",
           "15.1", CONV),
    Mutant("taps turned round", _convolution(lambda W, p, c, d: _right(W, p, c, d).flip(2, 3)),
           "The taps are turned round. That would be a convolution as mathematicians write it; nn.Conv2d does not turn "
           "them.", "15.1", CONV),
    Mutant("stride 1", _convolution(_right, stride=1),
           "The window moves by one pixel, so the squares overlap: the stride is the width of a square.", "15.1", CONV),
    Mutant("no bias", _convolution(_right, bias=False), "The bias is missing.", "15.1", CONV),
    Mutant("made without a bias", _convolution(_right, has=False), "The bias is missing.", "15.1",
           (*CONV, "learning")),
    Mutant("padded", _convolution(_right, padding=1),
           "The image is padded, so the windows lie across the borders of the squares: nothing is put around it.",
           "15.1", CONV),
    Mutant("channels reversed", _convolution(lambda W, p, c, d: _right(W, p, c, d).flip(1)),
           "The channels are in the opposite order.", "15.1", ("tokens", "colours in a batch")),
    Mutant("frozen", _convolution(_right, learns=False),
           "The numbers are right, but the layer can no longer learn: its parameters are to stay parameters. Copy into "
           "them under torch.no_grad().", "15.1", ("learning",)),
    Mutant("no parameter any more", _convolution(_right, learns="no parameter"),
           "The numbers are right, but the weights are a plain tensor, which no optimiser finds: they are to stay an "
           "nn.Parameter. Copy into it under torch.no_grad().", "15.1", ("learning",)),
    Mutant("channels slowest, taps transposed", _convolution(
        lambda W, p, c, d: W.reshape(c, p, p, d).permute(3, 0, 2, 1)),
           "The rows of W are read with the channel as the slowest index, and rows and columns of the taps are "
           "exchanged: W is (row, column, channel, out).", "15.1", CONV),
    Mutant("channels in the middle", _convolution(lambda W, p, c, d: W.reshape(p, c, p, d).permute(3, 1, 0, 2)),
           "The rows of W are read as (row, channel, column): the channels of a pixel stand side by side, so it is "
           "(row, column, channel).", "15.1", ("tokens", "colours in a batch")),
)

# 15.6


def _pooled(count=lambda mask, n: 1 + mask.sum(axis=-1), over="all", spread=lambda share, mask: np.where(
        mask[..., None], share[..., None, :], 0.0), token=lambda share, dy: share):
    def function(dy, X, token_, mask):
        share = dy / count(mask, mask.shape[-1])[..., None]
        dt = token(share, dy).reshape(-1, token_.size)
        dt = {"all": dt.sum, "mean": dt.mean}[over](axis=0)
        return spread(share, mask), dt

    return function


def _without_token(dy, X, token, mask):
    _, dt = _pooled()(dy, X, token, mask)
    return _pooled(lambda mask, n: np.maximum(mask.sum(axis=-1), 1))(dy, X, token, mask)[0], dt


def _token_kept(dy, X, token, mask):
    dX, _ = _pooled()(dy, X, token, mask)
    return dX, dy / (1 + mask.sum(axis=-1))[..., None]


def _token_last(dy, X, token, mask):
    dX, _ = _pooled()(dy, X, token, mask)
    share = dy / (1 + mask.sum(axis=-1))[..., None]
    return dX, share.sum(axis=0) if share.ndim > 1 else share


def _quotient(dy, X, token, mask):
    dX, dt = _pooled()(dy, X, token, mask)
    k = (1 + mask.sum(axis=-1))[..., None]
    y = (token + (X * mask[..., None]).sum(axis=-2)) / k
    dX = np.where(mask[..., None], dX - (dy * y / k**2)[..., None, :], 0.0)
    return dX, dt


POOL_ALL = ("one image", "a batch", "two axes in front", "nothing real")
SEVERAL = ("a batch", "two axes in front", "nothing real")
POOLS = (
    Mutant("rows not divided", _pooled(spread=lambda share, mask: np.where(mask[..., None], 1.0, 0.0) * (
        share * (1 + mask.sum(axis=-1))[..., None])[..., None, :]),
           "dX is dy itself in the real rows: each is one of 1 + Σ m that the mean is over, so it gets that part.",
           "15.2", SEVERAL[:2]),
    Mutant("token not counted", _pooled(lambda mask, n: np.maximum(mask.sum(axis=-1), 1)),
           "The class token is not counted among those that the mean is over: with k real tokens it is over k + 1.",
           "15.2", POOL_ALL),
    Mutant("token counted for itself alone", _without_token,
           "dX is divided by the number k of real rows, dtoken by k + 1: it is one mean, over the class token and the "
           "real rows, so all have the share 1 / (k + 1).", "15.2", POOL_ALL),
    Mutant("over padding too", _pooled(lambda mask, n: np.full(mask.shape[:-1], n + 1)),
           "The mean is over all rows, padding too: it is to be over the class token and the real ones.", "15.2",
           POOL_ALL),
    Mutant("padding gets a share", _pooled(spread=lambda share, mask: np.broadcast_to(
        share[..., None, :], (*mask.shape, share.shape[-1]))),
           "Padding gets a gradient. It was not in the mean, so its gradient is exactly zero.", "15.2", POOL_ALL),
    Mutant("mean over images", _pooled(over="mean"),
           "dtoken is a mean over the images; all of them used the same token, and gradients of what is shared add "
           "up.", "15.2", SEVERAL),
    Mutant("token for each image", _token_kept,
           "dtoken has a row for each image; it has the shape of the token, since all images share it.", "15.2",
           SEVERAL),
    Mutant("first axis alone", _token_last,
           "dtoken is summed over the first axis alone; all the axes in front share the token.", "15.2",
           ("two axes in front",)),
    Mutant("token gets all", _pooled(token=lambda share, dy: dy),
           "dtoken is dy itself, as if the class token were all that is read; it is one row of a mean, with the share "
           "of any other.", "15.2", POOL_ALL),
    Mutant("not divided", _pooled(lambda mask, n: np.ones(mask.shape[:-1])),
           "Nothing is divided: each row of a mean gets its share of dy, 1 / (k + 1) with k real tokens.", "15.2",
           POOL_ALL),
    Mutant("mask for its opposite", _pooled(lambda mask, n: 1 + (~mask).sum(axis=-1), spread=lambda share, mask:
           np.where(mask[..., None], 0.0, share[..., None, :])),
           "The mask is read the wrong way round: True is a real token.", "15.2", POOL_ALL),
    Mutant("one count for the batch", _pooled(lambda mask, n: np.full(mask.shape[:-1], 1 + mask.sum())),
           "The real rows of all images are counted together: each image has a mean of its own, over its real rows.",
           "15.2", SEVERAL),
    Mutant("over the rows of X", _pooled(lambda mask, n: np.full(mask.shape[:-1], n)),
           "The mean is over all rows of X: it is over the real ones and the class token, k + 1.", "15.2",
           ()),
    Mutant("two too many", _pooled(lambda mask, n: 2 + mask.sum(axis=-1)),
           "One is counted too many: k real rows and the class token are k + 1.", "15.2", POOL_ALL),
    Mutant("divided twice", _pooled(lambda mask, n: (1 + mask.sum(axis=-1)) ** 2),
           "It is divided by k + 1 twice: the mean divides once, and so does its gradient.", "15.2", POOL_ALL[:3]),
    Mutant("multiplied", _pooled(lambda mask, n: 1 / (1 + mask.sum(axis=-1))),
           "It is multiplied by k + 1: a row of a mean gets dy divided by it.", "15.2", POOL_ALL[:3]),
    Mutant("rows in their own gradient", lambda dy, X, token, mask: (
        (o := _pooled()(dy, X, token, mask))[0] * X, o[1]),
           "dX contains X: the mean is linear in its rows, so the gradient knows nothing of their numbers.", "15.2",
           POOL_ALL),
    Mutant("token in its own gradient", lambda dy, X, token, mask: (
        (o := _pooled()(dy, X, token, mask))[0], o[1] * token),
           "dtoken contains the token: the mean is linear in it, so the gradient knows nothing of its numbers.", "15.2",
           POOL_ALL),
    Mutant("both in their own gradients", lambda dy, X, token, mask: (
        (o := _pooled()(dy, X, token, mask))[0] * X, o[1] * token),
           "The gradients contain X and the token: the mean is linear in its rows, so their numbers are not in it.",
           "15.2", POOL_ALL),
    Mutant("no share where nothing is real", _pooled(token=lambda share, dy: share, count=lambda mask, n: np.where(
        mask.any(axis=-1), 1 + mask.sum(axis=-1), np.inf)),
           "An image of which nothing is real sends nothing to the token: its mean is the token, so all of dy goes "
           "there.", "15.2", ("nothing real",)),
    Mutant("signs", _pooled(lambda mask, n: -1.0 - mask.sum(axis=-1)),
           "All signs are the opposite: these are gradients, and no steps.", "15.2", POOL_ALL),
    Mutant("all real rows share one part", _pooled(spread=lambda share, mask: np.where(
        mask[..., None], (share / np.maximum(mask.sum(axis=-1), 1)[..., None])[..., None, :], 0.0)),
           "dX is divided by the number of real rows once more: each of them has the share 1 / (k + 1).", "15.2",
           POOL_ALL[:3]),
    Mutant("quotient rule", lambda dy, X, token, mask: _quotient(dy, X, token, mask),
           "The mean itself is subtracted, as by the quotient rule: the mask is given, so what is below the line does "
           "not depend on the rows.", "15.2", POOL_ALL[:3]),
    Mutant("dtoken as a row", lambda dy, X, token, mask: ((o := _pooled()(dy, X, token, mask))[0], o[1][None]),
           "dtoken has an axis too many: it has the shape of the token, (d,).", "15.2", POOL_ALL),
    Mutant("dtoken as a number", lambda dy, X, token, mask: (
        (o := _pooled()(dy, X, token, mask))[0], o[1].sum()),
           "dtoken is summed over its own d entries as well: only the axes in front are summed.", "15.2", POOL_ALL),
    Mutant("token gets what the rows get", lambda dy, X, token, mask: (
        dX := _pooled()(dy, X, token, mask)[0], dX.reshape(-1, dX.shape[-1]).sum(axis=0)),
           "dtoken is the sum of the rows of dX: these are the shares of the real rows. The token is a row more, and "
           "has one share from each image.", "15.2", POOL_ALL),
    Mutant("one count below dtoken", lambda dy, X, token, mask: (
        _pooled()(dy, X, token, mask)[0],
        dy.reshape(-1, dy.shape[-1]).sum(axis=0) / (1 + mask.sum(axis=-1)).sum()),
           "dtoken is the sum of all dy over the sum of all counts: each image has its own count, so divide by it "
           "before you add the images up.", "15.2", SEVERAL),
)

# 15.7


def _layers(fc=lambda H, W, c, e: H * W * c * H * W * e + H * W * e, conv=lambda k, c, e: k * k * c * e + e,
            head=lambda H, W, c, e: 3 * (c * e + e)):
    return lambda height, width, c, e, kernel: (fc(height, width, c, e), conv(kernel, c, e), head(height, width, c, e))


LAYER_ALL = ("an image", "a larger one")
LAYERS = (
    Mutant("a pixel reads its own pixel", _layers(fc=lambda H, W, c, e: H * W * (c * e + e)),
           "The fully connected layer is counted as if a pixel that comes out read one pixel alone: it reads all of "
           "them, height · width · c numbers.", "15.4", LAYER_ALL),
    Mutant("windows of one channel", _layers(conv=lambda k, c, e: (k * k + 1) * e),
           "Each window is taken to read one channel: an output channel reads k · k numbers of all c.", "15.4",
           ("an image", "a larger one")),
    Mutant("biases of what comes in", _layers(conv=lambda k, c, e: k * k * c * e + c),
           "The convolution has a bias for each channel that comes in: it has one for each that goes out.", "15.4",
           ("an image", "a larger one")),
    Mutant("attention over all numbers", _layers(head=lambda H, W, c, e: 3 * (H * W * c + 1) * e),
           "The three maps read the whole image: each reads one pixel, c numbers, and all pixels share it.", "15.4",
           ("an image", "a larger one")),
    Mutant("no biases", _layers(lambda H, W, c, e: H * W * c * H * W * e, lambda k, c, e: k * k * c * e,
                                lambda H, W, c, e: 3 * c * e),
           "The biases are missing, in all three.", "15.4", LAYER_ALL),
    Mutant("one bias a channel", _layers(fc=lambda H, W, c, e: H * W * c * H * W * e + e),
           "The fully connected layer has one bias for each output, and its outputs are pixels times channels.",
           "15.4", LAYER_ALL),
    Mutant("a bias a pixel", _layers(conv=lambda k, c, e: k * k * c * e + c * e),
           "The convolution has one bias for each channel that comes out.", "15.4", LAYER_ALL),
    Mutant("outputs forgotten", _layers(fc=lambda H, W, c, e: H * W * c * e + e),
           "The fully connected layer is counted for a single pixel: every pixel that comes out has weights of its own "
           "for every pixel that goes in.", "15.4", LAYER_ALL),
    Mutant("not shared", _layers(conv=lambda k, c, e: k * k * c + e),
           "The convolution is counted with one filter; it has one for each channel that comes out.", "15.4",
           LAYER_ALL),
    Mutant("taps in a row", _layers(conv=lambda k, c, e: k * c * e + e),
           "The window is kernel × kernel pixels, not kernel.", "15.4", LAYER_ALL),
    Mutant("a window for each pixel", lambda height, width, c, e, kernel: (
        height * width * c * height * width * e + height * width * e, height * width * (kernel**2 * c * e + e),
        3 * (c * e + e)),
           "The convolution is counted once a pixel; one window serves all places.", "15.4", LAYER_ALL),
    Mutant("a bias for each input", lambda height, width, c, e, kernel: (
        height * width * c * height * width * e + height * width * c, kernel**2 * c * e + c, 3 * (c * e + c)),
           "There is a bias for each channel that goes in; it is one for each that comes out.", "15.4", LAYER_ALL),
    Mutant("attention without biases", _layers(head=lambda H, W, c, e: 3 * c * e),
           "The maps of attention have biases too.", "15.4", LAYER_ALL),
    Mutant("convolution without biases", _layers(conv=lambda k, c, e: k * k * c * e),
           "The convolution has a bias too, one for each channel that comes out.", "15.4", LAYER_ALL),
    Mutant("connected without biases", _layers(lambda H, W, c, e: H * W * c * H * W * e),
           "The fully connected layer has biases too, one for each number that comes out.", "15.4", LAYER_ALL),
    Mutant("weights of attention", _layers(head=lambda H, W, c, e: 3 * (c * e + e) + (H * W) ** 2),
           "The n × n weights of attention are counted: they are computed anew from each image, and are no "
           "parameters.", "15.4", LAYER_ALL),
    Mutant("a head for each pixel", _layers(head=lambda H, W, c, e: H * W * 3 * (c * e + e)),
           "The maps of attention are counted once a pixel; all pixels share them.", "15.4", LAYER_ALL),
    Mutant("one map", _layers(head=lambda H, W, c, e: c * e + e),
           "One map is counted; queries, keys and values have one each.", "15.4", LAYER_ALL),
    Mutant("two maps", _layers(head=lambda H, W, c, e: 2 * (c * e + e)),
           "Two maps are counted; queries, keys and values have one each.", "15.4", LAYER_ALL),
    Mutant("four maps", _layers(head=lambda H, W, c, e: 3 * (c * e + e) + e * e + e),
           "A map behind the values is counted; here one head is asked for, with three maps.", "15.4", LAYER_ALL),
    Mutant("convolution and attention exchanged", lambda *given: tuple(_layers()(*given)[k] for k in (0, 2, 1)),
           "The second and the third number are exchanged: first the connected layer, then the convolution, then "
           "attention.", "15.4", LAYER_ALL),
    Mutant("a window for each pixel, one bias", lambda H, W, c, e, k: (
        (o := _layers()(H, W, c, e, k))[0], H * W * (o[1] - e) + e, o[2]),
           "The windows are counted once a pixel; one window serves all places.", "15.4", LAYER_ALL),
    Mutant("maps for each pair", _layers(head=lambda H, W, c, e: (H * W) ** 2 * 3 * (c * e + e)),
           "The maps are counted once for each pair of pixels; all pixels share them.", "15.4", LAYER_ALL),
    Mutant("a bias for each weight", _layers(fc=lambda H, W, c, e: (H * W) ** 2 * (c * e + e)),
           "The connected layer has N² e biases by this count, N being the number of pixels: it has one for each "
           "number that comes out, N e.", "15.4", LAYER_ALL),
    Mutant("biases of the numbers that come in", _layers(fc=lambda H, W, c, e: (H * W) ** 2 * c * e + H * W * c),
           "The connected layer has a bias for each number that comes in; it has one for each that comes out.", "15.4",
           LAYER_ALL),
    Mutant("places are parameters", _layers(head=lambda H, W, c, e: 3 * (c * e + e) + H * W * c),
           "Positions are counted with attention: this head has three maps, and no places.", "15.4", LAYER_ALL),
    Mutant("windows inside alone", lambda H, W, c, e, k: (
        *(o := _layers()(H, W, c, e, k))[:1], (H - k + 1) * (W - k + 1) * o[1], o[2]),
           "The convolution is counted once for each place of its window; one window serves all places.", "15.4",
           LAYER_ALL),
    Mutant("a bias for each tap", _layers(conv=lambda k, c, e: k * k * (c + 1) * e),
           "Each tap of the window has biases of its own: an output channel has one bias, whatever the window.", "15.4",
           LAYER_ALL),
    Mutant("a bias for each channel that is read", _layers(conv=lambda k, c, e: k * k * c * e + c,
                                              head=lambda H, W, c, e: 3 * (c * e + c)),
           "Convolution and attention have a bias for each of the c channels that come in: a bias is added to what "
           "comes out, e numbers a map.", "15.4", LAYER_ALL),
    Mutant("no biases, four maps", _layers(lambda H, W, c, e: H * W * c * H * W * e, lambda k, c, e: k * k * c * e,
                                           lambda H, W, c, e: 4 * c * e),
           "The biases are missing, in all three, and attention has a fourth map: there is none behind this head.",
           "15.4", LAYER_ALL),
)
_CONNECTED = {
    "N² c e": lambda N, c, e: N * N * c * e, "N c e": lambda N, c, e: N * c * e, "N² e": lambda N, c, e: N * N * e,
    "N² c": lambda N, c, e: N * N * c, "N²": lambda N, c, e: N * N, "c e": lambda N, c, e: c * e,
    "N (c + e)": lambda N, c, e: N * (c + e),
}
_WINDOWS = {
    "k² c e": lambda k, c, e: k * k * c * e, "k² c": lambda k, c, e: k * k * c, "k² e": lambda k, c, e: k * k * e,
    "k²": lambda k, c, e: k * k, "k c e": lambda k, c, e: k * c * e, "k² (c + e)": lambda k, c, e: k * k * (c + e),
    "c e": lambda k, c, e: c * e,
}
_HEADS = {"c e": lambda c, e: c * e, "c²": lambda c, e: c * c, "e²": lambda c, e: e * e, "c + e": lambda c, e: c + e}
_BIASES = {"no biases": lambda N, c, e: 0, "e biases": lambda N, c, e: e, "c biases": lambda N, c, e: c,
           "one bias": lambda N, c, e: 1, "N e biases": lambda N, c, e: N * e, "c e biases": lambda N, c, e: c * e}


def _own_layers():
    """The counts that are made of one product and one number of biases, with what each is to be."""
    for (words, weights), (said, biases) in itertools.product(_CONNECTED.items(), _BIASES.items()):
        yield (f"connected: {words}, {said}", 0, _layers(
            fc=lambda H, W, c, e, w=weights, b=biases: w(H * W, c, e) + b(H * W, c, e)),
            f"The connected layer is counted with {words} weights and {said}, N being the number of pixels. Each of "
            "the N e numbers that come out reads each of the N c that go in, and has one bias.")
    for (words, weights), (said, biases) in itertools.product(_WINDOWS.items(), _BIASES.items()):
        yield (f"convolution: {words}, {said}", 1, lambda H, W, c, e, k, w=weights, b=biases: (
            (o := _layers()(H, W, c, e, k))[0], w(k, c, e) + b(H * W, c, e), o[2]),
            f"The convolution is counted with {words} weights and {said}, k being the width of a window and N the "
            "number of pixels. Each of the e channels that come out has one window, k² numbers of each of the c that "
            "go in, and one bias; all places share them.")
    for maps, (words, weights), (said, biases) in itertools.product((1, 2, 3, 4), _HEADS.items(), _BIASES.items()):
        if said not in ("no biases", "e biases", "c biases", "one bias"):
            continue
        for together in (False, True)[: 1 + (said in ("e biases", "one bias"))]:
            yield (f"attention: {maps} maps of {words}, {said}{' for all' * together}", 2, _layers(
                head=lambda H, W, c, e, m=maps, w=weights, b=biases, t=together: (
                    m * w(c, e) + b(H * W, c, e) * (1 if t else m))),
                f"Attention is counted with {maps} maps of {words} weights, and {said} "
                f"{'for all of them' if together else 'each'}, N being the number of pixels. It has three maps, for "
                "queries, keys and values, each with c e weights and e biases.")


_SIZES = ((6, 11, 5, 13, 7), (40, 50, 5, 13, 7))
_MET = {tuple(f(*size)[k] for size in _SIZES) + (k,) for k in range(3)
        for f in (_layers(), *(mutant.function for mutant in LAYERS))}
for _name, _k, _function, _message in _own_layers():
    _numbers = (*(_function(*size)[_k] for size in _SIZES), _k)
    if _numbers not in _MET:
        _MET.add(_numbers)
        LAYERS += (Mutant(_name, _function, _message, "15.4", LAYER_ALL),)

# 15.8


def _chess(h, w):
    return np.add.outer(np.arange(h), np.arange(w)) % 2.0


def _opposites(picture):
    return picture, 1 - picture


def _big(board, p):
    return np.kron(board, np.ones((p, p)))


def _pixels(h, w, p):
    return _opposites(_chess(h * p, w * p))


def _one(h, w, p):
    board = np.zeros((h, w))
    board[0, 0] = 1
    return _opposites(_big(board, p))


def _exchanged(h, w, p):
    """Two squares of a picture exchanged: the same bag, but not opposite."""
    board = np.zeros((h, w))
    board[0, 0] = 1
    other = np.zeros((h, w))
    other[-1, -1] = 1
    return _big(board, p), _big(other, p)


def _rows_alone(h, w, p):
    """Half of the picture is black, by pixels and not by squares."""
    lines = np.zeros((h * p, w * p))
    lines[: h * p // 2] = 1
    return _opposites(lines)


def _diagonal(h, w, p):
    """Each square is black in its upper half; the opposite has other squares."""
    square = np.zeros((p, p))
    square[: p // 2 or 1] = 1
    return _opposites(np.tile(square, (h, w)))


BAG_ALL = ("two by three", "five by four")
BAGS = (
    Mutant("all black and all white", lambda h, w, p: _opposites(np.zeros((h * p, w * p))),
           "Opposite everywhere, but the squares of one are all black and those of the other all white: the model need "
           "not know where a square is to tell them apart.", "15.5", BAG_ALL),
    Mutant("one square", _one,
           "Opposite everywhere, but as bags of squares the two differ: one has more white squares than the other. How "
           "many must be white?", "15.5", BAG_ALL),
    Mutant("squares exchanged", _exchanged,
           "The squares are the same, in another order, so the model cannot tell; but some pixels are equal in both "
           "pictures. They are to be opposite at every one.", "15.5", BAG_ALL),
    Mutant("half of each square", _diagonal,
           "Opposite everywhere, but some square has both colours, and its opposite, black where it was white, is not "
           "in the picture as often as it is: so the two are made of different squares. Squares of one colour are the "
           "simplest.", "15.5", BAG_ALL),
    Mutant("the same twice", lambda h, w, p: (_big(_chess(h, w), p),) * 2,
           "The two pictures are the same one.", "15.5", BAG_ALL),
)

# 15.9


def _rolled(turned=False, add=False, exchanged=False, mixed=lambda A: A.mean(axis=-3), column=False, scaled=True,
            first=1, shares=lambda s: s, only=lambda layers: range(len(layers)), rows=False):
    def function(layers, shares_):
        n = layers.shape[-1]
        given = shares(np.asarray(shares_, dtype=float))
        R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
        for k in only(layers):
            r = 1 - given[k] if exchanged else given[k]
            step = (mixed(layers[k]) if add else (1 - r) * mixed(layers[k])) + r * np.eye(n)
            step = step / step.sum(axis=-1, keepdims=True) if rows else step
            R = R @ step if turned else step @ R
        row = R[..., 1:, 0] if column else R[..., 0, 1:]
        return R, row / row.sum(axis=-1, keepdims=True) if scaled else row

    def called(layers, shares):
        return function(layers, shares)

    return called


def _entries(layers, shares):
    R = 1.0
    for A, r in zip(layers, shares, strict=True):
        R = R * ((1 - r) * A.mean(axis=-3) + r * np.eye(A.shape[-1]))
    row = R[..., 0, 1:]
    return R, row / row.sum(axis=-1, keepdims=True)


def _softened(layers, shares):
    R, row = _rolled(scaled=False)(layers, shares)
    return R, np.exp(row) / np.exp(row).sum(axis=-1, keepdims=True)


def _one_sum(layers, shares):
    R, row = _rolled(scaled=False)(layers, shares)
    return R, row / row.sum()


def _whole_row(layers, shares):
    R, _ = _rolled()(layers, shares)
    row = R[..., 0, 1:]
    return R, row / R[..., 0, :].sum(axis=-1, keepdims=True)


def _fresh(layers, shares):
    """What goes past attention is the identity in each layer, and not what came in."""
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
    for A, r in zip(layers, shares, strict=True):
        R = (1 - r) * A.mean(axis=-3) @ R + r * np.eye(n)
    row = R[..., 0, 1:]
    return R, row / row.sum(axis=-1, keepdims=True)


def _each_head(layers, shares):
    """Every head rolled out alone, and the mean taken at the end."""
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), layers.shape[1:])
    for A, r in zip(layers, shares, strict=True):
        R = ((1 - r) * A + r * np.eye(n)) @ R
    R = R.mean(axis=-3)
    row = R[..., 0, 1:]
    return R, row / row.sum(axis=-1, keepdims=True)


def _heads_in_front(layers, shares):
    """The mean over axis 0 of a layer, which is the heads only where there is no batch."""
    n = layers.shape[-1]
    R = np.eye(n)
    for A, r in zip(layers, shares, strict=True):
        R = ((1 - r) * A.mean(axis=0) + r * np.eye(n)) @ R
    row = R[..., 0, 1:]
    return R, row / row.sum(axis=-1, keepdims=True)


def _largest(layers, shares):
    R, row = _rolled(scaled=False)(layers, shares)
    return R, row / row.max(axis=-1, keepdims=True)


def _renormalised(layers, shares):
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
    for A, r in zip(layers, shares, strict=True):
        step = A.mean(axis=-3) + r * np.eye(n)
        R = step / step.sum(axis=-1, keepdims=True) @ R
    row = R[..., 0, 1:]
    return R, row / row.sum(axis=-1, keepdims=True)


def _once(share, first):
    """The residual at the end of all layers, once; or a mean of the layers in place of a product."""

    def called(layers, shares):
        n = layers.shape[-1]
        if first:
            R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
            for A in layers:
                R = A.mean(axis=-3) @ R
            R = (1 - share(shares)) * R + share(shares) * np.eye(n)
        else:
            steps = [(1 - r) * A.mean(axis=-3) + r * np.eye(n) for A, r in zip(layers, shares, strict=True)]
            R = sum(steps) / len(steps)
        row = R[..., 0, 1:]
        return R, row / row.sum(axis=-1, keepdims=True)

    return called


def _last_row(layers, shares):
    R, _ = _rolled()(layers, shares)
    row = R[..., -1, :-1]
    return R, row / row.sum(axis=-1, keepdims=True)


def _with_itself(layers, shares):
    R, _ = _rolled()(layers, shares)
    row = R[..., 0, :-1]
    return R, row / row.sum(axis=-1, keepdims=True)


def _mean_of_rows(layers, shares):
    R, _ = _rolled()(layers, shares)
    row = R[..., 1:].mean(axis=-2)
    return R, row / row.sum(axis=-1, keepdims=True)


def _looks(R, row):
    return R, row / row.sum(axis=-1, keepdims=True)


def _everywhere(layers, shares):
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
    for A, r in zip(layers, shares, strict=True):
        R = ((1 - r) * A.mean(axis=-3) + r) @ R
    return _looks(R, R[..., 0, 1:])


def _both_full(layers, shares):
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
    for A, r in zip(layers, shares, strict=True):
        R = ((1 - r) * A.mean(axis=-3) + np.eye(n)) @ R
    return _looks(R, R[..., 0, 1:])


def _diagonal_past(layers, shares):
    n = layers.shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers.shape[1:-3], n, n))
    for A, r in zip(layers, shares, strict=True):
        R = (1 - r) * A.mean(axis=-3) @ R + r * np.eye(n) * R
    return _looks(R, R[..., 0, 1:])


def _row_of(layers, shares, k):
    return _looks(_rolled()(layers, shares)[0], layers[k].mean(axis=-3)[..., 0, 1:])


def _squares_rows(layers, shares):
    R, _ = _rolled()(layers, shares)
    return _looks(R, R[..., 1:, 1:].mean(axis=-2))


def _zeroed(layers, shares):
    R, _ = _rolled()(layers, shares)
    row = R[..., 0, :].copy()
    row[..., 0] = 0
    return _looks(R, row)


ROLL_ALL = ("three layers", "a batch", "two axes in front", "one layer")
MORE = ("three layers", "a batch", "two axes in front")
ROLLS = (
    Mutant("the first layer left out", _rolled(only=lambda layers: range(1, len(layers))),
           "The first layer is left out: R begins as the identity, and all layers are multiplied to it.", "15.6", MORE),
    Mutant("the last layer left out", _rolled(only=lambda layers: range(len(layers) - 1)),
           "The last layer is left out: every one of them mixes.", "15.6", MORE),
    Mutant("largest head, scaled", _rolled(mixed=lambda A: A.max(axis=-3), rows=True),
           "The largest weight over the heads is taken: take the mean over them, whose rows sum to one.", "15.6",
           ROLL_ALL),
    Mutant("heads multiplied", _rolled(mixed=lambda A: A.prod(axis=-3)),
           "The weights of the heads are multiplied: take the mean over them.", "15.6", ROLL_ALL),
    Mutant("entry by entry", lambda layers, shares: _entries(layers, shares),
           "The layers are multiplied entry by entry: a row mixes rows that were mixed, which is a matrix product.",
           "15.6", MORE),
    Mutant("a softmax of the row", lambda layers, shares: _softened(layers, shares),
           "The row of the class token goes through a softmax: it holds shares already, so divide by their sum.",
           "15.6", ROLL_ALL),
    Mutant("one sum for the batch", lambda layers, shares: _one_sum(layers, shares),
           "The rows of all sequences are divided by one sum: each is to sum to one.", "15.6",
           ("a batch", "two axes in front")),
    Mutant("wrong order", _rolled(turned=True),
           "The layers are multiplied in the opposite order: the first acts first on the rows, so it stands on the "
           "right.", "15.6", MORE),
    Mutant("skip added", _rolled(add=True),
           "The residual is added to the whole of the attention, and rows sum to more than one: attention has the "
           "share 1 − r.", "15.6", ROLL_ALL),
    Mutant("skip added, then normalised", _renormalised,
           "The identity with the share r is added to the whole of the attention, and the rows are normalised "
           "afterwards: that makes r / (1 + r) of it. Attention has the share 1 − r.", "15.6", ROLL_ALL),
    *(Mutant(f"residual once, {name}", _once(share, True),
             "The layers are multiplied without their residuals, which come in once, at the end; every layer has its "
             "own before the next one reads its rows.", "15.6", MORE)
      for name, share in {"mean": np.mean, "product": np.prod, "last": lambda s: s[-1]}.items()),
    Mutant("identity past attention", _fresh,
           "What goes past attention is the identity in every layer, (1 − r) A R + r I. It is what came into the layer "
           "that goes past: r R.", "15.6", MORE),
    Mutant("each head alone", _each_head,
           "Each head is rolled out alone, and the mean is taken at the end. The heads of a layer are put together "
           "before the next layer reads its rows: take their mean in each.", "15.6", MORE),
    Mutant("heads counted from the front", _heads_in_front,
           "The mean is taken over the first axis of a layer, where the heads are only if there is no batch. Count "
           "from the end: axis −3.", "15.6", ("a batch", "two axes in front")),
    Mutant("mean of the layers", _once(None, False),
           "The layers are averaged. The second mixes what the first has mixed, so they are multiplied.", "15.6", MORE),
    Mutant("last row", _last_row,
           "The last row is read; the class token is row 0, and its own entry the first.", "15.6", ROLL_ALL),
    Mutant("itself left in", _with_itself,
           "The class token's own entry is left in, and the last square left out: leave out the first entry of the "
           "row.", "15.6", ROLL_ALL),
    Mutant("mean of all rows", _mean_of_rows,
           "The mean of all rows is taken; what the class token got is in row 0.", "15.6", ROLL_ALL),
    Mutant("shares exchanged", _rolled(exchanged=True),
           "r is the share that goes past attention: r times the identity, 1 − r times the weights.", "15.6", ROLL_ALL),
    Mutant("no residual", _rolled(shares=lambda s: 0 * s),
           "The residual path is left out: what goes past attention keeps a row's own share.", "15.6", ROLL_ALL),
    Mutant("a half everywhere", _rolled(shares=lambda s: 0 * s + 0.5),
           "A half is used for every layer; each has a share of its own.", "15.6", ROLL_ALL),
    Mutant("first share everywhere", _rolled(shares=lambda s: 0 * s + s[0]),
           "The share of the first layer is used for all of them.", "15.6", MORE),
    Mutant("mean share everywhere", _rolled(shares=lambda s: 0 * s + s.mean()),
           "The mean of the shares is used in every layer; each has its own.", "15.6", MORE),
    Mutant("shares backwards", _rolled(shares=lambda s: s[::-1]),
           "The shares are read from the last layer to the first: shares[l] belongs to layers[l].", "15.6", MORE),
    Mutant("heads summed", _rolled(mixed=lambda A: A.sum(axis=-3)),
           "The heads are summed; a mean of them has rows that sum to one.", "15.6", ROLL_ALL),
    Mutant("first head", _rolled(mixed=lambda A: A[..., 0, :, :]),
           "The first head stands for all; take the mean over them.", "15.6", ROLL_ALL),
    Mutant("largest head", _rolled(mixed=lambda A: A.max(axis=-3)),
           "The largest weight of the heads is taken, and rows no longer sum to one; the rollout takes the mean.",
           "15.6", ROLL_ALL),
    Mutant("transposed", _rolled(mixed=lambda A: A.mean(axis=-3).mT),
           "The weights are transposed: row i of A says what row i takes from the others.", "15.6", ROLL_ALL),
    Mutant("column", _rolled(column=True),
           "A column of R says who holds something of the class token; its row says where it has its own from.",
           "15.6", ROLL_ALL),
    Mutant("not scaled", _rolled(scaled=False),
           "The row without the class token does not sum to one: divide by what is left. (With the class token in it "
           "the sum is one already.)", "15.6", ROLL_ALL),
    Mutant("scaled by the largest", _largest,
           "The row is divided by its largest entry; it is to sum to one.", "15.6", ROLL_ALL),
    Mutant("share of the next layer", _rolled(shares=lambda s: np.roll(s, -1)),
           "Each layer gets the share of the next one: shares[l] belongs to layers[l].", "15.6", MORE),
    Mutant("share of the layer before", _rolled(shares=lambda s: np.roll(s, 1)),
           "Each layer gets the share of the one before: shares[l] belongs to layers[l].", "15.6", MORE),
    Mutant("powers of the share", _rolled(shares=lambda s: s ** np.arange(1, len(s) + 1)),
           "The share is raised to a power that grows with the layer: each layer has its own, once.", "15.6", MORE),
    Mutant("last share everywhere", _rolled(shares=lambda s: 0 * s + s[-1]),
           "The share of the last layer is used for all of them.", "15.6", MORE),
    Mutant("identity in full beside a share", lambda layers, shares: _both_full(layers, shares),
           "The identity is added in full, beside the share 1 − r of attention, and rows sum to more than one: it has "
           "the share r.", "15.6", ROLL_ALL),
    Mutant("identity in full", _rolled(shares=lambda s: 0 * s + 1, mixed=lambda A: A.mean(axis=-3), add=True),
           "The identity is added in full, and the share has no part in it: r times the identity, 1 − r times the "
           "weights.", "15.6", ROLL_ALL),
    Mutant("the first layer twice", lambda layers, shares: _rolled()(
        np.concatenate([layers[:1], layers]), np.concatenate([shares[:1], shares])),
           "The first layer is in the product twice: R begins with it, or with the identity, and not with both.",
           "15.6", ROLL_ALL),
    Mutant("R turned at the end", lambda layers, shares: ((o := _rolled()(layers, shares))[0].mT, o[1]),
           "R is transposed: its row i says of what the output row i is made.", "15.6", ROLL_ALL),
    Mutant("smallest head", _rolled(mixed=lambda A: A.min(axis=-3)),
           "The smallest weight of the heads is taken; the rollout takes the mean.", "15.6", ROLL_ALL),
    Mutant("last head", _rolled(mixed=lambda A: A[..., -1, :, :]),
           "The last head stands for all; take the mean over them.", "15.6", ROLL_ALL),
    Mutant("middle head", _rolled(mixed=lambda A: np.sort(A, axis=-3)[..., A.shape[-3] // 2, :, :]),
           "Of the heads one value is taken, from the middle of their order; the rollout takes the mean.", "15.6",
           ("a batch", "one layer")),
    Mutant("share added to every entry", lambda layers, shares: _everywhere(layers, shares),
           "r is added to every entry: what goes past attention is r times the identity, on the diagonal alone.",
           "15.6", ROLL_ALL),
    Mutant("diagonal of R alone goes past", lambda layers, shares: _diagonal_past(layers, shares),
           "Of what came in, only its diagonal goes past attention: all of R does, r R.", "15.6", MORE),
    Mutant("row of the last layer", lambda layers, shares: _row_of(layers, shares, -1),
           "The row is that of the last layer's weights: it is row 0 of R, which knows of all layers.", "15.6", MORE),
    Mutant("row of the first layer", lambda layers, shares: _row_of(layers, shares, 0),
           "The row is that of the first layer's weights: it is row 0 of R, which knows of all layers.", "15.6", MORE),
    Mutant("mean of the squares' rows", lambda layers, shares: _squares_rows(layers, shares),
           "The mean over the squares' rows is taken; what the class token got is in row 0.", "15.6", ROLL_ALL),
    Mutant("whole row", lambda layers, shares: ((R := _rolled()(layers, shares)[0]), R[..., 0, :]),
           "The class token's own entry is left in: leave it out, and scale the rest.", "15.6", ROLL_ALL),
    Mutant("own entry set to zero", lambda layers, shares: _zeroed(layers, shares),
           "The class token's own entry is set to 0 and stays: it is left out, so that n − 1 are left.", "15.6",
           ROLL_ALL),
    Mutant("row kept as a matrix", lambda layers, shares: ((o := _rolled()(layers, shares))[0], o[1][..., None, :]),
           "The row has an axis too many, as a slice or keepdims leaves it: it is (*B, n - 1).", "15.6", ROLL_ALL),
    Mutant("root of the share", _rolled(shares=np.sqrt),
           "The root of the share is used: r itself goes past attention.", "15.6", ROLL_ALL),
    Mutant("last layer alone", _rolled(only=lambda layers: [len(layers) - 1]),
           "Only the last layer is looked at; it mixes what the layers before it have mixed already.", "15.6", MORE),
    Mutant("divided by its own entry", lambda layers, shares: (
        R := _rolled()(layers, shares)[0], R[..., 0, 1:] / R[..., 0, :1]),
           "The row is divided by the class token's own entry: divide by what is left without it, so that it sums to "
           "one.", "15.6", ROLL_ALL),
    Mutant("first layer without its skip", lambda layers, shares: _rolled()(
        layers, np.concatenate([[0.0], np.asarray(shares, dtype=float)[1:]])),
           "The first layer has no residual path: the product begins with its mean weights. It has a share like the "
           "others; begin with the identity.", "15.6", ROLL_ALL),
)

# 15.10


def _unpacked(scatter="add", places=lambda F, G: F + G, summed=True, kinds="FWG",
              pick=None):
    def function(dX, ids, words, n):
        d, m = dX.shape[-1], ids.shape[-1]
        dF, dW, dG = dX[..., :n, :], dX[..., n : n + m, :], dX[..., n + m :, :]
        if pick:
            dF, dW, dG = pick(dF, dW, dG)
        dE = np.zeros((words, d))
        if scatter == "add":
            np.add.at(dE, ids.ravel(), dW.reshape(-1, d))
        elif scatter == "last":
            dE[ids.ravel()] = dW.reshape(-1, d)
        elif scatter == "mean":
            np.add.at(dE, ids.ravel(), dW.reshape(-1, d))
            dE /= np.maximum(np.bincount(ids.ravel(), minlength=words), 1)[:, None]
        dP = places(dF, dG).reshape(-1, n, d)
        dP = dP.sum(axis=0) if summed else dP.mean(axis=0)
        of = {"F": dF, "W": dW, "G": dG, "B": np.concatenate([dF, dG], axis=-2)}
        over = np.mean if kinds == "mean" else np.sum
        order = "FWG" if kinds == "mean" else kinds
        dK = np.stack([over(of[k].reshape(-1, d), axis=0) for k in order])
        return dF, dG, dE, dP, dK

    return function


def _own_places(dX, ids, words, n):
    """dP with the words' rows added too."""
    dF, dG, dE, dP, dK = _unpacked()(dX, ids, words, n)
    m, d = ids.shape[-1], dX.shape[-1]
    more = dX[..., n : n + m, :].reshape(-1, m, d).sum(axis=0)
    k = min(n, m)
    dP[:k] += more[:k]
    return dF, dG, dE, dP, dK


def _kinds_by_batch(dX, ids, words, n):
    dF, dG, dE, dP, _ = _unpacked()(dX, ids, words, n)
    m = ids.shape[-1]
    dW = dX[..., n : n + m, :]
    front = tuple(range(dX.ndim - 2))
    return dF, dG, dE, dP, np.stack([x.sum(axis=front)[0] for x in (dF, dW, dG)])


def _side_by_side(dX, ids, words, n):
    """As if the words stood behind both pictures."""
    turned = np.concatenate([dX[..., :n, :], dX[..., 2 * n :, :], dX[..., n : 2 * n, :]], axis=-2)
    return _unpacked()(turned, ids, words, n)


def _kinds_over_batch(dX, ids, words, n):
    *rest, dK = _unpacked()(dX, ids, words, n)
    return *rest, dK / max(1, ids.size // ids.shape[-1])


def _by_place(dX, ids, words, n):
    dF, dG, _, dP, dK = _unpacked()(dX, ids, words, n)
    m = ids.shape[-1]
    return dF, dG, dX[..., n : n + m, :].reshape(-1, m, dX.shape[-1]).sum(axis=0), dP, dK


def _words_first(dX, ids, words, n):
    m = ids.shape[-1]
    turned = np.concatenate([dX[..., m : m + n, :], dX[..., :m, :], dX[..., m + n :, :]], axis=-2)
    return _unpacked()(turned, ids, words, n)


def _next_rows(dX, ids, words, n):
    """The second picture read at rows n … 2n − 1, in all that is made of it."""
    m = ids.shape[-1]
    _, _, dE, _, _ = _unpacked()(dX, ids, words, n)
    dF, _, _, dP, dK = _unpacked()(np.concatenate([dX[..., : n + m, :], dX[..., n : 2 * n, :]], axis=-2), ids, words, n)
    return dF, dX[..., n : 2 * n, :], dE, dP, dK


def _squares_summed(dX, ids, words, n, how):
    dF, dG, *rest = _unpacked()(dX, ids, words, n)
    return *(getattr(x.reshape(-1, *x.shape[-2:]), how)(axis=0) for x in (dF, dG)), *rest


def _each_sequence(k, dX, ids, words, n):
    """The k-th gradient with a part for every sequence."""
    lead = dX.shape[:-2]
    whole = _unpacked()(dX, ids, words, n)
    parts = [_unpacked()(x, i, words, n)[k] for x, i in
             zip(dX.reshape(-1, *dX.shape[-2:]), ids.reshape(-1, ids.shape[-1]), strict=True)]
    return *whole[:k], np.reshape(parts, (*lead, *whole[k].shape)), *whole[k + 1 :]


def _per_sentence(dX, ids, words, n):
    dF, dG, dE, dP, dK = _unpacked()(dX, ids, words, n)
    dE, m = np.zeros_like(dE), ids.shape[-1]
    for at in np.ndindex(ids.shape[:-1]):
        dE[ids[at]] += dX[at][n : n + m]
    return dF, dG, dE, dP, dK


def _kind_rows(dX, ids, words, n):
    *rest, dK = _unpacked()(dX, ids, words, n)
    return *rest, dK / np.array([[n], [ids.shape[-1]], [n]])


def _from_row(start, dX, ids, words, n):
    """The second picture read from another row on, in all that is made of it."""
    m = ids.shape[-1]
    k = start(n, m)
    return _unpacked()(np.concatenate([dX[..., : n + m, :], dX[..., k : k + n, :]], axis=-2), ids, words, n)


PACK_ALL = ("one sequence", "a batch", "two axes in front", "a word twice")
BATCHED = ("a batch", "two axes in front")
PACKS = (
    Mutant("rows of the second picture from n on", _next_rows,
           "The second picture is taken from row n on, where the words stand: it begins behind them, at row n + m.",
           "15.7", PACK_ALL),
    Mutant("pictures added", lambda *given: (
        (out := _unpacked()(*given))[0] + out[1], out[0] + out[1], *out[2:]),
           "dF and dG are both the sum of the two pictures' rows: each picture has squares of its own, and only what "
           "they share, P, adds up.", "15.7", PACK_ALL),
    Mutant("second picture forgotten", _unpacked(places=lambda F, G: F),
           "dP comes from the first picture alone; the second one used the same places, so its rows are added.",
           "15.7", PACK_ALL),
    Mutant("mean of the pictures", _unpacked(places=lambda F, G: (F + G) / 2),
           "dP is the mean of the two pictures; gradients of what is shared add up.", "15.7", PACK_ALL),
    Mutant("mean over the batch", _unpacked(summed=False),
           "dP is a mean over the sequences; gradients of what is shared add up.", "15.7", BATCHED),
    Mutant("the last one wins", _unpacked("last"),
           "A word that occurs more than once keeps the gradient of one of its places; they add up. Neither dE[ids] = "
           "… nor dE[ids] += … does that: use np.add.at, or a one-hot matrix.", "15.7", ("a word twice",)),
    Mutant("mean of the occurrences", _unpacked("mean"),
           "A word that occurs more than once gets the mean of its places; they add up.", "15.7", ("a word twice",)),
    Mutant("pictures of one kind", _unpacked(kinds="BWB"),
           "Both pictures are taken as one kind; the second has kind 2 and a row of its own.", "15.7", PACK_ALL),
    Mutant("kinds in another order", _unpacked(kinds="FGW"),
           "The kinds are in another order: kind 1 is that of the words, which stand between.", "15.7", PACK_ALL),
    Mutant("kinds as means", _unpacked(kinds="mean"),
           "dK holds means over the rows of a kind; one row was added to all of them, so its gradient is a sum.",
           "15.7", PACK_ALL),
    Mutant("kinds as means over the batch", _kinds_over_batch,
           "dK is a mean over the sequences; all of them used the same kinds, and gradients of what is shared add up.",
           "15.7", BATCHED),
    Mutant("words by place", _by_place,
           "dE has a row for each place of the sentence; it has one for each word of the table, and a place sends its "
           "gradient to the row of its id.", "15.7", PACK_ALL),
    Mutant("words behind the pictures", _side_by_side,
           "The rows are read as both pictures first and the words behind; the words stand between the pictures.",
           "15.7", PACK_ALL),
    Mutant("words first", _words_first,
           "The rows are read as the words first; the first picture comes before them.", "15.7", PACK_ALL),
    Mutant("kinds from one row", _kinds_by_batch,
           "dK has only the first row of each kind; the vector of a kind was added to all its rows.", "15.7",
           PACK_ALL),
    Mutant("words have places", _own_places,
           "The words' rows are added to dP; the places P belong to the squares, and no word has one here.", "15.7",
           PACK_ALL),
    Mutant("second picture alone", _unpacked(places=lambda F, G: G),
           "dP comes from the second picture alone; the first one used the same places, so its rows are added.",
           "15.7", PACK_ALL),
    Mutant("difference of the pictures", _unpacked(places=lambda F, G: F - G),
           "dP is the difference of the two pictures; both added the same places, so their rows are added.", "15.7",
           PACK_ALL),
    Mutant("squares of all sequences", lambda dX, ids, words, n: _squares_summed(dX, ids, words, n, "sum"),
           "dF and dG are summed over the axes in front: each sequence has pictures of its own, and only P, E and K "
           "serve all.", "15.7", BATCHED),
    Mutant("squares averaged over sequences", lambda dX, ids, words, n: _squares_summed(dX, ids, words, n, "mean"),
           "dF and dG are averaged over the axes in front: each sequence has pictures of its own, and only P, E and K "
           "serve all.", "15.7", BATCHED),
    *(Mutant(f"{name} for each sequence", lambda *given, k=k: _each_sequence(k, *given),
             f"{name} has a part for each sequence: it serves all of them, so it is summed over the axes in front.",
             "15.7", BATCHED)
      for k, name in ((2, "dE"), (3, "dP"), (4, "dK"))),
    Mutant("table up to the largest id", lambda *given: (
        (o := _unpacked()(*given))[0], o[1], o[2][: given[1].max() + 1], *o[3:]),
           "dE ends at the largest id that occurs: the table has `words` rows, and those of words that do not occur "
           "are 0.", "15.7", PACK_ALL),
    Mutant("rows of the words alone", lambda *given: (
        (o := _unpacked()(*given))[0], o[1], o[2][np.unique(given[1])], *o[3:]),
           "dE has rows for the words that occur alone: the table has `words` rows, and the others are 0.", "15.7",
           PACK_ALL),
    Mutant("one word of a sentence, sequences added", lambda *given: _per_sentence(*given),
           "A word that occurs more than once in a sentence keeps the gradient of one of its places there; they add "
           "up, in a sentence too. dE[ids] += … adds once for each word.", "15.7", ("a word twice",)),
    Mutant("kinds averaged over their rows", lambda *given: _kind_rows(*given),
           "dK is averaged over the rows of a part, and summed over the sequences; the kind was added to every row, so "
           "all of them add up.", "15.7", PACK_ALL),
    Mutant("kinds in the opposite order", _unpacked(kinds="GWF"),
           "The kinds are in the opposite order: row 0 is that of the first picture.", "15.7", PACK_ALL),
    Mutant("one kind for all", lambda *given: (*_unpacked()(*given)[:4], np.tile(
        given[0].reshape(-1, given[0].shape[-1]).sum(axis=0), (3, 1))),
           "Each row of dK is the sum over the whole sequence: a kind was added to the rows of its own part alone.",
           "15.7", PACK_ALL),
    Mutant("kinds without the words", _unpacked(kinds="FFG"),
           "The kind of the words gets the rows of the first picture: it was added to the words.", "15.7", PACK_ALL),
    *(Mutant(f"second picture {words}", lambda *given, start=start: _from_row(start, *given), message, "15.7", PACK_ALL)
      for words, start, message in (
          ("one row early", lambda n, m: n + m - 1,
           "The second picture is taken one row early: it begins behind the words, at row n + m."),
          ("from m on", lambda n, m: m, "The second picture is taken from row m on: it begins at row n + m."))),
    Mutant("a third each", lambda *given: (
        (o := _unpacked()(*given))[0] / 3, o[1] / 3, *o[2:]),
           "dF and dG are a third of what arrives: of a sum each summand gets the whole gradient.", "15.7", PACK_ALL),
    Mutant("a half each", lambda *given: (
        (o := _unpacked()(*given))[0] / 2, o[1] / 2, *o[2:]),
           "dF and dG are half of what arrives: of a sum each summand gets the whole gradient.", "15.7", PACK_ALL),
    Mutant("places side by side", lambda *given: (
        *(o := _unpacked()(*given))[:3], np.concatenate([x.reshape(-1, given[3], x.shape[-1]).sum(axis=0)
                                                         for x in o[:2]]), o[4]),
           "dP has rows for each picture: both use the same n places, so their rows are added.", "15.7", PACK_ALL),
    Mutant("places over all rows", lambda *given: (
        *(o := _unpacked()(*given))[:3], np.broadcast_to(o[3].sum(axis=0), o[3].shape), o[4]),
           "dP is summed over its n places too: each place is a row of its own.", "15.7", PACK_ALL),
    Mutant("pictures exchanged", _unpacked(pick=lambda F, W, G: (G, W, F)),
           "The two pictures are exchanged: dF is the first n rows, dG the last n.", "15.7", PACK_ALL),
    Mutant("second picture where the words are", lambda dX, ids, words, n: (
        (given := _unpacked()(dX, ids, words, n))[0], dX[..., n : 2 * n, :], *given[2:]),
           "dG begins at row n, where the words stand: the second picture begins at row n + m.", "15.7", PACK_ALL),
    Mutant("first picture's kind twice", _unpacked(kinds="FWF"),
           "The last row of dK is the first picture's again: τ₂ was added to the second picture.", "15.7", PACK_ALL),
)

# 15.11


def _frames(n, wide, hop):
    """How many samples the frames see."""
    return 0 if n <= 0 else n * wide if hop >= wide else (n - 1) * hop + wide


def _framed(count=lambda N, w, h: (N - w) // h + 1 if N >= w else 0, left=None):
    def function(samples, wide, hop):
        n = count(samples, wide, hop)
        return n, left(samples, wide, hop, n) if left else samples - _frames(n, wide, hop)

    return function


FRAME_ALL = ("overlapping", "exactly filled")
FRAMES = (
    Mutant("less than none, and all left", _framed(lambda N, w, h: (N - w) // h + 1),
           "There is no number of frames below zero: a sound shorter than a frame has none.", "15.8", ("too short",)),
    Mutant("every hop a frame", _framed(lambda N, w, h: -(-N // h), lambda N, w, h, n: 0),
           "A frame is begun at every hop, and the last ones reach beyond the sound; only whole frames count.", "15.8",
           ("overlapping", "exactly filled", "gaps")),
    Mutant("padded", _framed(lambda N, w, h: max(0, -(-(N - w) // h)) + 1, lambda N, w, h, n: 0),
           "The sound is filled up until the last frame fits. Only whole frames count, and what is behind the last one "
           "is left over.", "15.8", ("overlapping", "too short")),
    Mutant("less than none", lambda samples, wide, hop: (
        (samples - wide) // hop + 1, samples - ((samples - wide) // hop * min(hop, wide) + wide)),
           "There is no number of frames below zero: a sound shorter than a frame has none.", "15.8", ("too short",)),
    Mutant("one too few", _framed(lambda N, w, h: max(0, (N - w) // h)),
           "One frame too few: the first begins at 0, and (N − wide) / hop more can follow.", "15.8",
           ("overlapping", "exactly filled", "gaps")),
    Mutant("rounded up", _framed(lambda N, w, h: max(0, -(-(N - w) // h) + 1)),
           "Rounded up: the last frame would need samples that are not there.", "15.8", ("overlapping", "gaps")),
    Mutant("side by side", _framed(lambda N, w, h: N // w),
           "The frames are laid side by side; each begins one hop after the one before.", "15.8",
           ("overlapping", "exactly filled", "gaps")),
    Mutant("side by side, and the rest", _framed(lambda N, w, h: N // w, lambda N, w, h, n: N % w),
           "The frames are laid side by side; each begins one hop after the one before.", "15.8",
           ("overlapping", "exactly filled", "gaps")),
    Mutant("by the hop alone", _framed(lambda N, w, h: N // h),
           "The length of a frame is left out: frames that begin near the end do not fit.", "15.8",
           ("overlapping",)),
    Mutant("at least one", _framed(lambda N, w, h: max(1, (N - w) // h + 1), lambda N, w, h, n:
           N - _frames(n, w, h) if N >= w else 0),
           "A sound that is shorter than a frame has no whole frame.", "15.8", ("too short",)),
    Mutant("rest of the hop", _framed(left=lambda N, w, h, n: (N - w) % h),
           "This is the rest behind the last frame. Where the hop is longer than a frame there are gaps between them "
           "too; and a sound without a frame has all its samples left over.", "15.8", ("too short", "gaps")),
    Mutant("rest of the division", _framed(left=lambda N, w, h, n: N % h),
           "The samples left over are not N modulo hop: the last frame ends at (n − 1) hop + wide.", "15.8",
           ("overlapping", "gaps")),
    Mutant("counted twice", _framed(left=lambda N, w, h, n: N - n * w),
           "Samples that two frames share are counted twice: n frames see fewer than n times wide.", "15.8",
           FRAME_ALL),
    Mutant("counted twice, not below zero", _framed(left=lambda N, w, h, n: max(0, N - n * w)),
           "By this count nothing is left where frames overlap. Samples that two frames share count once, and what is "
           "behind the last frame, which ends at (n − 1) hop + wide, is in none.", "15.8",
           ("overlapping",)),
    Mutant("shared hop", _framed(left=lambda N, w, h, n: N - n * h),
           "n hops are taken off; the last frame reaches further than its hop.", "15.8", ("overlapping",
                                                                                        "exactly filled", "gaps")),
    Mutant("width and hop exchanged", lambda N, w, h: _framed()(N, h, w),
           "wide and hop are exchanged: a frame holds `wide` samples, and the next one begins `hop` later.", "15.8",
           ("overlapping", "exactly filled", "gaps")),
    Mutant("what is heard", _framed(left=lambda N, w, h, n: _frames(n, w, h)),
           "This is how many samples are in some frame; asked is how many are in none.", "15.8", FRAME_ALL),
    Mutant("nothing left of a short sound", _framed(left=lambda N, w, h, n: N - _frames(n, w, h) if n else 0),
           "A sound that is shorter than a frame has no frame, so all of its samples are in none.", "15.8",
           ("too short",)),
    Mutant("strictly inside", _framed(lambda N, w, h: (N - w - 1) // h + 1 if N > w else 0),
           "A frame that ends with the last sample is not counted: it is whole.", "15.8",
           ("exactly filled", "a single frame")),
    Mutant("a frame is longer than the sound that it fills", _framed(lambda N, w, h: (N - w) // h + 1 if N > w else 0),
           "A sound that is as long as a frame has one whole frame: ask whether it is shorter, N < wide.", "15.8",
           ("a single frame",)),
    Mutant("one too many", _framed(lambda N, w, h: (N - w) // h + 2 if N >= w else 0),
           "One frame too many: the last one ends behind the sound.", "15.8", ("overlapping", "exactly filled")),
    Mutant("a hop more", _framed(lambda N, w, h: N // h + 1),
           "The length of a frame is left out, and one more is counted: frames that begin near the end do not fit.",
           "15.8", ("overlapping", "exactly filled")),
    Mutant("a hop more, nothing left", _framed(lambda N, w, h: N // h + 1, lambda N, w, h, n: 0),
           "The length of a frame is left out, and one more is counted: frames that begin near the end do not fit.",
           "15.8", ("overlapping", "exactly filled")),
    Mutant("by the hop alone, and its rest", _framed(lambda N, w, h: N // h, lambda N, w, h, n: N % h),
           "The length of a frame is left out: frames that begin near the end do not fit.", "15.8", ("overlapping",)),
    Mutant("a gap behind the last", _framed(left=lambda N, w, h, n: N - _frames(n, w, h) + max(0, h - w) if n else N),
           "A gap is counted behind the last frame too: between n frames there are n − 1 gaps.", "15.8", ("gaps",)),
    Mutant("gaps not seen", _framed(left=lambda N, w, h, n: N - ((n - 1) * h + w) if n else N),
           "The samples in the gaps between the frames are not counted: with a hop longer than a frame some are in "
           "none.", "15.8", ("gaps",)),
    Mutant("range without its end", _framed(lambda N, w, h: len(range(0, N - w, h)),
                                           lambda N, w, h, n: _framed()(N, w, h)[1]),
           "range(0, N − wide, hop) stops before N − wide, and a frame may begin there: it ends with the last sample.",
           "15.8", ("exactly filled", "a single frame")),
    Mutant("at least one, and all left", _framed(lambda N, w, h: max(1, (N - w) // h + 1),
                                                 lambda N, w, h, n: _framed()(N, w, h)[1]),
           "A sound that is shorter than a frame has no whole frame.", "15.8", ("too short", "one sample short")),
    Mutant("hop cut down to a frame", lambda N, w, h: _framed()(N, w, min(w, h)),
           "A hop longer than a frame is taken as one frame long: each frame begins `hop` samples after the one "
           "before, and what lies between is in none.", "15.8", ("gaps",)),
    *(Mutant(f"rounded towards zero, {name}", _framed(count, lambda N, w, h, n: _framed()(N, w, h)[1]),
             "The quotient is rounded towards 0, as int does: for a sound a little shorter than a frame that is 0, and "
             "with the first frame one. Ask first whether a frame fits.", "15.8", seen)
      for name, count, seen in (
          ("not below none", lambda N, w, h: max(0, int((N - w) / h) + 1), ("one sample short",)),
          ("and below none", lambda N, w, h: int((N - w) / h) + 1, ("one sample short", "too short")))),
)
