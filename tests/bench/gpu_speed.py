"""What tools/gpu-check measures: our kernels and steps on a GPU beside PyTorch's."""
import gzip
import importlib.util
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPE = os.path.join(HERE, "gpu-unet.toml")


def require_pytorch(cannot_do):
    if importlib.util.find_spec("torch") is None:
        raise cannot_do("this Python has no PyTorch")


def pytorch(script, *arguments, cannot_do, timeout, given=None):
    """The JSON that a script of tests/bench/pytorch prints last; it ends with 4 where PyTorch has no GPU."""
    require_pytorch(cannot_do)
    environment = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8", PYTHONWARNINGS="ignore")
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "pytorch", script), *arguments], input=given, text=True,
                          capture_output=True, timeout=timeout, env=environment)
    if done.returncode == 4:
        raise cannot_do(done.stderr.strip())
    if done.returncode:
        raise AssertionError(done.stderr[-2000:])
    return json.loads([line for line in done.stdout.splitlines() if line.startswith(("{", "["))][-1])


def add_pytorch(rows, cannot_do, timeout):
    """Adds seconds of PyTorch's kernels, in fp32 and with TF32, to the rows of gpu_bench."""
    for row, seconds in zip(rows, pytorch("gpu_kernels.py", cannot_do=cannot_do, timeout=timeout, given=json.dumps(rows))):
        row.update(seconds)
    ratios = [row["fp32"] / row["seconds"] for row in rows if "fp32" in row]
    return f"median {statistics.median(ratios):.2f} of fp32" if ratios else "none of these"


def table(rows):
    """Markdown: rates, and ratios to PyTorch's; above 1 we are faster."""
    lines = ["| kernel | shape | rate | to fp32 | to TF32 |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        rate = f"{row['flops'] / row['seconds'] / 1e12:.1f} TFLOP/s" if "flops" in row else \
            f"{row['bytes'] / row['seconds'] / 1e9:.0f} GB/s"
        ratios = [f"{row[name] / row['seconds']:.2f}" if name in row else "" for name in ("fp32", "tf32")]
        lines.append(f"| {row['kernel']} | {row['shape']} | {rate} | {ratios[0]} | {ratios[1]} |")
    return lines


def write_pictures(folder):
    """Random pictures in Fashion-MNIST's files, for a machine without it."""
    draw = random.Random(1)
    with gzip.open(os.path.join(folder, "train-images-idx3-ubyte.gz"), "wb", compresslevel=1) as file:
        file.write(struct.pack(">4i", 0x803, 2048, 28, 28) + draw.randbytes(2048 * 28 * 28))
    with gzip.open(os.path.join(folder, "train-labels-idx1-ubyte.gz"), "wb", compresslevel=1) as file:
        file.write(struct.pack(">2i", 0x801, 2048) + bytes(draw.randrange(10) for _ in range(2048)))


def ours(program, device, data, warm_up, count, settings=()):
    """Seconds of the median step; those of the warm-up do not count."""
    with tempfile.TemporaryDirectory(prefix="gpu-speed-") as folder:
        run = os.path.join(folder, "run")
        program.ok("train", RECIPE, "--run", run, "--quiet", *device, "--set", f"data.path={data}",
                   "--set", f"run.steps={warm_up + count}", *(word for one in settings for word in ("--set", one)))
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            times = [json.loads(line)["time"] for line in file]
    return statistics.median(b - a for a, b in zip(times[warm_up - 1:], times[warm_up:]))


def quick_settings(quick):
    return ("batch.samples_per_lane=1", "model.channels=[8, 16, 16]", "model.embedding=16") if quick else ()


def steps(program, device, quick, native):
    """Steps a second of a U-Net that fills a GPU: in floats, in integer products, and, if it has them, with LibTorch's kernels."""
    (warm_up, count), told = (1, 1) if quick else (3, 8), []
    kinds = [("float", ()), ("integer", ("run.products=integer",))] + native * [("native", ("run.numerics=native",))]
    with tempfile.TemporaryDirectory(prefix="gpu-speed-") as data:
        write_pictures(data)
        for name, settings in kinds:
            try:
                rate = 1 / ours(program, device, data, warm_up, count, (*quick_settings(quick), *settings))
                told.append(f"{name} {rate:.2f}/s")
            except AssertionError as error:  # the others' numbers stay
                told.append(f"{name}: {error}")
    if any(": " in one for one in told):
        raise AssertionError(", ".join(told))
    return ", ".join(told)


def pytorch_steps(quick, cannot_do, timeout):
    """The same of PyTorch."""
    told, failed = [], False
    with tempfile.TemporaryDirectory(prefix="gpu-speed-") as data:
        write_pictures(data)
        for words in ((), ("--tf32",), ("--bf16",)):
            name = words[0][2:] if words else "fp32"
            try:
                done = pytorch("train.py", RECIPE, "--device", "cuda", "--data", data, "--steps", "2" if quick else "8",
                               "--channels-last", *words, cannot_do=cannot_do, timeout=timeout / 3)
                told.append(f"{name} {done['steps_per_s']:.2f}/s")
            except (AssertionError, subprocess.TimeoutExpired) as error:  # the others' numbers stay
                failed = True
                told.append(f"{name}: {error}")
    if failed:
        raise AssertionError(", ".join(told))
    return ", ".join(told)
