"""The objective classifier: cross-entropy (docs/training.md, *Classifiers*; docs/numerics.md, *Cross-entropy*)."""
import numpy as np

from attention import softmax
from elementary import ONE, log
from fused import chain_products
from lanes import Gradients, Pass
from spectral import Prepared

LEAST_SHARE = np.float32(2.0 ** -126)


def losses_of(logits, shares, condition):
    own = chain_products(shares.T, condition.T)
    return -log(np.minimum(np.maximum(own, LEAST_SHARE), ONE))


class Classifier:
    phases = ("classify",)

    def __init__(self, recipe, networks, lanes):
        self.network, self.lanes = networks["model"], lanes
        self.integer_products = recipe.integer_products

    @staticmethod
    def role_of(phase):
        return "model"

    def phase(self, phase, state, batch):
        role = state.roles["model"]
        prepared = Prepared(self.network, role.parameters, role.buffers, True)
        pass_ = Pass(self.lanes, prepared.weights, integer_products=self.integer_products)
        logits, back = self.network.forward(pass_, batch.samples, needs_input=False)
        shares = softmax(logits, ONE)
        gradients = Gradients()
        back((shares - batch.condition) * self.lanes.share(), gradients)
        losses = losses_of(logits, shares, batch.condition)
        return self.lanes.mean_loss(losses), prepared.gradients(gradients)
