"""Data in shards: the same runs as from one file; what is missing or changed is named, and nothing is lost."""

import json
import os
import random
import shutil
import struct
import time

from support import main
from toy import Toy

SLICE = 65536
COUNT, SIDE = 7000, 32  # 20.5 MiB of pictures: 329 slices, far more than some steps read
TRAIN = ("train", "tiny.toml", "--threads", "1", "--set", "batch.lanes=3", "--set", "data.classes=10")


class Shards(Toy):
    @classmethod
    def setUpClass(cls):
        cls.pixels = random.Random(1).randbytes(COUNT * SIDE * SIDE * 3)
        cls.labels = bytes(i * 7 % 10 for i in range(COUNT))

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("d"))
        self.write("d/a-images-idx4-ubyte", b"\0\0\x08\x04" + struct.pack(">IIII", COUNT, SIDE, SIDE, 3) + self.pixels)
        self.write("d/a-labels-idx1-ubyte", b"\0\0\x08\x01" + struct.pack(">I", COUNT) + self.labels)
        self.said = json.loads(self.once("shards", "pack", "d/a-images-idx4-ubyte", "shards", "--shard-size", "5000K", "--json"))

    def train(self, run, *more, data="shards", steps=4):
        return self.ok(*TRAIN, "--quiet", "--run", run, "--set", f"data.path={data}", "--set", f"run.steps={steps}", *more)

    def test_hold_what_one_file_holds(self):
        packed = json.loads(self.ok("pack", "d/a-images-idx4-ubyte", "one.h5", "--json"))
        self.assertEqual({k: v for k, v in self.said.items() if k != "shards"}, {**packed, "out": "shards"})
        self.assertEqual(self.said["shards"], 5)
        self.assertEqual(sorted(os.listdir(self.path("shards"))), ["labels-00000.bin", "labels.tree", *(
            f"pixels-0000{i}.bin" for i in range(5)), "pixels.tree", "shards.index"])
        self.assertEqual(b"".join(self.read("shards", f"pixels-0000{i}.bin") for i in range(5)), self.pixels)
        self.assertEqual(os.path.getsize(self.path("shards/pixels-00000.bin")), 5000 * 1024 // SLICE * SLICE)
        self.assertLess(os.path.getsize(self.path("shards/shards.index")), 1200)
        self.ok("pack", "one.h5", "again", "--shard-size", "5000K")
        for name in os.listdir(self.path("shards")):
            self.assertEqual(self.read("again", name), self.read("shards", name), name)
        seen = json.loads(self.ok("inspect", "shards", "--json"))
        self.assertEqual((seen["kind"], seen["images"], seen["hash"], seen["labelled_hash"]),
                         ("data", COUNT, packed["hash"], packed["labelled_hash"]))
        counts = [self.labels.count(i) for i in range(10)]
        self.assertEqual(seen["classes"], counts)
        self.assertEqual(json.loads(self.ok("inspect", "one.h5", "--json"))["classes"], counts)

    def bits(self, run):
        """All evidence but the recipe's text, which says where the data lie."""
        return {name: found for name, found in self.evidence(run).items() if name != "recipe.toml"}

    def test_give_the_same_run_on_any_ranks_and_every_command_takes_them(self):
        self.ok("pack", "d/a-images-idx4-ubyte", "one.h5")
        self.train("one", data="one.h5")
        expected = self.bits("one")
        self.train("by1")
        self.train("by3", "--ranks", "3")
        self.train("unlabelled", "--set", "data.classes=0", "--set", "data.path=shards")
        self.assertEqual(self.bits("by1"), expected)
        self.assertEqual(self.bits("by3"), expected)
        for run, data in (("by3", ()), ("one", ("--data", "shards")), ("by1", ("--data", "one.h5"))):
            self.ok("verify", run, *data)
            self.ok("replay", run, *data)
        self.ok("sample", "by3", "--count", "2", "--out", "a.png")
        self.ok("report", "by3")
        self.train("by3", steps=6)  # goes on
        self.train("one", data="shards", steps=6)
        self.assertEqual(self.bits("one"), self.bits("by3"))

    def refused_run(self, *names):
        line = self.refused(3, *TRAIN, "--quiet", "--run", "run", "--set", "data.path=shards", "--set", "run.steps=4")
        for name in names:
            self.assertIn(name, line)

    def test_that_are_missing_cut_off_or_changed_are_named(self):
        self.train("run", steps=2)
        shard = self.path("shards/pixels-00003.bin")
        os.rename(shard, self.path("away"))
        self.refused_run("shards/pixels-00003.bin is missing: it holds samples 4992 to 6655")
        findings = json.loads(self.refused_json(3, "verify", "shards", "--json"))["findings"]
        self.assertEqual([f["kind"] for f in findings], ["damaged"])
        shutil.copy(self.path("away"), shard)
        os.truncate(shard, 1000)
        self.refused_run("shards/pixels-00003.bin has 1000 bytes instead of 5111808")
        shutil.copy(self.path("away"), shard)
        self.spoil(0, 4)
        self.refused_run("shards/pixels-0000", " (samples ", "changed since the data were packed")
        out = self.run_it("verify", "shards")
        self.assertEqual(out.returncode, 3)
        self.assertEqual([line.split(",")[0] for line in out.stdout.splitlines()],
                         [f"damaged: shards/pixels-0000{i}.bin" for i in range(4)])
        self.spoil(0, 4)
        self.assertIn("shards: the data hold: 7000 images, 5 shards", self.ok("verify", "shards"))
        self.train("run")
        self.ok("verify", "run")
        self.assertIn("are of a run", self.refused(2, "verify", "shards", "--data", "d"))

    def refused_json(self, code, *arguments):
        result = self.run_it(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def spoil(self, first, end):
        """Flips a bit of each slice of some shards; a second time mends them."""
        for shard in range(first, end):
            path = self.path(f"shards/pixels-0000{shard}.bin")
            with open(path, "r+b") as file:
                for at in range(100, os.path.getsize(path), SLICE):
                    file.seek(at)
                    value = file.read(1)[0]
                    file.seek(at)
                    file.write(bytes([value ^ 1]))

    def test_changed_under_a_running_job_stop_it_by_name_and_it_goes_on_when_they_are_back(self):
        for ranks in ("1", "3"):
            for run in ("run", "alone"):
                shutil.rmtree(self.path(run), ignore_errors=True)
            process = self.start(*TRAIN, "--quiet", "--run", "run", "--ranks", ranks, "--set", "data.path=shards",
                                 "--set", "checkpoint.every=5", "--set", "run.steps=1000000")
            self.wait_for_step(12)
            self.spoil(0, 5)
            _, err = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 3, err)
            self.assertRegex(err, r"shards/pixels-0000\d.bin, bytes \d+ to \d+ \(samples \d+ to \d+\): changed since")
            self.ok("verify", "run")
            self.spoil(0, 5)
            done = self.lines() - 1
            self.train("run", "--set", "checkpoint.every=5", steps=done + 5)
            self.train("alone", steps=done + 5)
            self.assertEqual(self.read("run/ledger.jsonl"), self.read("alone/ledger.jsonl"))

    def test_take_no_others_folder_and_say_what_to_do(self):
        before = self.contents()
        for arguments, said in ((("shards", "--shard-size", "1M"), "shards is not empty: it has"),
                                (("d", "--shard-size", "1M"), "d is not empty: it has a-images-idx4-ubyte"),
                                (("x.h5", "--shard-size", "1M"), "give one without .h5"),
                                (("x", "--shard-size", "63K"), "at least 64K"),
                                (("x", "--shard-size", "1T"), "is no size such as 256M"),
                                (("x", "--shard-size", "-1"), "is no size such as 256M")):
            self.assertIn(said, self.refused(2, "pack", "d/a-images-idx4-ubyte", *arguments))
        self.refused(4, "pack", "d/a-images-idx4-ubyte", "no/where", "--shard-size", "1M")
        for name, tree in (("pixels-00001.bin", None), ("pixels-train.bin", "pixels.tree"), ("labels-1.bin", "labels.tree"),
                           ("values-2020.bin", "values.tree"), ("pixels-00001.bin", "labels.tree")):  # no killed pack's
            os.mkdir(self.path("mine"))
            for one in filter(None, (name, tree)):
                self.write("mine/" + one, b"a user's")
            self.assertIn(f"mine is not empty: it has {name}",
                          self.refused(2, "pack", "d/a-images-idx4-ubyte", "mine", "--shard-size", "1M"))
            self.assertEqual(self.read("mine", name), b"a user's")
            shutil.rmtree(self.path("mine"))
        self.write("bad", self.read("d/a-images-idx4-ubyte")[:-1])
        self.refused(3, "pack", "bad", "x", "--shard-size", "1M")
        os.remove(self.path("bad"))
        self.assertEqual(self.contents(), before)

    def test_of_a_killed_pack_are_replaced(self):
        process = self.start("pack", "d/a-images-idx4-ubyte", "x", "--shard-size", "64K")
        while not os.path.exists(self.path("x/pixels-00002.bin")):
            self.assertIsNone(process.poll())
            time.sleep(0.0005)
        process.kill()
        process.wait()
        self.assertIn("x", self.refused(2, "inspect", "x"))
        self.ok("pack", "d/a-images-idx4-ubyte", "x", "--shard-size", "1M")
        self.assertIn("the data hold", self.ok("verify", "x"))


if __name__ == "__main__":
    main()
