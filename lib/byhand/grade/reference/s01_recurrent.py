"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def rnn_gradients(dH, X, H, h0, W_x, W_h):
    before = np.concatenate([h0[..., None, :], H[..., :-1, :]], axis=-2)
    dA, later = np.zeros_like(H), np.zeros_like(h0)
    for t in range(H.shape[-2] - 1, -1, -1):
        dA[..., t, :] = (dH[..., t, :] + later) * (1 - H[..., t, :] ** 2)
        later = np.einsum("...j,ij->...i", dA[..., t, :], W_h)
    dX = np.einsum("...j,ij->...i", dA, W_x)
    dW_x = np.einsum("ai,aj->ij", X.reshape(-1, X.shape[-1]), dA.reshape(-1, dA.shape[-1]))
    dW_h = np.einsum("ai,aj->ij", before.reshape(-1, dA.shape[-1]), dA.reshape(-1, dA.shape[-1]))
    return dX, dW_x, dW_h, dA.sum(axis=tuple(range(dA.ndim - 1))), later


def growing_matrix(radius, steps, gain):
    # [[r, c], [0, r]] to the power k has k r^(k-1) c above its diagonal
    return np.array([[radius, gain / (steps * radius ** (steps - 1))], [0.0, radius]])


def steps_until(bias, share):
    gate = 1 / (1 + math.exp(-bias))
    k = 1
    while gate**k > share:
        k += 1
    return k


def leaky_gradients(dH, N, Z, h0):
    n = N.shape[-2]
    H, h = [h0], h0
    for t in range(n):
        h = (1 - Z[..., t, :]) * N[..., t, :] + Z[..., t, :] * h
        H.append(h)
    dN, dZ, e = np.zeros_like(N), np.zeros_like(Z), np.zeros_like(h0)
    for t in reversed(range(n)):
        e = e + dH[..., t, :]
        dN[..., t, :] = e * (1 - Z[..., t, :])
        dZ[..., t, :] = e * (H[t] - N[..., t, :])
        e = e * Z[..., t, :]
    return dN, dZ, e


def long_memory(d, h, steps):
    net = torch.nn.LSTM(d, h, batch_first=True)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name.startswith("bias"):
                parameter.zero_()
        net.bias_hh_l0[h:2 * h] = math.log(steps - 1)
    return net


def dilations_for(kernel, distance):
    found, seen = [], 1
    while seen <= distance:
        found.append(seen)
        seen *= kernel
    return found


def strided_gradients(dY, X, W, stride):
    dX, dW = np.zeros_like(X), np.zeros_like(W)
    for i in range(dY.shape[-2]):
        for j in range(W.shape[0]):
            dX[..., i * stride + j, :] += np.einsum("...e,de->...d", dY[..., i, :], W[j])
            rows = X[..., i * stride + j, :].reshape(-1, W.shape[1]), dY[..., i, :].reshape(-1, W.shape[2])
            dW[j] += np.einsum("ad,ae->de", *rows)
    return dX, dW


def dearer_from(d, taps):
    n = 1
    while 8 * n * d * d + 4 * n * n * d <= 2 * taps * n * d * d:
        n += 1
    return n
