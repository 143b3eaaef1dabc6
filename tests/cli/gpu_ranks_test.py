"""Ranks that compute on interpreted GPUs and exchange over a stand-in for NCCL (tests/support/nccl): in the GPUs' memory, with every
tile checked as it arrives."""

import json
import os
import re
import signal
import sys
import time

from support import SOURCE, main
from toy import Toy

sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from ports import free_port  # noqa: E402

RECIPE = os.path.join(SOURCE, "recipes/golden/toy-gan.toml")
# A step of half of the lanes: more than the 4 GiB of an interpreted GPU; of a third of them: 2 to 4 GiB.
TOO_LARGE = ("--set", "batch.samples_per_lane=65536", "--set", "generator.hidden=1024", "--lanes-at-once", "1")
LARGE = ("--set", "batch.samples_per_lane=65536", "--set", "generator.hidden=600")
SMALL = ("--set", "generator.hidden=48", "--set", "discriminator.hidden=48")
CAPTURED = ("--set", "run.steps=4", "--set", "evidence.witness_rate=0", *SMALL)
WHOLE, HALF = "the GPU's memory leaves 4.0 GiB", "the GPU's memory, which 2 ranks share, leaves 2.0 GiB"
TRAIN = ("train", RECIPE, "--device", "cuda", "--ranks", "2", "--quiet", "--set", "samples.count=0", "--set", "run.steps=1")
ALONE = ("train", RECIPE, "--quiet", "--set", "samples.count=0")  # on the CPU


class GpuRanks(Toy):
    def over(self, transport, run, *more, code=0, **environment):
        result = self.run_it(*TRAIN, *more, "--run", run, "--exchange-log", f"{run}-log", LOCKSTEP_TRANSPORT=transport,
                             **environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def logged(self, run, rank=0):
        return [json.loads(line) for line in self.read(f"{run}-log/rank-{rank}.jsonl").splitlines()]

    def captured(self):
        """Runs over each transport whose second step is captured, and launched; those after it are launches."""
        for transport in ("nccl", "gloo"):
            self.once([transport, f"{transport}-log"], *TRAIN, *CAPTURED, "--run", transport, "--exchange-log", f"{transport}-log",
                      LOCKSTEP_TRANSPORT=transport)

    def test_gradients_never_leave_the_gpus(self):
        self.captured()
        for transport, memory in (("nccl", "gpu"), ("gloo", "host")):
            lines = self.logged(transport)
            about = [line for line in lines if re.match("partials of|sums of", line["about"])]
            self.assertGreater(len(about), 3)
            self.assertEqual({line["memory"] for line in about}, {memory})
            self.assertEqual({line["memory"] for line in lines if line not in about}, {"host"})
        self.assertEqual(self.evidence("nccl"), self.evidence("gloo"))

    def test_a_tile_that_arrives_otherwise_is_named_and_nothing_rests_on_it(self):
        for case, (rank, message) in enumerate(((0, 0), (1, 1))):  # of partials, of sums
            run = f"run{case}"
            err = self.over("nccl", run, code=1, LOCKSTEP_NCCL_FLIP=f"{rank}:{message}")
            self.assertRegex(err, rf"rank {rank}: step 1: gradient of \S+ \[[0-9 x]+\], elements \d+ to \d+: what arrived at "
                                  rf"rank {rank} is not what rank {1 - rank} sent")
            self.assertEqual(self.read(f"{run}/ledger.jsonl").count(b"\n"), 1)  # the header

    def test_captured_steps_have_the_same_bits_and_are_checked(self):
        self.captured()
        for transport in ("nccl", "gloo"):
            self.assertNotIn(b"not captured", self.read(f"{transport}/log.txt"))
        self.ok(*ALONE, *CAPTURED, "--run", "alone")
        self.assertEqual(self.evidence("nccl"), self.evidence("alone"))
        self.assertEqual(self.evidence("gloo"), self.evidence("alone"))
        # What leaves in each step is the same, whether it is called or launched.
        steps_of = [[(line["operation"], line["about"], line["to"]) for line in self.logged("nccl") if line["step"] == step]
                    for step in (1, 2, 3)]
        self.assertEqual(steps_of[0], steps_of[1])
        self.assertEqual(steps_of[0], steps_of[2])
        large = [line["step"] for line in self.logged("nccl") if line["memory"] == "gpu" and line["from"][1] > 4096]
        for step in (2, 3):
            run = f"run{step}"
            err = self.over("nccl", run, *CAPTURED, code=1, LOCKSTEP_NCCL_FLIP=f"0:{large.index(step)}")
            self.assertRegex(err, rf"rank 0: step {step}: gradient of \S+ \[[0-9 x]+\], elements \d+ to \d+: what arrived at "
                                  r"rank 0 is not what rank 1 sent")
            self.assertEqual(self.read(f"{run}/ledger.jsonl").count(b"\n"), step)  # the header, and the steps before

    def test_a_rank_that_dies_between_gpus_is_named(self):
        for signal_number, said in ((signal.SIGKILL, "was lost"), (signal.SIGSTOP, "was lost: no sign of life")):
            run = f"run{signal_number}"
            process = self.start(*TRAIN, "--set", "run.steps=50", "--run", run, "--exchange-log", f"{run}-log",
                                 LOCKSTEP_TRANSPORT="nccl", LOCKSTEP_DEADLINE="60")
            log = self.path(f"{run}-log/rank-1.jsonl")
            while not (os.path.exists(log) and b'"gpu"' in self.read(f"{run}-log/rank-1.jsonl")):
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                os.kill(int(file.read().split()[1]), signal_number)
            self.assertRegex(process.communicate(timeout=3600)[1], rf"rank 0: .*rank 1 on \S+ {said}")
            self.assertEqual(process.returncode, 6)

    def each_with(self, devices, *more, device="cuda", run="run", **environment):
        """A rank for each value of CUDA_VISIBLE_DEVICES, as a launcher starts them; their ends."""
        ends = self.each("train", devices, RECIPE, "--quiet", "--set", "samples.count=0", "--set", "run.steps=1", "--run", run, *more,
                         device=device, **environment)
        return [(err, code) for err, code, _ in ends]

    def each(self, command, devices, *more, device="cuda", **environment):
        common = {"WORLD_SIZE": str(len(devices)), "LOCAL_WORLD_SIZE": str(len(devices)), "MASTER_ADDR": "127.0.0.1",
                  "MASTER_PORT": str(free_port()), "LOCKSTEP_SECRET_FILE": self.secret(), **environment}
        ranks = [self.start(command, *more, "--device", device, RANK=str(rank), LOCAL_RANK=str(rank), CUDA_VISIBLE_DEVICES=seen, **common)
                 for rank, seen in enumerate(devices)]
        ends = [(*rank.communicate(timeout=3600), rank.returncode) for rank in ranks]
        return [(err, code, out) for out, err, code in ends]

    def planned(self, devices, said, recipe=TOO_LARGE, **environment):
        """A step that does not fit is refused with what a rank has; the others say that, too, or that it left."""
        for err, code in self.each_with(devices, *recipe, **environment):
            self.assertIn(said, err)
            self.assertIn(code, (4, 6))
        self.assertFalse(os.path.exists(self.path("run")))

    def test_ranks_that_each_see_one_gpu_have_all_of_its_memory(self):
        # All call it GPU 0, whatever their local rank.
        for device in ("cuda", "cuda:0"):
            self.planned(["0", "1"], WHOLE, device=device)
        self.planned(["0,1", "0,1"], WHOLE)
        self.planned(["MIG-1", "MIG-2"], WHOLE)  # of one GPU

    def test_ranks_on_one_gpu_have_half_of_its_memory_each(self):
        for device in ("cuda", "cuda:0"):
            self.planned(["1", "1"], HALF, device=device)
        self.planned(["0,1", "1,0"], HALF)  # GPU 0 is rank 0's 0 and rank 1's 1
        self.planned(["MIG-1", "MIG-1"], HALF)

    def test_a_step_is_planned_with_what_nccl_has_left(self):
        self.planned(["0", "1"], "the GPU's memory leaves 3.0 GiB", LOCKSTEP_TRANSPORT="nccl", LOCKSTEP_NCCL_BUFFERS=str(1 << 30))

    def test_a_rank_beyond_the_gpus_shares_the_first(self):
        # More than half of one: ranks 0 and 2 are refused, rank 1 has a GPU of its own.
        self.planned(["0,1", "0,1", "0,1"], HALF, recipe=LARGE)

    def test_ranks_that_each_see_one_gpu_exchange_over_nccl(self):
        for err, code in self.each_with(["1", "0"], "--exchange-log", "log", LOCKSTEP_TRANSPORT="nccl"):
            self.assertEqual(code, 0, err)
        self.assertIn(b'"memory":"gpu"', self.read("log/rank-0.jsonl").replace(b" ", b""))
        self.ok(*ALONE, "--set", "run.steps=1", "--run", "alone")
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_a_gpu_that_cannot_be_used_is_told_why(self):
        for variable, value, why in (("LOCKSTEP_PTX_DRIVER", "12040", "the driver knows CUDA up to 12.4, and 13.0 is needed"),
                                     ("LOCKSTEP_PTX_DRIVER", "0", "there is no NVIDIA driver here"),
                                     ("LOCKSTEP_PTX_CAPABILITY", "7", "its compute capability is 7.0, and 8.0 is needed"),
                                     ("LOCKSTEP_PTX_NO_POOLS", "1", "it has no memory pools (cudaMallocAsync), as some vGPUs")):
            self.refused("cuda:0", f"cuda:0: {why} (it needs NVIDIA's driver 580 or later", **{variable: value})
        self.refused("cuda:5", "cuda:5: the driver shows 2 of them, numbered from 0 (nvidia-smi -L lists them)")
        for seen, device, why in (("", "cuda:0", "no GPU of CUDA_VISIBLE_DEVICES="), ("GPU-typo,1", "cuda:0", "no GPU of CUDA_VISIBLE_DEVICES=GPU-typo,1"),
                                  ("1,GPU-typo", "cuda:1", "1 of them of CUDA_VISIBLE_DEVICES=1,GPU-typo, numbered from 0")):
            self.refused(device, f"{device}: the driver shows {why} (the list counts up to the first name that is not here", CUDA_VISIBLE_DEVICES=seen)

    def refused(self, device, said, **environment):
        for command in (("train", RECIPE, "--run", "none"), ("fingerprint",), ("check",)):
            result = self.run_it(*command, "--device", device, **environment)
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertIn(said, result.stderr)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_a_gpu_that_nobody_can_use_now_is_told_with_what_to_do(self):
        for error, what in ((46, "perhaps another process has it for itself"), (802, "nvidia-fabricmanager must run"),
                            (803, r"the driver was replaced \(restart the machine\), or a container"), (999, "load the kernel module nvidia_uvm anew")):
            result = self.run_it("train", RECIPE, "--run", "none", "--device", "cuda", LOCKSTEP_PTX_UNAVAILABLE=str(error))
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertRegex(result.stderr, rf"^lockstep: (GPUs|cuda:0): not available: [^(\n]+ \({what}[^\n]*\)\n$")
        self.assertFalse(os.path.exists(self.path("none")))

    def test_a_gpu_whose_memory_others_have_is_told(self):
        lacking = {"LOCKSTEP_PTX_MEMORY": "64"}  # KiB: less than the self-test takes
        result = self.run_it("doctor", "--device", "cuda", KERNELS_ARE_KNOWN="", **lacking)
        self.assertEqual(result.returncode, 4, result.stderr)
        line = r"out of memory, the GPU's or the host's \(nvidia-smi shows who has the GPU's"
        self.assertRegex(result.stdout, rf"(?m)^FAIL  arithmetic  {line}\)$")
        self.assertRegex(result.stdout, r"(?m)^ok    clock ")  # the others are looked at, too
        result = self.run_it("fingerprint", "--device", "cuda", KERNELS_ARE_KNOWN="", **lacking)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertRegex(result.stderr, rf"^lockstep: {line}\)\n$")
        result = self.run_it(*TRAIN, "--run", "none", KERNELS_ARE_KNOWN="", **lacking)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertRegex(result.stderr, rf"lockstep: rank [01]: {line}\)\n")
        self.assertFalse(os.path.exists(self.path("none")))

    def test_doctors_of_gpus_meet(self):
        said = [(out, code) for _, code, out in self.each("doctor", ["0", "1"])]
        self.assertEqual([code for _, code in said], [0, 0], said)
        self.assertRegex(said[0][0], r"(?m)^ok    device      interpreted PTX, [^\n]*, 10000000-0000-0000-0000-000000000000$")
        self.assertRegex(said[0][0], r"(?m)^ok    rendezvous  2 ranks, secret and credentials agree$")
        native = self.each("doctor", ["0", "1"], self.write_native(), LOCKSTEP_PTX_OTHER="1")
        self.assertNotIn(0, {code for _, code, _ in native}, native)
        self.assertRegex(native[0][2], r"(?m)^FAIL  rendezvous  .*the ranks do not belong together: device: ")

    def test_a_task_of_a_launcher_has_its_gpu(self):
        self.ok(*ALONE, "--set", "run.steps=1", "--run", "run")
        place = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        for device, gpu in (("cuda", 1), ("cuda:0", 0)):
            self.ok("trace", "run", f"{gpu}.jsonl", "--device", device, "--quiet", **place)
            self.assertIn(f'"10000000-0000-0000-0000-00000000000{gpu}"'.encode(), self.read(f"{gpu}.jsonl"))

    def test_check_meets_over_nccl_on_the_gpus_that_it_tries(self):
        for device, code, said in (("cuda", 0, ""), ("cuda:0", 6, "are on one GPU, and NCCL needs one a rank")):
            result = self.run_it("check", "--ranks", "2", "--device", device, LOCKSTEP_TRANSPORT="nccl")
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(said, result.stderr)

    def test_a_dry_run_plans_the_exchange_of_its_transport(self):
        large = ("--set", "generator.hidden=1000", "--set", "generator.layers=12")
        planned = [json.loads(self.ok("train", RECIPE, "--dry-run", "--ranks", "2", "--device", "cuda", "--json", *large,
                                      LOCKSTEP_TRANSPORT=transport))["memory"][0]["exchange_bytes"] for transport in ("gloo", "nccl")]
        self.assertGreater(planned[1], planned[0])  # partials and sums stay in its memory

    def write_native(self):
        recipe = self.path("native.toml")
        with open(RECIPE, encoding="utf-8") as file, open(recipe, "w", encoding="utf-8") as to:
            to.write(re.sub(r"(?m)^\[run\]$", '[run]\nnumerics = "native"', file.read()))
        return recipe

    def test_ranks_on_one_gpu_are_told(self):
        for devices, told in ((["0", "0"], True), (["0", "1"], False)):
            for rank, (err, code) in enumerate(self.each_with(devices, run=f"run{devices[1]}")):
                self.assertEqual(code, 0, err)
                line = "ranks 0 and 1 compute on one GPU, 10000000-0000-0000-0000-000000000000, one after the other"
                self.assertEqual(line in err, told and rank == 0, err)

    def test_native_ranks_have_one_kind_of_gpu(self):
        # A fingerprint's few shapes may agree where a recipe's do not; a run that went on would be refused then.
        native = ("--set", "run.numerics=native")
        for recipe, refused in ((native, True), ((), False)):
            ends = self.each_with(["0", "1"], *recipe, run="native" if refused else "portable", LOCKSTEP_PTX_OTHER="1")
            if refused:
                self.assertEqual({code for _, code in ends}, {6}, ends)
                self.assertTrue(any(re.search(r"the ranks do not belong together: device: ", err) for err, _ in ends), ends)
            else:
                self.assertEqual({code for _, code in ends}, {0}, ends)
                self.assertIn("the ranks differ: device: ", ends[0][0])

    def test_a_dry_run_is_of_the_device(self):
        said = self.ok("train", RECIPE, "--dry-run", "--device", "cuda")
        self.assertIn("the GPU's memory leaves 4.0 GiB", said)
        self.assertNotIn("# time ", said)
        for ranks, shares in ((2, WHOLE), (4, HALF)):
            self.assertIn(shares, self.ok("train", RECIPE, "--dry-run", "--device", "cuda", "--ranks", str(ranks)))
        self.assertIn("too much here", self.ok("train", RECIPE, "--dry-run", "--device", "cuda", *TOO_LARGE))
        self.assertEqual(self.run_it("train", RECIPE, "--dry-run", "--device", "cuda:7").returncode, 4)

    def test_each_gpus_kernels_are_compared(self):
        report = json.loads(self.ok("check", "--ranks", "2", "--device", "cuda", "--json", KERNELS_ARE_KNOWN=""))
        self.assertEqual(report["code"], 0)
        for rank, node in enumerate(report["nodes"]):
            self.assertRegex(node, rf"^rank {rank} \(\S+, GPU 10000000-0000-0000-0000-00000000000{rank}\)$")
        self.assertNotIn("device_uuid", {finding["fact"] for finding in report["findings"]})
        self.assertEqual([report["machines"], report["gpus"]], [1, 2])

    def test_a_gpu_that_computes_wrongly_is_named(self):
        result = self.run_it("check", "--ranks", "2", "--device", "cuda", KERNELS_ARE_KNOWN="", LOCKSTEP_PTX_WRONG="1")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"linear \(portable\) is wrong on rank 1 \(\S+, GPU 10000000-0000-0000-0000-000000000001\)")
        self.assertNotIn("is wrong on rank 0", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^2 nodes \(1 machine, 2 GPUs\): portable kernels DIFFER")

    def test_nccl_is_not_asked_where_ranks_have_one_gpu(self):
        for devices in (["1", "1"], ["MIG-1", "MIG-2"]):  # NCCL knows GPUs by their place on the bus
            for err, code in self.each_with(devices, LOCKSTEP_TRANSPORT="nccl"):
                self.assertRegex(err, r"^lockstep: .*rank [01] and rank [01] are on one GPU, and NCCL needs one a rank: start "
                                      r"fewer, or use LOCKSTEP_TRANSPORT=gloo[^\n]*\n$")
                self.assertEqual(code, 6)
            self.assertFalse(os.path.exists(self.path("run")))


if __name__ == "__main__":
    main()
