"""Distances of features in binary64 (docs/evaluation.md, *What is computed*). NumPy only adds, subtracts, multiplies, divides
and takes roots, element by element; sums are made here, in the page's order."""
import numpy as np


def tree_sum(rows):
    """Of rows [n][…], the tree over n."""
    if len(rows) == 1:
        return rows[0]
    left = 1 << (len(rows) - 1).bit_length() - 1
    return tree_sum(rows[:left]) + tree_sum(rows[left:])


def running_sum(terms):
    """From +0, over the first dimension."""
    total = np.zeros(terms.shape[1:])
    for term in terms:
        total = total + term
    return total


def product(a, b):
    return running_sum(a.T[:, :, None] * b[:, None, :])


def degrees(count):
    return count - 1


def moments(x):
    mean = tree_sum(x) / len(x)
    d = x - mean
    return mean, tree_sum(d[:, :, None] * d[:, None, :]) / degrees(len(x))


def turned(g, k, s, u):
    return g - s * (k + g * u), k + s * (g - k * u)


def eigen(matrix):
    """Cyclic Jacobi: eigenvalues, eigenvectors in columns."""
    a, n = np.array(matrix), len(matrix)
    v = np.eye(n)

    def upper(i, j):
        return (i, j) if i < j else (j, i)
    rotated = True
    while rotated:
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                x, y, off = abs(a[p, p]), abs(a[q, q]), abs(a[p, q])
                if x + off == x and y + off == y:
                    a[p, q] = 0.0
                    continue
                rotated = True
                o = a[p, q]
                h = (a[q, q] - a[p, p]) / (2.0 * o)
                t = 1.0 / (abs(h) + np.sqrt(h * h + 1.0))
                t = -t if h < 0 else t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                u = s / (1.0 + c)
                a[p, p], a[q, q], a[p, q] = a[p, p] - t * o, a[q, q] + t * o, 0.0
                for r in set(range(n)) - {p, q}:
                    a[upper(r, p)], a[upper(r, q)] = turned(a[upper(r, p)], a[upper(r, q)], s, u)
                v[:, p], v[:, q] = turned(v[:, p].copy(), v[:, q].copy(), s, u)
    return np.diagonal(a), v


def root(values):
    return np.sqrt(np.where(values > 0, values, 0.0))


def frechet_distance(x, y):
    (m, c), (n, d) = moments(x), moments(y)
    between = running_sum((m - n) * (m - n))
    trace = running_sum(np.diagonal(c) + np.diagonal(d))
    values, vectors = eigen(c)
    s = running_sum((vectors * root(values)).T[:, :, None] * vectors.T[:, None, :])
    q = product(product(s, d), s)
    return between + (trace - 2.0 * running_sum(root(eigen(0.5 * (q + q.T))[0])))


def kernel_rows(x, y):
    """[len(x)][len(y)]"""
    v = running_sum(x.T[:, :, None] * y.T[:, None, :]) / x.shape[1] + 1.0
    return (v * v) * v


def own_pairs(k):
    """A row's sum, but for the pair of a sample with itself."""
    return tree_sum(np.array([running_sum(np.delete(row, i)) for i, row in enumerate(k)]))


def kernel_distance(x, y):
    pairs = len(x) * (len(x) - 1)
    inside = own_pairs(kernel_rows(x, x)) / pairs + own_pairs(kernel_rows(y, y)) / pairs
    return inside - 2.0 * (tree_sum(running_sum(kernel_rows(x, y).T)) / (len(x) * len(x)))


def squares(x, y):
    d = x.T[:, :, None] - y.T[:, None, :]
    return running_sum(d * d)


def radii(x, k):
    """Squared; a sample itself is the nearest of all, at 0."""
    return np.sort(squares(x, x), axis=1)[:, k]


def neighbourhoods(x, y):
    apart = squares(x, y)
    near = apart <= radii(x, 5)[:, None]
    return {"precision": (apart <= radii(x, 3)[:, None]).any(axis=0).mean(), "recall": (apart <= radii(y, 3)).any(axis=1).mean(),
            "density": near.sum() / (5 * len(y)), "coverage": near.any(axis=1).mean()}


def distances(x, y):
    """Features of the data and of the run, [N][F]."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    return {"frechet_distance": frechet_distance(x, y), "kernel_distance": kernel_distance(x, y), **neighbourhoods(x, y)}
