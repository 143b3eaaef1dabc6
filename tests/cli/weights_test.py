"""train --weights: first weights from safetensors files, which the real package reads and writes.

usage: weights_test.py PROGRAM SOURCE   (by a Python with numpy, h5py, safetensors and torch; PYTHONPATH: python, torch)"""

import hashlib
import json
import os
import shutil
import sys

import numpy

from support import SOURCE, Cli, main

sys.path[:0] = [os.path.join(SOURCE, "tests/reference")]
import lockstep
import torch
from safetensors.torch import load_file, save_file

GAN = os.path.join(SOURCE, "recipes/golden/class-gan.toml")


class Weights(Cli):
    def setUp(self):
        super().setUp()
        self.once("parent", "train", "tiny.toml", "--run", "parent", "--quiet")
        self.ok("export", "parent", "w.safetensors", "--weights", "trained")

    def digest(self, name):
        return hashlib.sha256(self.read(name)).hexdigest()

    def test_a_run_starts_with_them(self):
        result = self.run_it("train", "tiny.toml", "--weights", "w.safetensors", "--run", "run", "--set", "model.optimizer.ema_decay=0.5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"model starts with the weights of w.safetensors, SHA-256 {self.digest('w.safetensors')[:12]}",
                      result.stderr)
        recipe = self.read("run/recipe.toml").decode()
        self.assertIn(f'file = "{self.digest("w.safetensors")}"', recipe)
        theirs = lockstep.read_checkpoint(self.path("parent/checkpoints/step-00000002.h5")).tensors
        ours = lockstep.read_checkpoint(self.path("run/checkpoints/step-00000000.h5")).tensors
        self.assertEqual({name.split("/")[1] for name in ours} & {"param", "ema"}, {"param", "ema"})
        for name, values in ours.items():
            kind, path = name.split("/", 2)[1:]
            if kind in ("param", "ema"):
                self.assertEqual(values.tobytes(), theirs["model/param/" + path].tobytes(), name)
            else:
                self.assertFalse(numpy.any(values), name)
        self.ok("verify", "run")
        self.assertIn("step 0 has the state that the recipe names", self.ok("replay", "run"))

    def test_ranks_and_the_folder_alone_make_the_same_run(self):
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "one", "--quiet")
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "two", "--quiet", "--ranks", "2")
        for run in ("short", "same"):
            self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", run, "--quiet", "--set", "run.steps=1")
        os.remove(self.path("w.safetensors"))
        self.ok("train", "short", "--quiet", "--set", "run.steps=2")
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "same", "--quiet")
        self.assertIn("there is no w.safetensors", self.refused(2, "train", "tiny.toml", "--weights", "w.safetensors", "--run", "new"))
        line = self.refused(2, "train", "tiny.toml", "--set", "run.seed=2", "--weights", "w.safetensors", "--run", "same")
        self.assertIn("run.seed", line)
        for run in ("two", "short", "same"):
            self.assertEqual(self.read(f"{run}/ledger.jsonl"), self.read("one/ledger.jsonl"))

    def test_a_file_that_is_there_is_compared_where_the_other_is_gone(self):
        train = ["train", GAN, "--set", "run.steps=2", "--quiet"]
        for run, seed in (("gan", "1"), ("other", "2")):
            self.ok(*train, "--set", f"run.seed={seed}", "--run", run)
            for role in ("generator", "discriminator"):
                self.ok("export", run, f"{run}.{role}.safetensors", "--role", role, "--weights", "trained")
        both = ["--weights", "generator=gan.generator.safetensors", "--weights", "discriminator=gan.discriminator.safetensors", "--run", "run"]
        self.ok(*train, *both)
        os.remove(self.path("gan.discriminator.safetensors"))
        self.ok(*train, *both)
        shutil.copy(self.path("other.generator.safetensors"), self.path("gan.generator.safetensors"))
        self.assertIn("there is no gan.discriminator.safetensors", self.refused(2, *train, *both))

    def test_half_words_are_widened(self):
        tensors = load_file(self.path("w.safetensors"))
        first = next(iter(tensors))
        values = torch.tensor([1.0, -2.5, 6e-8, 6.1e-5, 65504.0, -0.0]).repeat(tensors[first].numel())
        for dtype in (torch.float16, torch.bfloat16):
            tensors[first] = values[: tensors[first].numel()].reshape(tensors[first].shape).to(dtype)
            save_file(tensors, self.path("half.safetensors"))
            self.ok("train", "tiny.toml", "--weights", "model=half.safetensors", "--run", "run", "--quiet")
            self.ok("export", "run/checkpoints/step-00000000.h5", "back.safetensors")
            back = load_file(self.path("back.safetensors"))
            self.assertEqual(back[first].numpy().tobytes(), tensors[first].float().numpy().tobytes())
            shutil.rmtree(self.path("run"))

    def test_one_network_of_a_gan(self):
        self.ok("train", GAN, "--set", "run.steps=2", "--run", "gan", "--quiet")
        self.ok("export", "gan", "d.safetensors", "--role", "discriminator", "--weights", "trained")
        self.assertIn("does not say which network they are for (write ROLE=FILE, of: generator, discriminator)",
                      self.refused(2, "train", GAN, "--weights", "d.safetensors", "--run", "run"))
        self.ok("train", GAN, "--set", "run.steps=2", "--weights", "discriminator=d.safetensors", "--run", "run", "--quiet")
        self.ok("export", "gan", "g.safetensors", "--role", "generator", "--weights", "trained")
        self.ok("train", GAN, "--set", "run.steps=1", "--weights", "discriminator=d.safetensors", "--weights",
                "generator=g.safetensors", "--run", "both", "--quiet")
        begun, both, old = (lockstep.read_checkpoint(self.path(f"{run}/checkpoints/step-{step:08}.h5")).tensors
                            for run, step in (("run", 0), ("both", 0), ("gan", 2)))
        for name, values in begun.items():
            kind = name.split("/")[1]
            if kind in ("param", "buffer"):
                self.assertEqual(both[name].tobytes(), old[name].tobytes(), name)
                self.assertEqual(values.tobytes() == old[name].tobytes(), name.startswith("discriminator"), name)
        self.ok("verify", "run")

    def test_a_folder_of_export_is_its_files(self):
        self.ok("export", "parent", "exported/", "--weights", "trained")
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "file", "--quiet")
        for run, weights in (("folder", "exported/"), ("again", "exported"), ("inner", "exported/model"), ("named", "model=exported/")):
            self.ok("train", "tiny.toml", "--weights", weights, "--run", run, "--quiet")
            self.assertEqual(self.evidence(run), self.evidence("file"), weights)
        shutil.rmtree(self.path("exported"))
        self.ok("train", "tiny.toml", "--weights", "exported/", "--run", "folder", "--quiet", "--set", "run.steps=3")

    def test_a_folder_of_export_has_all_networks_of_a_gan(self):
        train = ["train", GAN, "--set", "run.steps=2", "--quiet"]
        self.ok(*train, "--run", "gan")
        self.ok("export", "gan", "exported/", "--weights", "trained")
        files = {role: f"exported/{role}/diffusion_pytorch_model.safetensors" for role in ("generator", "discriminator")}
        self.ok(*train, "--run", "two", *(word for role, file in files.items() for word in ("--weights", f"{role}={file}")))
        self.ok(*train, "--run", "all", "--weights", "exported/")
        self.assertEqual(self.evidence("all"), self.evidence("two"))
        self.ok(*train, "--run", "one", "--weights", "discriminator=exported/")
        self.ok(*train, "--run", "same", "--weights", f"discriminator={files['discriminator']}")
        self.assertEqual(self.evidence("one"), self.evidence("same"))
        self.assertIn("exported/generator does not say which network they are for",
                      self.refused(2, *train, "--run", "new", "--weights", "exported/generator"))
        self.assertIn("--weights names two files for discriminator",
                      self.refused(2, *train, "--run", "new", "--weights", "exported/", "--weights", "discriminator=exported"))
        os.remove(self.path(files["generator"]))
        self.assertEqual(self.refused(2, *train, "--run", "new", "--weights", "exported/"),
                         "--weights: exported/ has no generator/diffusion_pytorch_model.safetensors (give a safetensors file, or the "
                         "folder that `lockstep export` wrote)")
        self.assertFalse(os.path.exists(self.path("new")))
        shutil.rmtree(self.path("exported"))
        self.ok("train", GAN, "--set", "run.steps=3", "--quiet", "--run", "all", "--weights", "exported/")

    def test_what_is_no_file_says_what_to_do(self):
        os.mkdir(self.path("empty"))
        os.mkfifo(self.path("fifo"))
        alone = "its weights alone: `lockstep export {0} exported/`, then --weights exported/)"
        checkpoint = "parent/checkpoints/step-00000002.h5"
        for path, said in (("parent", "is a run's folder (its state: --from {0} --run NEW; " + alone),
                           (checkpoint, "is a checkpoint (its run's state: --from RUN@STEP; " + alone),
                           ("empty", "has no model/diffusion_pytorch_model.safetensors (give a safetensors file, or the folder that "
                                     "`lockstep export` wrote)"),
                           ("fifo", "is no regular file (give a safetensors file, or the folder that `lockstep export` wrote)")):
            for text in (path, f"model={path}"):
                self.assertEqual(self.refused(2, "train", "tiny.toml", "--weights", text, "--run", "new"),
                                 f"--weights: {path} {said.format(path)}")
        self.assertFalse(os.path.exists(self.path("new")))

    def test_files_of_torch_save_are_told_from_headers_that_begin_alike(self):
        torch.save({"x": torch.zeros(3)}, self.path("w.pt"))
        self.assertIn("it is a file of torch.save, not of safetensors",
                      self.refused(3, "train", "tiny.toml", "--weights", "w.pt", "--run", "new"))
        whole = self.read("w.safetensors")
        length = int.from_bytes(whole[:8], "little")
        for wanted in range(length, 1 << 17, 8):  # a header of such a length begins as pickles do
            if wanted & 0xffff == 0x0280:
                break
        self.write("alike.safetensors", wanted.to_bytes(8, "little") + whole[8:8 + length].ljust(wanted) + whole[8 + length:])
        self.assertEqual(self.read("alike.safetensors")[:2], b"\x80\x02")
        self.ok("train", "tiny.toml", "--weights", "alike.safetensors", "--run", "new", "--quiet")

    def test_a_file_longer_than_its_header_says_is_refused_unread(self):
        text = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        self.write("long.safetensors", len(text).to_bytes(8, "little") + text + bytes(4))
        os.truncate(self.path("long.safetensors"), 64 << 30)  # more than this machine has
        self.assertIn("there are bytes behind its values", self.refused(3, "inspect", "long.safetensors"))

    def test_what_is_refused(self):
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "run", "--quiet")
        tensors = load_file(self.path("w.safetensors"))
        first = next(iter(tensors))
        known = json.loads(self.ok("inspect", "w.safetensors", "--json"))
        metadata = known.pop("metadata")
        self.assertEqual((metadata["lockstep.step"], metadata["lockstep.weights"]), ("2", "trained"))
        self.assertEqual(known,
                         {"kind": "weights", "tensors": len(tensors), "values": sum(t.numel() for t in tensors.values()),
                          "sha256": self.digest("w.safetensors")})

        def said(changed, code=2):
            save_file(changed, self.path("x.safetensors"))
            return self.refused(code, "train", "tiny.toml", "--weights", "x.safetensors", "--run", "new")

        self.assertIn(f"it has no {first}", said({k: v for k, v in tensors.items() if k != first}))
        self.assertIn("it has more, and the recipe's network has not", said(tensors | {"more": torch.zeros(1)}))
        self.assertIn(f"{first} has the shape 1, ", said(tensors | {first: torch.zeros(1)}))
        self.assertIn(f"{first} has a value that is not finite",
                      said(tensors | {first: torch.full_like(tensors[first], float("nan"))}))
        self.assertIn(f"{first} has values of type I64", said(tensors | {first: tensors[first].long()}, 3))
        self.write("cut.safetensors", self.read("w.safetensors")[:-1])
        self.assertIn("are cut", self.refused(3, "train", "tiny.toml", "--weights", "cut.safetensors", "--run", "new"))
        self.assertIn("there is no none.safetensors",
                      self.refused(2, "train", "tiny.toml", "--weights", "none.safetensors", "--run", "new"))
        self.assertIn("ROLE= before it may be model",
                      self.refused(2, "train", "tiny.toml", "--weights", "generator=w.safetensors", "--run", "new"))
        self.assertFalse(os.path.exists(self.path("new")))
        # Another file than the recipe names, or none.
        save_file(tensors | {first: tensors[first] + 1}, self.path("x.safetensors"))
        self.assertIn("the recipe names",
                      self.refused(2, "train", "run/recipe.toml", "--weights", "x.safetensors", "--run", "new"))
        self.assertIn("starts from a state that is not its seed's",
                      self.refused(2, "train", "run/recipe.toml", "--run", "new"))
        self.assertIn("there is no file", self.refused(2, "train", "tiny.toml", "--set", "model.weights=imported",
                                                       "--run", "new"))
        self.assertIn("there is no file", self.refused(2, "train", "tiny.toml", "--set", "model.weights=imported",
                                                       "--from", "parent", "--run", "new"))
        self.assertIn("leave one of the two out", self.refused(2, "train", "tiny.toml", "--weights", "x.safetensors",
                                                               "--from", "parent", "--run", "new"))

    def test_a_run_that_starts_from_it_names_no_file(self):
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "run", "--quiet")
        self.ok("train", "run", "--from", "run@2", "--run", "child", "--quiet")
        self.assertIn(self.digest("w.safetensors"), self.read("run/recipe.toml").decode())
        recipe = self.read("child/recipe.toml").decode()
        self.assertIn('start = "run"', recipe)
        self.assertNotIn("imported", recipe)
        self.assertNotIn(self.digest("w.safetensors"), recipe)
        self.ok("verify", "child", "--parent", "run")

    def test_a_changed_state_at_step_0_is_found(self):
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "run", "--quiet")
        recipe = self.read("run/recipe.toml").decode()
        state = recipe.split('state = "')[1][:64]
        self.write("run/recipe.toml", recipe.replace(state, "0" * 64))
        self.assertEqual(self.run_it("verify", "run").returncode, 5)
        self.write("run/recipe.toml", recipe)
        os.remove(self.path("run/checkpoints/step-00000000.h5"))
        self.assertIn("the state that this run starts from", self.run_it("verify", "run").stdout
                      + self.run_it("verify", "run").stderr)
        self.ok("train", "tiny.toml", "--weights", "w.safetensors", "--run", "run", "--set", "run.steps=3")
        self.assertIn("step-00000000.h5 is missing: the run goes on", self.read("run/log.txt").decode())


if __name__ == "__main__":
    main()
