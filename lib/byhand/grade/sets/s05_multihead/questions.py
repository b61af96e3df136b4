"""The questions of chapter 5."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="05.1",
        title="Whose numbers are these? With pencil and paper",
        stub=stubs.whose_numbers,
        returns=("token", "head"),
        minutes=12,
        hints=(
            "In memory Z (H, n, k) goes head by head: all n pieces of head 0, then all of head 1. Number the pieces.",
            "Row r takes the pieces r H to r H + H − 1. Piece p belongs to head p // n and to token p % n.",
        ),
        cases=(
            Case("four tokens", cases.sizes(4, 3), "n = 4, H = 3", 1),
            Case("more heads than tokens", cases.sizes(3, 5), "n = 3, H = 5", 1),
            Case("long", cases.sizes(12, 4), "n = 12, H = 4", 1, ("four tokens",)),
            Case("one token", cases.sizes(1, 3), "n = 1, H = 3", guards="more heads than tokens", open=True),
            Case("five tokens", cases.sizes(5, 3), "n = 5, H = 3", guards="four tokens"),
        ),
        mutants=mutants.WHOSE,
    ),
    Question(
        id="05.2",
        title="Several heads, forward",
        stub=stubs.multihead,
        returns=("O", "A"),
        minutes=25,
        hints=(
            "One product makes the queries of all heads. Cut its columns into H blocks, put the head axis before the "
            "tokens, and attention needs no loop.",
            "reshape(*lead, n, H, k), then swapaxes(-3, -2); back again: swapaxes first, then reshape(*lead, n, H k). "
            "A mask with a batch axis needs np.expand_dims(mask, -3).",
        ),
        cases=(
            Case("self-attention", cases.layer(5, 5, 6, 6, 3, 2, 2, 6), "X and M of one shape, but not equal", 2),
            Case("cross-attention", cases.layer(3, 5, 6, 8, 2, 4, 3, 7), "all sizes different", 1, ("self-attention",)),
            Case("a batch of masks", cases.layer(4, 5, 6, 6, 2, 3, 3, 6, (2,), (2,)),
                 "two sequences, a mask each", 2, ("self-attention",)),
            Case("two axes in front", cases.layer(3, 4, 6, 6, 3, 2, 4, 5, (2, 2)), "lead (2, 2)",
                 guards="cross-attention", open=True),
            Case("one mask for all", cases.layer(3, 4, 6, 5, 3, 2, 4, 7, (2,), ()), "a mask of shape (n, m)",
                 guards="a batch of masks", open=True),
            Case("other sizes", cases.layer(4, 3, 5, 6, 2, 3, 2, 7, (3, 2)), "other sizes", guards="cross-attention"),
        ),
        mutants=mutants.MULTIHEAD,
    ),
    Question(
        id="05.3",
        title="Several heads, backward",
        stub=stubs.multihead_gradients,
        returns=("dX", "dM", "dW_q", "dW_k", "dW_v", "dW_o"),
        minutes=35,
        hints=(
            "Make Q, K, V and Z again. Then walk back: W_o, merge, attention, split, three maps. Where was M read?",
            "dZ = split(dO W_oᵀ), dV = Aᵀ dZ, dA = dZ Vᵀ, dS = A ∘ (dA − rowsum(A ∘ dA)), dQ = dS K/√d_k, "
            "dK = dSᵀ Q/√d_k; merge all three; dX = dQ W_qᵀ, dM = dK W_kᵀ + dV W_vᵀ; dW = (input)ᵀ d(output), over "
            "all tokens of all sequences.",
        ),
        cases=(
            Case("dW_o", cases.gradients(4, 4, 6, 6, 3, 2, 2, 6), "X and M of one shape", 1, look=("dW_o",)),
            Case("dX", cases.gradients(4, 4, 6, 6, 3, 2, 2, 6), "X and M of one shape", 2, look=("dX",)),
            Case("dM", cases.gradients(4, 4, 6, 6, 3, 2, 2, 6), "X and M of one shape", 2, look=("dM",)),
            Case("the maps", cases.gradients(4, 4, 6, 6, 3, 2, 2, 6), "X and M of one shape", 2,
                 look=("dW_q", "dW_k", "dW_v")),
            Case("cross-attention", cases.gradients(3, 5, 6, 8, 2, 4, 3, 7), "all sizes different", 1,
                 ("dW_o", "dX", "dM", "the maps")),
            Case("batch", cases.gradients(3, 4, 6, 5, 2, 3, 4, 5, (2, 3)), "lead (2, 3)",
                 guards="cross-attention", open=True),
            Case("other sizes", cases.gradients(4, 3, 5, 6, 2, 3, 2, 7, (3, 2)), "lead (3, 2)",
                 guards="cross-attention"),
        ),
        mutants=mutants.GRADIENTS,
    ),
    Question(
        id="05.4",
        title="Two formulas, one layer",
        stub=stubs.as_sum,
        returns=("U_q", "U_k", "V"),
        minutes=15,
        hints=(
            "Which columns of W_q make head h's queries? Which rows of W_o meet head h's columns of Z?",
            "np.stack(np.split(W_q, H, axis=1)) cuts columns, np.split(W_o, H) cuts rows; V̄_h = W_v^h W_o^h.",
        ),
        cases=(
            Case("two heads", cases.maps(4, 2, 2, 2, 4), "d = 4, H = 2", 2),
            Case("any widths", cases.maps(6, 3, 2, 4, 6), "d = 6, H = 3, d_k = 2, d_v = 4", 2, ("two heads",)),
            Case("three heads", cases.maps(5, 3, 2, 3, 5), "other sizes", guards="any widths"),
            Case("another output width", cases.maps(5, 3, 2, 4, 7), "d_o = 7", guards="any widths", open=True),
        ),
        mutants=mutants.SUMS,
    ),
    Question(
        id="05.5",
        title="The parameters that count, with pencil and paper",
        stub=stubs.free_parameters,
        returns=("number",),
        minutes=12,
        hints=(
            "Count all of them first. Then: which changes of W_q and W_k leave every W_q^h W_k^hᵀ as it is?",
            "For each head any invertible d_k × d_k matrix R can be put between W_q^h and W_k^hᵀ, and any d_v × d_v "
            "matrix between W_v^h and W_o^h: these are d_k² + d_v² directions a head in which nothing happens.",
        ),
        cases=(
            Case("one full head", cases.counts(5, 1, 5, 5), "d = 5, H = 1, d_k = d_v = 5", 1),
            Case("eight heads", cases.counts(512, 8, 64, 64), "d = 512, H = 8, d_k = d_v = 64", 1),
            Case("any sizes", cases.any_counts, "d_k and d_v differ", 1, ("eight heads",)),
            Case("other sizes", cases.any_counts, "other sizes", guards="any sizes"),
        ),
        mutants=mutants.FREE,
    ),
    Question(
        id="05.6",
        title="Four wires",
        stub=stubs.diagnose_wiring,
        returns=("names",),
        minutes=25,
        hints=(
            "You have all matrices: compute what each of the five layers would return, and compare with O.",
            "min(candidates, key=lambda name: abs(candidates[name] - O).max()), where candidates is a dict of five "
            "outputs. `multihead` of exercise 05.2 makes four of them with other arguments.",
        ),
        cases=(
            Case("four exhibits", cases.exhibits(5, 6, 3, False), "four outputs, a fault in each", 4),
            Case("one is innocent", cases.exhibits(4, 8, 2, True), "five outputs, one of them correct", 2),
            Case("other sizes", cases.exhibits(7, 8, 4, True), "other sizes", guards="four exhibits"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_diagnose,
        labels=cases.NAMES,
    ),
    Question(
        id="05.7",
        title="Pruning heads",
        stub=stubs.prune,
        returns=("W_q", "W_k", "W_v", "W_o"),
        minutes=12,
        hints=(
            "The output is a sum over heads: leave terms out. Which columns, and which rows of W_o, make one term?",
            "Split the columns of W_q, W_k, W_v and the rows of W_o into H blocks, and join those that `keep` names.",
        ),
        cases=(
            Case("two of four", cases.pruned(8, 4, 2, 2, 8, (1, 3)), "H = 4, keep [1, 3]", 1),
            Case("in another order", cases.pruned(6, 3, 2, 4, 6, (2, 0)), "H = 3, keep [2, 0]", 1),
            Case("one of three", cases.pruned(6, 3, 3, 2, 5, (1,)), "H = 3, keep [1]", 1, ("two of four",)),
            Case("three of five", cases.pruned(5, 5, 2, 3, 4, (4, 1, 2)), "H = 5, keep [4, 1, 2]",
                 guards="in another order"),
        ),
        mutants=mutants.PRUNE,
    ),
    Question(
        id="05.8",
        title="Keys that heads share",
        stub=stubs.shared_gradient,
        returns=("dK_shared",),
        minutes=10,
        hints=(
            "Forward, each group of keys was copied to H / G heads. What is the backward of a copy?",
            "reshape(*lead, G, H // G, m, k), then a sum over the axis of length H // G.",
        ),
        cases=(
            Case("six heads, two groups", cases.shared(6, 2, 4, 3), "H = 6, G = 2", 1),
            Case("one group", cases.shared(4, 1, 3, 2), "H = 4, G = 1", 1),
            Case("batch", cases.shared(6, 3, 4, 2, (2,)), "lead (2,), H = 6, G = 3", 1, ("six heads, two groups",)),
            Case("eight heads", cases.shared(8, 4, 3, 2, (2, 2)), "lead (2, 2), H = 8, G = 4",
                 guards="batch", open=True),
            Case("other sizes", cases.shared(6, 2, 3, 4, (3, 2)), "lead (3, 2), H = 6, G = 2", guards="batch"),
        ),
        mutants=mutants.SHARED,
    ),
)
