"""Negative controls of options: one broken rule each; a loss or a state must differ."""
import optimizers
import schedules


def intervals_rounded():
    """The rate falls in the middle of an interval."""
    intervals = schedules.intervals
    schedules.intervals = lambda t, warmup, interval, whole: (
        float(round((t - warmup) / interval)) if whole else intervals(t, warmup, interval, whole))


def lr_unscaled():
    schedules.peak = lambda lr, *_: lr


def decay_everything():
    optimizers.decays = lambda table, parameter: True


def nesterov_unfused():
    optimizers.nesterov = lambda momentum, u, g: momentum * u + g


def values_unclipped():
    optimizers.clipped_by_value = lambda gradients, limit: gradients


BREAKS = {rule.__name__.replace("_", "-"): rule for rule in (
    intervals_rounded, lr_unscaled, decay_everything, nesterov_unfused, values_unclipped)}
