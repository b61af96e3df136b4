"""The questions of chapter 15."""

from ...model import STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="15.1",
        title="Put an image together",
        stub=stubs.put_together,
        returns=("images",),
        minutes=15,
        kind="build",
        section="15.1",
        part=1,
        clauses=(
            ("left to right, then down", "one image"),
            ("the channels of a pixel side by side", "colours"),
            ("any number of axes in front", "two axes in front"),
        ),
        hints=(
            "Give each index a letter, and write down in which order the letters run in the rows, and in which in the "
            "image.",
            "In the rows the order is i, j, a, b, channel; in the image it is i, a, j, b, channel. So read the rows as "
            "five axes, exchange two of them, and flatten what belongs together.",
            "patches.reshape(*lead, h, w, patch, patch, c), then np.swapaxes(…, -4, -3), then a reshape to (*lead, "
            "height, width, c). Axes that are counted from the end do not care about those in front.",
        ),
        cases=(
            Case("one image", cases.rows(2, 3, 4, 1), "grey, two rows of three squares", 1),
            Case("colours", cases.rows(3, 2, 4, 5), "five channels", 1),
            Case("two axes in front", cases.rows(4, 2, 3, 5, (6, 7)), "six times seven images", 1),
            Case("other sizes", cases.rows(3, 5, 2, 4, (2, 3)), "other sizes", guards="colours"),
        ),
        mutants=mutants.TOGETHER,
    ),
    Question(
        id="15.2",
        title="A knife that cuts in the wrong order",
        stub=stubs.cut,
        returns=("F",),
        minutes=10,
        kind="repair",
        section="15.1",
        part=1,
        clauses=(
            ("the squares left to right, then down", "one image"),
            ("any number of axes in front", "a batch"),
            ("any number of axes in front", "two axes in front"),
        ),
        hints=(
            "Follow two pixels: the second of the first line of the image, and the first of the second square. In "
            "which row and column do they stand, and where should they?",
            "Two pairs of axes are in the wrong order, that of the squares and that of the pixels; and the axes are "
            "counted from the front, where a batch may come.",
            "images.reshape(*lead, h, patch, w, patch, c), one exchange of the axes −4 and −3, and a reshape.",
        ),
        cases=(
            Case("one image", cases.pictures(2, 3, 4, 5), "two rows of three squares", 1),
            Case("a batch", cases.pictures(3, 2, 4, 5, (7,)), "seven images", 1),
            Case("two axes in front", cases.pictures(4, 2, 3, 5, (6, 7)), "six times seven", guards="a batch",
                 open=True),
            Case("other sizes", cases.pictures(3, 5, 2, 4, (2,)), "other sizes", guards="one image"),
        ),
        mutants=mutants.CUTTING,
    ),
    Question(
        id="15.3",
        title="The bill of small squares",
        stub=stubs.bill,
        returns=("tokens", "weights", "embedding", "blocks"),
        minutes=12,
        kind="predict",
        section="15.1",
        part=1,
        printed=False,
        clauses=(
            ("with a class token", "grey"),
            ("weights of its patch embedding, without bias", "colours"),
            ("what happens to each number when `patch` is halved", "halved squares"),
            ("You need no loop", STORY),
        ),
        hints=(
            "Count the squares, and then ask who else sits in the sequence that the blocks read.",
            "The embedding multiplies each square, and nothing else, by its matrix: two operations for every weight "
            "and square. A block takes 24 m d² + 4 m² d for m rows, the class token among them.",
            "n = height * width // patch**2 and m = n + 1; weights = patch**2 * channels * d; embedding = 2 * n * "
            "weights; blocks = layers * (24 * m * d**2 + 4 * m**2 * d).",
        ),
        cases=(
            Case("grey", cases.model(8, 12, 1, 2, 11, 3), "8 × 12 pixels, squares of 2", 1),
            Case("colours", cases.model(96, 64, 3, 16, 40, 5), "96 × 64 pixels in colour, squares of 16", 1),
            Case("halved squares", cases.model(96, 64, 3, 8, 40, 5), "the same with squares of 8", guards="colours",
                 open=True),
            Case("others", cases.some_model, "other numbers", guards="grey"),
            Case("other colours", cases.some_model, "other numbers", guards="colours"),
        ),
        mutants=mutants.BILLS,
    ),
    Question(
        id="15.4",
        title="Five knives",
        stub=stubs.name_the_cut,
        returns=("names",),
        minutes=15,
        kind="detect",
        section="15.1",
        part=1,
        printed=False,
        clauses=(
            ("Four of the five made a mistake", "five exhibits"),
            ("images of any shape", "colours in another grid"),
            ("a corner of one colour", "a corner of one colour"),
        ),
        hints=(
            "Look at the first row first: which exhibits have the right pixels there, and in the right order? Then at "
            "the others: where an image has one colour, a row alone tells nothing.",
            "Make all five candidates yourself: read the image as five axes, put them into each of the five orders, "
            "and see which one gives the rows.",
            "five = image.reshape(h, patch, w, patch, c); the orders are right (0, 2, 1, 3, 4), reshape (0, 1, 2, 3, "
            "4), down first (2, 0, 1, 3, 4), transposed (0, 2, 3, 1, 4), channels first (0, 2, 4, 1, 3).",
        ),
        cases=(
            Case("five exhibits", cases.exhibits(3, 4, 2, 5, cases.CUTS), "five pairs, one of each kind", 2),
            Case("colours in another grid", cases.exhibits(5, 2, 3, 4, cases.CUTS * 2), "ten pairs", 1),
            Case("a corner of one colour", cases.exhibits(3, 4, 2, 5, cases.CUTS, flat=True),
                 "the squares above and at the left", guards="five exhibits", open=True),
            Case("others", cases.exhibits(2, 5, 3, 2, cases.CUTS), "other sizes", guards="five exhibits"),
        ),
        mutants=mutants.NAMING,
        drive=cases.name_all,
        labels=cases.CUTS,
    ),
    Question(
        id="15.5",
        title="The same layer as a convolution",
        stub=stubs.as_convolution,
        returns=("tokens", "shape", "learns"),
        minutes=15,
        kind="build",
        section="15.1",
        part=2,
        printed=False,
        torch=True,
        forbid=TORCH_ONLY,
        clauses=(
            ("does the same to images whose channels come first", "tokens"),
            ("any number of channels", "grey"),
            ("any number of channels", "colours in a batch"),
            ("goes on learning", "learning"),
        ),
        hints=(
            "What are the four axes of the weights of such a layer, and in which order do the rows of W count row, "
            "column and channel?",
            "Read W as an array of (row, column, channel, out), and permute it to (out, channel, row, column). Width "
            "and stride are those of a square. Copy into the parameters without autograd watching.",
            "W.reshape(patch, patch, c, d).permute(3, 2, 0, 1) with c = len(W) // patch**2; nn.Conv2d(c, d, patch, "
            "stride=patch); with torch.no_grad(): conv.weight.copy_(…), conv.bias.copy_(b).",
        ),
        cases=(
            Case("tokens", cases.embedding(2, 3, 5, 4, 6, 1), "one image, three channels", 1, look=("tokens",
                                                                                                   "shape")),
            Case("grey", cases.embedding(3, 1, 4, 6, 9, 2), "one channel", guards="tokens", open=True,
                 look=("tokens", "shape")),
            Case("colours in a batch", cases.embedding(3, 2, 7, 9, 6, 4), "four images", 1, look=("tokens", "shape")),
            Case("learning", cases.embedding(2, 3, 5, 4, 6, 1), "whether it has parameters that learn", 1,
                 look=("learns", "shape")),
            Case("other sizes", cases.embedding(4, 3, 6, 8, 12, 2), "other sizes", guards="tokens",
                 look=("tokens", "shape")),
        ),
        mutants=mutants.CONVOLUTIONS,
        drive=cases.convolve,
    ),
    Question(
        id="15.6",
        title="A mean with the class token in it",
        stub=stubs.pooled_gradients,
        returns=("dX", "dtoken"),
        minutes=20,
        kind="derive",
        section="15.2",
        part=2,
        printed=False,
        clauses=(
            ("Derive the gradients", "one image"),
            ("any number of axes in front", "a batch"),
            ("any number of axes in front", "two axes in front"),
            ("An image of which nothing is real", "nothing real"),
        ),
        hints=(
            "Write the mean as a sum with weights. How many rows is it over, if k of them are real?",
            "Every row in the mean, the class token too, has the weight 1 / (k + 1), and k differs from image to "
            "image. A row gets its weight times dy. And who used the token?",
            "share = dy / (1 + mask.sum(axis=-1))[..., None]; dX is share[..., None, :] where the mask is True; dtoken "
            "is share, summed over all axes but the last.",
        ),
        cases=(
            Case("one image", cases.pooled(6, 4), "six rows, no batch", 1),
            Case("a batch", cases.pooled(5, 4, (3,)), "three images", 1),
            Case("two axes in front", cases.pooled(6, 4, (3, 2)), "three times two", 1),
            Case("nothing real", cases.pooled(5, 3, (4,), "none real"), "one image of padding alone", 1),
            Case("other sizes", cases.pooled(7, 3, (5,)), "other sizes", guards="a batch"),
        ),
        mutants=mutants.POOLS,
    ),
    Question(
        id="15.7",
        title="Three layers and their parameters",
        stub=stubs.weights_of,
        returns=("connected", "convolution", "attention"),
        minutes=10,
        kind="predict",
        section="15.4",
        part=2,
        printed=False,
        clauses=(
            ("how many parameters has each", "an image"),
            ("Which of them depend on the size of the image", "a larger one"),
        ),
        hints=(
            "For each layer ask: what is shared by all pixels?",
            "Fully connected: every number that comes out has a weight for every number that goes in. A convolution: "
            "one window for each channel that comes out. Attention: three maps, the same for all pixels.",
            "With N = height * width: N * c * N * e + N * e; kernel**2 * c * e + e; 3 * (c * e + e).",
        ),
        cases=(
            Case("an image", cases.layer(6, 11, 5, 13, 7), "6 × 11 pixels", 1),
            Case("a larger one", cases.layer(40, 50, 5, 13, 7), "40 × 50 pixels", 1),
            Case("others", cases.some_layer, "other numbers", guards="an image"),
            Case("another image", cases.some_layer, "other numbers", guards="a larger one"),
        ),
        mutants=mutants.LAYERS,
    ),
    Question(
        id="15.8",
        title="Opposite, and the same",
        stub=stubs.two_pictures,
        returns=("first", "second"),
        minutes=12,
        kind="counterexample",
        section="15.5",
        part=2,
        printed=False,
        clauses=(
            ("black wherever the other is white", "two by three"),
            ("any grid with an even number of squares", "five by four"),
        ),
        hints=(
            "What does a model without positions see of a picture? When are two pictures the same to it?",
            "It sees a bag of squares. The opposite of a picture must have the same bag: so for every square, its "
            "opposite must be in the picture too. The simplest squares are all black or all white.",
            "Half of the squares white and half black: np.kron(board, np.ones((patch, patch))) makes a picture of a "
            "board (h, w) of zeros and ones. Take care that the board is half white even when h or w is odd.",
        ),
        cases=(
            Case("two by three", cases.board(2, 3, 4), "two rows of three squares", 1),
            Case("five by four", cases.board(5, 4, 3), "five rows of four", 1),
            Case("others", cases.some_board, "other numbers", guards="five by four"),
        ),
        mutants=mutants.BAGS,
        measure=cases.measure_pair,
        measures=cases.PAIR,
    ),
    Question(
        id="15.9",
        title="Rolled out, layer by layer",
        stub=stubs.rollout,
        returns=("R", "looks"),
        minutes=15,
        kind="build",
        section="15.6",
        part=3,
        clauses=(
            ("Each layer has a share of its own", "three layers"),
            ("one sequence or many", "a batch"),
            ("one sequence or many", "two axes in front"),
            ("however many layers there are", "one layer"),
        ),
        hints=(
            "What happens to the rows in one layer, if it only mixes them? And what in two, one after the other?",
            "Mean over the heads; times one minus the share; plus the share times the identity. The first layer stands "
            "on the right of the product. For the second answer take row 0 without its first entry, and divide by "
            "what is left.",
            "R = np.eye(n); for A, r in zip(layers, shares): R = ((1 - r) * A.mean(axis=-3) + r * np.eye(n)) @ R; "
            "row = R[..., 0, 1:]; row / row.sum(axis=-1, keepdims=True).",
        ),
        cases=(
            Case("three layers", cases.weights(3, 2, 5), "three layers, no batch", 1),
            Case("a batch", cases.weights(4, 6, 5, (2,)), "two images", 1),
            Case("two axes in front", cases.weights(4, 2, 5, (3, 6)), "three times six", guards="a batch", open=True),
            Case("one layer", cases.weights(1, 3, 4), "one layer", 1),
            Case("other sizes", cases.weights(2, 5, 6, (3,)), "other sizes", guards="a batch"),
        ),
        mutants=mutants.ROLLS,
    ),
    Question(
        id="15.10",
        title="Two pictures and a sentence, unpacked",
        stub=stubs.unpacked_gradients,
        returns=("dF", "dG", "dE", "dP", "dK"),
        minutes=20,
        kind="derive",
        section="15.7",
        part=3,
        printed=False,
        clauses=(
            ("Both pictures have the same places", "one sequence"),
            ("any number of axes in front", "a batch"),
            ("any number of axes in front", "two axes in front"),
            ("A word may occur more than once", "a word twice"),
        ),
        hints=(
            "Take each of the five in turn: in which rows of which sequences was it added?",
            "F and G have rows of their own. A row of P was added to both pictures of all sequences, a kind to all the "
            "rows of its part, a word wherever its id stands: each collects the sum of those rows.",
            "dF, dW, dG are slices of dX. np.add.at(dE, ids, dW); dP = (dF + dG) summed over the axes in front; dK "
            "stacks the sums over all rows of dF, dW and dG.",
        ),
        cases=(
            Case("one sequence", cases.sequence(4, 3, 5, 7), "no batch", 1),
            Case("a batch", cases.sequence(3, 4, 5, 8, (2,)), "two sequences", 1),
            Case("two axes in front", cases.sequence(3, 4, 5, 8, (2, 6)), "two times six", 1),
            Case("a word twice", cases.sequence(4, 3, 2, 6, (5,), repeat=True), "the first word again", 1),
            Case("other sizes", cases.sequence(5, 2, 4, 7, (3,)), "other sizes", guards="a batch"),
        ),
        mutants=mutants.PACKS,
    ),
    Question(
        id="15.11",
        title="What no frame hears",
        stub=stubs.framed,
        returns=("n", "left"),
        minutes=10,
        kind="predict",
        section="15.8",
        part=3,
        printed=False,
        clauses=(
            ("how many whole frames", "overlapping"),
            ("how many whole frames", "a single frame"),
            ("how many samples are in none of them", "exactly filled"),
            ("A sound may be shorter than a frame", "too short"),
            ("A sound may be shorter than a frame", "one sample short"),
            ("a hop longer than a frame", "gaps"),
        ),
        hints=(
            "Draw a sound of ten samples and frames of four, three apart.",
            "Frame number k fits if it ends inside the sound. For the samples in no frame, count those that are in "
            "some: with a hop no longer than a frame there are no gaps, otherwise the frames lie apart.",
            "n = (samples - wide) // hop + 1, or 0; seen = (n - 1) * min(hop, wide) + wide if n else 0.",
        ),
        cases=(
            Case("overlapping", cases.sound(1000, 128, 40), "1,000 samples, frames of 128 every 40", 1),
            Case("exactly filled", cases.sound(110, 30, 20), "110 samples, frames of 30 every 20", 1),
            Case("too short", cases.sound(24, 45, 10), "fewer samples than a frame", guards="overlapping", open=True),
            Case("one sample short", cases.sound(44, 45, 10), "a frame has one sample more", guards="overlapping",
                 open=True),
            Case("a single frame", cases.sound(45, 45, 10), "as many samples as a frame", guards="exactly filled",
                 open=True),
            Case("gaps", cases.sound(200, 25, 40), "a hop longer than a frame", guards="overlapping", open=True),
            Case("others", cases.some_sound, "other numbers", guards="overlapping"),
            Case("other frames", cases.some_sound, "other numbers", guards="exactly filled"),
        ),
        mutants=mutants.FRAMES,
    ),
)
