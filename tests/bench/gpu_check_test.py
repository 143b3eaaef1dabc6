"""tools/gpu-check on emulated and interpreted GPUs, on one with a broken kernel, without any, and with stand-ins for programs and PyTorch.

usage: gpu_check_test.py BINARIES [unittest's arguments]
"""
import argparse
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARIES = os.path.abspath(sys.argv.pop(1))
TOOL = os.path.join(TOP, "tools/gpu-check")
PYTHON = f"{sys.executable} -IS"  # of stand-ins, which are started hundreds of times: not by way of a version manager, without packages
sys.path.insert(0, os.path.join(TOP, "tests/bench/pytorch"))
import machine  # noqa: E402
import stretch  # noqa: E402

# A `lockstep` that notes who calls it. Its steps take SECONDS; with several ranks, HANG begins one and waits for it.
LOCKSTEP = """
import json, os, subprocess, sys, time
words = sys.argv[1:]
with open({log!r}, "a") as file:
    file.write(json.dumps(["lockstep", words, dict(os.environ)]) + "\\n")
if words[0] == "fingerprint":
    print('{{"device": "a stand-in"}}')
if words[0] == "train":
    if {hang} and words[words.index("--ranks") + 1] != "1":
        rank = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(1000)"
        rank = subprocess.Popen([sys.executable, "-c", rank], stdout=subprocess.PIPE, process_group=0)
        rank.stdout.readline()
        run = words[words.index("--run") + 1]
        os.makedirs(run)
        with open(os.path.join(run, "ledger.jsonl"), "w") as file:
            file.write("what it had")
        with open({log!r} + ".pid.new", "w") as file:
            file.write(str(rank.pid))
        os.rename({log!r} + ".pid.new", {log!r} + ".pid")
        rank.wait()
    time.sleep({sleep})
    run = words[words.index("--run") + 1]
    os.makedirs(run)
    open(os.path.join(run, "ledger.jsonl"), "w").close()
    seconds = 0.5 if "run.precision=bfloat16" in words else 0.25 if "run.products=integer" in words else 0.125
    if {uncaptured} and "run.numerics=native" not in words:
        print("warning: a step's calls are not captured, which is slower: why", file=sys.stderr)
    with open(os.path.join(run, "metrics.jsonl"), "w") as file:
        file.writelines(json.dumps({{"time": seconds * i, "gradient_norm": {{"denoise": 1}}}}) + "\\n" for i in range(11))
"""
# A `lockstep` of two GPUs that leaves the golden ledgers, of other recipes always the same; where ODD holds of its words, other ones.
TRAINED = """
import json, os, sys
words = sys.argv[1:]
with open({log!r}, "a") as file:
    file.write(json.dumps(["lockstep", words, dict(os.environ)]) + "\\n")
if words[0] == "fingerprint":
    print(json.dumps({{"device": "a stand-in", **({{"gpu": "one"}} if "--device" in words else {{"gpu.0": "one", "gpu.1": "another"}})}}))
if words[0] == "train":
    run, golden = words[words.index("--run") + 1], os.path.join({top!r}, "tests/golden", os.path.basename(words[1])[:-5] + ".ledger.jsonl")
    steps = int(next(word for word in reversed(words) if word.startswith("run.steps="))[10:])
    os.makedirs(run, exist_ok=True)
    lines = open(golden).readlines()[:steps + 1] if os.path.exists(golden) and "run.numerics=native" not in words else ["its own\\n"]
    with open(os.path.join(run, "metrics.jsonl"), "w") as file:
        for step in range(steps):  # that one is far away in the last step
            norm = 3 * (float({far}) if "run.numerics=native" in words and step == steps - 1 else 1)
            file.write(json.dumps({{"gradient_norm": {{"denoise": norm}}}}) + "\\n")
    lines += [word + "\\n" for word in words if "run.precision=" in word]
    if {odd}:
        lines[-1] = "other bits\\n"
    with open(os.path.join(run, "ledger.jsonl"), "w") as file:
        file.writelines(lines)
    if "--device" in words and {uncaptured}:
        print("warning: a step's calls are not captured, which is slower: why", file=sys.stderr)
    with open(os.path.join(run, "log.txt"), "w") as file:
        file.write("the calls of denoise are captured\\n" if {captured} else "nothing\\n")
"""
# Whoever imports it has the numbers that it would measure.
TORCH = """
import json, os, sys
script = os.path.basename(sys.argv[0])
with open({log!r}, "a") as file:
    file.write(json.dumps([script, sys.argv[1:], dict(os.environ)]) + "\\n")
if script == "gpu_kernels.py":
    print(json.dumps([{{"fp32": 0.86, "tf32": 0.7}} for row in json.load(sys.stdin)]))
else:
    rate = 4 if "--bf16" in sys.argv else 5 if "--tf32" in sys.argv else 10 if "--channels-last" in sys.argv else 12
    print(json.dumps({{"seconds": [1 / rate]}}))
sys.exit(0)
"""
GPU_BENCH = """
import json, os
with open({log!r}, "a") as file:
    file.write(json.dumps(["gpu_bench", [], dict(os.environ)]) + "\\n")
with open({log!r}) as file:
    hot = 1.1 if sum(json.loads(line)[0] == "gpu_bench" for line in file) > 1 else 1
for kernel, shape, seconds in (
        ("gemm", "1024", 9), ("gemm", "4096", 1), ("gemm", "8192", 1.01), ("conv2d", "8x512x1x4096 to 4096 by 1", 9),
        ("integer_conv2d", "128x32x32x128 to 128 by 3", 0.8), ("integer_conv2d_weight_grad", "8x512x1x4096 to 4096 by 1", 0.5)):
    rounding = {{"rounding": 0.1}} if kernel == "integer_conv2d" else {{}}
    print(json.dumps({{"kernel": kernel, "shape": shape, "seconds": seconds * hot, "flops": 1, **rounding}}))
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def binary(name):
    return os.path.join(BINARIES, name)


def gpu_check():
    """The tool as a module."""
    loader = importlib.machinery.SourceFileLoader("gpu_check", TOOL)
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(tool)
    return tool


def runs(process):
    """One that has ended may still have a number, until its parent asks."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


STEPS = tuple(f"steps, {name}" for name in ("float", "float, again", "integer", "integer, again", "native bf16", "native bf16, again",
                                            "native bf16 of 8 lanes", "native fp32"))


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu-check-test-")
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "found.json")

    def check(self, program, *words, **environment):
        """Exit code, what it printed, the JSON, the page. Its limits are for GPUs: an emulated one on a slow, busy machine is no hang."""
        done = subprocess.run([sys.executable, "-B", TOOL, "--program", binary(program), "--out", self.out, "--seconds", "7200", "--longest",
                               "3600", *words],
                              capture_output=True, text=True, env={**os.environ, **environment})
        with open(self.out, encoding="utf-8") as file:
            found = json.load(file)
        with open(self.out[:-5] + ".md", encoding="utf-8") as file:
            return done.returncode, done.stdout + done.stderr, found, file.read()

    def test_an_emulated_gpu_holds(self):
        code, said, found, page = self.check("lockstep_gpu", "--conformance", binary("conformance_gpu"), "--golden",
                                             "classifier,r1-gan", "--steps", "2", "--quick", KERNELS_ARE_KNOWN="1")
        self.assertEqual(code, 0, said)
        results = {(row["part"], row["check"]): row["result"] for row in found["checks"]}
        self.assertEqual([name for name, result in results.items() if result == "FAILS"], [])
        for name in (("kernels", "docs/conformance.json"), ("golden", "classifier"), ("golden", "r1-gan, moving"),
                     ("native", "float32"), ("native", "tf32"), ("native", "bfloat16"), ("ranks", "Gloo, ranks that share the GPUs"),
                     ("networks", "r1-gan"), ("golden", "captured steps"), ("golden", "large tiles, float"),
                     ("golden", "large tiles, integer"),
                     *(("speed", name) for name in STEPS)):
            self.assertEqual(results[name], "holds", said)
        self.assertEqual(results["ranks", "NCCL"], "not done")
        self.assertIn("| golden | r1-gan, moving | holds: GPU, CPU, GPU |", page)
        self.assertNotIn("NOT FINISHED", page)
        self.assertTrue(found["finished"])
        self.assertIn("--golden classifier,r1-gan --steps 2 --quick", page.splitlines()[0])
        facts = [json.loads(subprocess.run([binary(name), "fingerprint", "--json"], check=True, capture_output=True).stdout)
                 for name in ("lockstep_gpu", "lockstep")]  # not told
        self.assertEqual(facts[0]["self_test"], facts[1]["self_test"])

    def test_without_data_networks_are_tried_all_the_same(self):
        code, said, found, _ = self.check("lockstep", "--device", "cpu", "--data", "/nowhere", "--golden", "ddpm,toy-gan,sngan,edm",
                                          "--steps", "2", "--only", "golden", "--only", "native", "--only", "ranks")
        self.assertEqual(code, 0, said)
        details = {row["check"]: (row["result"], row["detail"].split(",")[0]) for row in found["checks"]}
        self.assertEqual(details["ddpm"], ("not done", "its data are not here: /nowhere"))
        self.assertEqual([name for name in details if "moving" in name], ["edm, moving", "sngan, moving"])
        self.assertEqual({details[name] for name in ("float32", "tf32", "bfloat16", "Gloo, ranks that share the GPUs")}, {("holds", "edm")})
        self.assertEqual(next(row["detail"] for row in found["checks"] if row["part"] == "ranks"), "edm, sngan, 2 ranks")

    def test_data_may_lie_elsewhere(self):
        elsewhere = os.path.join(os.path.dirname(self.out), "data")
        os.symlink("/usr/share/datasets/fashion-mnist", elsewhere)
        code, said, found, _ = self.check("lockstep", "--device", "cpu", "--data", elsewhere, "--golden", "ddpm", "--steps", "2", "--only",
                                          "golden")
        self.assertEqual(code, 0, said)
        self.assertEqual([row["result"] for row in found["checks"] if row["check"].startswith("ddpm")], ["holds", "holds"], said)

    def test_a_broken_kernel_is_seen_everywhere(self):
        code, said, found, _ = self.check("lockstep_broken_fma_order", "--device", "cpu", "--conformance", binary("conformance_broken"),
                                          "--golden", "classifier", "--only", "kernels", "--only", "golden")
        self.assertEqual(code, 1, said)
        failed = {row["check"]: row["detail"] for row in found["checks"] if row["result"] == "FAILS"}
        self.assertEqual(set(failed), {"doctor", "docs/conformance.json", "classifier", "classifier, its steps not captured",
                                       "classifier, moving"})
        self.assertIn("cases differ", failed["docs/conformance.json"])

    def stand_in(self, name, script, interpreter="/bin/sh"):
        """A folder with a program of that name."""
        folder = os.path.dirname(self.out)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!{interpreter}\n" + script)
        os.chmod(path, 0o755)
        return folder

    def lockstep(self, hang=False, sleep=0, uncaptured=False):
        """LOCKSTEP, and a gpu_bench beside it."""
        self.stand_in("gpu_bench", GPU_BENCH.format(log=self.out + ".log"), PYTHON)
        folder = self.stand_in("lockstep", LOCKSTEP.format(log=self.out + ".log", hang=hang, sleep=sleep,
                                                                     uncaptured=uncaptured), PYTHON)
        return os.path.join(folder, "lockstep")

    def pytorch(self, version, **modules):
        """PYTHONPATH with TORCH, and with other modules."""
        folder = os.path.join(os.path.dirname(self.out), "site")
        os.makedirs(os.path.join(folder, "torch/lib"), exist_ok=True)
        os.makedirs(os.path.join(folder, f"torch-{version}.dist-info"), exist_ok=True)
        texts = {"torch/__init__": TORCH.format(log=self.out + ".log"), **modules}
        for name, text in texts.items():
            with open(os.path.join(folder, name + ".py"), "w", encoding="ascii") as file:
                file.write(text)
        with open(os.path.join(folder, f"torch-{version}.dist-info/METADATA"), "w", encoding="ascii") as file:
            file.write(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        return folder

    def calls(self):
        """Of stand-ins: [name, arguments, environment]."""
        with open(self.out + ".log", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def failing(self, found):
        return {row["check"] for row in found["checks"] if row["result"] == "FAILS"}

    def trainer(self, odd="False", uncaptured="False", far=1, captured=True):
        """TRAINED."""
        text = TRAINED.format(log=self.out + ".log", top=TOP, odd=odd, uncaptured=uncaptured, far=far, captured=captured)
        return os.path.join(self.stand_in("lockstep", text, PYTHON), "lockstep")

    def trained(self, odd="False", uncaptured="False", far=1, captured=True):
        """Calls of TRAINED, and results by check."""
        program = self.trainer(odd=odd, uncaptured=uncaptured, far=far, captured=captured)
        _, said, found, _ = self.check(program, "--golden", "edm,sngan", "--steps", "3", "--quick", "--only", "golden", "--only", "native",
                                       "--only", "ranks", CUDA_VISIBLE_DEVICES="0,1", PYTHONPATH=self.pytorch("2.11.0"))
        return self.calls(), {row["check"]: row["result"] for row in found["checks"] if row["part"] != "device"}, said

    def resumed(self, *words, only=("golden",), data="/nowhere"):
        """Exit code, what is printed, results by check, and the recipes that were trained meanwhile. It keeps to golden."""
        program = os.path.join(os.path.dirname(self.out), "lockstep")
        if not os.path.exists(program):
            self.trainer()
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.out + ".log")
        code, said, found, _ = self.check(program, "--golden", "edm,sngan,ddpm", "--steps", "3", "--data", data, "--resume", *words,
                                          *(word for name in only for word in ("--only", name)), PYTHONPATH=self.pytorch("2.11.0"))
        calls = self.calls() if os.path.exists(self.out + ".log") else []
        trained = {os.path.basename(words[1])[:-5] for _, words, _ in calls if words[0] == "train"}
        return code, said, {(row["part"], row["check"]): row["result"] for row in found["checks"]}, trained

    def test_a_call_goes_on_from_an_earlier_one(self):
        code, said, results, trained = self.resumed()
        self.assertEqual(code, 0, said)
        self.assertEqual((results["golden", "sngan"], results["golden", "ddpm"]), ("holds", "not done"))
        self.assertEqual(trained, {"edm", "sngan", "gpu-unet"})
        # What was not done is, another part is added, and the rest stays.
        code, said, results, trained = self.resumed(only=("golden", "native"), data=self.pictures())
        self.assertEqual(code, 0, said)
        self.assertEqual((results["golden", "ddpm"], results["golden", "sngan"], results["native", "precisions"]), ("holds",) * 3, said)
        self.assertIn("holds     golden   sngan: in an earlier call\n", said)
        self.assertEqual(trained, {"ddpm", "edm"}, "edm natively")
        self.assertEqual(said.count("captured steps: those of 3 recipes were"), 1, said)
        # Then all is done; rows of parts that nobody asks for stay, too.
        _, said, again, trained = self.resumed(only=("native",))
        self.assertEqual((again, trained), (results, set()), said)

    def test_what_failed_stays_failed(self):
        self.trainer(odd="'golden/sngan.toml' in words[1]")
        keep = os.path.join(os.path.dirname(self.out), "keep")
        os.mkdir(keep)
        code, said, first, _ = self.resumed("--keep", keep)
        self.assertEqual((code, first["golden", "sngan"]), (1, "FAILS"), said)
        kept = os.listdir(keep)
        self.assertGreater(len(kept), 0)
        os.mkdir(os.path.join(keep, "gpu-check-run-of-a-call-that-was-killed"))
        code, said, second, trained = self.resumed("--keep", keep)
        self.assertEqual((code, second, trained), (1, first, set()), said)
        self.assertEqual(sorted(os.listdir(keep)), sorted(kept))

    def test_what_the_time_ended_in_has_not_hung(self):
        program, words = self.lockstep(sleep=10), ("--only", "golden", "--golden", "edm", "--steps", "2", "--quick", "--resume")
        code, said, found, _ = self.check(program, *words, "--seconds", "3")
        self.assertEqual((found["hung"], [row["check"] for row in found["checks"] if row["result"] == "FAILS"]), ([], []), said)
        self.assertRegex(said, "there was no time for [1-9]")

    def test_a_call_that_was_killed_claims_nothing_whole(self):
        program = self.trainer()
        with open(os.path.join(os.path.dirname(program), "commit.txt"), "w", encoding="ascii") as file:
            file.write(machine.commit(TOP) + "\n")
        site, named = self.pytorch("2.11.0"), " " not in machine.commit(TOP) and machine.commit(TOP) != "unknown"
        self.check(program, "--only", "native", "--resume", PYTHONPATH=site)
        for killed in (False, True):
            with open(self.out, encoding="utf-8") as file:
                found = json.load(file)
            if killed:
                found["walked"], found["checks"] = [], [row for row in found["checks"] if row["check"] != "tf32"]
                with open(self.out, "w", encoding="utf-8") as file:
                    json.dump(found, file)
            _, said, found, _ = self.check(program, "--only", "networks", "--resume", PYTHONPATH=site)
            self.assertEqual(found["whole"], [*([] if killed else ["native"]), "networks"] if named else [], said)

    def test_it_goes_on_from_nothing_else(self):
        self.resumed()
        before = read(self.out)
        def refused(why, *words):
            code, said, _, trained = self.resumed(*words)
            self.assertEqual((code, trained), (2, set()), said)
            self.assertRegex(said, why + ".*; give another --out\n$")
            self.assertEqual(read(self.out), before)
        refused("of another choice: steps was 3, and is 2", "--steps", "2")
        lines = before.decode()
        for other, why in ((lines.replace(self.sources(), "f" * 40), f"of sources of {'f' * 40}"),
                           (lines.replace('"a stand-in"', '"another GPU"'), "of another GPU, and this is a stand-in"),
                           ("[]", "no file that this gpu-check wrote")):
            with open(self.out, "w", encoding="utf-8") as file:
                file.write(other)
            before = other.encode()
            self.assertNotEqual(lines, other)
            if other == "[]":
                program = os.path.join(os.path.dirname(self.out), "lockstep")
                done = subprocess.run([TOOL, "--program", program, "--out", self.out, "--resume"], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, read(self.out)), (2, before))
                self.assertIn(why, done.stderr)
                continue
            refused(why)
        with open(self.out, "w", encoding="utf-8") as file:
            file.write(lines)
        before = lines.encode()
        with open(os.path.join(os.path.dirname(self.out), "lockstep"), "a", encoding="ascii") as file:
            file.write("# other bytes\n")
        refused("of another /.*/lockstep")

    def test_speed_is_measured_in_one_call(self):
        program, words = self.lockstep(), ("--only", "speed", "--golden", "edm,sngan", "--resume")
        _, said, first, page = self.check(program, *words, PYTHONPATH=self.pytorch("2.11.0"))
        measured = len(self.calls())
        _, said, second, again = self.check(program, *words, PYTHONPATH=self.pytorch("2.11.0"))
        called = {(name, *words[:1]) for name, words, _ in self.calls()[measured:]}
        self.assertEqual(called, {("lockstep", "fingerprint"), ("lockstep", "doctor")}, said)
        self.assertEqual((second["targets"], second["speed"]), (first["targets"], first["speed"]), said)
        self.assertEqual(page.splitlines()[-8:], again.splitlines()[-8:])
        # Killed before its end, all of it is measured again.
        second["checks"] = [row for row in second["checks"] if row["check"] != "the GPU after"]
        with open(self.out, "w", encoding="utf-8") as file:
            json.dump(second, file)
        measured = len(self.calls())
        _, said, third, _ = self.check(program, *words, "--only", "networks", PYTHONPATH=self.pytorch("2.11.0"))
        self.assertLess(said.index(" networks sngan"), said.index(" speed    gpu_bench"), "it may never come to its end")
        self.assertIn("gpu_bench", [name for name, _, _ in self.calls()[measured:]])
        self.assertEqual({name: len(seconds) for name, seconds in third["step_seconds"].items()},
                         {name: len(seconds) for name, seconds in first["step_seconds"].items()})

    def test_a_program_that_does_not_start_is_told_once(self):
        folder = self.stand_in("lockstep", "echo 'x: error while loading shared libraries: libtorch_cpu.so' >&2; exit 127")
        code, said, found, _ = self.check(os.path.join(folder, "lockstep"))
        self.assertEqual(code, 4, said)
        self.assertEqual({row["result"] for row in found["checks"] if row["check"] == "all"}, {"not done"})
        # A call that finds a GPU has no row of that.
        self.trainer()
        found["programs"] = {}
        with open(self.out, "w", encoding="utf-8") as file:
            json.dump(found, file)
        _, said, found, _ = self.check(os.path.join(folder, "lockstep"), "--resume", "--only", "native")
        self.assertEqual([row["check"] for row in found["checks"] if row["check"] == "all"], [], said)

    def sources(self):
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)["sources"]

    def pictures(self):
        """A folder that has Fashion-MNIST's files by name: a stand-in reads none."""
        folder = os.path.join(os.path.dirname(self.out), "pictures")
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, "train-images-idx3-ubyte"), "w", encoding="ascii").close()
        return folder

    def test_each_check_computes_where_its_row_says(self):
        calls, results, said = self.trained()
        self.assertEqual(set(results.values()), {"holds"}, said)
        value = lambda words, option: words[words.index(option) + 1] if option in words else None
        def trained(*among, recipe):
            return [(value(words, "--device"), value(words, "--ranks"), environment.get("LOCKSTEP_TRANSPORT")) for _, words, environment in calls
                    if words[0] == "train" and words[1].endswith(recipe) and all(any(part in word for word in words) for part in among)]
        gpu, cpu = ("cuda", None, None), (None, None, None)
        for products in ("float", "integer"):
            self.assertEqual(trained(f"run.products={products}", recipe="gpu-unet.toml"), [gpu, cpu])
        for name in ("edm", "sngan"):
            self.assertEqual([row for row in trained("run.steps=3", recipe=f"golden/{name}.toml") if row[1] is None], [gpu, gpu])
            self.assertEqual(trained("run.steps=2", recipe=f"golden/{name}.toml"), [cpu], "moving")
            self.assertEqual(trained("run.steps=1", recipe=f"golden/{name}.toml"), [gpu], "moving")
            for transport in ("gloo", "nccl"):
                self.assertIn(("cuda", "2", transport), trained(recipe=f"golden/{name}.toml"))
        self.assertEqual(trained("run.precision=tf32", recipe="golden/edm.toml"), [("cuda", "1", None)] * 2 + [("cuda", "2", None)])
        filled = [value(words, "--run")[-5:] for _, words, environment in calls if environment.get("LOCKSTEP_FILL_MEMORY") == "1"]
        self.assertEqual(filled, ["run-1"] * 3, "in each precision the second run")
        others = [words for _, words, _ in calls if words[0] in ("verify", "replay", "check")]
        self.assertEqual([words[0] for words in others], ["verify", "replay"] * 2 + ["check"])
        self.assertEqual({value(words, "--device") for words in others[:-1]}, {None}, "not on the GPU that trained it")
        self.assertEqual(others[1][2:], ["--from", "2", "--to", "3", "--quiet"])
        self.assertEqual(others[-1], ["check", "--device", "cuda", "--ranks", "2"])

    def test_other_bits_fail_in_each_row_that_can_see_them(self):
        tiles, golden = {"large tiles, float", "large tiles, integer"}, {"edm", "sngan", "edm, moving", "sngan, moving"}
        called, each = {f"{name}, its steps not captured" for name in ("edm", "sngan")}, {"float32", "tf32", "bfloat16"}
        over = {"Gloo, ranks that share the GPUs", "NCCL"}
        for odd, fail in (('"--device" in words', tiles | golden | called | over | {"precisions"}),
                          ('"--device" not in words', tiles | {"edm, moving", "sngan, moving"}),
                          ('"--ranks" in words and words[words.index("--ranks") + 1] == "2"', each | over),
                          ('os.environ.get("LOCKSTEP_TRANSPORT") == "nccl"', {"NCCL"}),
                          ('run.endswith("run-1")', each), ('"run.numerics=native" in words and "run.precision=bfloat16" not in words', {"precisions"}),
                          ('"run.numerics=native" in words and "run.precision=tf32" not in words', {"precisions"})):
            with self.subTest(odd):
                _, results, said = self.trained(odd)
                self.assertEqual({name for name, result in results.items() if result == "FAILS"}, fail, said)

    def test_runs_that_were_not_captured_fail_once(self):
        for uncaptured, result in (('"--ranks" in words and "run.numerics=native" not in words', "FAILS"),
                                   ('"run.products=integer" in words', "FAILS"), ('"run.steps=1" in words', "FAILS"), ("False", "holds")):
            with self.subTest(uncaptured):
                _, results, said = self.trained(uncaptured=uncaptured)
                self.assertEqual({name for name, found in results.items() if found == "FAILS"},
                                 {"captured steps"} if result == "FAILS" else set(), said)

    def test_steps_of_which_the_log_says_nothing_are_not_captured(self):
        _, results, said = self.trained(captured=False)
        self.assertEqual({name for name, found in results.items() if found == "FAILS"}, {"captured steps"}, said)

    def test_wrong_numbers_that_repeat_fail(self):
        each = {"float32", "tf32", "bfloat16"}
        for far, fail in ((0, each), (0.9, {"float32", "tf32"}), (1.03, {"float32"}), ("'nan'", each), (1, set())):
            with self.subTest(far):
                _, results, said = self.trained(far=far)
                self.assertEqual({name for name, found in results.items() if found == "FAILS"}, fail, said)

    def test_an_error_of_cuda_fails(self):
        for name in ("lockstep", "conformance_cuda", "functions_cuda", "gpu_bench"):
            folder = self.stand_in(name, "echo 'CUDA: a copy: unspecified launch failure' >&2; exit 4\n")
        code, said, found, page = self.check(os.path.join(folder, "lockstep"), "--only", "kernels", "--only", "golden", "--only", "speed",
                                             "--golden", "wgan", "--quick")
        self.assertEqual(code, 1, said)  # and the others are tried all the same
        self.assertEqual(self.failing(found), {"fingerprint", "doctor", "docs/conformance.json", "floats one by one", "wgan", "wgan, moving",
                                               "wgan, its steps not captured",
                                               "large tiles, float", "large tiles, integer", "gpu_bench", *STEPS})
        detail = next(row["detail"] for row in found["checks"] if row["check"] == "wgan")
        self.assertEqual(detail.splitlines()[-1], "CUDA: a copy: unspecified launch failure")
        self.assertRegex(page, r"\| golden \| wgan \| FAILS: CUDA: a copy: unspecified launch failure \|")

    def test_what_hangs_loses_no_other(self):
        self.stand_in("lockstep", "echo 'CUDA: the GPU: unknown error' >&2; exit 4\n")
        folder = self.stand_in("gpu_bench", f"""
            echo '{{"kernel": "one", "shape": "1", "bytes": 1, "seconds": 1}}'
            echo '{{"half'
            sleep 1000 & echo $! >{self.out}.pid; wait""")
        code, said, found, page = self.check(os.path.join(folder, "lockstep"), "--only", "speed", "--quick", "--longest", "8")
        self.assertEqual(code, 1, said)
        self.assertIn("gpu_bench", self.failing(found))
        self.assertEqual([row["kernel"] for row in found["speed"]], ["one"])
        self.assertEqual({row["check"] for row in found["checks"] if row["check"] in STEPS}, set(STEPS))
        self.assertRegex(page, r"\| gpu_bench \| FAILS: not done after \d+ s \|")
        with open(self.out + ".pid", encoding="ascii") as file:
            self.assertFalse(runs(int(file.read())), "what it started uses the GPU beside the others")

    def pid_of_a_rank(self):
        with open(self.out + ".log.pid", encoding="ascii") as file:
            return int(file.read())

    def test_ranks_that_hang_are_ended(self):
        code, said, found, _ = self.check(self.lockstep(hang=True), "--only", "ranks", "--golden", "edm", "--longest", "8")
        self.assertEqual(code, 1, said)
        self.assertEqual(self.failing(found), {"Gloo, ranks that share the GPUs"})
        rank = self.pid_of_a_rank()
        self.assertFalse(runs(rank), "a rank keeps the GPU")
        with open(self.out[:-5] + ".hangs.txt", encoding="utf-8") as file:
            hangs = file.read()
        self.assertIn("== ranks, Gloo, ranks that share the GPUs: ", hangs)
        self.assertRegex(hangs, rf"(?m)^process {rank}: .*time\.sleep\(1000\)(\n.*)*?\n  thread {rank} \S+: state S, clocks \d+ \d+, \S+$")
        self.assertIn("-- ledger.jsonl\nwhat it had\n", hangs)

    def test_a_signal_ends_what_it_started(self):
        tool = subprocess.Popen([TOOL, "--program", self.lockstep(hang=True), "--out", self.out, "--only", "ranks", "--golden", "edm"],
                                stdout=subprocess.DEVNULL)
        while not os.path.exists(self.out + ".log.pid"):
            self.assertIsNone(tool.poll())
            time.sleep(0.05)
        tool.terminate()
        self.assertEqual(tool.wait(), 128 + signal.SIGTERM)
        self.assertFalse(runs(self.pid_of_a_rank()), "a rank keeps the GPU")
        with open(self.out[:-5] + ".md", encoding="utf-8") as file:
            page = file.read()
        self.assertIn("NOT FINISHED", page)
        self.assertIn("| ranks | Gloo, ranks that share the GPUs | not done: interrupted |", page)

    def test_a_kill_ends_what_it_started(self):
        tool = subprocess.Popen([TOOL, "--program", self.lockstep(sleep=1000), "--out", self.out, "--only", "native", "--golden", "edm"],
                                stdout=subprocess.DEVNULL)
        while not os.path.exists(self.out + ".log") or "train" not in (called := (self.calls() or [[0, []]])[-1])[1]:
            self.assertIsNone(tool.poll())
            time.sleep(0.05)
        with open(f"/proc/{tool.pid}/task/{tool.pid}/children", encoding="ascii") as file:
            children = list(map(int, file.read().split()))
        tool.kill()
        tool.wait()
        self.assertTrue(children, called)
        until = time.monotonic() + 20
        while any(map(runs, children)) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertFalse(any(map(runs, children)), "it keeps the GPU")

    def test_steps_that_were_not_captured_are_told(self):
        code, said, found, _ = self.check(self.lockstep(uncaptured=True), "--only", "speed", PYTHONPATH=self.pytorch("2.11.0"))
        self.assertEqual(code, 0, said)
        details = {row["check"]: row["detail"] for row in found["checks"]}
        self.assertEqual(details["steps, float"], "8.00/s; its steps were not captured")
        self.assertEqual(details["steps, native fp32"], "8.00/s", "which are never captured")
        counts = {name: len(seconds) for name, seconds in found["step_seconds"].items()}
        self.assertEqual(counts["float"], 2 * counts["native fp32"], "before PyTorch's and behind them")

    def test_a_package_of_another_commit_is_told(self):
        program = self.lockstep()
        ours = subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        if not ours:
            self.skipTest("these sources are of no commit that git knows")
        clean = "not done" if " " in machine.commit(TOP) else "holds"
        for commit, result in (("0" * 40, "FAILS"), (ours, clean), (ours + " with changes", "not done"), ("unknown", "not done")):
            with self.subTest(commit):
                with open(os.path.join(os.path.dirname(program), "commit.txt"), "w", encoding="ascii") as file:
                    file.write(commit + "\n")
                _, said, found, page = self.check(program, "--only", "device")
                row = next(row for row in found["checks"] if row["check"] == "commit")
                self.assertEqual((row["result"], found["commit"]), (result, commit), said)
                self.assertIn(f"commit {commit}; ", page.splitlines()[0])
                self.assertEqual(found["programs"], {program: hashlib.sha256(read(program)).hexdigest()})
        os.remove(os.path.join(os.path.dirname(program), "commit.txt"))
        _, said, found, _ = self.check(program, "--only", "device")  # which says nothing of a commit
        self.assertIn(("commit", "not done"), {(row["check"], row["result"]) for row in found["checks"]}, said)
        self.assertEqual(found["commit"], f"a build beside sources of {machine.commit(TOP)}")

    def test_the_package_is_that_of_the_programs_python(self):
        """Whatever Python runs the check, and whatever package that one has."""
        folder = os.path.dirname(self.out)
        for name in ("one", "other"):
            os.makedirs(os.path.join(folder, name, "lockstep/bin"))
            with open(os.path.join(folder, name, "lockstep/__init__.py"), "w", encoding="ascii"):
                pass
            with open(os.path.join(folder, name, "lockstep/bin/commit.txt"), "w", encoding="ascii") as file:
                file.write(f"commit-of-{name}\n")
        python = os.path.join(self.stand_in("python", f'PYTHONPATH={folder}/one exec {sys.executable} "$@"\n'), "python")
        program = os.path.join(self.stand_in("lockstep", "import sys\nif sys.argv[1] == 'fingerprint':\n    print('{\"device\": \"a stand-in\"}')\n",
                                             python), "lockstep")
        _, said, found, _ = self.check(program, "--only", "device", PYTHONPATH=os.path.join(folder, "other"))
        self.assertEqual(found["commit"], "commit-of-one", said)
        # As pip writes it where the interpreter's path is long or has a space.
        body = read(program).decode("ascii").partition("\n")[2]
        spaced = os.path.join(folder, "a folder")
        os.mkdir(spaced)
        os.symlink(python, os.path.join(spaced, "python"))
        self.stand_in("lockstep", f"\'\'\'exec\' \"{spaced}/python\" \"$0\" \"$@\"\n\' \'\'\'\n{body}")
        _, said, found, _ = self.check(program, "--only", "device", PYTHONPATH=os.path.join(folder, "other"))
        self.assertEqual(found["commit"], "commit-of-one", said)

    def test_parts_are_whole_only_if_all_of_them_was_done(self):
        program = self.trainer()
        with open(os.path.join(os.path.dirname(program), "commit.txt"), "w", encoding="ascii") as file:
            file.write(machine.commit(TOP) + "\n")
        asked = ("--only", "native", "--only", "networks")
        site = self.pytorch("2.11.0")
        named = " " not in machine.commit(TOP) and machine.commit(TOP) != "unknown"
        for words, wanted in (((), ["native", "networks"] if named else []), (("--steps", "3"), []), (("--golden", "edm,sngan"), []),
                              (("--device", "cpu"), []), (("--quick",), []), (("--data", "/nowhere"), ["native"] if named else [])):
            with self.subTest(words):
                _, said, found, _ = self.check(program, *asked, *words, PYTHONPATH=site)
                self.assertEqual(found["whole"], wanted, said)
                self.assertIn(f"all of it holds: {', '.join(wanted) or 'none'} of native, networks", said)

    def test_ranks_are_whole_without_nccl_where_there_is_one_gpu(self):
        tool = gpu_check()
        check = object.__new__(tool.Check)
        check.args = argparse.Namespace(conformance=None, quick=False, steps=0, golden=list(tool.golden.NAMES), elsewhere=False)
        check.place, check.walked = "GPU", set(tool.PARTS)
        row = lambda part, name, result, needed=True: {"part": part, "check": name, "result": result, "needed": needed}
        commit, gloo, nccl = row("device", "commit", "holds"), row("ranks", "Gloo", "holds"), row("ranks", "NCCL", "not done", needed=False)
        for rows, wanted in (([commit, gloo, nccl], ["ranks"]), ([gloo, nccl], []), ([row("device", "commit", "not done"), gloo, nccl], []),
                             ([commit, gloo, row("ranks", "NCCL", "not done")], []), ([commit, gloo, row("ranks", "NCCL", "FAILS")], []),
                             ([commit, row("ranks", "Gloo", "not done"), nccl], []), ([commit, row("speed", "gpu_bench", "holds")], []),
                             ([commit, row("device", "fingerprint", "FAILS"), gloo, nccl], []), ([row("device", "commit", "FAILS"), gloo, nccl], []),
                             ([commit, row("device", "PyTorch's libraries", "not done"), row("kernels", "all", "holds")], ["kernels"])):
            check.rows = rows
            self.assertEqual(check.whole(), wanted, rows)
        check.args.elsewhere, check.rows = True, [commit, gloo, row("kernels", "all", "holds")]  # of another build, perhaps
        self.assertEqual(check.whole(), ["ranks"])
        check.rows, check.walked = [commit, gloo, nccl], set()  # a call that was killed came no further
        self.assertEqual(check.whole(), [])

    def test_what_failed_before_a_program_gave_up_fails(self):
        for said_before, code, error, result in (("[  FAILED  ] Sums.X", 4, "NOT PROVED: it gives no pinned memory", "FAILS"),
                                                 ("", 4, "NOT PROVED: it gives no pinned memory", "not done"),
                                                 ("", 4, "a GPU needs liblockstep_cuda.so of this build, and that in /x is of another", "FAILS"),
                                                 ("", 127, "x: error while loading shared libraries: libmpfr.so.6", "not done"),
                                                 ("", 127, "x: not found", "FAILS"),
                                                 ("", 1, r"x: y: version `GLIBCXX_3.4.30\0047 not found (required by x)", "not done")):
            with self.subTest(error, before=said_before):
                folder = self.stand_in("numerics_test_cuda", f"echo '{said_before}'; printf '%b\\n' '{error}' >&2; exit {code}\n")
                _, said, found, _ = self.check(self.lockstep(), "--only", "kernels", "--binaries", folder)
                row = next(row for row in found["checks"] if row["check"] == "numerics_test_cuda")
                self.assertEqual(row["result"], result, said)

    def test_the_environment_of_launchers_and_debugging_does_not_reach_it(self):
        others = {"RANK": "0", "WORLD_SIZE": "8", "LOCAL_RANK": "0", "MASTER_ADDR": "nowhere", "OMPI_COMM_WORLD_SIZE": "8", "SLURM_PROCID": "1",
                  "CUDA_LAUNCH_BLOCKING": "1", "NVIDIA_TF32_OVERRIDE": "0", "RC_PARAMS": "max_success=1", "GTEST_TOTAL_SHARDS": "3",
                  "TORCH_BLAS_PREFER_CUBLASLT": "1", "DISABLE_ADDMM_CUDA_LT": "1", "CUBLASLT_WORKSPACE_SIZE": "1", "MKL_CBWR": "OFF",
                  "TORCH_CUBLASLT_UNIFIED_WORKSPACE": "1", "TORCH_CUDNN_V8_API_DISABLED": "1", "PYTORCH_CUDA_ALLOC_CONF": "x:y"}
        code, said, _, _ = self.check(self.lockstep(), "--only", "speed", PYTHONPATH=self.pytorch("2.11.0"), **others)
        self.assertEqual(code, 0, said)
        self.assertGreater(len(self.calls()), 5)
        for name, words, environment in self.calls():
            self.assertEqual(set(environment) & set(others), set(), (name, words))

    def test_a_recipe_that_hangs_is_tried_once(self):
        hang = """
import json, os, sys, time
words = sys.argv[1:]
if words[0] == "fingerprint":
    print('{"device": "a stand-in"}')
if words[0] == "train" and "sngan" in words[1]:
    print("what it said before", flush=True)
    time.sleep(1000)
sys.exit(words[0] == "train")
"""
        program = os.path.join(self.stand_in("lockstep", hang, PYTHON), "lockstep")
        done = subprocess.run([TOOL, "--program", program, "--out", self.out, "--longest", "3", "--only", "golden", "--only", "ranks", "--golden",
                               "edm,sngan", "--steps", "2"], capture_output=True, text=True, env={**os.environ, "PATH": self.nvidia_smi()})
        with open(self.out, encoding="utf-8") as file:
            rows = {row["check"]: row for row in json.load(file)["checks"]}
        self.assertEqual(rows["sngan"]["result"], "FAILS", done.stdout)
        self.assertIn("what it said before", rows["sngan"]["detail"])
        self.assertEqual((rows["sngan, moving"]["result"], rows["sngan, moving"]["detail"]), ("not done", "sngan hung before"))
        self.assertEqual(rows["edm"]["result"], "FAILS")  # by its exit code
        self.assertLess(rows["Gloo, ranks that share the GPUs"]["seconds"], 3)

    def test_whether_steps_were_captured_is_told_when_time_is_over(self):
        trained = TRAINED.format(log=self.out + ".log", top=TOP, odd="False", uncaptured="True", far=1, captured=True) + """
if words[0] == "replay":
    import time
    time.sleep(5)
"""
        program = os.path.join(self.stand_in("lockstep", trained, PYTHON), "lockstep")
        done = subprocess.run([TOOL, "--program", program, "--out", self.out, "--seconds", "15", "--only", "golden", "--golden",
                               "edm,sngan,flow,dit,wgan", "--steps", "3", "--quick"], capture_output=True, text=True)
        with open(self.out, encoding="utf-8") as file:
            rows = {row["check"]: row["result"] for row in json.load(file)["checks"]}
        self.assertIn("not done", rows.values(), done.stdout)
        self.assertEqual(rows["captured steps"], "FAILS", done.stdout)

    def nvidia_smi(self, compute_mode="Default"):
        """PATH with a stand-in."""
        folder = self.stand_in("nvidia-smi", f"""
case "$*" in
  *compute_mode*) echo {compute_mode} ;;
  *--loop*) while :; do echo "1980, 0x0000000000000000"; echo "1200, 0x0000000000000004"; sleep 1; done ;;
  *) echo "1980 MHz, idle" ;;
esac
""")
        return f"{folder}:{os.environ['PATH']}"

    def test_a_gpu_of_one_process_is_not_asked_for_two(self):
        self.trained()  # makes the program
        for mode, result in (("Default", "holds"), ("Exclusive_Process", "not done")):
            _, said, found, _ = self.check(os.path.join(os.path.dirname(self.out), "lockstep"), "--golden", "edm,sngan", "--steps", "3", "--only",
                                           "native", "--only", "ranks", PATH=self.nvidia_smi(mode), PYTHONPATH=self.pytorch("2.11.0"))
            rows = {row["check"]: (row["result"], row["detail"]) for row in found["checks"]}
            self.assertEqual({rows[name][0] for name in ("Gloo, ranks that share the GPUs", "float32", "bfloat16")}, {result}, said)
            if result == "not done":
                self.assertIn("the same bits in 2 runs; of 2 ranks it was not tried: a GPU here takes one process", rows["tf32"][1])

    def test_clocks_are_watched_while_speed_is_measured(self):
        _, said, found, _ = self.check(self.lockstep(sleep=1), "--only", "speed", PATH=self.nvidia_smi(), PYTHONPATH=self.pytorch("2.11.0"))
        row = next(row for row in found["checks"] if row["check"] == "the GPU meanwhile")
        self.assertEqual(row["result"], "holds", said)
        self.assertRegex(row["detail"], r"^reasons that held clocks back: 0x0: \d+ times, 1980 to 1980 MHz; 0x4: \d+ times, 1200 to 1200 MHz$")

    def test_states_of_the_gpu_are_no_speed(self):
        small = "lockstep: 8 lanes at once need 9 GB, and the GPU's memory leaves 4 GB"
        self.stand_in("lockstep", f"echo '{{\"device\": \"x\"}}'; [ $1 != train ] || {{ echo \"{small}\" >&2; exit 4; }}\n")
        folder = self.stand_in("gpu_bench", "echo 'gpu_bench: the GPU has no memory left' >&2; exit 1\n")
        code, said, found, _ = self.check(os.path.join(folder, "lockstep"), "--only", "speed", PATH=self.nvidia_smi())
        self.assertEqual(code, 3, said)
        rows = {row["check"]: (row["result"], row["detail"]) for row in found["checks"] if row["part"] == "speed"}
        self.assertEqual(rows["gpu_bench"], ("not done", "the GPU has no memory left"))
        self.assertEqual(rows["steps, native fp32"], ("not done", small))
        self.assertEqual(rows["the GPU before"][0], "holds")

    def test_a_part_of_the_kernels_meets_no_target(self):
        self.lockstep()
        with open(os.path.join(os.path.dirname(self.out), "gpu_bench"), "a", encoding="ascii") as file:
            file.write("raise SystemExit(1)\n")
        _, said, found, _ = self.check(os.path.join(os.path.dirname(self.out), "lockstep"), "--only", "speed", PYTHONPATH=self.pytorch("2.11.0"))
        of_kernels = [one["result"] for one in found["targets"] if "step" not in one["target"]]
        self.assertEqual(of_kernels, ["not measured"] * 3, said)

    def test_some_of_the_floats_are_not_all(self):
        for count, words, result in ((1 << 31, (), "not done"), (1 << 32, (), "holds"), (4096, ("--quick",), "holds")):
            folder = self.stand_in("functions_cuda", f"echo 'exp: {count} floats, 0 differ'\n")
            _, said, found, _ = self.check(self.lockstep(), "--only", "kernels", "--binaries", folder, *words)
            row = next(row for row in found["checks"] if row["check"] == "floats one by one")
            self.assertEqual(row["result"], result, said)

    def test_tests_that_do_not_run_hold_nothing(self):
        for said_of_tests, result in (("0 tests from 0 test suites ran", "FAILS"), ("7 tests from 2 test suites ran", "holds")):
            with self.subTest(said_of_tests):
                folder = self.stand_in("numerics_test_cuda", f"echo '[==========] {said_of_tests}. (1 ms total)\n5 tests computed on the GPU'\n")
                _, said, found, _ = self.check(self.lockstep(), "--only", "kernels", "--binaries", folder)
                row = next(row for row in found["checks"] if row["check"] == "numerics_test_cuda")
                self.assertEqual(row["result"], result, said)
        self.assertEqual(row["detail"], "random shapes, 7 tests, 5 of them on the GPU")
        for computed in ("", "0 tests computed on the GPU"):
            folder = self.stand_in("numerics_test_cuda", f"echo '[==========] 7 tests from 2 test suites ran. (1 ms total)\n{computed}'\n")
            _, said, found, _ = self.check(self.lockstep(), "--only", "kernels", "--binaries", folder)
            row = next(row for row in found["checks"] if row["check"] == "numerics_test_cuda")
            self.assertEqual((row["result"], row["detail"]), ("FAILS", "no test of numerics_test_cuda computed on the GPU"), said)

    def test_what_fails_may_stay(self):
        keep = os.path.join(os.path.dirname(self.out), "kept")
        os.mkdir(keep)
        code, said, found, _ = self.check(self.lockstep(), "--only", "golden", "--golden", "edm", "--keep", keep)
        self.assertEqual(code, 1, said)
        row = next(row for row in found["checks"] if row["check"] == "edm")
        self.assertTrue(os.path.exists(os.path.join(row["kept"], "run/ledger.jsonl")), row)
        self.assertEqual({row["kept"] for row in found["checks"] if row["result"] != "FAILS"}, {None})
        self.assertEqual({os.path.join(keep, name) for name in os.listdir(keep)},
                         {row["kept"] for row in found["checks"] if row["kept"]})

    def test_a_call_has_what_the_others_of_its_check_left(self):
        code, said, found, _ = self.check(self.lockstep(sleep=10), "--only", "native", "--golden", "edm", "--seconds", "8")
        self.assertEqual(code, 3, said)  # nothing has failed: the time was over
        self.assertEqual({row["check"]: (row["result"], row["detail"].partition(",")[2]) for row in found["checks"] if row["part"] == "native"},
                         {"float32": ("not done", " when the 8 s were over"), "tf32": ("not done", ""), "bfloat16": ("not done", ""),
                          "precisions": ("not done", "")})

    def test_libraries_of_another_pytorch_are_not_used(self):
        for version, used in (("2.10.0+cu130", False), ("2.11.0+cu130", True)):
            with self.subTest(version):
                self.setUp()
                site = self.pytorch(version)
                code, said, found, _ = self.check(self.lockstep(), "--only", "device", PYTHONPATH=site)
                self.assertEqual(code, 0, said)
                row = next(row for row in found["checks"] if row["check"] == "PyTorch's libraries")
                self.assertEqual((row["result"], row["detail"]), ("holds", f"PyTorch {version}") if used else (
                    "not done", f"PyTorch {version} of this Python is not used: lockstep needs 2.11.0"))
                self.assertEqual(os.path.join(site, "torch/lib") in self.calls()[0][2].get("LD_LIBRARY_PATH", "").split(":"), used)

    def test_speed_is_judged_and_decides_nothing(self):
        code, said, found, page = self.check(self.lockstep(), "--only", "speed", PYTHONPATH=self.pytorch("2.11.0"))
        self.assertEqual(code, 0, said)
        self.assertEqual([(round(one["ratio"], 3), one["result"]) for one in found["targets"]],
                         [(0.667, "not met"), (0.811, "not met"), (0.8, "met"), (0.745, "not met"), (1.333, "met"), (0.5, "not met")])
        for line in ("| float step, to PyTorch fp32 in the faster layout | 0.667 | 0.8 | not met |", "| integer step, to PyTorch TF32 | 0.800 | 0.8 | met |"):
            self.assertIn(line, page)
            self.assertIn(line, said)

    def test_where_pytorch_fails_nothing_is_judged(self):
        broken = self.pytorch("2.11.0", **{"torch/__init__": "raise MemoryError('of a GPU')"})
        code, said, found, page = self.check(self.lockstep(), "--only", "speed", PYTHONPATH=broken)
        self.assertEqual(code, 0, said)
        self.assertIn("| speed | PyTorch's kernels | not done: MemoryError: of a GPU |", page)
        self.assertEqual({one["result"] for one in found["targets"]}, {"not measured"})
        self.assertIn("| native bf16 step, to PyTorch bf16 |  | 0.95 | not measured |", page)

    def test_pytorch_has_the_same_gpu(self):
        code, said, _, _ = self.check(self.lockstep(), "--only", "speed", "--device", "cuda:1", PYTHONPATH=self.pytorch("2.11.0"),
                                      CUDA_VISIBLE_DEVICES="3,5")
        self.assertEqual(code, 0, said)
        seen = {(name, environment["CUDA_VISIBLE_DEVICES"]) for name, words, environment in self.calls()}
        self.assertEqual(seen, {("lockstep", "3,5"), ("gpu_bench", "5"), ("gpu_kernels.py", "5"), ("train.py", "5")})  # of two, number 1

    def test_before_python_3_11(self):
        none = "raise ModuleNotFoundError"
        for tomli, result in ((none, "not done"), ("", "holds")):
            with self.subTest(tomli=tomli):
                self.setUp()
                code, said, found, _ = self.check(self.lockstep(), "--only", "speed", "--quick",
                                                  PYTHONPATH=self.pytorch("2.11.0", tomllib=none, tomli=tomli))
                self.assertEqual(code, 0, said)
                rows = [row for row in found["checks"] if row["check"].startswith("steps, PyTorch")]
                self.assertEqual([row["result"] for row in rows], [result] * 8, said)
                self.assertRegex(rows[0]["detail"], r"^10\.00/s$" if result == "holds" else r"^Python \S+ has no tomllib \(pip install tomli\)$")
                self.assertEqual({one["result"] for one in found["targets"]}, {"not measured"}, "of small sizes")

    @unittest.skipUnless(os.path.exists(binary("ptx/lockstep")), "no nvcc")
    def test_kernels_by_the_real_programs(self):
        tool = gpu_check()
        for name in tool.PROPERTIES:  # an eighth of the random shapes, and few of each: CTest's numerics_*_ptx are all of them
            folder = self.stand_in(name, f"""
case "$*" in *--gtest_filter=-*) export GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=0 RC_PARAMS=max_success=3 ;; esac
exec {binary("ptx/" + name)} "$@"
""")
        code, said, found, _ = self.check("ptx/lockstep", "--only", "kernels", "--quick", "--binaries", folder, KERNELS_ARE_KNOWN="1")
        self.assertEqual(code, 0, said)
        details = {row["check"]: row["detail"] for row in found["checks"] if row["part"] == "kernels" and row["result"] == "holds"}

        def listed(only):
            done = subprocess.run([binary("ptx/" + tool.PROPERTIES[0]), "--gtest_list_tests", f"--gtest_filter={only}"], check=True,
                                  capture_output=True, text=True)
            return sum(line.startswith("  ") for line in done.stdout.splitlines())

        for pattern in f"{tool.BESIDE}:{tool.ALL_MEMORY}".split(":"):
            self.assertGreater(listed(pattern), 0, f"no test is {pattern}")
        self.assertEqual(listed(f"{tool.ALL_MEMORY}-{tool.BESIDE}"), 0)
        for name in tool.PROPERTIES:
            self.assertRegex(details.pop(name), r"^random shapes, [1-9]\d* tests, [1-9]\d* of them on the GPU$")
        self.assertEqual(details, {
            "docs/conformance.json": f"{len(json.loads(read(os.path.join(TOP, 'docs/conformance.json')))['cases'])} cases",
            "floats one by one": "14 functions, 4096 floats each",
            "copies and captured work": f"beside the host, {listed(f'{tool.BESIDE}-{tool.ALL_MEMORY}')} tests",
            "all of a GPU's memory": f"beside the host, {listed(tool.ALL_MEMORY)} tests"})

    @unittest.skipUnless(os.path.exists(binary("ptx/lockstep")), "no nvcc")
    def test_without_libtorch_for_cuda_native_numerics_are_not_done(self):
        code, said, found, _ = self.check("ptx/lockstep", "--only", "native")
        self.assertEqual(code, 3, said)
        self.assertIn("nothing was shown of: native", said)
        rows = {row["check"]: row["result"] for row in found["checks"] if row["part"] == "native"}
        self.assertEqual(rows, dict.fromkeys(("float32", "tf32", "bfloat16", "precisions"), "not done"))

    def test_without_a_gpu_it_says_so(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("here is a GPU")
        code, said, found, page = self.check("lockstep")
        self.assertEqual(code, 4, said)
        self.assertEqual([(row["part"], row["result"]) for row in found["checks"] if row["check"] not in ("commit", "PyTorch's libraries")],
                         [(part, "not done") for part in ("device", "kernels", "golden", "native", "ranks", "speed", "networks")])
        self.assertRegex(page, "^GPUs: (there is no NVIDIA driver here|.* neither in )|^a GPU needs liblockstep_cuda.so")

    def test_wrong_arguments_are_no_fault_of_a_gpu(self):
        for words, why in ((("--device", "CUDA"), "give cuda, cuda:N or cpu"), (("--device", ""), "give cuda, cuda:N or cpu"),
                           (("--steps", "-3"), "--steps"), (("--seconds", "0"), "--seconds"), (("--golden", "ddmp"), "no golden recipe 'ddmp'"),
                           (("--conformance", "/nowhere"), "no /nowhere"), (("--binaries", "/nowhere"), "no folder /nowhere"),
                           (("--out", "/nowhere/x.json"), "cannot write to /nowhere"), (("--program", "/nowhere"), "no /nowhere"),
                           (("--program", BINARIES), "no " + BINARIES), (("--out", "/tmp"), "/tmp is a folder"), (("--longest", "0"), "--longest"),
                           (("--out", self.out[:-5] + ".md"), "give another ending"), (("--keep", "/nowhere"), "no folder /nowhere")):
            with self.subTest(words):
                done = subprocess.run([TOOL, "--program", binary("lockstep"), "--out", self.out, *words], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(why, done.stderr.splitlines()[-1])
                self.assertFalse(os.path.exists(self.out))

    def test_the_cpu_is_never_called_a_gpu(self):
        code, said, _, page = self.check("lockstep", "--device", "cpu", "--only", "golden", "--golden", "toy-gan", "--steps", "3")
        self.assertEqual(code, 0, said)
        self.assertTrue(page.startswith("NOT A GPU: "), page)
        self.assertIn("3 steps on the CPU in", page)
        self.assertIn("holds: CPU, CPU, CPU", page)

    def test_a_part_of_which_nothing_was_done_is_no_success(self):
        code, said, _, _ = self.check("lockstep", "--device", "cpu", "--only", "golden", "--golden", "ddpm", "--data", "/nowhere")
        self.assertEqual(code, 3, said)
        self.assertIn("nothing was shown of: golden", said)


class Stretch(unittest.TestCase):
    """As in stretch_test.cpp."""

    def measured(self, seconds):
        """What is measured of so long a run, and how many there were."""
        state = {"now": 0, "busy": 0, "runs": 0}

        def run():
            state["busy"] += seconds
            state["runs"] += 1

        def wait():
            state["now"] += state["busy"] + 50e-6
            state["busy"] = 0

        return stretch.seconds_of_run(run, wait, lambda: state["now"]), state["runs"]

    def test_waits_are_below_a_percent_of_a_small_kernel(self):
        self.assertAlmostEqual(self.measured(3e-6)[0], 3e-6, delta=0.01 * 3e-6)

    def test_a_long_kernel_runs_once_a_stretch(self):
        seconds, runs = self.measured(0.1)
        self.assertAlmostEqual(seconds, 0.1, delta=0.01 * 0.1)
        self.assertEqual(runs, stretch.WARM_UP + 1 + stretch.STRETCHES)


if __name__ == "__main__":
    unproved.main(sys.argv[1:])
