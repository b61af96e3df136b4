"""The questions of chapter 14."""

from ...model import TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="14.1",
        title="Words hidden by given draws",
        stub=stubs.hide_words,
        returns=("inputs", "targets"),
        minutes=20,
        kind="build",
        section="14.1",
        part=1,
        hints=(
            "Two questions for each place, one after the other: is it chosen, and if so, what becomes of it? The "
            "target depends on the first alone.",
            "Make three arrays of True and False: chosen, chosen and masked, chosen and swapped. For the random word, "
            "list the ordinary ids in order; the draw picks a place in that list.",
            "ordinary = np.flatnonzero(~special); chosen = (choice < rate) & ~special[ids]; random = "
            "ordinary[(word * len(ordinary)).astype(int)]. Then np.where(chosen & (fate < 0.8), mask_id, ids), and a "
            "second np.where on top. targets = np.where(chosen, ids, -1).",
        ),
        cases=(
            Case("masked", cases.words((11,), 16, (0, 4, 9), 0.35, "masked"), "all that are chosen are masked", 1),
            Case("three fates", cases.words((4, 9), 17, (0, 5, 12), 0.4), "masked, random and kept words", 1),
            Case("special words", cases.words((3, 12), 15, (0, 1, 6, 10), 0.45, tempted=4),
                 "special ids whose draw is below the rate", 1),
            Case("batches", cases.words((2, 3, 10), 19, (2, 8, 13), 0.3, tempted=3, bounds=True),
                 "two leading axes, and draws that are just 0.8, 0.9 or the rate", 1,
                 ("three fates",)),
            Case("nothing chosen", cases.words((2, 7), 12, (0, 3, 8), 0.2, "", bounds=True),
                 "no draw is below the rate", guards="masked", open=True),
            Case("other sizes", cases.words((3, 14), 21, (0, 7, 11, 16), 0.35, tempted=2), "other sizes",
                 guards="three fates"),
        ),
        mutants=mutants.HIDERS,
        clauses=(
            ("where `fate` is below 0.8, it becomes `mask_id`", "masked"),
            ("from 0.9 on it stays", "three fates"),
            ("from 0.8 up to 0.9 it becomes a random word", "batches"),
            ("A draw may be just 0.8, 0.9 or the rate.", "batches"),
            ("unless its id is special", "special words"),
            ("special (V,), True for an id that is no ordinary word", "special words"),
            ("choice, fate and word (*B, n)", "batches"),
            ("There may be no chosen word at all.", "nothing chosen"),
            ("whatever has become of it", "three fates"),
        ),
    ),
    Question(
        id="14.2",
        title="A pair in one row",
        stub=stubs.pack_pair,
        returns=("ids", "segments", "real"),
        minutes=15,
        kind="repair",
        section="14.2",
        part=1,
        hints=(
            "Write a row of eight places by hand, with two words in each sentence, and below it the segments and what "
            "is real. Then let a be longer than the row.",
            "Decide first how many words of a and of b stay; the rest is counting. In front of the padding there are "
            "those two numbers and three more places. What is real follows from that count, and from no id.",
            "while p + q > n - 3, take one from p if p > q, else from q. Then ids = [cls, *a[:p], sep, *b[:q], sep] "
            "and the rest pad; segments = [0] * (p + 2) + [1] * (q + 1) and the rest 0; real = np.arange(n) < "
            "p + q + 3.",
        ),
        cases=(
            Case("room to spare", cases.two(7, 2, 14), "a pair that fits", 1),
            Case("too long", cases.two(9, 6, 12), "15 words for 9 places", 1),
            Case("padded with the separator", cases.two(3, 5, 14, pad=2), "pad is the id of [SEP]", 1),
            Case("just full", cases.two(4, 3, 10), "a pair that fits exactly", guards="room to spare", open=True),
            Case("b is short", cases.two(12, 2, 9), "a long and a short sentence", guards="too long", open=True),
            Case("b is longer", cases.two(3, 11, 12), "a short and a long sentence", guards="too long", open=True),
            Case("equally long", cases.two(7, 7, 14), "7 and 7 words for 11 places", guards="too long", open=True),
            Case("other sizes", cases.two(10, 8, 15), "18 words for 12 places", guards="too long"),
        ),
        mutants=mutants.PACKERS,
        clauses=(
            ("filled up with pad", "room to spare"),
            ("each [SEP] belongs to the sentence in front of it", "room to spare"),
            ("the longer of the two loses its last word", "too long"),
            ("the longer of the two loses its last word", "b is short"),
            ("the longer of the two loses its last word", "b is longer"),
            ("and b if they are equally long", "equally long"),
            ("`pad` may be the same id as `sep`", "padded with the separator"),
            ("A pair may fill the row exactly.", "just full"),
            ("one at least in each", "b is short"),
        ),
    ),
    Question(
        id="14.3",
        title="What \"not next\" gives away, with pencil and paper",
        stub=stubs.given_away,
        returns=("follows", "same", "by_first", "by_topic"),
        minutes=15,
        kind="predict",
        section="14.2",
        part=1,
        printed=False,
        hints=(
            "Count the sentences that a can be, and those that b can be. They are not equally many.",
            "a is one of M − D sentences, where M is the number of all; m − 1 of them are in a document of m. b is one "
            "of M. For the last two shares look at the two halves of the pairs by themselves: in one of them the guess "
            "is always right.",
            "follows = 1/M; same = Σ (m − 1) m / ((M − D) M). Behind a there is never a first sentence: by_first = "
            "1/2 + 1/2 · D/M. By the topic one is wrong where b is from a's document: by_topic = 1 − same/2.",
        ),
        cases=(
            Case("wrong labels", cases.corpus(3, 7, 12, 4), "four documents", 1, look=("follows", "same")),
            Case("what b tells", cases.corpus(3, 7, 12, 4), "four documents", 1, look=("by_first",)),
            Case("what the topic tells", cases.corpus(3, 7, 12, 4), "four documents", 1, look=("by_topic",)),
            Case("many documents", cases.corpus(2, 2, 3, 30, 5, 9, 4), "seven documents", guards="wrong labels",
                 open=True),
            Case("another corpus", cases.corpus(2, 15, 6, 5, 3), "five documents", guards="wrong labels"),
            Case("other firsts", cases.corpus(2, 15, 6, 5, 3), "five documents", guards="what b tells",
                 look=("by_first",)),
        ),
        mutants=mutants.GIVEN,
        clauses=(
            ("of the pairs labelled \"not next\", those where b does stand behind a", "wrong labels"),
            ("who sees only whether b is the first sentence of its document", "what b tells"),
            ("who sees only whether a and b share a document", "what the topic tells"),
            ("lengths (D,), how many sentences each document has", "many documents"),
            ("2 at least", "wrong labels"),
        ),
    ),
    Question(
        id="14.4",
        title="One table, read twice",
        stub=stubs.tied_loss,
        returns=("L", "dE", "dW"),
        minutes=30,
        kind="derive",
        section="14.3",
        part=2,
        printed=False,
        hints=(
            "Write the forward pass as five lines, each with a name on its left, and go back through them from the "
            "last. In which two of them does E stand?",
            "In the rows of hidden words dlogits is the probabilities minus the one-hot rows of the true words, over "
            "the number of hidden words; it is 0 in the others. From the scores E gets dlogitsᵀ H, summed over all "
            "tokens. From the look-up it gets dX, where dX = mixᵀ (dH Wᵀ), added "
            "into the row of each word that was read.",
            "C = mix @ E[inputs], H = C @ W. dW = C.reshape(-1, d).T @ dH.reshape(-1, d). dX = mix.mT @ dH @ W.T. "
            "dE = dlogits.reshape(-1, V).T @ H.reshape(-1, d), and then np.add.at(dE, inputs, dX).",
        ),
        cases=(
            Case("loss", cases.tied((7,), 13, 4, 3), "seven words, three hidden", 1, look=("L",)),
            Case("dW", cases.tied((7,), 13, 4, 3), "seven words, three hidden", 2, ("loss",), ("dW",)),
            Case("dE", cases.tied((7,), 13, 4, 3), "seven words, three hidden", 2, ("loss",), ("dE",)),
            Case("repeated words", cases.tied((6,), 8, 3, 4, repeated=True), "two words, again and again", 1,
                 ("loss",)),
            Case("batches", cases.uneven, "one, four and two hidden words", guards="dE", open=True),
            Case("two leading axes", cases.tied((2, 2, 5), 25, 3, 6), "two leading axes", guards="dE", open=True),
            Case("other sizes", cases.tied((2, 6), 17, 5, 4), "other sizes", guards="dE"),
        ),
        mutants=mutants.TABLES,
        clauses=(
            ("the mean over the hidden words", "loss"),
            ("Returns the loss, dE and dW", "dW"),
            ("Returns the loss, dE and dW", "dE"),
            ("A word may stand in several places, hidden or not.", "repeated words"),
            ("one mean over all hidden words of the batch", "batches"),
            ("inputs (*B, n)", "two leading axes"),
        ),
    ),
    Question(
        id="14.5",
        title="A rate for every layer",
        stub=stubs.layer_rates,
        returns=("rates",),
        minutes=15,
        kind="design",
        section="14.5",
        part=2,
        printed=False,
        hints=(
            "Give each parameter a height: 0 for the embedding, and one more from layer to layer. How high is the top?",
            "From the embedding to the top there are blocks + 1 steps, and one factor for each of them; all of them "
            "together are share. Read the number of a block as a whole number, not as a letter.",
            "parts = path.split(\".\"). Height 0 if \"embedding\" is among them, int of what follows \"blocks\" "
            "plus 1, "
            "else blocks + 1. The rate is lr * share ** (1 - height / (blocks + 1)).",
        ),
        cases=(
            Case("five blocks", cases.model_paths(5, shuffled=False), "five blocks, from below", 2),
            Case("twelve blocks", cases.model_paths(12, some=2), "twelve blocks", 1),
            Case("another order", cases.model_paths(4, some=5, parts=True), "four blocks, mixed, and other parts",
                 guards="five blocks",
                 open=True),
            Case("other blocks", cases.model_paths(13, some=1), "thirteen blocks", guards="twelve blocks"),
        ),
        mutants=mutants.RATES,
        drive=cases.rates_of_layers,
        clauses=(
            ("the same factor from each layer to the next", "five blocks"),
            ("There may be more than ten blocks", "twelve blocks"),
            ("the names come in any order", "another order"),
            ("The parts of a name stand between its dots", "another order"),
        ),
    ),
    Question(
        id="14.6",
        title="Ten reports, and whom to believe",
        stub=stubs.name_the_flaw,
        returns=("names",),
        minutes=30,
        kind="detect",
        section="14.5",
        part=3,
        printed=False,
        hints=(
            "Four questions, one for each flaw, each of them asked of numbers that you have. None of them needs a "
            "threshold.",
            "Take the 0 off and make a sequence of each text, then compare. For the word, take what all texts of one "
            "label have in common, and remove what any text of the other has; do it for both labels. For the epoch, "
            "compare shares of right answers, not places: two epochs can be equally good.",
            "set(map(tuple, …)) of both halves and their &; set.intersection(*those) - set.union(*others) over train "
            "and test together; len(set(said)) == 1; dev[chosen] < dev.max() and score[chosen] == score.max().",
        ),
        cases=(
            Case("ten reports", cases.reports(*cases.GUILTY, "plain", "best on both", "same words"),
                 "seven with a flaw, three without", 4),
            Case("nine innocents", cases.reports(*(k for k in cases.INNOCENT if k not in (
                "plain", "best on both", "one class guessed", "lucky", "best on neither", "full rows",
                "twice in the test"))),
                 "none has a flaw", 2),
            Case("more innocents", cases.reports("plain", "best on both", "one class guessed", "lucky",
                                                  "best on neither", "full rows", "twice in the test"),
                 "none has a flaw", guards="nine innocents", open=True),
            Case("other reports", cases.reports(*cases.GUILTY, "tie", "word of the test", "the beginning", "plain",
                                                sizes=(16, 11, 13, 11, 7)), "other texts and sizes",
                 guards="ten reports"),
            Case("not all innocent", cases.reports(*cases.GUILTY[:2], "plain", "best on both"),
                 "two of four have a flaw", guards="nine innocents"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_name,
        labels=cases.NAMES,
        clauses=(
            ("What is wrong with this report of a fine-tuning?", "ten reports"),
            ("Do not accuse the innocent", "nine innocents"),
            ("Do not accuse the innocent", "more innocents"),
        ),
    ),
    Question(
        id="14.7",
        title="LoRA with dropout, backward",
        stub=stubs.adapter_gradients,
        returns=("dX", "dA", "dB"),
        minutes=20,
        kind="derive",
        section="14.6",
        part=4,
        printed=False,
        hints=(
            "Give the two products in between a name each, and draw the two ways from X to Y. Which of them does M "
            "stand on, and which s?",
            "D = X ∘ M, U = D A. Then dB = s Uᵀ dY, dU = s dY Bᵀ, dA = Dᵀ dU, and X gets dY Wᵀ along one way and "
            "M ∘ (dU Aᵀ) along the other. Sums run over all tokens of all leading axes.",
            "dU = s * dY @ B.T; dX = dY @ W.T + M * (dU @ A.T); with D, U, dU and dY reshaped to (-1, their width): "
            "dA = D.T @ dU, dB = s * U.T @ dY.",
        ),
        cases=(
            Case("dA", cases.adapter((5,), 4, 7, 2, 6.0), "no dropout yet: M is 1", 1, look=("dA",)),
            Case("dB", cases.adapter((5,), 4, 7, 2, 6.0), "no dropout yet: M is 1", 1, look=("dB",)),
            Case("dX", cases.adapter((5,), 4, 7, 2, 6.0), "no dropout yet: M is 1", 1, look=("dX",)),
            Case("dropout", cases.adapter((6,), 5, 4, 3, 8.0, 0.8), "a fifth is dropped", 1, ("dA", "dB", "dX")),
            Case("leading axes", cases.adapter((2, 5, 4), 6, 3, 7, 2.5, 0.6), "two axes more", guards="dropout",
                 open=True),
            Case("other sizes", cases.adapter((7,), 3, 6, 2, 5.0, 0.7), "other sizes", guards="dropout"),
        ),
        mutants=mutants.ADAPTERS,
        clauses=(
            ("Returns dX, dA and dB.", "dA"),
            ("Returns dX, dA and dB.", "dB"),
            ("Returns dX, dA and dB.", "dX"),
            ("zero where an entry was dropped", "dropout"),
            ("X and M (*B, d_in)", "leading axes"),
        ),
    ),
    Question(
        id="14.8",
        title="The first step of an adapter",
        stub=stubs.first_moves,
        returns=("move_A", "move_B", "move_W", "c"),
        minutes=15,
        kind="predict",
        section="14.6",
        part=4,
        printed=False,
        hints=(
            "The merged matrix is W + s A B. What are the gradients of A and of B, if that of the merged matrix is G? "
            "Put in B = 0.",
            "A stands still, and B moves by −lr s Aᵀ G. So the merged matrix moves by −lr s² A Aᵀ G. For the mean you "
            "need that of A Aᵀ: each entry is a sum over r products.",
            "The mean of A Aᵀ is r/d_in times the identity: on its diagonal r squares of mean 1/d_in are added, beside "
            "it products of independent numbers. So c = −lr (alpha/r)² r/d_in.",
        ),
        cases=(
            Case("who moves", cases.beginning(7, 4, 3, 6.5), "rank 3", 1, look=("move_A", "move_B")),
            Case("the merged matrix", cases.beginning(7, 4, 3, 6.5), "rank 3", 1, ("who moves",), ("move_W",)),
            Case("in the mean", cases.beginning(7, 4, 3, 6.5), "rank 3", 1, look=("c",)),
            Case("rank above alpha", cases.beginning(9, 7, 6, 2.5), "rank 6, alpha = 2.5", guards="who moves",
                 open=True),
            Case("other sizes", cases.beginning(8, 3, 2, 5.0), "other sizes", guards="who moves"),
        ),
        mutants=mutants.FIRSTS,
        clauses=(
            ("Returns how far A, B and the merged matrix move", "who moves"),
            ("Returns how far A, B and the merged matrix move", "the merged matrix"),
            ("whose entries are independent with mean 0 and variance 1 / d_in", "in the mean"),
            ("for any $r$ and $\\alpha$", "rank above alpha"),
        ),
    ),
    Question(
        id="14.9",
        title="A step out of reach",
        stub=stubs.out_of_reach,
        returns=("X", "dY"),
        minutes=15,
        kind="counterexample",
        section="14.6",
        part=4,
        printed=False,
        hints=(
            "The step on W is −lr Xᵀ dY. What rank can it have, if there are T tokens? And which part of a matrix does "
            "the best matrix of rank r leave?",
            "The squared size of a matrix is the sum of its squared singular values, and the best of rank r takes the "
            "r largest of them. How should they be spread so that it takes as little as possible?",
            "All singular values equal: of T parts r are taken and T − r are left, and T − r ≥ T/2 from T = 2r on. "
            "Orthogonal tokens of length one with orthogonal gradients of length one do it.",
        ),
        cases=(
            Case("rank 2", cases.rank(2), "r = 2", 2),
            Case("rank 3", cases.rank(3), "r = 3", 1),
            Case("rank 1", cases.rank(1), "r = 1", guards="rank 2", open=True),
            Case("rank 4", cases.rank(4), "r = 4", guards="rank 3"),
        ),
        mutants=mutants.BATCHES,
        measure=cases.left_over,
        measures=("tokens", "rank", "half_is_left"),
        clauses=(
            ("the best one leaves half of it, or more", "rank 2"),
            ("As few tokens as possible", "rank 2"),
            ("for the $r$ that is given", "rank 3"),
            ("for any adapter of rank r", "rank 1"),
        ),
    ),
    Question(
        id="14.10",
        title="What freezing saves",
        stub=stubs.step_bill,
        returns=("all_maps", "lowest", "highest", "adapters", "kept"),
        minutes=15,
        kind="predict",
        section="14.6",
        part=5,
        printed=False,
        hints=(
            "Draw the maps one above the other. Forward every one is run. Backward, mark where a gradient has to come "
            "through, and where one of a parameter is made.",
            "A map that is trained makes Xᵀ dY. A map that has a trained parameter anywhere below it makes dY Wᵀ, "
            "frozen or not. An adapter has two thin products forward; backward dU, dA, dB, and one more if something "
            "below it is trained.",
            "With w = 2nd² and t = 2ndr: all (3L − 1) w, lowest 2L w, highest (L + 1) w, adapters (2L − 1) w + "
            "(6L − 1) t. Adam keeps m and v, two numbers for each of L · 2dr parameters.",
        ),
        cases=(
            Case("some maps", cases.stack(5, 20, 211, 3), "five maps", 1, look=("all_maps", "lowest", "highest")),
            Case("adapters", cases.stack(5, 20, 211, 3), "five maps", 1, look=("adapters",)),
            Case("Adam's numbers", cases.stack(5, 20, 211, 3), "five maps", 1, look=("kept",)),
            Case("one map", cases.stack(1, 10, 16, 2), "a single map", guards="some maps", open=True,
                 look=("all_maps", "lowest", "highest")),
            Case("wide", cases.stack(11, 30, 401, 7), "wide maps", guards="some maps", open=True),
            Case("other sizes", cases.stack(7, 50, 521, 4), "other sizes", guards="some maps"),
        ),
        mutants=mutants.BILLS,
        clauses=(
            ("the operations if all maps are trained, the lowest alone, the highest alone", "some maps"),
            ("an adapter of rank r on each", "adapters"),
            ("how many numbers Adam keeps for the adapters", "Adam's numbers"),
            ("There may be one map only.", "one map"),
            ("through L maps of d × d", "wide"),
        ),
    ),
    Question(
        id="14.11",
        title="An adapter around a Linear",
        stub=stubs.make_adapted,
        returns=("start", "Y", "dA", "dB", "dX", "trained", "merged_W", "merged_b"),
        minutes=25,
        kind="build",
        section="14.6",
        part=5,
        printed=False,
        torch=True,
        hints=(
            "A class with three methods: one that keeps base and makes A and B, one that computes, and one that "
            "merges. Which parameters should an optimiser find?",
            "Freeze base in the first method, weight and bias. A is drawn with deviation one over the root of d_in, B "
            "is zero. A torch Linear keeps its weight as (d_out, d_in), so what is merged into it is to be transposed; "
            "and merging makes a new Linear, without gradients on the way.",
            "base.requires_grad_(False); self.A = torch.nn.Parameter(torch.randn(d_in, r) / d_in**0.5). In merged, "
            "under torch.no_grad(): one = torch.nn.Linear(d_in, d_out, bias=base.bias is not None, "
            "dtype=base.weight.dtype), one.weight.copy_(base.weight + s * (self.A @ self.B).T), and the bias. Return "
            "an object of the class.",
        ),
        cases=(
            Case("beginning", cases.linear(300, 40, 16, 8.0, begins=True), "before the first step", 1,
                 look=("start",)),
            Case("forward", cases.linear(5, 4, 3, 8.0), "A and B in the midst of training", 1, look=("Y",)),
            Case("backward", cases.linear(5, 4, 3, 8.0), "dA, dB, dX, and how many numbers are trained", 1,
                 look=("dA", "dB", "dX", "trained")),
            Case("merged", cases.linear(5, 4, 3, 8.0), "one Linear", 2, look=("merged_W", "merged_b")),
            Case("no bias", cases.linear(6, 5, 2, 7.0, bias=False), "base has no bias", guards="merged", open=True,
                 look=cases.AFTER),
            Case("leading axes", cases.linear(6, 7, 4, 5.0, (2, 3)), "X (2, 3, d_in)", guards="forward", open=True,
                 look=cases.AFTER),
            Case("other sizes", cases.linear(7, 3, 2, 6.0, (4,)), "other sizes", guards="merged", look=cases.AFTER),
        ),
        mutants=mutants.MODULES,
        drive=cases.call_adapted,
        forbid=(*TORCH_ONLY, "peft"),
        clauses=(
            ("begins with independent normal entries of variance", "beginning"),
            ("it shares none of them with the new one", "merged"),
            ("A module that computes base(X) + (alpha / r) X A B.", "forward"),
            ("are trained, and nothing else", "backward"),
            ("What is frozen still hands its gradient down to X", "backward"),
            ("merged() returns a torch.nn.Linear that computes the same.", "merged"),
            ("`base` may have no bias", "no bias"),
            ("X may have leading axes", "leading axes"),
        ),
    ),
    Question(
        id="14.12",
        title="What was lost on the way",
        stub=stubs.what_was_lost,
        returns=("at_end", "transfer", "forgotten"),
        minutes=10,
        kind="build",
        section="14.7",
        part=3,
        printed=False,
        hints=(
            "A row of R is a moment, a column is a task. Mark in a 4 × 4 table which entries each of the three numbers "
            "reads.",
            "At the end is the last row. The transfer compares the last row with the diagonal, the forgetting with the "
            "largest entry of each column between the diagonal and the row before the last. Both leave the last task "
            "out.",
            "R[-1].mean(); np.mean([R[-1, j] - R[j, j] for j in range(T - 1)]); np.mean([R[j:-1, j].max() - R[-1, j] "
            "for j in range(T - 1)]).",
        ),
        cases=(
            Case("at the end", cases.course(5), "five tasks", 1, look=("at_end",)),
            Case("backward transfer", cases.course(5), "five tasks", guards="at the end", open=True,
                 look=("transfer",)),
            Case("forgetting", cases.course(5), "five tasks", 1, look=("forgotten",)),
            Case("known beforehand", cases.course(4, known=True), "good before its training, best at the end",
                 guards="forgetting", open=True),
            Case("gained", cases.course(6, gained=True), "everything best at the end", guards="at the end", open=True),
            Case("other tasks", cases.course(7), "seven tasks", guards="forgetting"),
        ),
        mutants=mutants.LOSSES,
        clauses=(
            ("the mean at the end", "at the end"),
            ("the backward transfer", "backward transfer"),
            ("from its own training on", "forgetting"),
            ("It may be negative.", "known beforehand"),
            ("the share at the end minus that right after the task's own training", "gained"),
        ),
    ),
)
