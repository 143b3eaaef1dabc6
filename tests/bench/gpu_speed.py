"""What tools/gpu-check measures: our kernels and steps on a GPU beside PyTorch's, and what they are to reach."""
import contextlib
import functools
import gzip
import importlib.util
import json
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile

from gpu_resume import LAST
from limited import CannotDo, Failed, dies_with_us

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPE = os.path.join(HERE, "gpu-unet.toml")
TINY = ("batch.lanes=2", "batch.samples_per_lane=1", "model.channels=[8, 8, 8]", "model.attention_levels=[2]", "model.blocks=1",
        "model.embedding=16")  # to try this program


def pytorch(check, script, *arguments, given=None):
    """The JSON that a script of tests/bench/pytorch prints last. Where PyTorch cannot do it, nothing of ours has failed."""
    if importlib.util.find_spec("torch") is None:
        raise CannotDo("this Python has no PyTorch")
    try:
        deterministic = {} if "--free" in arguments else {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        done = check.ended(sys.executable, "-B", os.path.join(HERE, "pytorch", script), *arguments, given=given, PYTHONWARNINGS="ignore",
                           **deterministic)
    except subprocess.TimeoutExpired as error:
        raise CannotDo(f"PyTorch was not done after {error.timeout:.0f} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise CannotDo("\n".join([lines[-1], *lines[-20:-1]]))  # the table has the first one
    found = [line for line in done.stdout.splitlines() if line.startswith(("{", "["))]
    if not found:
        raise CannotDo(f"PyTorch's {script} printed no result")
    return json.loads(found[-1])


def seconds_of(row):
    """The kernel's, in the mean of its runs."""
    return statistics.mean(row[name] for name in ("seconds", "again") if name in row)


def ratio(row, precision):
    """To PyTorch's. A product of integers has the rounding of its operands, too."""
    rounding = [row[name] for name in ("rounding", "rounding_again") if name in row]
    return row[precision] / (seconds_of(row) + (statistics.mean(rounding) if rounding else 0))


def add_again(rows, others):
    """What another run measured."""
    found = {(row["kernel"], row["shape"]): row for row in others}
    for row in rows:
        other = found.pop((row["kernel"], row["shape"]), {})
        row.update({to: other[name] for name, to in (("seconds", "again"), ("rounding", "rounding_again")) if name in other})
    rows.extend(found.values())  # which the first run did not come to


def add_pytorch(check, rows):
    """Adds seconds of PyTorch's kernels, in fp32 and with TF32, to the rows of gpu_bench."""
    for row, seconds in zip(rows, pytorch(check, "gpu_kernels.py", given=json.dumps(rows))):
        row.update(seconds)
    ratios = [ratio(row, "fp32") for row in rows if "fp32" in row]
    return f"median {statistics.median(ratios):.2f} of fp32" if ratios else "none of these"


def table(rows):
    """Markdown: rates, and ratios to PyTorch's; above 1 we are faster."""
    lines = ["Rates are of the kernel. Ratios of integer products have half of what rounding both operands takes, too: each rounded operand "
             "serves two products. PyTorch's operands are channels-last.", "",
             "| kernel | shape | rate | to fp32 | to TF32 |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        rate = f"{row['flops'] / seconds_of(row) / 1e12:.1f} TFLOP/s" if "flops" in row else \
            f"{row['bytes'] / seconds_of(row) / 1e9:.0f} GB/s"
        ratios = [f"{ratio(row, name):.2f}" if name in row else "" for name in ("fp32", "tf32")]
        lines.append(f"| {row['kernel']} | {row['shape']} | {rate} | {ratios[0]} | {ratios[1]} |")
    return lines


def write_pictures(folder):
    """Random pictures in Fashion-MNIST's files, for a machine without it."""
    draw = random.Random(1)
    with gzip.open(os.path.join(folder, "train-images-idx3-ubyte.gz"), "wb", compresslevel=1) as file:
        file.write(struct.pack(">4i", 0x803, 2048, 28, 28) + draw.randbytes(2048 * 28 * 28))
    with gzip.open(os.path.join(folder, "train-labels-idx1-ubyte.gz"), "wb", compresslevel=1) as file:
        file.write(struct.pack(">2i", 0x801, 2048) + bytes(draw.randrange(10) for _ in range(2048)))


def sets(*settings):
    """Arguments of `lockstep train`."""
    return [word for one in settings for word in ("--set", one)]


def train(check, run, place, *settings):
    """Trains the U-Net that fills a GPU, or with --quick a small one."""
    try:
        check.program.ok("train", RECIPE, "--run", run, "--quiet", *place, *sets(*settings, *(TINY if check.args.quick else ())))
    except AssertionError as error:
        if "and the GPU's memory leaves" not in str(error):
            raise
        raise CannotDo(str(error).splitlines()[-1]) from error  # a small GPU


def ours(check, data, *settings):
    """Seconds of steps, without those of the warm-up."""
    if "run.numerics=native" in settings:
        check.require_native()
    warm_up, count = (1, 1) if check.args.quick else (3, 8)
    with check.folder() as folder:
        run = os.path.join(folder, "run")
        train(check, run, check.gpu, f"data.path={data}", f"run.steps={warm_up + count}", *settings)
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            times = [json.loads(line)["time"] for line in file]
    return [b - a for a, b in zip(times[warm_up - 1:], times[warm_up:])]


def theirs(check, data, *words):
    """The same of PyTorch."""
    steps = "2" if check.args.quick else "8"
    return pytorch(check, "train.py", RECIPE, "--device", "cuda", "--data", data, "--steps", steps, *words)["seconds"]


# LibTorch computes a lane a call: a batch in one lane is what PyTorch's training computes.
NATIVE = ("run.numerics=native", "batch.lanes=1", "batch.samples_per_lane=256")
BF16 = "run.precision=bfloat16"

# Steps of a U-Net that fills a GPU: their name, who takes them, how. What is compared follows each other, lest the time ends between;
# ours come before PyTorch's and again behind them, lest a GPU that grows hot decides.
STEPS = (
    ("float", ours, ()),
    ("PyTorch fp32", theirs, ("--channels-last",)),
    ("PyTorch fp32, channels first", theirs, ()),
    ("float", ours, ()),
    ("integer", ours, ("run.products=integer",)),
    ("PyTorch TF32", theirs, ("--channels-last", "--tf32")),
    ("PyTorch TF32, channels first", theirs, ("--tf32",)),
    ("integer", ours, ("run.products=integer",)),
    ("native bf16", ours, (*NATIVE, BF16)),
    ("PyTorch bf16", theirs, ("--channels-last", "--bf16")),
    ("PyTorch bf16, channels first", theirs, ("--bf16",)),
    ("native bf16", ours, (*NATIVE, BF16)),
    ("native bf16 of 8 lanes", ours, ("run.numerics=native", BF16)),
    ("native fp32", ours, NATIVE),
    ("PyTorch TF32, free", theirs, ("--channels-last", "--tf32", "--free")),  # not judged: other bits each time
    ("PyTorch bf16, free", theirs, ("--channels-last", "--bf16", "--free")),
)


ASKED = "clocks.sm,clocks.mem,temperature.gpu,power.draw,utilization.gpu,memory.used,clocks_event_reasons.active"


def of_driver(asked):
    """What nvidia-smi says of each GPU."""
    try:
        process = subprocess.Popen(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=dies_with_us)
        out = process.communicate(timeout=20)[0]
    except OSError as error:
        raise CannotDo(f"nvidia-smi: {error}") from error
    except subprocess.TimeoutExpired as error:
        process.kill()  # and not waited for: a driver that hangs may keep it for ever
        raise CannotDo(f"nvidia-smi: {error}") from error
    if process.returncode:
        raise CannotDo(f"nvidia-smi: {out.strip()}")
    return out.strip().split("\n")


@functools.cache
def takes_one_process():
    """Why two processes cannot share a GPU; "" where they can, or nobody says so."""
    with contextlib.suppress(CannotDo):
        if "Exclusive_Process" in of_driver("compute_mode"):
            return "a GPU here takes one process at a time (nvidia-smi --compute-mode)"
    return ""


def state_of_gpu():
    """Clocks and load, as the driver tells them: others may use it, and it may be hot."""
    return f"{ASKED}: {'; '.join(of_driver(ASKED))}"


class Watch:
    """The GPUs' clocks and what holds them back, once a second while something runs."""

    def __enter__(self):
        self.printed = tempfile.TemporaryFile("w+")
        try:
            self.process = subprocess.Popen(["nvidia-smi", "--query-gpu=clocks.sm,clocks_event_reasons.active", "--loop=1",
                                             "--format=csv,noheader,nounits"], stdout=self.printed, stderr=subprocess.STDOUT,
                                            preexec_fn=dies_with_us)
        except OSError as error:
            self.process, self.lacks = None, f"nvidia-smi: {error}"
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # a driver that hangs may keep it for ever
                self.process.wait(timeout=5)

    def told(self):
        """How often each reason held, and with which clocks. 0x1 is an idle GPU."""
        if not self.process:
            raise CannotDo(self.lacks)
        self.printed.seek(0)
        seen = {}
        for clock, reasons in re.findall(r"^(\d+), (0x[0-9a-fA-F]+)$", self.printed.read(), re.MULTILINE):
            seen.setdefault(f"0x{int(reasons, 16):x}", []).append(int(clock))
        if not seen:
            raise CannotDo("nvidia-smi told no clocks")
        return "reasons that held clocks back: " + "; ".join(f"{reasons}: {len(clocks)} times, {min(clocks)} to {max(clocks)} MHz"
                                                             for reasons, clocks in sorted(seen.items()))


def measure(check):
    def kernels_of_ours():
        try:
            lines = check.run(check.helper("gpu_bench"), *(["--quick"] if check.args.quick else []))
        except (Failed, subprocess.TimeoutExpired) as error:  # what it measured before stays
            check.speed = check.speed or [json.loads(line) for line in error.printed.splitlines() if line.endswith("}")]
            if "no memory left" in str(error):
                raise CannotDo("the GPU has no memory left") from error
            raise
        found = [json.loads(line) for line in lines.splitlines()]
        add_again(check.speed, found)
        return f"{len(found)} kernels"

    check.row("speed", "the GPU before", state_of_gpu)
    with Watch() as watch, tempfile.TemporaryDirectory(prefix="gpu-check-") as data:
        check.row("speed", "gpu_bench", kernels_of_ours)
        if check.speed:
            check.row("speed", "PyTorch's kernels", lambda: add_pytorch(check, check.speed))
            if any("fp32" in row for row in check.speed):
                check.row("speed", "gpu_bench, again", kernels_of_ours)
        write_pictures(data)
        tried = set()
        for name, measured, words in STEPS:
            def steps(name=name, measured=measured, words=words):
                seconds = measured(check, data, *words)
                assert seconds, "no step was measured"
                check.step_seconds.setdefault(name, []).extend(seconds)
                return f"{1 / statistics.median(seconds):.2f}/s"

            check.row("speed", f"steps, {name}{', again' if name in tried else ''}", steps)
            tried.add(name)
    check.row("speed", "the GPU meanwhile", watch.told, timeless=True)
    check.row("speed", LAST, state_of_gpu)


def targets(rows, steps):
    """What is to be reached of PyTorch's speed: the ratio (None: not measured; of kernels that of the slowest), the least that is
    asked, and whether it is met."""
    def step(one, *others):
        """To the fastest of the others, all of which are needed."""
        return steps[one] / max(map(steps.get, others)) if all(name in steps for name in (one, *others)) else None

    def kernels(pattern, precision):
        return min((ratio(row, precision) for row in rows
                    if precision in row and re.fullmatch(pattern, f"{row['kernel']} {row['shape']}")), default=None)

    found = (
        ("float step, to PyTorch fp32 in the faster layout", step("float", "PyTorch fp32", "PyTorch fp32, channels first"), 0.8),
        ("float GEMM that fills a GPU, to cuBLAS's SGEMM", kernels("gemm (4096|8192)", "fp32"), 0.85),
        ("integer step, to PyTorch TF32", step("integer", "PyTorch TF32", "PyTorch TF32, channels first"), 0.8),
        ("integer convolutions, to PyTorch TF32", kernels("integer_conv2d.* by 3", "tf32"), 0.8),
        ("integer GEMM (linear layer), to PyTorch TF32", kernels("integer_conv2d.* by 1", "tf32"), 1.0),
        ("native bf16 step, to PyTorch bf16", step("native bf16", "PyTorch bf16", "PyTorch bf16, channels first"), 0.95),
    )
    return [{"target": name, "ratio": ratio, "least": least,
             "result": "not measured" if ratio is None else "met" if ratio >= least else "not met"} for name, ratio, least in found]


def table_of_targets(found):
    lines = ["PyTorch computes eagerly, by deterministic algorithms; its steps in the faster layout. Ours are before and behind it.", "", "| target | ratio | at least | |", "| --- | --- | --- | --- |"]
    for one in found:
        ratio = "" if one["ratio"] is None else f"{one['ratio']:.3f}"
        lines.append(f"| {one['target']} | {ratio} | {one['least']} | {one['result']} |")
    return lines
