"""Steps of a recipe: phases, updates, averages, digests (docs/training.md, *A step*)."""
import gan_networks
import ledger
from classifier import Classifier
from cnn import cnn
from data import batch, content_hash, held_out, open_data
from ddpm import Ddpm
from dit import Dit
from edm import Edm
from flow import Flow
from gan import Gan
from lanes import Lanes
from optimizers import update_averages, update_role
from recipe import Recipe
from state import State, decays
from unet import Unet

KINDS = {"unet": Unet, "dit": Dit, "cnn": cnn,
         "mlp-generator": gan_networks.mlp_generator, "mlp-discriminator": gan_networks.mlp_discriminator,
         "dcgan-generator": gan_networks.dcgan_generator, "dcgan-discriminator": gan_networks.dcgan_discriminator,
         "sngan-generator": gan_networks.sngan_generator, "sngan-discriminator": gan_networks.sngan_discriminator}
OBJECTIVES = {"ddpm": Ddpm, "flow": Flow, "edm": Edm, "gan": Gan, "hinge-gan": Gan, "wasserstein-gan": Gan, "classifier": Classifier}


def turns(recipe, phase):
    """The phase trains at steps that are multiples of this."""
    return recipe["objective"].get("discriminator_steps", 1) if phase == "generator" else 1


def update_number(step, every):
    """Which update of its network it is; rates go by the step."""
    return step // every


def averaged(roles, updated):
    """Whose averages move."""
    return updated


class Trainer:
    def __init__(self, path, semantics):
        recipe = self.recipe = Recipe.read(path)
        self.data = open_data(recipe)
        self.lanes = Lanes(recipe["batch"]["lanes"], recipe["batch"]["samples_per_lane"])
        networks = self.networks = {role: KINDS[recipe[role]["kind"]](recipe[role], self.data.shape, recipe.classes)
                                    for role in recipe.roles}
        self.state = State(recipe, networks)
        self.objective = OBJECTIVES[recipe["objective"]["kind"]](recipe, networks, self.lanes)
        self.header, self.chain = ledger.header(recipe.id(semantics), content_hash(recipe, self.data), semantics)
        self.digest = self.state.digest()

    def step(self):
        """One step; its line of the ledger."""
        state, recipe, before = self.state, self.recipe, self.digest
        taken = batch(recipe, self.data, state.samples)
        losses, updated, step = [], {}, state.step + 1
        for phase in self.objective.phases:
            every = turns(recipe, phase)
            if step % every != 0:
                continue
            loss, gradients = self.objective.phase(phase, state, taken)
            losses.append((phase, loss))
            role = self.objective.role_of(phase)
            updated[role] = update_number(step, every)
            update_role(state.roles[role], recipe[role + ".optimizer"], len(taken.draws), gradients, step, updated[role])
        for role in averaged(state.roles, updated):
            table = recipe[role + ".optimizer"]
            update_averages(state.roles[role], decays(table), updated.get(role, step), table["ema_warmup"])
        state.step = step
        state.samples += len(taken.draws)
        self.digest = state.digest()
        every = recipe["evidence"]["commit_every"]
        commit = state.commit() if every and state.step % every == 0 else None
        every = recipe["run"]["validate_every"]
        validation = None
        if every and state.step % every == 0:
            validation = self.objective.validation(state, held_out(recipe, self.data))
        line, self.chain = ledger.line(self.chain, state.step, state.samples, losses, validation, before, self.digest,
                                       commit)
        return line
