"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np


def smoothed_loss(logits, targets, weights, eps):
    T, V = logits.shape
    total, L, dlogits = 0.0, 0.0, np.zeros((T, V))
    for t in range(T):
        if targets[t] >= 0:
            total += weights[t]
    for t in range(T):
        if targets[t] < 0:
            continue
        share = weights[t] / total
        q = np.full(V, eps / V)
        q[targets[t]] += 1 - eps
        z = logits[t] - logits[t].max()
        lse = math.log(sum(math.exp(x) for x in z))
        L -= share * sum(q[w] * (z[w] - lse) for w in range(V))
        dlogits[t] = share * (np.exp(z - lse) - q)
    return L, dlogits


def best_margin(V, eps, to_all):
    rest = eps / V if to_all else eps / (V - 1)
    top = 1 - (V - 1) * rest
    return math.log(top / rest), -top * math.log(top) - (V - 1) * rest * math.log(rest)


def adamw_run(theta, gradients, lr, beta1, beta2, eps, decay):
    T = len(gradients)
    for t in range(1, T + 1):
        past = gradients[:t]
        m = (1 - beta1) * np.einsum("i,in->n", beta1 ** np.arange(t - 1, -1, -1), past)
        v = (1 - beta2) * np.einsum("i,in->n", beta2 ** np.arange(t - 1, -1, -1), past**2)
        step = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps)
        theta = theta - lr * (step + decay * theta)
    return theta, m, v


def name_the_fault(gradients, thetas, peak, warmup, decay):
    def again(fault):
        k = gradients.shape[1]
        theta, m, v, path = thetas[0].copy(), np.zeros(k), np.zeros(k), [thetas[0]]
        for t, g in enumerate(gradients, start=1):
            calls = k * (t - 1) + 1 + np.arange(k)
            lr = peak * np.minimum(1, (calls if fault == "rate counts leaves" else t) / warmup)
            g = g + decay * theta if fault == "L2 for decay" else g
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + (0.1 if fault == "1 - beta1 in v" else 0.001) * g * g
            s = calls if fault == "t counts leaves" else t
            c1, c2 = (1, 1) if fault == "no bias correction" else (1 - 0.9**s, 1 - 0.999**s)
            root = np.sqrt(v / c2 + 1e-8) if fault == "eps inside the root" else np.sqrt(v / c2) + 1e-8
            theta = theta - lr * (m / c1 / root + (0 if fault == "L2 for decay" else decay) * theta)
            path.append(theta)
        return np.array(path)

    names = ("correct", "eps inside the root", "1 - beta1 in v", "no bias correction", "L2 for decay",
             "t counts leaves", "rate counts leaves")
    return min(names, key=lambda name: np.abs(again(name) - thetas).max())


def without_correction(t, beta1, beta2):
    m = (1 - beta1) * sum(beta1**i for i in range(t))
    v = (1 - beta2) * sum(beta2**i for i in range(t))
    return m, v, m / math.sqrt(v)


def accumulate(losses, grads, tokens, limit):
    share = tokens / tokens.sum()
    g = np.einsum("i,in->n", share, grads)
    norm = math.sqrt((g * g).sum())
    return float(share @ losses), g * min(1.0, limit / norm), norm


def rate(step, peak, warmup, total, floor):
    if step <= warmup:
        return peak * step / warmup
    x = (min(step, total) - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * x)) / 2
