"""The questions of chapter 5."""

from ...model import FORBIDDEN, STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="05.1",
        title="How far do the rows see?",
        stub=stubs.how_far_rows_see,
        returns=("last", "leaks"),
        minutes=10,
        kind="predict",
        section="5.3",
        part=1,
        printed=False,
        hints=(
            "Under a causal mask, token t of a head depends on the tokens 0 to t. Which tokens stand in row r?",
            "By (5.9) row r holds the pieces r H to r H + H − 1, and piece p is token p mod n. Take the largest of "
            "them: where the row goes on from one head to the next, it is not the last piece.",
            "np.arange(n * H).reshape(n, H) % n has the tokens of all rows; a maximum along each row, and a "
            "comparison with np.arange(n).",
        ),
        cases=(
            Case("four tokens", cases.sizes(4, 3), "n = 4, H = 3", 1),
            Case("more heads than tokens", cases.sizes(3, 5), "n = 3, H = 5", 1),
            Case("long", cases.sizes(12, 4), "n = 12, H = 4", guards="four tokens", open=True),
            Case("one token", cases.sizes(1, 3), "n = 1, H = 3", guards="more heads than tokens", open=True),
            Case("five tokens", cases.sizes(5, 3), "n = 5, H = 3", guards="four tokens"),
        ),
        mutants=mutants.FAR,
        clauses=(
            ("the last token on which each row of the output depends", "four tokens"),
            ("how many rows depend on a token after their own", "four tokens"),
            ("The formula has to hold for any length and number of heads", "more heads than tokens"),
            ("The formula has to hold for any length and number of heads", "long"),
            ("The formula has to hold for any length and number of heads", "one token"),
        ),
    ),
    Question(
        id="05.2",
        title="Several heads, forward",
        stub=stubs.multihead,
        returns=("O", "A"),
        minutes=20,
        kind="build",
        section="5.10",
        part=3,
        hints=(
            "One product makes the queries of all heads. Cut its columns into H blocks, put the head axis before the "
            "tokens, and attention needs no loop.",
            "Cut the last axis into (H, k), then swap the head axis with the tokens; back again, swap first and then "
            "join. A mask with a batch axis needs an axis of length one for the heads, before its last two.",
            "reshape(*lead, n, H, k), then swapaxes(-3, -2); back again: swapaxes first, then reshape(*lead, n, H k). "
            "For the mask: np.expand_dims(mask, -3).",
        ),
        cases=(
            Case("self-attention", cases.layer(5, 5, 6, 6, 3, 4, 4, 6), "X and M of one shape, but not equal", 1),
            Case("cross-attention", cases.layer(3, 5, 6, 8, 2, 4, 9, 7), "all sizes different", 1, ("self-attention",)),
            Case("a batch of masks", cases.layer(4, 5, 6, 6, 2, 3, 3, 6, (2,), (2,)),
                 "two sequences, a mask each", 2, ("self-attention",)),
            Case("two axes in front", cases.layer(3, 4, 6, 6, 3, 2, 4, 5, (2, 2)), "lead (2, 2)",
                 guards="cross-attention", open=True),
            Case("one mask for all", cases.layer(3, 4, 6, 5, 3, 2, 4, 7, (2,), ()), "a mask of shape (n, m)",
                 guards="a batch of masks", open=True),
            Case("other sizes", cases.layer(4, 3, 5, 6, 2, 3, 2, 7, (3, 2)), "other sizes", guards="cross-attention"),
        ),
        mutants=mutants.MULTIHEAD,
        clauses=(
            ("$M$ is not to be replaced by $X$, even if both have one shape", "self-attention"),
            ("The widths of $X$, $M$, of the keys, the values and the output may all differ", "cross-attention"),
            ("or $(B, n, m)$, one for each sequence and the same for all heads", "a batch of masks"),
            ("It has the shape $(n, m)$, the same for all sequences and heads", "one mask for all"),
            ("There may be axes in front of the tokens", "two axes in front"),
            ("mask is boolean, True = may attend", "one mask for all"),
            ("*may attend*", "one mask for all"),
            ("every query may see at least one key", STORY),
        ),
    ),
    Question(
        id="05.3",
        title="Several heads, backward",
        stub=stubs.multihead_gradients,
        returns=("dX", "dM", "dW_q", "dW_k", "dW_v", "dW_o"),
        minutes=30,
        kind="derive",
        section="5.10",
        part=3,
        hints=(
            "Make Q, K, V and Z again. Then walk back: W_o, merge, attention, split, three maps. Where was M read?",
            "The backward of merge is split, and that of split is merge. Between them chapter 4 stands as it is, with "
            "a head axis in front. X was read once, M twice; the maps collect from all tokens of all sequences.",
            "dZ = split(dO W_oᵀ), dV = Aᵀ dZ, dA = dZ Vᵀ, dS by the softmax, dQ = dS K/√d_k, dK = dSᵀ Q/√d_k; merge "
            "all three; dM has two terms. For the maps: X.reshape(-1, d).T @ dQ.reshape(-1, H * d_k), and so on.",
        ),
        cases=(
            Case("dW_o", cases.gradients(5, 5, 6, 6, 3, 4, 4, 6), "X and M of one shape", 1, look=("dW_o",)),
            Case("dX", cases.gradients(5, 5, 6, 6, 3, 4, 4, 6), "X and M of one shape", 1, look=("dX",)),
            Case("dM", cases.gradients(5, 5, 6, 6, 3, 4, 4, 6), "X and M of one shape", 1, look=("dM",)),
            Case("the maps", cases.gradients(5, 5, 6, 6, 3, 4, 4, 6), "X and M of one shape", 1,
                 look=("dW_q", "dW_k", "dW_v")),
            Case("cross-attention", cases.gradients(3, 5, 6, 8, 2, 4, 9, 7), "all sizes different", 2,
                 ("dW_o", "dX", "dM", "the maps")),
            Case("batch", cases.gradients(3, 4, 6, 5, 2, 3, 4, 5, (2, 3)), "lead (2, 3)",
                 guards="cross-attention", open=True),
            Case("other sizes", cases.gradients(4, 3, 5, 6, 2, 3, 2, 7, (3, 2)), "lead (3, 2)",
                 guards="cross-attention"),
        ),
        mutants=mutants.GRADIENTS,
        clauses=(
            ("return the gradients of $X$", "dX"),
            ("$M$ was read twice, and so has two paths", "dM"),
            ("and of the four matrices", "the maps"),
            ("and of the four matrices", "dW_o"),
            ("$X$ and $M$ are two arrays here, also in the cases where they have one shape", "cross-attention"),
            ("The gradients of the matrices are sums over all tokens of all sequences", "batch"),
        ),
    ),
    Question(
        id="05.4",
        title="Are these two layers the same?",
        stub=stubs.same_layer,
        returns=("verdicts",),
        minutes=15,
        kind="design",
        section="5.4",
        part=1,
        printed=False,
        hints=(
            "What of a head's four matrices does the output feel? And does it feel which head comes first?",
            "A head is two products, W_q W_kᵀ and W_v W_o, of its own columns and rows. Two layers are the same if "
            "their heads can be paired so that both products agree, up to rounding.",
            "For each head make one long array of both products (np.concatenate of two ravels). Then look for each "
            "head of the first layer among those of the second, and take it out when it is found.",
        ),
        cases=(
            Case("turned or not", cases.pairs(5, 3, 2, 4, 6, ("turned", "wrongly turned", "changed", "turned")),
                 "heads in one order", 1),
            Case("heads in any order", cases.pairs(6, 4, 3, 2, 5, (
                "moved", "turned and moved", "crossed", "W_o left behind", "turned and crossed", "changed",
                "wrongly turned", "columns moved", "other outputs")), "heads that traded places", 2),
            Case("other sizes", cases.pairs(7, 3, 4, 3, 8, (
                "moved", "turned and moved", "crossed", "W_o left behind", "changed", "turned", "wrongly turned",
                "columns moved", "other outputs")),
                 "other sizes", guards="heads in any order"),
        ),
        mutants=mutants.SAME,
        drive=cases.call_same_layer,
        labels=cases.VERDICTS,
        clauses=(
            ("the same output for every input", "turned or not"),
            ("It has to find pairs whose numbers look nothing alike", "turned or not"),
            ("the heads may stand in another order", "heads in any order"),
            ("pairs that only look alike", "heads in any order"),
        ),
    ),
    Question(
        id="05.5",
        title="The parameters that count, with shared keys",
        stub=stubs.grouped_freedom,
        returns=("number",),
        minutes=12,
        kind="derive",
        section="5.8",
        part=2,
        printed=False,
        hints=(
            "Count all of them first, W_k and W_v with G heads. Then: who has to turn along, if a group's keys turn?",
            "For each group any invertible d_k × d_k matrix can be put between its keys and all its queries, and any "
            "d_v × d_v matrix between its values and all its blocks of W_o: d_k² + d_v² directions in which nothing "
            "happens.",
            "All parameters: d (H d_k + G d_k + G d_v + H d_v). Take G (d_k² + d_v²) away.",
        ),
        cases=(
            Case("no sharing", cases.grouped(24, 4, 4, 6, 5), "d = 24, H = G = 4, d_k = 6, d_v = 5", 1),
            Case("groups", cases.grouped(30, 6, 2, 4, 7), "d = 30, H = 6, G = 2, d_k = 4, d_v = 7", 1),
            Case("one head", cases.grouped(5, 1, 1, 4, 3), "d = 5, one head", guards="no sharing", open=True),
            Case("other sizes", cases.any_group, "other sizes", guards="groups"),
        ),
        mutants=mutants.FREE,
        clauses=(
            ("For $G = H$ it is the number of section 5.4", "no sharing"),
            ("For $G = H$ it is the number of section 5.4", "one head"),
            ("Return the number as a function of all five sizes", "groups"),
        ),
    ),
    Question(
        id="05.6",
        title="A check that heads can move",
        stub=stubs.heads_can_move,
        returns=("verdicts",),
        minutes=20,
        kind="design",
        section="5.10",
        part=2,
        printed=False,
        hints=(
            "The heads are added, so their order means nothing. Which numbers make up one head?",
            "Put the heads in another order: the same order for the blocks of columns of W_q, W_k and W_v and for the "
            "blocks of rows of W_o. The output of a right layer does not move, but for rounding.",
            "np.split(W, H, axis=1) and np.split(W_o, H) give the blocks; np.roll(range(H), 1) is an order in which "
            "every head moves. Compare with a tolerance such as 1e-9.",
        ),
        cases=(
            Case("two wires", cases.layers(5, 6, 3, 2, 4, 7, ("right", "merged without transpose")),
                 "one right, one merged without its transpose", 2),
            Case("five wires", cases.layers(11, 24, 4, 6, 5, 30, (
                "right", "right, as a loop", "merged without transpose", "cut and merged without transpose",
                "dealt out", "one projection for all", "last head left out")), "two right, five wrong", 2),
            Case("other layers", cases.layers(7, 10, 2, 4, 3, 9, (
                "right", "right, as a loop", "merged without transpose", "cut and merged without transpose",
                "dealt out")), "other sizes", guards="five wires"),
        ),
        mutants=mutants.MOVES,
        drive=cases.call_heads_can_move,
        labels=cases.PASSES,
        clauses=(
            ("It has to pass every right layer, however it is written", "five wires"),
            ("stop the layer of section 5.12, which is one transpose short", "two wires"),
            ("features dealt out in turn", "five wires"),
        ),
    ),
    Question(
        id="05.7",
        title="Pruning heads",
        stub=stubs.prune,
        returns=("W_q", "W_k", "W_v", "W_o"),
        minutes=12,
        kind="build",
        section="5.4",
        part=1,
        printed=False,
        hints=(
            "The output is a sum over heads: leave terms out. Which columns, and which rows of W_o, make one term?",
            "Split the columns of W_q, W_k, W_v and the rows of W_o into H blocks, and join those that the list names.",
            "blocks = np.split(W_q, H, axis=1), then np.concatenate([blocks[h] for h in keep], axis=1); for W_o the "
            "same along axis 0.",
        ),
        cases=(
            Case("two of six", cases.pruned(8, 6, 2, 3, 9, (1, 3)), "H = 6, keep [1, 3]", 1),
            Case("in another order", cases.pruned(6, 3, 2, 4, 6, (2, 0)), "H = 3, keep [2, 0]", 1),
            Case("one of three", cases.pruned(6, 3, 3, 2, 5, (1,)), "H = 3, keep [1]", guards="two of six", open=True),
            Case("three of five", cases.pruned(5, 5, 2, 3, 4, (4, 1, 2)), "H = 5, keep [4, 1, 2]",
                 guards="in another order"),
        ),
        mutants=mutants.PRUNE,
        clauses=(
            ("in which only the heads of the list `keep` are left", "two of six"),
            ("in the order of the list", "in another order"),
            ("nothing makes up for the others", "one of three"),
        ),
    ),
    Question(
        id="05.8",
        title="How long a text fits?",
        stub=stubs.longest_text,
        returns=("tokens",),
        minutes=10,
        kind="predict",
        section="5.8",
        part=2,
        printed=False,
        hints=(
            "How many numbers does one token leave behind, in one layer, for all that come after it?",
            "G keys of width d_k and G values of width d_v, in every layer of every text, each with so many bytes. The "
            "queries are used once and not kept.",
            "Divide the memory by layers * texts * G * (d_k + d_v) * bytes_each, and round down with //.",
        ),
        cases=(
            Case("one text", cases.memory(10**9, 32, 1, 24, 8, 128, 96, 2), "32 layers, 8 groups, a gigabyte", 1),
            Case("a batch", cases.memory(5 * 10**8, 12, 6, 20, 4, 50, 70, 4), "six texts, four bytes a number", 1),
            Case("other sizes", cases.any_memory, "other sizes", guards="a batch"),
        ),
        mutants=mutants.MEMORY,
        clauses=(
            ("of one text or of several, all equally long", "one text"),
            ("of one text or of several, all equally long", "a batch"),
            ("How many tokens a text may have", "a batch"),
        ),
    ),
    Question(
        id="05.9",
        title="Heads that no optimizer finds",
        stub=stubs.make_multihead,
        returns=("O", "dX", "dW_q", "dW_k", "dW_v", "dW_o"),
        minutes=20,
        kind="repair",
        section="5.11",
        part=4,
        printed=False,
        hints=(
            "A module finds a parameter only if it is an attribute of its own, of type nn.Parameter. What is a list?",
            "Four parameters of the layer itself, each for all heads. In forward: three products, cut the columns into "
            "heads, swap the axes, causal attention, swap back, join, W_o.",
            "Y.reshape(B, n, H, d // H).transpose(1, 2) cuts into heads; Z.transpose(1, 2).reshape(B, n, d) joins "
            "them. The mask: torch.ones(n, n).triu(1).bool() is what lies ahead, for the length of X.",
        ),
        cases=(
            Case("output", cases.module_inputs(2, 5, 6, 3), "our numbers loaded, two sequences", 2, look=("O",)),
            Case("gradients", cases.module_inputs(2, 5, 6, 3), "dX and the four matrices", 2, ("output",),
                 look=("dX", "dW_q", "dW_k", "dW_v", "dW_o")),
            Case("longer", cases.module_inputs(3, 9, 8, 2), "nine tokens, two heads", guards="output", open=True),
            Case("other sizes", cases.module_inputs(2, 7, 12, 4), "other sizes", guards="output"),
        ),
        mutants=mutants.MODULES,
        drive=cases.load_and_run,
        torch=True,
        roots=True,
        forbid=(*TORCH_ONLY, "MultiheadAttention"),
        clauses=(
            ("load_state_dict` takes a tree with the names and shapes of the library", "output"),
            ("every number in it learns", "gradients"),
            ("module(X) is causal self-attention", "output"),
            ("sequences of any length", "longer"),
            ("`nn.MultiheadAttention` is not allowed here", FORBIDDEN),
        ),
    ),
    Question(
        id="05.10",
        title="A head that continues what it has seen",
        stub=stubs.induction_head,
        returns=("W_q", "W_k", "W_v", "W_o"),
        minutes=15,
        kind="design",
        section="5.4",
        part=2,
        printed=False,
        hints=(
            "In *… red apple … red*, which token should the second *red* look at, and by what can it know that token?",
            "The token wanted carries *red* in its second half. So the query reads the first half, the key the second, "
            "and the value brings the first half. With size features a head the score is divided by √size.",
            "With I = np.eye(2 * size), the columns I[:, :size] read the own one-hot and I[:, size:] the one before. "
            "Make the queries √size · ln(2 size p / (1 − p)) times as long.",
        ),
        cases=(
            Case("five words", cases.vocabulary(5, 0.9), "size = 5, p = 0.9", 1),
            Case("a dozen", cases.vocabulary(12, 0.99), "size = 12, p = 0.99", 2),
            Case("many, and nearly certain", cases.vocabulary(50, 1 - 1e-9), "size = 50, p = 1 − 10⁻⁹",
                 guards="a dozen", open=True),
            Case("another vocabulary", cases.vocabulary(8, 0.75), "size = 8, p = 0.75", guards="five words"),
        ),
        mutants=mutants.INDUCE,
        measure=cases.measure_induction,
        measures=cases.INDUCTION,
        clauses=(
            ("every token of the second round gives at least the weight $p$", "five words"),
            ("the word that came after it in the first round gets the highest score", "five words"),
            ("for any size of the vocabulary from 3 to 50, and for any $p$ from 0.5 on", "a dozen"),
            ("for any size of the vocabulary from 3 to 50, and for any $p$ from 0.5 on", "many, and nearly certain"),
        ),
    ),
    Question(
        id="05.11",
        title="A checkpoint in other clothes",
        stub=stubs.from_checkpoint,
        returns=("W_q", "W_k", "W_v"),
        minutes=12,
        kind="build",
        section="5.3",
        part=1,
        printed=False,
        hints=(
            "Write the row or column of one entry as a number with digits: which of them counts fastest?",
            "Name the digits with a reshape, put the axes in the order (width, head, feature), and join the last two. "
            "Rows that stand for outputs have to become columns.",
            "By head: W.reshape(H, 3, k, d) names the digits; block [h, i] transposed is head h of matrix i. Apart: "
            "W[i] is (H, d, k), and np.concatenate(list(W[i]), axis=1) lays the heads side by side.",
        ),
        cases=(
            Case("side by side", cases.checkpoint("side by side", 5, 3, 2), "W (18, 5)", 1),
            Case("by head", cases.checkpoint("by head", 5, 3, 2), "W (18, 5)", 1),
            Case("apart", cases.checkpoint("apart", 5, 4, 2), "W (3, 4, 5, 2)", guards="side by side", open=True),
            Case("more heads", cases.checkpoint("by head", 6, 4, 3), "other sizes", guards="by head"),
        ),
        mutants=mutants.CHECKPOINTS,
        clauses=(
            ("first the queries of all heads, then the keys, then the values", "side by side"),
            ("head after head, each with its queries, its keys and its values", "by head"),
            ("a matrix for each head, not transposed", "apart"),
        ),
    ),
)
