"""GANs: the two phases of docs/training.md, of a batch each."""
import contextlib

import torch
import torch.nn.functional as F
from torch import nn

from training import Trainer, Update, networks, only

LOSSES = {  # of real and fake answers; of the generator's answers
    "gan": (lambda real, fake: F.softplus(-real) + F.softplus(fake), lambda fake: F.softplus(-fake)),
    "hinge-gan": (lambda real, fake: F.relu(1 - real) + F.relu(1 + fake), lambda fake: -fake)}


@contextlib.contextmanager
def unmoved(network):
    """Batch norms use the batch's statistics and leave the running ones as they are."""
    norms = [layer for layer in network.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.track_running_stats = False
    yield
    for norm in norms:
        norm.track_running_stats = True


class Gan(Trainer):
    def __init__(self, recipe, args, rank=0):
        super().__init__(recipe, args, rank)
        only("objective", recipe["objective"], {"kind"}, {"r1": 0.0})
        self.latent = recipe["generator"]["latent"]
        self.losses = LOSSES[recipe["objective"]["kind"]]
        self.plain = {role: self.network(role) for role in ("generator", "discriminator")}
        self.generator = self.prepared(self.plain["generator"])
        # Its buffers stay: it runs twice before one backward pass, and a broadcast in between would spoil that.
        self.discriminator = self.prepared(self.plain["discriminator"], broadcast_buffers=False)
        self.spectral = [layer for layer in self.plain["discriminator"].modules() if isinstance(layer, networks.Spectral)]
        self.updates = {role: Update(role, network, recipe[role]["optimizer"]) for role, network in self.plain.items()}

    def networks(self):
        return self.plain

    def step(self):
        own = (lambda wrapped: wrapped.module) if self.args.ranks else (lambda wrapped: wrapped)
        x, y = self.drawn()
        with torch.no_grad(), self.precision(), unmoved(self.plain["generator"]):
            fake = own(self.generator)(self.noise(self.batch, self.latent), y)
        for layer in self.spectral:
            layer.iterate()
        with self.precision():
            real, false = self.discriminator(x, y), self.discriminator(fake, y)
        loss = self.losses[0](real.float(), false.float()).mean()
        self.updates["discriminator"].step(loss)
        self.plain["discriminator"].requires_grad_(False)
        with self.precision():
            answer = own(self.discriminator)(self.generator(self.noise(self.batch, self.latent), y), y)
        self.updates["generator"].step(self.losses[1](answer.float()).mean())
        self.plain["discriminator"].requires_grad_(True)
        for update in self.updates.values():
            update.follow()
        return loss.item()

    def made(self, chosen, random):
        """By running statistics."""
        with self.updates["generator"].best() as network:
            return network(torch.randn(len(chosen), self.latent, generator=random, device=random.device),
                           self.rows(chosen % self.classes) if self.classes else None)
