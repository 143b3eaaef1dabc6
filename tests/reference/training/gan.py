"""The objectives gan, hinge-gan and wasserstein-gan: losses, their phases, R1, gradient penalty (docs/training.md, *GANs*; docs/numerics.md)."""
import numpy as np

from elementary import ONE, leaky_relu, leaky_relu_backward, sigmoid, softplus
from fused import chain_products, fma
from lanes import Gradients, Pass, summed
from spectral import Prepared
from streams import Stream


class Saturating:
    """kind gan: the losses from logits, and the factors' gradients for a gradient g of each sample's loss."""

    @staticmethod
    def real(r, g):
        return softplus(-r), -(g * sigmoid(-r))

    @staticmethod
    def fake(f, g):
        return softplus(f), g * sigmoid(f)

    @staticmethod
    def generator(f, g):
        return softplus(-f), -(g * sigmoid(-f))


class Hinge:
    @staticmethod
    def real(r, g):
        margin = -r + ONE
        return leaky_relu(margin, 0.0), -leaky_relu_backward(margin, g, 0.0)

    @staticmethod
    def fake(f, g):
        margin = f + ONE
        return leaky_relu(margin, 0.0), leaky_relu_backward(margin, g, 0.0)

    @staticmethod
    def generator(f, g):
        return -f, np.broadcast_to(-g, f.shape)


class Wasserstein:
    @staticmethod
    def real(r, g):
        return -r, np.broadcast_to(-g, r.shape)

    @staticmethod
    def fake(f, g):
        return f, np.broadcast_to(g, f.shape)

    generator = Hinge.generator


LOSSES = {"gan": Saturating, "hinge-gan": Hinge, "wasserstein-gan": Wasserstein}


class Gan:
    phases = ("discriminator", "generator")

    def __init__(self, recipe, networks, lanes):
        self.networks, self.lanes, self.integer_products = networks, lanes, recipe.integer_products
        table = recipe["objective"]
        self.losses = LOSSES[table["kind"]]
        self.r1, self.gp = table.get("r1", 0.0), table.get("gp", 0.0)
        self.mix = Stream(recipe.seed, "gan/mix")
        self.latent = recipe["generator"]["latent"]
        self.stream = Stream(recipe.seed, "gan/latent")

    @staticmethod
    def role_of(phase):
        return phase

    def phase(self, phase, state, batch):
        """The loss and the gradients of the role that the phase updates."""
        prepared = {role: Prepared(self.networks[role], state.roles[role].parameters, state.roles[role].buffers,
                                   role == phase) for role in ("generator", "discriminator")}

        def pass_of(role, moves):
            return Pass(self.lanes, prepared[role].weights, state.roles[role].buffers, moves, batch.condition,
                        integer_products=self.integer_products)
        latents = self.stream.normal(batch.draws, self.latent, 0 if phase == "discriminator" else 1)
        fake, back = self.networks["generator"].forward(
            pass_of("generator", phase == "generator"), latents, needs_input=False)
        if phase == "generator":
            loss, gradients = self._generator(pass_of("discriminator", False), fake, back)
        else:
            loss, gradients = self._discriminator(pass_of("discriminator", True), batch, fake)
        return loss, prepared[phase].gradients(gradients)

    def _generator(self, pass_, fake, back):
        logits, through = self.networks["discriminator"].forward(pass_, fake)
        losses, dlogits = self.losses.generator(logits, self.lanes.share())
        gradients = Gradients()
        back(through(dlogits, None), gradients)
        return self.lanes.mean_loss(losses), gradients

    def _discriminator(self, pass_, batch, fake):
        network, share, real = self.networks["discriminator"], self.lanes.share(), batch.samples
        passes, losses = [], []
        for samples, loss_of in ((real, self.losses.real), (fake, self.losses.fake)):
            logits, back = network.forward(pass_, samples, needs_input=False)
            loss, dlogits = loss_of(logits, share)
            losses.append(loss)
            passes.append(Gradients())
            back(dlogits, passes[-1])
        loss = losses[0] + losses[1]
        if self.r1 != 0.0:
            penalty, gradients = penalised(network, pass_, real, r1(np.float32(0.5 * self.r1), share))
            loss = loss + penalty
            passes.append(gradients)
        if self.gp != 0.0:
            u = self.mix.uniform(batch.draws, 1).reshape(-1, *[1] * (real.ndim - 1))
            penalty, gradients = penalised(network, pass_, between(u, real, fake),
                                           gradient_penalty(np.float32(self.gp), share))
            loss = loss + penalty
            passes.append(gradients)
        return self.lanes.mean_loss(loss), summed(passes)


def between(u, real, fake):
    return fma(u, real, (ONE - u) * fake)


def r1(half_gamma, share):
    """From the row squares of d = dD/dx, and d: the penalties, and their gradient to d."""
    return lambda squares, d: (squares * half_gamma, d * (np.float32(2.0) * (half_gamma * share)))


def slope(squares):
    return np.sqrt(squares + np.float32(1e-12))


def gradient_penalty(gp, share):
    """Gulrajani et al., 2017."""
    def of(squares, d):
        n = slope(squares)
        m = n + -ONE
        k = ((gp * share) * (m + m) * (np.float32(0.5) / n)).reshape(-1, *[1] * (d.ndim - 1))
        return gp * (m * m), d * k + d * k
    return of


def penalised(network, pass_, samples, penalty):
    """A penalty of dD/dx at each sample; the gradients of the weights.

    For networks of linear layers, convolutions and leaky ReLUs: dD/dx is such a network again, run backwards, with
    constant slopes; its gradients run forwards.
    """
    inputs, x = [], samples
    for stage in network.stages:
        inputs.append(x)
        x, _ = stage.forward(pass_, x)
    d, ups = np.ones_like(x), []
    for stage, x in zip(reversed(network.stages), reversed(inputs)):
        d, up = stage.down(pass_, x, d)
        ups.append(up)
    rows = d.reshape(len(d), -1)
    penalties, upward = penalty(chain_products(rows.T, rows.T), d)
    gradients = Gradients()
    for up in reversed(ups):
        upward = up(upward, gradients)
    return penalties[:, None], gradients
