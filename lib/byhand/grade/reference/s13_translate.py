"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def make_batch(sources, targets, pad, bos, eos, ignore):
    m, n = max(map(len, sources)), max(map(len, targets)) + 1
    source = np.array([list(s) + [pad] * (m - len(s)) for s in sources])
    real = np.array([[True] * len(s) + [False] * (m - len(s)) for s in sources])
    inputs = np.array([[bos, *t] + [pad] * (n - len(t) - 1) for t in targets])
    labels = np.array([[*t, eos] + [ignore] * (n - len(t) - 1) for t in targets])
    return source, real, inputs, labels


def smoothed_translation(logits, labels, pad, eps):
    B, n, V = logits.shape
    loss, d, count = 0.0, np.zeros_like(logits), int((labels >= 0).sum())
    for b in range(B):
        for t in range(n):
            if labels[b, t] < 0:
                continue
            z = logits[b, t] - logits[b, t].max()
            log_p = z - math.log(np.exp(z).sum())
            q = np.array([0.0 if w == pad else 1 - eps if w == labels[b, t] else eps / (V - 2) for w in range(V)])
            loss -= (q * log_p).sum() / count
            d[b, t] = (np.exp(log_p) - q) / count
    bound = -sum(x * math.log(x) for x in [1 - eps, *[eps / (V - 2)] * (V - 2)] if x > 0)
    return loss, d, bound


def shared_source_gradients(dO, Y, M, real, W_q, W_k, W_v):
    Q, K, V = np.einsum("rid,dk->rik", Y, W_q), M @ W_k, M @ W_v
    S = np.where(real, np.einsum("rik,jk->rij", Q, K) / math.sqrt(K.shape[1]), -np.inf)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    A = E / E.sum(axis=-1, keepdims=True)
    dA = np.einsum("riv,jv->rij", dO, V)
    dS = A * (dA - (A * dA).sum(axis=-1, keepdims=True))
    dK = np.einsum("rij,rik->jk", dS, Q) / math.sqrt(K.shape[1])
    dV = np.einsum("rij,riv->jv", A, dO)
    return dK @ W_k.T + dV @ W_v.T, M.T @ dK, M.T @ dV


def write_batch(step, B, bos, eos, pad, max_len):
    rows, log_p, done = [[bos] for _ in range(B)], [0.0] * B, [False] * B
    while not all(done) and len(rows[0]) <= max_len:
        Y = step(np.array(rows))
        for b in range(B):
            word = pad if done[b] else int(Y[b].argmax())
            log_p[b] += 0.0 if done[b] else float(Y[b, word])
            rows[b].append(word)
            done[b] = done[b] or word == eos
    text = np.array(rows)[:, 1:]
    words = [list(row).index(eos) + 1 if eos in row else len(row) for row in text.tolist()]
    return text, np.array(log_p), np.array(words)


def beam_step(log_p, lengths, finished, Y, eos, alpha):
    found = []
    for b in range(len(log_p)):
        candidates = []
        for place in range(log_p.shape[1]):
            p, n = float(log_p[b, place]), int(lengths[b, place])
            if finished[b, place]:
                candidates.append((p / ((5 + n) / 6) ** alpha, place, eos, p, n))
            else:
                candidates += [((p + float(y)) / ((6 + n) / 6) ** alpha, place, w, p + float(y), n + 1)
                               for w, y in enumerate(Y[b, place])]
        candidates.sort(key=lambda c: (-c[0], c[1], c[2]))
        found.append([c[1:] for c in candidates[: log_p.shape[1]]])
    parent, word, total, length = (np.array([[c[i] for c in row] for row in found]) for i in range(4))
    return parent, word, total, length


def wider_is_worse(V, r):
    tiny = 1e-3 * (1 - r / V)
    first, second, third = np.zeros(V), np.full((V, V), 1 / V), np.full((V, V, V), (1 - tiny) / V)
    first[:2] = 0.5 + tiny, 0.5 - tiny
    a = 0.5 * (0.5 - 3 * tiny) / (0.5 + tiny)  # greedy's second word: just less than both of the other branch
    second[0] = (1 - a) / (V - 1)
    second[0, 0] = a
    second[1] = 0.0
    second[1, :2] = 0.5 + tiny, 0.5 - tiny
    third[:, :, 0] += tiny
    third[0, 0] = np.eye(V)[0]
    return first, second, third


def bleu(hypotheses, references, order):
    matches, totals, c, r = [0] * order, [0] * order, 0, 0
    for hypothesis, refs in zip(hypotheses, references, strict=True):
        c += len(hypothesis)
        r += sorted((abs(len(ref) - len(hypothesis)), len(ref)) for ref in refs)[0][1]
        for n in range(1, order + 1):
            grams = [tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)]
            totals[n - 1] += len(grams)
            for gram in set(grams):
                allowed = max(sum(tuple(ref[i : i + n]) == gram for i in range(len(ref))) for ref in refs)
                matches[n - 1] += min(grams.count(gram), allowed)
    p = np.array([m / t for m, t in zip(matches, totals, strict=True)])
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    score = 0.0 if 0 in matches else 100 * brevity * math.exp(sum(map(math.log, p)) / order)
    return p, brevity, score


def after_a_slip(n, place):
    words = list(range(n))
    slips = (words[:place] + [-1] + words[place + 1:], words[:place] + words[place + 1:],
             words[: place + 1] + words[place:])
    return tuple(bleu([slip], [[words]], 4)[2] for slip in slips)


def alignment_error(A, targets, sources, sure, possible):
    hits = size = 0
    for b in range(len(A)):
        mean = A[b].sum(axis=0)
        for t in range(int(targets[b])):
            j = int(mean[t].argmax())
            size += int(sure[b, t, : sources[b]].sum())
            if j < sources[b]:
                size += 1
                hits += 2 * int(sure[b, t, j]) + int(possible[b, t, j] and not sure[b, t, j])
    return 1 - hits / size


def name_the_words(table, bos, eos, references, text):
    B = len(table)
    names = {"own words", "right words", "own words, right length", "the word itself", "another source"}
    for b in range(B):
        mine = [int(w) for w in text[b] if w >= 0]
        right = [int(w) for w in references[b] if w >= 0]
        found = {"right words": [int(table[b, w]) for w in [bos, *right[:-1]]],
                 "the word itself": [int(table[b, w]) for w in right]}
        for name, row in (("own words", b), ("another source", (b + 1) % B)):
            written = [bos]
            while len(written) <= text.shape[1] and (written[-1] != eos or len(written) == 1):
                written.append(int(table[row, written[-1]]))
            found[name] = written[1:]
        written = [bos]
        while len(written) <= len(right):
            written.append(int(table[b, written[-1]]))
        found["own words, right length"] = written[1:]
        names &= {name for name, words in found.items() if words == mine}
    return names.pop()


def leaked(train, test):
    exact, holes, shorter = set(), set(), set()
    for s in map(tuple, train):
        exact.add(s)
        for i in range(len(s)):
            holes.add((i, s[:i] + s[i + 1:]))
            shorter.add(s[:i] + s[i + 1:])
    count = 0
    for s in map(tuple, test):
        cut = [s[:i] + s[i + 1:] for i in range(len(s))]
        count += s in exact or s in shorter or any(c in exact or (i, c) in holes for i, c in enumerate(cut))
    return count / len(test)


def read_source(Y, M, lengths, W_q, W_k, W_v, heads):
    parts = []
    hidden = torch.arange(M.shape[1], device=M.device) >= lengths[:, None]
    for q, k, v in zip(W_q.chunk(heads, 1), W_k.chunk(heads, 1), W_v.chunk(heads, 1), strict=True):
        S = torch.einsum("bid,dk,bjc,ck->bij", Y, q, M, k) / math.sqrt(q.shape[1])
        A = torch.softmax(S.masked_fill(hidden[:, None], -torch.inf), dim=-1)
        parts.append(torch.einsum("bij,bjd,dv->biv", A, M, v))
    return torch.cat(parts, dim=-1)


def what_beta_weighs(P, R, beta):
    bottom = (beta**2 * P + R) ** 2
    return (1 + beta**2) * R**2 / bottom, (1 + beta**2) * beta**2 * P**2 / bottom, float(beta)
