"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


def moved_code(delta, d, base):
    M = np.zeros((d, d))
    for i in range(d // 2):
        turn = np.exp(1j * delta * base ** (-2 * i / d))
        M[2 * i, 2 * i : 2 * i + 2] = turn.real, -turn.imag
        M[2 * i + 1, 2 * i : 2 * i + 2] = turn.imag, turn.real
    return M


def _spin(X, positions, base, sign):
    d = X.shape[-1]
    turn = np.exp(sign * 1j * np.outer(positions, [base ** (-2 * i / d) for i in range(d // 2)]))
    Z = (X[..., ::2] + 1j * X[..., 1::2]) * turn
    return np.stack([Z.real, Z.imag], axis=-1).reshape(X.shape)


def turned_pairs(X, dY, positions, base):
    return _spin(X, positions, base, 1), _spin(dY, positions, base, -1)


def name_the_slip(PE):
    n, d = PE.shape
    pair, wave = np.arange(d) // 2, [np.sin, np.cos]

    def table(base=10000.0, double=1, first=0, sines_first=False):
        columns = [wave[c % 2](np.arange(first, first + n) / base ** (2 * double * pair[c] / d)) for c in range(d)]
        return np.stack(columns[::2] + columns[1::2] if sines_first else columns, axis=1)

    candidates = {
        "correct": table(),
        "base 1000": table(1000.0),
        "base 100000": table(100000.0),
        "2i doubled": table(double=2),
        "counted from one": table(first=1),
        "sines first": table(sines_first=True),
    }
    return min(candidates, key=lambda name: np.abs(candidates[name] - PE).max())


def rotary_attention(Q, K, V, positions, base):
    H, n, d_k = Q.shape
    Z = np.empty((n, H * d_k))
    for h in range(H):
        S = np.einsum("id,jd->ij", _spin(Q[h], positions, base, 1), _spin(K[h], positions, base, 1)) / np.sqrt(d_k)
        E = np.exp(S - S.max(axis=1, keepdims=True))
        Z[:, h * d_k : (h + 1) * d_k] = np.einsum("ij,jd->id", E, V[h]) / E.sum(axis=1)[:, None]
    return Z


def other_pairing(W, heads):
    by_pair = W.reshape(W.shape[0], heads, -1, 2)  # (d, head, pair, first or second)
    return np.swapaxes(by_pair, -1, -2).reshape(W.shape)


def code_distance(delta, d, base):
    return 4 * sum(np.sin(delta * base ** (-2 * i / d) / 2) ** 2 for i in range(d // 2))


def bias_table_gradient(dS, reach):
    *_, H, n, m = dS.shape
    summed, table = dS.reshape(-1, H, n, m).sum(axis=0), np.zeros((H, 2 * reach + 1))
    for r in range(1 - n, m):
        table[:, reach + min(max(r, -reach), reach)] += np.trace(summed, r, 1, 2)
    return table
