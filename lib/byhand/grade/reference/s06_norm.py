"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np
import torch


def layer_norm(X, gamma, beta, eps):
    rows = X.reshape(-1, X.shape[-1])
    Y = np.empty_like(rows)
    for t, x in enumerate(rows):
        c = x - x.sum() / x.size
        Y[t] = gamma * c / np.sqrt(c @ c / x.size + eps) + beta
    return Y.reshape(X.shape)


def _jacobian(x_hat, s):
    d = x_hat.size
    return (np.eye(d) - np.ones((d, d)) / d - np.outer(x_hat, x_hat) / d) / s


def layer_norm_gradients(dY, X_hat, s, gamma):
    d = X_hat.shape[-1]
    rows = zip(dY.reshape(-1, d), X_hat.reshape(-1, d), s.reshape(-1), strict=True)
    dX = np.stack([_jacobian(x_hat, root) @ (gamma * dy) for dy, x_hat, root in rows])
    dgamma = np.einsum("td,td->d", dY.reshape(-1, d), X_hat.reshape(-1, d))
    return dX.reshape(X_hat.shape), dgamma, np.einsum("td->d", dY.reshape(-1, d))


def rms_norm_gradients(dY, X, gamma, eps):
    d = X.shape[-1]
    dX, dgamma = [], np.zeros(d)
    for dy, x in zip(dY.reshape(-1, d), X.reshape(-1, d), strict=True):
        r = np.sqrt(x @ x / d + eps)
        J = np.eye(d) / r - np.outer(x, x) / (d * r * r * r)
        dX.append(J @ (gamma * dy))
        dgamma += dy * x / r
    return np.stack(dX).reshape(X.shape), dgamma


def batch_norm_step(X, mean, var, momentum, eps):
    rows = X.reshape(-1, X.shape[-1])
    N = len(rows)
    mu = np.einsum("td->d", rows) / N
    squares = np.einsum("td,td->d", rows - mu, rows - mu)
    X_hat = (rows - mu) / np.sqrt(squares / N + eps)
    return (
        X_hat.reshape(X.shape),
        mean + momentum * (mu - mean),
        var + momentum * (squares / (N - 1) - var),
    )


def standardize_real(X, lengths, kind, eps):
    Y = np.zeros_like(X)
    axis = {"token": 1, "instance": 0}[kind]
    for b, length in enumerate(lengths):
        x = X[b, :length]
        c = x - x.mean(axis=axis, keepdims=True)
        Y[b, :length] = c / np.sqrt((c * c).mean(axis=axis, keepdims=True) + eps)
    return Y


def two_norms(variance, eps):
    s = np.sqrt(variance + eps)
    second = np.sqrt(variance / (variance + eps) + eps)
    return 0.0, (eps / s**3) * (eps / second**3), 1 / (s * second)


def where_norms_agree(n):
    return np.eye(n)


def fold(A, c, gamma, beta, W, b):
    d = c.size
    centre = np.eye(d) - np.ones((d, d)) / d
    return A @ centre, c @ centre, np.diag(gamma) @ W, beta @ W + b


def normed_score_gradients(dS, Q, K, gamma_q, gamma_k):
    d = Q.shape[-1]
    q, k = (np.sqrt(np.einsum("...id,...id->...i", X, X) / d)[..., None] for X in (Q, K))
    w = gamma_q * gamma_k / np.sqrt(d)
    S = np.einsum("...id,d,...jd->...ij", Q / q, w, K / k)
    # dS_ij/dq_i = (w k̂_j − S_ij q̂_i / d) / r_i
    dQ = (np.einsum("...ij,...jd->...id", dS, w * K / k) - (dS * S).sum(-1)[..., None] * Q / q / d) / q
    dK = (np.einsum("...ij,...id->...jd", dS, w * Q / q) - (dS * S).sum(-2)[..., None] * K / k / d) / k
    dw = np.einsum("...ij,...id,...jd->...d", dS, Q / q, K / k).reshape(-1, d).sum(axis=0) / np.sqrt(d)
    return dQ, dK, gamma_k * dw, gamma_q * dw


def make_layer_norm(d, eps):
    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(d))
            self.bias = torch.nn.Parameter(torch.zeros(d))

        def forward(self, X):
            x = X.to(torch.promote_types(X.dtype, torch.float32))
            c = x - x.mean(dim=-1, keepdim=True)
            s = torch.sqrt((c * c).mean(dim=-1, keepdim=True) + eps)
            return (c / s * self.weight + self.bias).to(X.dtype)

    return Norm()


def weight_at_rest(eta, decay, c):
    left = (1 - eta * decay) ** 2
    length = (eta**2 * c**2 / (1 - left)) ** 0.25
    return length, eta * c / length**2


def merge_statistics(means, variances, counts):
    N = counts.sum()
    share = counts / N
    mean = share @ means
    return mean, share @ variances + share @ (means - mean) ** 2
