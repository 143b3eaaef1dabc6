"""Learning rates, noise schedules and levels, the steps of samplers, time embeddings: binary64 by host scalars."""
import math

import host
from floats import round32

LARGEST_BETA = 0.999
_PI = float.fromhex("0x1.921fb54442d18p+1")
_HALF_PI = float.fromhex("0x1.921fb54442d18p+0")


def progress(t, warmup, horizon):
    """An update's place between warm-up and horizon, 0 to 1."""
    return min(1.0, (t - warmup) / (horizon - warmup))


def peak(lr, scaling, batch, base_batch):
    """lr, times the batch's ratio to the base batch or the root of that."""
    if scaling == "none":
        return lr
    ratio = batch / base_batch
    return lr * (ratio if scaling == "linear" else math.sqrt(ratio))


def intervals(t, warmup, interval, whole):
    return float((t - warmup) // interval) if whole else (t - warmup) / interval


# What the rate is multiplied with at update t, after the warm-up, by an optimiser's keys.
FACTORS = {
    "constant": lambda o, t: 1.0,
    "cosine": lambda o, t: 0.5 * (1.0 + host.cos(_PI * progress(t, o["warmup"], o["horizon"]))),
    "linear": lambda o, t: 1.0 - progress(t, o["warmup"], o["horizon"]),
    "step": lambda o, t: host.pow(o["factor"], intervals(t, o["warmup"], o["interval"], whole=True)),
    "exponential": lambda o, t: host.pow(o["factor"], intervals(t, o["warmup"], o["interval"], whole=False)),
}


def learning_rate(optimizer, t):
    """The rate of update t, counted from 1, by an optimiser's keys."""
    lr, warmup = optimizer["lr"], optimizer["warmup"]
    return lr * (t / warmup) if t < warmup else lr * FACTORS[optimizer["schedule"]](optimizer, t)


def _linear_beta(t, timesteps):
    c = 1000.0 / timesteps
    a, b = c * 1e-4, c * 0.02
    return a if timesteps == 1 else a + (b - a) * (t / (timesteps - 1))


def _cosine_signal(t, timesteps):
    cosine = host.cos(((t / timesteps) + 0.008) / 1.008 * _HALF_PI)
    return cosine * cosine


def noise_schedule(name, timesteps):
    """beta and A of every timestep."""
    betas, products = [], []
    product = 1.0
    for t in range(timesteps):
        beta = (_linear_beta(t, timesteps) if name == "linear" else
                1.0 - _cosine_signal(t + 1, timesteps) / _cosine_signal(t, timesteps))
        betas.append(min(beta, LARGEST_BETA))
        product = product * (1.0 - betas[-1])
        products.append(product)
    return betas, products


def visit(i, timesteps, visits):
    """The timestep that ddim visits."""
    return (i + 1) * timesteps // visits - 1


def _before(products, t):
    return 1.0 if t == 0 else products[t - 1]


def _ancestral(betas, products):
    for t in reversed(range(len(betas))):
        beta, variance, b = betas[t], 1.0 - products[t], 1.0 - _before(products, t)
        yield (t, beta * math.sqrt(_before(products, t)) / variance, math.sqrt(1.0 - beta) * b / variance,
               math.sqrt(beta * b / variance))


def _ddim(products, visits):
    timesteps = len(products)
    for i in reversed(range(visits)):
        t = visit(i, timesteps, visits)
        following = _before(products, i * timesteps // visits)
        r = math.sqrt((1.0 - following) / (1.0 - products[t]))
        yield t, math.sqrt(following) - r * math.sqrt(products[t]), r, 0.0


def sampler(name, betas, products, prediction, visits):
    """(t, p, q, g, h, n) of each step, from noise to picture."""
    for t, *following in _ancestral(betas, products) if name == "ancestral" else _ddim(products, visits):
        signal, noise = math.sqrt(products[t]), math.sqrt(1.0 - products[t])
        p, q = {"epsilon": (1.0 / signal, -noise / signal), "v": (signal, -noise), "x0": (0.0, 1.0)}[prediction]
        yield (t, *(round32(x) for x in (p, q, *following)))


def min_snr(product, prediction, gamma):
    """The weight of a timestep (Hang et al., 2023)."""
    ratio = product / (1.0 - product)
    return min(ratio, gamma) / {"epsilon": ratio, "v": ratio + 1.0, "x0": 1.0}[prediction]


class Level:
    """A noise level of EDM, a binary32 number; its factors as binary32, too."""

    def __init__(self, s, sigma_data):
        self.s, self.d = float(s), sigma_data
        self.q = self.s * self.s + self.d * self.d
        self.l = math.sqrt(self.q)

    def told(self):
        return round32(0.25 * host.log(self.s))

    def scale(self):
        return round32(1.0 / self.l)

    def mix(self):
        """Factors of x0 and noise in the network's input."""
        return round32(1.0 / self.l), round32(self.s / self.l)

    def target(self):
        """Factors of noise and x0."""
        return round32(-self.d / self.l), round32(self.s / (self.d * self.l))

    def slope(self):
        """Factors of x and the output."""
        return round32(self.s / self.q), round32(-self.d / self.l)


def levels(p, steps):
    """Where a sampler's steps begin, and 0."""
    rho = p["rho"]
    f, g = (host.pow(p[key], 1.0 / rho) for key in ("sigma_max", "sigma_min"))
    return [p["sigma_max"], *(host.pow(f + (i / (steps - 1)) * (g - f), rho) for i in range(1, steps)), 0.0]


def time_embedding(t, width):
    half = width // 2
    angles = [t * host.exp(-host.log(10000.0) * i / half) for i in range(half)]
    return [round32(host.cos(a)) for a in angles] + [round32(host.sin(a)) for a in angles]
