"""What the program says of GPUs, beside a library that stands in for their driver's (stand_in_nvml.cpp).

usage: gpus_test.py PROGRAM SOURCE FOLDER [unittest's arguments], where FOLDER has the library
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

PROGRAM, SOURCE, FOLDER = sys.argv[1:4]

ON_GPU = os.path.join(os.path.dirname(PROGRAM), "ptx", "lockstep")
H100 = "NVIDIA H100 80GB HBM3"
WELL = f"580.65.06 13000\n1 0 0 1 -N {H100}\n1 0 0 1 N- {H100}\n"


def run(gpus, *arguments, program=PROGRAM, **more):
    """(exit code, standard output)"""
    environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "STAND_IN_GPUS": gpus, **more}
    done = subprocess.run([program, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class Facts(unittest.TestCase):
    def facts(self, gpus):
        code, out = run(gpus, "fingerprint", "--json")
        self.assertEqual(code, 0)
        return {name: value for name, value in json.loads(out).items()
                if name.split(".")[0] in ("gpu", "driver", "cuda_driver", "cuda")}

    def test_of_two_gpus_that_are_well(self):
        one = {"": H100, ".clock": "default of 1980 MHz", ".memory_clock": "default of 2619 MHz", ".ecc": "on",
               ".ecc_errors": "0 corrected, 0 uncorrected", ".throttling": "none"}
        self.assertEqual(self.facts(WELL), {
            "cuda": "13.0", "driver": "580.65.06", "cuda_driver": "13.0",
            **{f"gpu.0{end}": value for end, value in one.items()}, "gpu.0.peers": "1 by NVLink",
            **{f"gpu.1{end}": value for end, value in one.items()}, "gpu.1.peers": "0 by NVLink"})

    def test_of_others(self):
        facts = self.facts("550.54.14 12040\n- 0 0 4 --P A10G\n0 0 0 232 --- A\n1 12 3 0 P-- B C\n")
        self.assertEqual([facts[f"gpu.{i}"] for i in range(3)], ["A10G", "A", "B C"])
        self.assertEqual([facts[f"gpu.{i}.ecc"] for i in range(3)], ["none", "off", "on"])
        self.assertEqual([facts.get(f"gpu.{i}.ecc_errors") for i in range(3)], [None, None, "12 corrected, 3 uncorrected"])
        self.assertEqual([facts[f"gpu.{i}.throttling"] for i in range(3)], [
            "power cap", "hardware slowdown, software thermal slowdown, hardware thermal slowdown, power brake", "none"])
        self.assertEqual([facts[f"gpu.{i}.peers"] for i in range(3)], ["1 not, 2 by PCIe", "0 not, 2 not", "0 by PCIe, 1 not"])
        self.assertEqual((facts["driver"], facts["cuda_driver"]), ("550.54.14", "12.4"))

    def test_without_a_driver(self):
        self.assertEqual(self.facts(""), {"cuda": "13.0", "gpu": "none"})


    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "NOT PROVED: not beside a sanitizer")
    def test_of_libraries_of_cuda_12(self):
        def cublas(**more):
            return json.loads(run("", "fingerprint", "--json", **more)[1]).get("cublas")

        self.assertIsNone(cublas(), "one that is there, but not loaded")
        self.assertEqual(cublas(LD_PRELOAD=os.path.join(FOLDER, "libcublasLt.so.12")), "120901")


@unittest.skipUnless(os.path.exists(ON_GPU), "NOT PROVED: facts of the GPU that computes (no CUDA compiler)")
class OnAGpu(unittest.TestCase):
    """On an interpreted GPU, number 1 of two."""

    def run_there(self, *arguments, **more):
        return run(WELL.replace("1 0 0 1 N-", "f 0 0 1 N-"), *arguments, "--device", "cuda", program=ON_GPU, CUDA_VISIBLE_DEVICES="1",
                   KERNELS_ARE_KNOWN="1", **more)

    def test_a_fingerprint_has_the_one_that_computes(self):
        facts = json.loads(self.run_there("fingerprint", "--json")[1])
        self.assertEqual([facts["gpu"], facts["gpu.ecc"], facts["gpu.peers"]], [H100, "on", "0 by NVLink"])
        self.assertEqual([name for name in facts if name.startswith("gpu.") and name[4].isdigit()], [])

    def test_doctor_tells_which_one_that_is(self):
        code, out = self.run_there("doctor")
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"(?m)^ok    device      interpreted PTX, compute capability 8.0, 10000000-0000-0000-0000-000000000001$")
        self.assertRegex(out, rf"(?m)^ok    gpu 1       {H100}, GPU-10000000-0000-0000-0000-000000000001, driver 580.65.06$")

    def test_a_driver_that_cannot_be_asked_is_told_and_is_no_difference(self):
        nowhere = {"LD_LIBRARY_PATH": "/nonexistent"}
        code, out = self.run_there("doctor", **nowhere)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"(?m)^warn  gpu         its errors, clocks and heat are unknown: no libnvidia-ml.so.1 \(containers: ")
        with tempfile.TemporaryDirectory(prefix="lockstep-gpus-") as folder:
            for name, more in (("a", {}), ("b", nowhere)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(self.run_there("fingerprint", "--json", **more)[1])
            self.assertEqual(json.loads(self.read(folder, "b"))["gpu"], "unknown")
            code, out = run("", "check", os.path.join(folder, "a"), os.path.join(folder, "b"), "--json")
        self.assertEqual(code, 0, out)
        self.assertEqual([finding["fact"] for finding in json.loads(out)["findings"] if finding["fact"].startswith(("gpu", "driver", "cuda"))], [])

    def read(self, folder, name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()


class Doctor(unittest.TestCase):
    def lines(self, gpus):
        """What doctor says of GPUs. It ends with 0: it warns of them, no more."""
        code, out = run(gpus, "doctor")
        self.assertEqual(code, 0, out)
        return [line for line in out.splitlines() if line[6:].startswith(("gpu", "driver"))]

    def test_shows_gpus_that_are_well(self):
        self.assertEqual(self.lines(WELL), [f"ok    gpu {i}       {H100}, GPU-10000000-0000-0000-0000-00000000000{i}, driver 580.65.06"
                                            for i in range(2)])
        self.assertEqual(self.lines(WELL.replace("1 0 0 1 ", "1 9 0 7 ")), self.lines(WELL))  # corrected, idle, at the power cap
        self.assertEqual(self.lines(WELL.replace("1 0 0 1 ", "- 0 0 1 ")), self.lines(WELL))  # has no ECC
        self.assertEqual(self.lines("580.65.06 13000\n"), [])
        self.assertEqual(self.lines(""), [])

    def warned(self, gpus, expected):
        self.assertEqual([line for line in self.lines(gpus) if not line.startswith("ok ")], expected)

    def test_warns_of_each_thing_in_one_line(self):
        self.warned(WELL.replace("1 0 0 1 N-", "1 0 2 1 N-"), [
            "warn  gpu 1       2 uncorrected memory errors since the driver was loaded: what it computes may be wrong "
            "(reset it: nvidia-smi -r; replace it if they come back)"])
        self.warned(WELL.replace("1 0 0 1 -N", "0 0 0 1 -N"), [
            "warn  gpu 0       ECC is off: nothing finds bits that flip in its memory (nvidia-smi -e 1, then reset it)"])
        self.warned(WELL.replace("1 0 0 1 -N", "1 0 0 196 -N"), [
            "warn  gpu 0       its clocks are held down: hardware thermal slowdown, power brake "
            "(look at its cooling and its power supply)"])
        self.warned(WELL.replace("-N", "--").replace("N-", "--"), [
            "warn  gpu 0 - 1   they do not reach each other's memory: bytes between them pass through the host "
            "(nvidia-smi topo -p2p r)"])
        self.warned(WELL.replace("-N", "-P").replace("N-", "P-"), [])
        self.warned(WELL.replace("580.65.06 13000", "550.54.14 12040"), [
            "warn  driver      550.54.14 runs CUDA 12.4 at most, and the runtime is 13.0 (install a newer driver)"])
        self.warned(WELL.replace("13000", "13020"), [])

    def test_warns_of_gpus_that_want_a_reset_or_are_lost(self):
        self.warned(WELL.replace("1 0 0 1 -N", "p 0 0 1 -N").replace("1 0 0 1 N-", "f 0 0 1 N-"), [
            "warn  gpu 0       bad rows of its memory wait for a reset, to be remapped (nvidia-smi -r)",
            "warn  gpu 1       bad rows of its memory could not be remapped (replace it)"])
        lost = WELL.replace("1 0 0 1 -N", "x 0 0 1 -N")
        self.assertEqual(self.lines(lost), [  # the other keeps its number
            f"ok    gpu 1       {H100}, GPU-10000000-0000-0000-0000-000000000001, driver 580.65.06",
            "warn  gpu 0       the driver does not reach it, NVML error 15 (nvidia-smi says more; a lost one wants the machine restarted)"])
        self.assertEqual(self.lines(WELL.replace("1 0 0 1 -N", "h 0 0 1 -N")), self.lines(lost)[:1])  # somebody else's

    def test_says_so_in_json(self):
        code, out = run(WELL.replace("1 0 0 1 -N", "0 0 0 1 -N"), "doctor", "--json")
        said = json.loads(out)
        checks = [check for check in said["checks"] if check["check"] == "gpu 0"]
        self.assertEqual((code, said["ok"], [(check["ok"], check["warning"]) for check in checks]), (0, True, [(True, False), (True, True)]))


class Check(unittest.TestCase):
    def test_compares_gpus_and_tells_what_can_change_bits(self):
        nodes = {"a": WELL, "b": WELL.replace("1 0 0 1 -N", "1 5 0 8 -P").replace("N-", "P-"),
                 "c": WELL.replace("1 0 0 1 -N", "0 0 0 1 -N").replace("580.65.06", "580.82.07")}
        with tempfile.TemporaryDirectory(prefix="lockstep-gpus-") as folder:
            for name, gpus in nodes.items():
                with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as file:
                    file.write(run(gpus, "fingerprint", "--json")[1])
            code, out = run("", "check", *(os.path.join(folder, f"{name}.json") for name in nodes), "--json")
        self.assertEqual(code, 0, out)
        found = {finding["fact"]: finding["matters"] for finding in json.loads(out)["findings"] if "gpu" in finding["fact"] or
                 finding["fact"] == "driver"}
        self.assertEqual(found, {"driver": "native", "gpu.0.ecc": "native", "gpu.0.ecc_errors": "nobody", "gpu.0.throttling": "nobody",
                                 "gpu.0.peers": "nobody", "gpu.1.peers": "nobody"})


if __name__ == "__main__":
    del sys.argv[1:4]
    unproved.main(sys.argv[1:])
