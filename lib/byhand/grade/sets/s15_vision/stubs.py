"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def put_together(patches, height, width, patch):
    """The images whose squares are these rows.

    patches (*B, n, f): squares of patch × patch pixels, left to right, then
    down; in a row the pixels left to right, then down, the channels of a pixel
    side by side.  Returns images (*B, height, width, c).
    """
    ...


def cut(images, patch):
    """The squares of images (*B, H, W, c) as rows (*B, n, f), left to right,
    then down; within a square too, the channels of a pixel side by side.
    """
    ...


def bill(height, width, channels, patch, d, layers):
    """What a vision transformer costs for one image: the tokens that its
    blocks read, the numbers in the weights of its patch embedding without
    bias, the operations of that embedding, and those of all blocks.
    """
    ...


def name_the_cut(image, F, patch):
    """How the rows F (n, f) were made of image (H, W, c): "right", "reshape",
    "down first", "transposed" or "channels first".
    """
    ...


def as_convolution(W, b, patch):
    """An nn.Conv2d that does to images (B, c, H, W) what the patch embedding
    with W (f, d) and b (d,) does to images (B, H, W, c).
    """
    ...


def pooled_gradients(dy, X, token, mask):
    """Backward of the mean over the class token and all real tokens.

    X (*B, n, d), token (d,), mask (*B, n) with True for a real token, dy
    (*B, d).  Returns dX and dtoken.
    """
    ...


def weights_of(height, width, c, e, kernel):
    """The numbers of parameters, biases included, of three layers that turn an
    image (height, width, c) into one of (height, width, e): a fully connected
    layer, a convolution with kernel × kernel taps, and one head of attention
    between all pixels.
    """
    ...


def two_pictures(h, w, patch):
    """Two pictures (h · patch, w · patch) with entries 0 and 1, opposite at
    every pixel, that a vision transformer without positions cannot tell apart.
    """
    ...


def rollout(layers, shares):
    """How much of each input row each output row holds, and what the class
    token, row 0, got from the others.

    layers (L, *B, H, n, n): the weights of each layer, first layer first;
    shares (L,): what goes past attention in each.  Returns R (*B, n, n), and
    its row 0 without the first entry, scaled to sum to one, (*B, n - 1).
    """
    ...


def unpacked_gradients(dX, ids, words, n):
    """The gradients of all that was added up in a sequence of two pictures
    with words between them.

    dX (*B, n + m + n, d), ids (*B, m), words: how many there are in the table.
    Returns dF and dG (*B, n, d), dE (words, d), dP (n, d) and dK (3, d).
    """
    ...


def framed(samples, wide, hop):
    """The number of whole frames in a sound, and how many samples are in none
    of them.
    """
    ...
