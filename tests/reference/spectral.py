"""Spectral norm: the power iteration, the weight over sigma, and the gradient. w is [m][n], its last dimension n."""
from chains import columns, dot, rows
from floats import add, div, fma, mul, round32, sqrt

TINY = round32(1e-12)


def _norm(x):
    factor = div(1.0, add(sqrt(dot(x, x)), TINY))
    return [mul(v, factor) for v in x]


def _times(w, v):
    return [dot(row, v) for row in rows(w, len(v))]


def power_iteration(w, u, n):
    """The new u and v."""
    v = _norm([dot(column, u) for column in columns(w, n)])
    return _norm(_times(w, v)), v


def over(values, sigma):
    """Values over sigma: multiplied by its inverse."""
    inverse = div(1.0, sigma)
    return [mul(x, inverse) for x in values]


def normalised(w, u, v):
    """w * (1 / sigma), and sigma."""
    sigma = dot(u, _times(w, v))
    return over(w, sigma), sigma


def gradient(g, result, u, v, sigma):
    """The gradient of w from the gradient of the result."""
    a = dot(g, result)
    n = len(v)
    return over([fma(mul(-a, u[k // n]), v[k % n], x) for k, x in enumerate(g)], sigma)
