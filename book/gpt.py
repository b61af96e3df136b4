"""A GPT, its gradient, its training: python gpt.py TEXT learns its letters."""
import numpy as np

HEADS = 4  # in every block

def init(rng, V, d=64, layers=2, n=32):
    p = {"E": rng.normal(size=(V, d)) / 10, "P": rng.normal(size=(n, d)) / 10}
    maps = {"qkv": (d, 3), "out": (d, 1), "up": (d, 4), "down": (4 * d, 1)}
    for i in range(layers):
        for name, (a, k) in maps.items():
            p[f"{i}.{name}.W"] = rng.normal(size=(a, k * d)) / a**0.5
            p[f"{i}.{name}.b"] = np.zeros(k * d)
    for name in "last", *(f"{i}.norm{j}" for i in range(layers) for j in "12"):
        p[name + ".g"], p[name + ".b"] = np.ones(d), np.zeros(d)
    return p

def rows(X):
    return X.reshape(-1, X.shape[-1])

def softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)

def linear(X, p, name):
    return X @ p[name + ".W"] + p[name + ".b"], (X, p[name + ".W"], name)

def linear_back(dY, cache, grads):
    X, W, name = cache
    grads[name + ".W"] = rows(X).T @ rows(dY)
    grads[name + ".b"] = rows(dY).sum(axis=0)
    return dY @ W.T

def norm(X, p, name):
    X = X - X.mean(axis=-1, keepdims=True)
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True) + 1e-5)
    N, g = X / r, p[name + ".g"]
    return N * g + p[name + ".b"], (N, r, g, name)

def norm_back(dY, cache, grads):
    N, r, g, name = cache
    grads[name + ".g"] = rows(dY * N).sum(axis=0)
    grads[name + ".b"] = rows(dY).sum(axis=0)
    G = dY * g
    along = N * (G * N).mean(axis=-1, keepdims=True)
    return (G - G.mean(axis=-1, keepdims=True) - along) / r

def gelu(X):
    S = 0.5 + 0.5 * np.tanh((2 / np.pi)**0.5 * (X + 0.044715 * X * X * X))
    return X * S, (X, S)

def gelu_back(dY, cache):
    X, S = cache
    slope = S * (1 - S) * (8 / np.pi)**0.5 * (1 + 0.134145 * X * X)
    return dY * (S + X * slope)

def attention(X, p, i):
    B, n, d = X.shape
    Y, first = linear(X, p, i + "qkv")
    Q, K, V = Y.reshape(B, n, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    S = Q @ K.mT / (d // HEADS)**0.5
    A = softmax(np.where(np.tri(n, dtype=bool), S, -np.inf))
    Z = (A @ V).swapaxes(1, 2).reshape(B, n, d)
    Y, second = linear(Z, p, i + "out")
    return Y, (Q, K, V, A, first, second)

def attention_back(dY, cache, grads):
    Q, K, V, A, first, second = cache
    B, n, d = dY.shape
    dZ = linear_back(dY, second, grads)
    dZ = dZ.reshape(B, n, HEADS, -1).swapaxes(1, 2)
    dA = dZ @ V.mT
    dS = A * (dA - (A * dA).sum(axis=-1, keepdims=True))
    dS = dS / (d // HEADS)**0.5
    d_qkv = np.stack([dS @ K, dS.mT @ Q, A.mT @ dZ])
    d_qkv = d_qkv.transpose(1, 3, 0, 2, 4).reshape(B, n, 3 * d)
    return linear_back(d_qkv, first, grads)

def block(X, p, i):
    Y, c1 = norm(X, p, i + "norm1")
    Y, c2 = attention(Y, p, i)
    X = X + Y
    Y, c3 = norm(X, p, i + "norm2")
    Y, c4 = linear(Y, p, i + "up")
    Y, c5 = gelu(Y)
    Y, c6 = linear(Y, p, i + "down")
    return X + Y, (c1, c2, c3, c4, c5, c6)

def block_back(dY, cache, grads):
    c1, c2, c3, c4, c5, c6 = cache
    dH = gelu_back(linear_back(dY, c6, grads), c5)
    dX = dY + norm_back(linear_back(dH, c4, grads), c3, grads)
    return dX + norm_back(attention_back(dX, c2, grads), c1, grads)

def forward(ids, p):
    X, blocks = p["E"][ids] + p["P"][:ids.shape[1]], []
    while f"{len(blocks)}.up.W" in p:
        X, cache = block(X, p, f"{len(blocks)}.")
        blocks.append(cache)
    H, last = norm(X, p, "last")
    return H @ p["E"].T, (ids, blocks, last, H)

def backward(dZ, p, cache):
    ids, blocks, last, H = cache
    grads = {"E": rows(dZ).T @ rows(H), "P": np.zeros_like(p["P"])}
    dX = norm_back(dZ @ p["E"], last, grads)
    for inner in reversed(blocks):
        dX = block_back(dX, inner, grads)
    np.add.at(grads["E"], ids, dX)
    grads["P"][:ids.shape[1]] = dX.sum(axis=0)
    return grads

def loss(text, p):
    Z, cache = forward(text[:, :-1], p)
    P, Q = softmax(Z), np.eye(Z.shape[-1])[text[:, 1:]]
    L = -np.log((P * Q).sum(axis=-1)).mean()
    return L, (P - Q) / text[:, 1:].size, cache

def train(p, ids, steps, rng, B=16, peak=6e-3):
    n = len(p["P"])
    m, v = ({k: np.zeros_like(x) for k, x in p.items()} for _ in "mv")
    for t in range(1, steps + 1):
        start = rng.integers(len(ids) - n, size=(B, 1))
        L, dZ, cache = loss(ids[start + np.arange(n + 1)], p)
        rate = peak * min(1, t / 50) * (1 - (t - 1) / steps)
        for k, g in backward(dZ, p, cache).items():
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.99 * v[k] + 0.01 * g * g
            size = np.sqrt(v[k] / (1 - 0.99**t)) + 1e-8
            p[k] -= rate * m[k] / (1 - 0.9**t) / size
        yield t, L

def write(p, ids, count, rng, heat=0.7):
    for _ in range(count):
        Z, _ = forward(np.array([ids[-len(p["P"]):]]), p)
        P = softmax(Z[0, -1] / heat)
        ids = [*ids, int(rng.choice(len(P), p=P))]
    return ids

if __name__ == "__main__":
    import sys

    text = open(sys.argv[1], encoding="utf-8").read()
    rng, letters = np.random.default_rng(0), sorted(set(text))
    ids = np.array([letters.index(c) for c in text])
    p = init(rng, len(letters))
    for t, L in train(p, ids, 1200, rng):
        if t % 200 == 0:
            wrote = "".join(letters[c] for c in write(p, ids[:1], 80, rng))
            print(t, f"{L:.2f}", repr(wrote))
