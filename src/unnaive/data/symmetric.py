"""Linear systems and eigenvectors of symmetric matrices, with the same bits on every processor.

LAPACK, which numpy calls, adds in another order on each processor. Products here are those of products.py, and all else
is done element by element.
"""

from __future__ import annotations

from math import copysign, sqrt

import numpy as np

from unnaive.base.types import Floats
from unnaive.data.products import dot, matmul, turn_rows

BLOCK = 64  # columns that are factorised together; the rest is one product
EPSILON = 2.0**-52


def solve_positive(A: Floats, B: Floats) -> Floats:
    """X of A·X = B for a symmetric positive definite A (n, n) and B (n,) or (n, width), by Cholesky's factorisation.

    >>> solve_positive(np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 12.0])).round(12)
    array([1., 2.])
    """
    L = cholesky(A)
    X = np.array(B, np.float64, order="C").reshape(len(A), -1)
    starts = range(0, len(L), BLOCK)
    for start in starts:  # L·Y = B
        end = min(start + BLOCK, len(L))
        for k in range(start, end):
            X[k] /= L[k, k]
            X[k + 1 : end] -= L[k + 1 : end, k, None] * X[k]
        X[end:] -= matmul(L[end:, start:end], X[start:end])
    for start in reversed(starts):  # Lᵀ·X = Y
        end = min(start + BLOCK, len(L))
        for k in range(end - 1, start - 1, -1):
            X[k] /= L[k, k]
            X[start:k] -= L[k, start:k, None] * X[k]
        X[:start] -= matmul(L[start:end, :start].T, X[start:end])
    return X.reshape(np.shape(B))


def cholesky(A: Floats) -> Floats:
    """The lower triangle L with L·Lᵀ = A, symmetric and positive definite; only the lower half of A is read.

    A pivot that rounding made negative is a small positive number.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    L = np.tril(np.asarray(A, np.float64))
    least = EPSILON * float(np.abs(np.diagonal(L)).max(initial=0.0)) or 1.0
    for start in range(0, len(L), BLOCK):
        end = min(start + BLOCK, len(L))
        for k in range(start, end):
            L[k, k] = sqrt(max(float(L[k, k]), least))
            L[k + 1 :, k] /= L[k, k]
            L[k + 1 :, k + 1 : end] -= L[k + 1 :, k, None] * L[k + 1 : end, k]
        for first in range(end, len(L), 8 * BLOCK):  # strips, because the upper half is not needed
            last = min(first + 8 * BLOCK, len(L))
            L[first:, first:last] -= matmul(L[first:, start:end], L[first:last, start:end].T)
    return np.tril(L)


def eigh(A: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (n,), ascending, and eigenvectors, the columns of (n, n), of a symmetric matrix.

    Householder's reflections make it tridiagonal, and the QL method with implicit shifts makes that diagonal (Martin,
    Reinsch and Wilkinson, 1968; Dubrulle, Martin and Wilkinson, 1968).

    >>> values, vectors = eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(12), np.abs(vectors).round(4)
    (array([1., 3.]), array([[0.7071, 0.7071],
           [0.7071, 0.7071]]))
    """
    scale = float(np.abs(A).max(initial=0.0)) or 1.0
    diagonal, beside, rows = _tridiagonal(np.asarray(A, np.float64) / scale)
    values = _diagonalise(diagonal, beside, rows)
    order = np.argsort(values, kind="stable")
    return values[order] * scale, rows[order].T


def _tridiagonal(A: Floats) -> tuple[list[float], list[float], Floats]:
    """The diagonal, what is beside it, and the orthogonal matrix Qᵀ with A = Q·T·Qᵀ."""
    A, n = A.copy(), len(A)
    reflections: list[tuple[Floats, float]] = []
    beside = [0.0] * n
    for k in range(n - 1):
        v = A[k + 1 :, k].copy()
        beside[k] = -copysign(sqrt(dot(v, v)), v[0])
        v[0] -= beside[k]
        squares = dot(v, v)
        factor = 2.0 / squares if squares > 0 else 0.0
        reflections.append((v, factor))
        rest = A[k + 1 :, k + 1 :]
        p = matmul(rest, v) * factor
        p -= factor / 2 * dot(p, v) * v
        rest -= v[:, None] * p + p[:, None] * v
    Q = np.eye(n)
    for k in range(n - 2, -1, -1):
        v, factor = reflections[k]
        rest = Q[k + 1 :, k + 1 :]
        rest -= (factor * v)[:, None] * matmul(v, rest)
    return np.diagonal(A).tolist(), beside, np.ascontiguousarray(Q.T)


def _diagonalise(d: list[float], e: list[float], rows: Floats) -> Floats:
    """The eigenvalues of the tridiagonal matrix with diagonal d and e beside it; the rows of Qᵀ become eigenvectors."""
    n = len(d)
    for start in range(n):
        while True:
            end = start
            while end < n - 1 and abs(e[end]) > EPSILON * (abs(d[end]) + abs(d[end + 1])):
                end += 1
            if end == start:
                break
            _ql_step(d, e, rows, start, end)
    return np.array(d, np.float64)


def _ql_step(d: list[float], e: list[float], rows: Floats, start: int, end: int) -> None:
    g = (d[start + 1] - d[start]) / (2 * e[start])
    g = d[end] - d[start] + e[start] / (g + copysign(sqrt(g * g + 1), g))
    sine, cosine, moved = 1.0, 1.0, 0.0
    sines: list[float] = []
    cosines: list[float] = []
    for i in range(end - 1, start - 1, -1):
        f, b = sine * e[i], cosine * e[i]
        r = e[i + 1] = sqrt(f * f + g * g)
        if r == 0.0:
            d[i + 1] -= moved
            e[end] = 0.0
            turn_rows(rows, end - 1, sines, cosines)
            return
        sine, cosine = f / r, g / r
        sines.append(sine)
        cosines.append(cosine)
        g = d[i + 1] - moved
        r = (d[i] - g) * sine + 2 * cosine * b
        moved = sine * r
        d[i + 1] = g + moved
        g = cosine * r - b
    d[start] -= moved
    e[start], e[end] = g, 0.0
    turn_rows(rows, end - 1, sines, cosines)
