"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def spelled(pieces, p, text):
    best, every = np.full(len(text) + 1, -np.inf), np.full(len(text) + 1, -np.inf)
    best[0] = every[0] = 0.0
    for end in range(1, len(text) + 1):
        for piece, share in zip(pieces, p, strict=True):
            if text[:end].endswith(piece):
                begin = end - len(piece)
                best[end] = max(best[end], best[begin] + math.log2(share))
                every[end] = np.logaddexp2(every[end], every[begin] + math.log2(share))
    return -best[-1] / len(text), -every[-1] / len(text)


def discounted(ids, V, history, d):
    if len(history):
        shorter, h = discounted(ids, V, history[1:], d), len(history)
        starts = [i for i in range(len(ids) - h) if (ids[i : i + h] == history).all()]
        c = np.bincount(ids[[i + h for i in starts]], minlength=V) if starts else np.zeros(V)
    else:
        shorter, c = np.full(V, 1 / V), np.bincount(ids, minlength=V)
    if not c.any():
        return shorter
    return (np.maximum(c - d, 0) + d * (c > 0).sum() * shorter) / c.sum()


def windows_for_scoring(ids, n, stride):
    starts = [*range(0, len(ids) - 1 - n, stride), len(ids) - 1 - n]
    inputs = np.stack([ids[s : s + n] for s in starts])
    targets = np.stack([ids[s + 1 : s + n + 1] for s in starts])
    for i in range(1, len(starts)):
        targets[i, : starts[i - 1] + n - starts[i]] = -1
    return inputs, targets


def warmth(logits, T):
    left = np.isfinite(logits)
    z = np.where(left, logits, 0.0)

    def log_p(T):
        scaled = np.where(left, (z - np.where(left, z, -np.inf).max(axis=-1, keepdims=True)) / T, -np.inf)
        return np.where(left, scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True)), 0.0)

    log_P = log_p(T)
    P = np.where(left, np.exp(log_P), 0.0)
    mean = (P * z).sum(axis=-1, keepdims=True)
    variance = (P * (z - mean) ** 2).sum(axis=-1)
    return -(P * log_P).sum(axis=-1), variance / T**3, -(P * log_p(1)).sum(axis=-1), variance / T**2


def draw_for_all(logits, T, p, u):
    words, rows = [], []
    for z, warm, mass, where in zip(logits, T.tolist(), p.tolist(), u.tolist(), strict=True):
        P = torch.zeros_like(z)
        if warm == 0:
            P[z.argmax()] = 1.0
        else:
            heated, left = torch.softmax(z / warm, dim=0), mass
            for word in torch.argsort(-heated, stable=True).tolist():
                if left <= 0 and mass < 1:
                    break
                P[word] = heated[word]
                left -= float(heated[word])
            P = P / P.sum()
        rows.append(P)
        words.append(int((P.cumsum(0) > where).nonzero()[0, 0]))
    return torch.tensor(words), torch.stack(rows)


def _nucleus(P, p):
    kept = np.zeros_like(P)
    for row, to in zip(P, kept, strict=True):
        for word in np.argsort(-row, kind="stable"):
            to[word] = row[word]
            if to.sum() >= p:
                break
    return kept / kept.sum(axis=1, keepdims=True)


def _softmax(z):
    E = np.exp(z - z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def _laws(logits, T, k, p):
    P = _softmax(logits / T)
    likeliest = np.argsort(np.argsort(-P, axis=1, kind="stable"), axis=1)
    top = np.where(likeliest < k, P, 0)
    inside = np.where(_nucleus(_softmax(logits), p) > 0, P, 0)
    nucleus = _nucleus(P, p)
    crossing = np.where((likeliest < (nucleus > 0).sum(axis=1, keepdims=True) - 1) | (likeliest == 0), P, 0)
    laws = {"temperature": P, "top-k": top, "top-p": nucleus, "top-p first": inside, "crossing word lost": crossing,
            "softmax twice": _softmax(_softmax(logits) / T)}
    return {name: law / law.sum(axis=1, keepdims=True) for name, law in laws.items()}


def name_the_sampler(logits, counts, T, k, p):
    def likelihood(law):
        came = counts > 0
        if (law[came] == 0).any():
            return -math.inf
        return (counts[came] * np.log(law[came])).sum()

    laws = _laws(logits, T, k, p)
    return max(laws, key=lambda name: likelihood(laws[name]))


def _turn(x, place, base):
    """x (G, k), turned by pairs of neighbours."""
    pairs = x.reshape(len(x), -1, 2)
    z = pairs[..., 0] + 1j * pairs[..., 1]
    z = z * np.exp(1j * place * base ** (-2 * np.arange(z.shape[1]) / x.shape[1]))
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


def one_more(x, K, V, start, W_q, W_k, W_v, W_o, base):
    B, G, m, k = K.shape
    v, outputs, keys, values = V.shape[-1], [], [], []
    for b in range(B):
        place = m - int(start[b])
        q, new_k = (_turn((x[b] @ W).reshape(-1, k), place, base) for W in (W_q, W_k))
        keys.append(np.concatenate([K[b], new_k[:, None]], axis=1))
        values.append(np.concatenate([V[b], (x[b] @ W_v).reshape(G, 1, v)], axis=1))
        heads = []
        for h, query in enumerate(q):
            g = h * G // len(q)
            A = _softmax(keys[b][g, start[b] :] @ query / math.sqrt(k))
            heads.append(A @ values[b][g, start[b] :])
        outputs.append(np.concatenate(heads) @ W_o)
    return np.stack(outputs), np.stack(keys), np.stack(values)


def bill_of_writing(P, L, full, w, H, G, d_k, size, B, n, s):
    def cache(length):
        return 2 * G * d_k * size * B * (full * length + (L - full) * min(length, w))

    read = sum(P * size + cache(n + i) for i in range(1, s + 1))
    equal = (P / (2 * G * d_k * B) - (L - full) * w) / full
    return cache(n), read, equal


def drafted(p, q, g):
    both = np.minimum(p, q)
    accepted, rest = both.sum(), p - both
    words = sum(accepted**i for i in range(g + 1))
    return accepted, rest / rest.sum() if rest.any() else rest, words


def stale_masks(L):
    masks = np.repeat(np.eye(L, dtype=bool)[None], L, axis=0)
    masks[0, 0, L - 1] = True
    for i in range(1, L):
        masks[i, i, i - 1] = True
    return masks


def copying_score(A, ids):
    scores, chance, count = np.zeros(len(A)), 0.0, 0
    for i, word in enumerate(ids):
        after = [j + 1 for j in range(i) if ids[j] == word]
        if after:
            scores += A[:, i, after].sum(axis=1)
            chance, count = chance + len(after) / (i + 1), count + 1
    return scores / max(count, 1), chance / max(count, 1)


def copying_model(V, p):
    D = 5 * V
    word, place, before, after = (np.arange(a * V, b * V) for a, b in ((0, 1), (1, 3), (3, 4), (4, 5)))
    M_1, N_1, M_2, N_2 = np.zeros((4, D, D))
    long = 2 * math.log(20 * V / (1 - p))
    M_1[place[1:], place[:-1]] = long
    N_1[word, before] = 1.0
    M_2[word, before], M_2[word, word] = long, -long
    N_2[word, after] = 1.0
    return M_1, N_1, M_2, N_2
