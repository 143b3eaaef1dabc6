"""How the programs that are measured are called, and what one call gives."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTORCH = os.path.join(TOP, "tests/bench/pytorch")
WARM_UP = 2  # steps of ours that do not count


class Programs:
    """binaries: the folder of lockstep, kernels_bench and so on; work: a folder for runs and caches, on a real disk."""

    def __init__(self, binaries, work):
        self.binaries, self.work = binaries, work
        os.makedirs(work, exist_ok=True)

    def binary(self, name):
        return os.path.join(self.binaries, name)

    def call(self, command, **options):
        return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout

    def knows(self, recipe, *settings):
        """Does this program know these keys?"""
        command = [self.binary("lockstep"), "train", recipe, "--dry-run", "--json"]
        return subprocess.run([*command, *(f"--set={s}" for s in settings)], capture_output=True).returncode == 0

    def train(self, recipe, settings=(), steps=1, threads=1, ranks=1, extra=()):
        """Seconds of the median step, from line to line of metrics.jsonl: with evidence; peak memory of the process."""
        folder = tempfile.mkdtemp(dir=self.work)
        try:
            command = [self.binary("lockstep"), "train", recipe, "--run", os.path.join(folder, "run"), "--quiet",
                       "--threads", str(threads), "--set", f"run.steps={WARM_UP + steps if steps else 0}", *extra]
            command += ["--ranks", str(ranks)] if ranks > 1 else []
            for setting in ("samples.count=0", "checkpoint.every=0", *settings):
                command += ["--set", setting]  # of two for one key the later one counts
            with open(os.path.join(folder, "errors"), "w+") as errors:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                errors.seek(0)
                if process.returncode:
                    raise subprocess.CalledProcessError(process.returncode, command, stderr=errors.read())
            found = {"peak_bytes": usage.ru_maxrss * 1024}
            if steps:
                with open(os.path.join(folder, "run", "metrics.jsonl")) as file:
                    times = [json.loads(line)["time"] for line in file]
                found["seconds"] = statistics.median(b - a for a, b in zip(times[WARM_UP - 1:], times[WARM_UP:]))
            return found
        finally:
            shutil.rmtree(folder)

    def tensors(self, recipe):
        """Shapes of the networks' parameters by name."""
        folder = tempfile.mkdtemp(dir=self.work)
        try:
            run = os.path.join(folder, "run")
            self.call([self.binary("lockstep"), "train", recipe, "--run", run, "--quiet", "--set", "run.steps=1",
                       "--set", "batch.lanes=1", "--set", "batch.samples_per_lane=1", "--set", "samples.count=0"])
            shown = json.loads(self.call([self.binary("lockstep"), "inspect", "--json",
                                          os.path.join(run, "checkpoints/step-00000001.h5")]))
            return {name: shape for name, shape in shown["tensors"].items() if name.split("/")[1] == "param"}
        finally:
            shutil.rmtree(folder)

    def settings_of(self, recipe):
        return json.loads(self.call([self.binary("lockstep"), "train", recipe, "--dry-run", "--json"]))

    def pytorch(self, script, *arguments, threads=1, given=None):
        """The JSON line that a script of tests/bench/pytorch prints last."""
        environment = dict(os.environ, PYTHONPATH=os.path.join(TOP, ".deps/bench"), OMP_NUM_THREADS=str(threads),
                           TORCHINDUCTOR_CACHE_DIR=os.path.join(self.work, "inductor"), PYTHONWARNINGS="ignore")
        out = self.call(["python3", os.path.join(PYTORCH, script), *map(str, arguments)], env=environment, input=given)
        return json.loads([line for line in out.splitlines() if line.startswith("{")][-1])
