"""The questions of chapter 1."""

from ...model import STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="01.1",
        title="Backpropagation through time",
        stub=stubs.rnn_gradients,
        returns=("dX", "dW_x", "dW_h", "db", "dh0"),
        minutes=20,
        kind="build",
        section="1.2",
        part=1,
        clauses=(
            ("return the gradients of everything that the run used", "one text"),
            ("any number of axes in front", "batch"),
            ("any number of axes in front", "two axes in front"),
            ("may have a loss at its end alone", "only the last state"),
        ),
        hints=(
            "Walk from the last token to the first, and carry one row with you: what comes back from the step after.",
            "The carried row, du_{t+1} W_hᵀ, is added to the direct gradient; the sum times 1 − h_t² is du_t. With all "
            "du_t at hand, the rest is one linear map with the inputs x_t, and one with the inputs h_{t−1}.",
            "Put h0 in front of H and leave out the last row: np.concatenate([h0[..., None, :], H[..., :-1, :]], "
            "axis=-2) "
            "has h_{t−1} beside each du_t. Flatten all leading axes before the products that give dW_x and dW_h. What "
            "is "
            "carried out of the loop is dh0.",
        ),
        cases=(
            Case("one text", cases.read(5, 3, 4), "five tokens, no batch", 2),
            Case("batch", cases.read(6, 3, 4, (2,)), "two texts", 1, ("one text",)),
            Case("two axes in front", cases.read(4, 5, 3, (6, 2)), "six times two texts", guards="batch", open=True),
            Case("only the last state", cases.last_state(6, 3, 4), "a loss of the last state", 1),
            Case("other sizes", cases.read(7, 2, 5, (3,)), "other sizes", guards="batch"),
        ),
        mutants=mutants.THROUGH_TIME,
    ),
    Question(
        id="01.2",
        title="Small eigenvalues, and yet it grows",
        stub=stubs.growing_matrix,
        returns=("W",),
        minutes=12,
        kind="counterexample",
        section="1.3",
        part=1,
        printed=False,
        clauses=(
            ("no eigenvalue of $W$ is larger than `radius` in size", "four steps"),
            ("has a norm of `gain` at least", "four steps"),
            ("any number of steps", "ten steps"),
            ("any number of steps", "little is kept, and much wanted"),
            ("even for one step", "one step"),
            ("with eigenvalues no larger than radius in size", "ten steps"),
        ),
        hints=(
            "Of which matrices can you read the eigenvalues off without computing anything?",
            "A triangular matrix has its eigenvalues on the diagonal, and the entry above them may be as large as you "
            "like. Multiply such a matrix by itself twice and see what becomes of that entry.",
            "The k-th power of [[r, c], [0, r]] has r^k on its diagonal and k r^(k−1) c above it. Choose c.",
        ),
        cases=(
            Case("one step", cases.wanted(0.9, 1, 2.5), "radius 0.9, a gain of 2.5 at once", 1),
            Case("four steps", cases.wanted(0.5, 4, 10.0), "radius 0.5, a gain of 10 after 4 steps", 1),
            Case("ten steps", cases.wanted(0.8, 10, 3.0), "radius 0.8, a gain of 3 after 10 steps", guards="one step",
                 open=True),
            Case("little is kept, and much wanted", cases.wanted(0.05, 12, 1e4), "radius 0.05, a gain of 10⁴ after 12 "
                 "steps", guards="four steps", open=True),
            Case("others", cases.wanted(0.6, 7, 4.0), "other numbers", guards="four steps"),
        ),
        mutants=mutants.GROWTH,
        measure=cases.measure_growth,
        measures=cases.GROWTH,
    ),
    Question(
        id="01.3",
        title="How long a gate remembers",
        stub=stubs.steps_until,
        returns=("k",),
        minutes=10,
        kind="predict",
        section="1.4",
        part=1,
        printed=False,
        clauses=(
            ("its forget gate has this bias and sees nothing else", "an open gate"),
            ("no more than the given share", "a fresh gate"),
            ("also be right for a gate that is nearly shut", "one step"),
            ("The smallest number k of steps, 1 at least", "all of it"),
            ("its forget gate has this bias and sees nothing else", "a wide gate"),
        ),
        hints=(
            "What is the gate, as a number between 0 and 1? And what does a second step do?",
            "The share after k steps is σ(β)^k. Take logarithms, mind their signs, and round in the right direction.",
            "k = ⌈ln share / ln σ(β)⌉, and 1 at least. A loop that multiplies until it is there is as good, and meets "
            "equality better than a quotient of logarithms.",
        ),
        cases=(
            Case("a fresh gate", cases.forgetting(0.0, 0.125), "bias 0, an eighth", 1),
            Case("an open gate", cases.forgetting(4.0, 0.05), "bias 4, a twentieth", 1),
            Case("a wide gate", cases.forgetting(4.5, 0.3), "bias 4.5, three tenths", guards="an open gate", open=True),
            Case("one step", cases.forgetting(-4.0, 0.5), "bias −4, a half", guards="an open gate", open=True),
            Case("all of it", cases.forgetting(0.5, 1.0), "bias 0.5, the whole", guards="a fresh gate", open=True),
            Case("others", cases.some_forgetting, "other numbers", guards="an open gate"),
            Case("another share", cases.half_open, "other numbers", guards="a fresh gate"),
        ),
        mutants=mutants.STEPS,
    ),
    Question(
        id="01.4",
        title="A sum instead of a product",
        stub=stubs.leaky_gradients,
        returns=("dN", "dZ", "dh0"),
        minutes=20,
        kind="derive",
        section="1.4",
        part=2,
        printed=False,
        clauses=(
            ("Derive the three gradients", "one text"),
            ("any number of axes in front", "batch"),
            ("A gate may be exactly 0 or 1", "gates shut and open"),
        ),
        hints=(
            "As with the plain network, walk from the end to the start with one carried row.",
            "Let e_t be the whole gradient of h_t: the direct one, and z_{t+1} ∘ e_{t+1}. Then look at the sum term by "
            "term: where does n_t stand in it, and where, twice, does z_t?",
            "dn_t = (1 − z_t) ∘ e_t and dz_t = (h_{t−1} − n_t) ∘ e_t. You need the states, so run the sum forward "
            "first; "
            "keep h0 as the state before the first.",
        ),
        cases=(
            Case("one text", cases.leaky(5, 4), "five tokens, no batch", 2),
            Case("batch", cases.leaky(4, 3, (5, 2)), "five times two texts", 1, ("one text",)),
            Case("gates shut and open", cases.leaky(6, 4, (3,), True), "gates of exactly 0 and 1", 1),
            Case("other sizes", cases.leaky(7, 2, (3,)), "other sizes", guards="batch"),
        ),
        mutants=mutants.LEAKY,
    ),
    Question(
        id="01.5",
        title="An LSTM that begins with its gates open",
        stub=stubs.long_memory,
        returns=("forget", "others", "shape", "by_batch", "learns"),
        minutes=15,
        kind="design",
        section="1.4",
        part=2,
        printed=False,
        torch=True,
        forbid=TORCH_ONLY,
        clauses=(
            ("give the forget gate ln(steps - 1)", "the forget gate"),
            ("every other gate 0", "the other gates"),
            ("with batch_first=True", "a batch"),
        ),
        hints=(
            "Print the names and shapes of the parameters of such a module. How many biases does it have?",
            "There are two bias vectors, and they are added. Each has four parts of h numbers, in the order input, "
            "forget, cell, output. Change them without autograd watching.",
            "Inside with torch.no_grad(): set both vectors to zero, then the second quarter of one of them, "
            "net.bias_hh_l0[h:2 * h], to the bias.",
        ),
        cases=(
            Case("the forget gate", cases.sizes(3, 4, 40), "40 steps, the sum of its biases", 1,
                 look=("forget", "learns"), rtol=cases.TWO_FLOATS),
            Case("the other gates", cases.sizes(3, 4, 40), "40 steps, the sums of theirs", 1,
                 look=("others", "learns")),
            Case("a batch", cases.sizes(4, 6, 100), "two texts of five tokens", 1, look=("shape", "by_batch")),
            Case("other sizes", cases.sizes(5, 3, 250), "other sizes", guards="the forget gate", rtol=cases.TWO_FLOATS),
        ),
        mutants=mutants.MEMORY,
        drive=cases.look_into,
    ),
    Question(
        id="01.6",
        title="As far as possible, in as few layers",
        stub=stubs.dilations_for,
        returns=("dilations",),
        minutes=15,
        kind="design",
        section="1.5",
        part=2,
        printed=False,
        clauses=(
            ("as few layers as there can be", "three taps"),
            ("and on all between", "four taps"),
            ("on all the tokens between as well", "four taps"),
            ("that many places before it", "just out of reach"),
            ("with any number of taps", "two taps"),
        ),
        hints=(
            "Doubling is what section 1.5 does. With three taps, is that the most that one layer can do?",
            "Say a stack sees r tokens without a gap. A layer on top with dilation δ sees k copies of those r, δ "
            "apart. "
            "How large can δ be before a gap opens, and how many does it see then?",
            "With δ = r the copies stand side by side, and r grows to k r: the dilations are 1, k, k², … until the "
            "field is "
            "larger than the distance.",
        ),
        cases=(
            Case("three taps", cases.far(3, 100), "k = 3, 100 places", 1),
            Case("four taps", cases.far(4, 200), "k = 4, 200 places", 1),
            Case("just out of reach", cases.far(3, 27), "k = 3, 27 places: a field of 27 ends one before", 1),
            Case("two taps", cases.far(2, 90), "k = 2, 90 places", guards="three taps", open=True),
            Case("others", cases.far(5, 333), "other numbers", guards="four taps"),
        ),
        mutants=mutants.STACKS,
        measure=cases.measure_stack,
        measures=cases.STACK,
    ),
    Question(
        id="01.7",
        title="A window that moves in strides",
        stub=stubs.strided_gradients,
        returns=("dX", "dW"),
        minutes=20,
        kind="derive",
        section="1.5",
        part=3,
        printed=False,
        clauses=(
            ("return $dX$ and $dW$", "steps of two"),
            ("any number of axes in front", "batch"),
            ("A window need not look at every place", STORY),
            ("A stride of 1", "steps of one"),
            ("gaps between the windows", "steps of four"),
            ("behind the last window some may be left over", "steps of four"),
        ),
        hints=(
            "Which outputs used token t, and through which tap? And which tokens met tap j?",
            "Output i and tap j met token i·s + j, and no other pair of token and tap. Send dy_i W_jᵀ to that token, "
            "and "
            "the outer product of that token and dy_i to tap j; where several meet, add.",
            "A loop over the taps is enough: the tokens of tap j are X[..., j : j + m * stride : stride, :], with m "
            "the "
            "number of outputs. Add into the same slice of dX.",
        ),
        cases=(
            Case("steps of two", cases.strided(9, 3, 2, 4, 5), "nine tokens, three taps", 2),
            Case("batch", cases.strided(8, 4, 2, 3, 5, (6, 2)), "six times two texts", 1, ("steps of two",)),
            Case("steps of one", cases.strided(7, 3, 1, 2, 4), "the plain convolution", 1),
            Case("steps of four", cases.strided(12, 3, 4, 2, 5), "tokens that no window sees", guards="steps of two",
                 open=True),
            Case("other sizes", cases.strided(10, 5, 2, 3, 4, (3, 2)), "other sizes", guards="batch"),
        ),
        mutants=mutants.STRIDES,
    ),
    Question(
        id="01.8",
        title="When the whole text is dearer than a window",
        stub=stubs.dearer_from,
        returns=("n",),
        minutes=10,
        kind="predict",
        section="1.7",
        part=3,
        printed=False,
        clauses=(
            ("takes more operations", "many taps"),
            ("takes more operations", "odd width"),
            ("The smallest number of tokens, 1 at least", "few taps"),
            ("How many taps would a convolution need", STORY),
        ),
        hints=(
            "Write both bills down, (1.19) and (1.20), and divide by what they share.",
            "Attention is dearer when 8nd² + 4n²d > 2k nd². Divide by 2nd: 4d + 2n > kd. Solve for n, and mind what is "
            "asked where both are equal.",
            "n > d (k − 4) / 2, so n is the whole part of that plus 1, and never below 1. Whole numbers need "
            "whole-number "
            "division.",
        ),
        cases=(
            Case("many taps", cases.bill(64, 31), "d = 64, 31 taps", 1),
            Case("few taps", cases.bill(48, 3), "d = 48, three taps", 1),
            Case("odd width", cases.bill(35, 11), "d = 35, eleven taps", guards="many taps", open=True),
            Case("others", cases.some_bill, "other numbers", guards="many taps"),
            Case("a wide model", cases.some_bill, "other numbers", guards="few taps"),
        ),
        mutants=mutants.BILLS,
    ),
)
