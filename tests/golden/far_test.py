"""The golden bytes on a device whose memory the host cannot read (tests/support/far_device).

Usage: far_test.py PROGRAM FAR_PROGRAM RECIPE [all]
FAR_PROGRAM is the program on that device. It trains, exchanges between ranks, digests, saves,
resumes, samples, replays and traces: each time with the bytes that the CPU gives. Without `all`,
runs end at the recipe's first checkpoint.
"""

import os
import sys
import tempfile

import golden


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def shorter(name, end):
    """Pictures are golden at a recipe's end only."""
    return () if end == golden.steps_of(name) else ("--set", f"run.steps={end}", "--set", "samples.count=0")


def require(name, run, end):
    golden.require(name, run, None if end == golden.steps_of(name) else end)


def relay(first, second, name, run, end):
    """Begun by several ranks of one program, continued in portions by the other."""
    half = end // 2
    golden.train(first, name, run, "--set", "samples.count=0", "--ranks", 3, "--shard", "optimizer",
                 "--threads", 1, steps=half)
    second.ok("train", golden.recipe(name), "--run", run, "--quiet", "--lanes-at-once", 1, "--threads", 2,
              *shorter(name, end))
    second.ok("replay", run, "--from", half + 1, "--to", half + 2, "--quiet")  # from the checkpoint
    golden.drop_end(name, run, half)
    require(name, run, end)


def same_samples(cpu, far, run, folder):
    """As numbers: the host makes pictures of them."""
    made = {}
    for which, program in (("cpu", cpu), ("far", far)):
        made[which] = os.path.join(folder, f"{which}.npz")
        program.ok("sample", run, "--count", 3, "--out", made[which])
    assert bytes_of(made["cpu"]) == bytes_of(made["far"]), "samples differ"


def same_evaluation(cpu, far, run):
    """Of a classifier, which makes no samples."""
    told = [program.ok("eval", run, "--samples", 50, "--quiet", "--json") for program in (cpu, far)]
    assert told[0] == told[1], "evaluations differ"


def same_trace(cpu, far, run, folder):
    traces = []
    for which, program in (("cpu", cpu), ("far", far)):
        traces.append(os.path.join(folder, f"{which}.jsonl"))
        program.ok("trace", run, traces[-1], "--step", 2, "--quiet")
    ours, theirs = (bytes_of(path).splitlines()[1:] for path in traces)  # the first says where it ran
    assert len(ours) > 20 and ours == theirs, "traces differ"


def same_native_numerics(cpu, far, name, folder, precision):
    """LibTorch's kernels work in the device's memory: here those of the CPU."""
    ledgers = []
    for which, program, more in (("cpu", cpu, ()), ("far", far, ()), ("ranks", far, ("--ranks", 2))):
        run = os.path.join(folder, f"{precision}-{which}")
        program.ok("train", golden.recipe(name), "--run", run, "--quiet", "--set", "run.numerics=native", "--set",
                   f"run.precision={precision}", "--set", "run.products=float", "--set", "run.steps=2", "--set",
                   "samples.count=0", *more)
        ledgers.append(bytes_of(os.path.join(run, "ledger.jsonl")))
    assert ledgers[0] == ledgers[1] == ledgers[2], f"native numerics differ, {precision}"


def main():
    cpu, far, name = golden.Program(sys.argv[1]), golden.Program(sys.argv[2]), sys.argv[3]
    end = golden.steps_of(name) if sys.argv[4:] == ["all"] else golden.checkpoints_of(name)[0]
    far.timeout = 7200  # an emulated grid takes minutes; CTest ends what hangs on the far device sooner
    with tempfile.TemporaryDirectory(prefix="lockstep-far-") as folder:
        run = os.path.join(folder, "run")
        far.ok("train", golden.recipe(name), "--run", run, "--quiet", *shorter(name, end))
        require(name, run, end)
        relay(far, cpu, name, os.path.join(folder, "far-first"), end)
        relay(cpu, far, name, os.path.join(folder, "cpu-first"), end)
        if name == "classifier":
            same_evaluation(cpu, far, run)
        else:
            same_samples(cpu, far, run, folder)
        same_trace(cpu, far, run, folder)
        for precision in ("float32", "bfloat16") if name == "dit" else ("float32",):
            same_native_numerics(cpu, far, name, folder, precision)
    print(f"{name} on the far device: every byte is the golden one")


if __name__ == "__main__":
    main()
