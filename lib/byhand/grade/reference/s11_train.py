"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


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


def best_leads(u, y, eps):
    q = [eps * float(u_w) + (1 - eps) * (w == y) for w, u_w in enumerate(u)]
    return np.array([math.log(q[y] / q_w) for q_w in q]), -sum(q_w * math.log(q_w) for q_w in q)


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
    root = math.sqrt((1 - beta2) * sum(beta2**i for i in range(t)))
    return m / root, 1 / root, m


def merged(perplexities, tokens, characters):
    nats = sum(math.log(p) * n for p, n in zip(perplexities, tokens, strict=True))
    return math.exp(nats / sum(tokens)), nats / math.log(2) / sum(characters)


def trapezoid_rate(step, peak, warmup, total, distance):
    def total_of(start):
        return sum(rate_of(t, start) for t in range(1, total + 1))

    def rate_of(t, start):
        if t <= warmup:
            return peak * t / warmup
        return peak if t <= start else peak * (total - t) / (total - start)

    start = min(range(warmup, total), key=lambda s: abs(total_of(s) - distance))
    return rate_of(step, start)


def starting_loss(V, d, sigma, most):
    deviation = sigma * math.sqrt(d)
    return deviation, math.log(V) + deviation**2 / 2, math.sqrt(2 * most / d)


def training_step(W, b, X, y, lr, limit, decay):
    counted = [t for t in range(len(y)) if y[t] >= 0]
    loss, dW, db = 0.0, np.zeros_like(W), np.zeros_like(b)
    for t in counted:
        z = X[t] @ W + b
        z = z - z.max()
        logs = z - math.log(sum(math.exp(x) for x in z))
        loss -= logs[y[t]] / len(counted)
        dz = np.exp(logs)
        dz[y[t]] -= 1
        dW += np.outer(X[t], dz) / len(counted)
        db += dz / len(counted)
    norm = math.sqrt(float((dW**2).sum() + (db**2).sum()))
    factor = min(1.0, limit / norm)
    return W - lr * (factor * dW + decay * W), b - lr * factor * db, loss, norm


def uphill(limit):
    return np.array([10.0, -2.0, -2.0]) * limit


def accumulate(model, batches):
    X, y = (torch.cat(part) for part in zip(*batches, strict=True))
    loss = torch.nn.functional.cross_entropy(model(X), y, ignore_index=-1)
    model.zero_grad()
    loss.backward()
    return loss.detach()


def z_loss(logits, targets, c):
    T, L, dlogits = len(logits), 0.0, np.zeros_like(logits)
    for t, (z, y) in enumerate(zip(logits, targets, strict=True)):
        top = float(z.max())
        lse = top + math.log(sum(math.exp(x - top) for x in z))
        L += (lse - float(z[y]) + c * lse**2) / T
        dlogits[t] = (1 + 2 * c * lse) * np.exp(z - lse) / T
        dlogits[t, y] -= 1 / T
    return L, dlogits


def whole_update(params, gradients, lr, limit, decay):
    norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in gradients]))
    factor = torch.clamp(limit / norm, max=1.0)
    return [p - lr * (factor * g + (decay * p if p.ndim > 1 else 0.0))
            for p, g in zip(params, gradients, strict=True)], norm
