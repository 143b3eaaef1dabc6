"""lockstep export: real packages load the weights, and PyTorch's copies of the networks make the same pictures.

usage: export_test.py PROGRAM SOURCE   (by a Python with numpy, h5py, safetensors and diffusers; PYTHONPATH: python, torch)

PyTorch rounds otherwise than Lockstep, and sums in another order. So pictures are compared by a tolerance: one grey level
of 255 for nearly all values. Weights are compared by their bits."""

import copy
import gzip
import json
import os
import shutil
import sys

import numpy

from support import SOURCE, Cli, main

sys.path[:0] = [os.path.join(SOURCE, "tests/reference")]
import lockstep
import philox
import torch
from diffusers import DDIMScheduler, EDMEulerScheduler, FlowMatchEulerDiscreteScheduler
from lockstep import networks
from safetensors import safe_open
from safetensors.torch import load_file, save_file

WEIGHTS = "diffusion_pytorch_model.safetensors"


def recipe_seed(text):
    return int(next(line for line in text.splitlines() if line.startswith("seed = ")).split(" = ")[1])


class Export(Cli):
    def trained(self, name, *changes, steps=20):
        """A run of a golden recipe, exported, and its samples as a NumPy array."""
        self.ok("train", os.path.join(SOURCE, f"recipes/golden/{name}.toml"), "--run", "run", "--quiet",
                "--set", f"run.steps={steps}", "--set", "samples.count=0", *changes)
        self.ok("export", "run", "out/")
        self.seed = recipe_seed(self.read("run/recipe.toml").decode())

    def samples(self, *arguments, count=6):
        self.ok("sample", "run", "--out", "x.npz", "--count", str(count), *arguments)
        return numpy.load(self.path("x.npz"))["arr_0"]

    def normals(self, stream, count, *shape):
        size = int(numpy.prod(shape))
        key = philox.stream_key(self.seed, stream)
        drawn = [philox.normal(key, i, 0, size) for i in range(count)]
        return torch.tensor(numpy.array(drawn, numpy.float32).reshape(count, *shape))

    def close(self, ours, theirs):
        """theirs: [n, c, h, w] in -1 to 1."""
        pixels = (theirs.clamp(-1, 1).permute(0, 2, 3, 1) * 127.5 + 127.5).numpy()
        apart = numpy.abs(pixels - ours)
        self.assertGreater(ours.std(), 4)  # pictures, not a grey field
        self.assertLess(numpy.quantile(apart, 0.999), 1.5)
        self.assertLess(apart.max(), 6)

    def test_ddim_of_diffusers_makes_the_same_pictures(self):
        self.same_by_ddim()

    def test_ddim_of_diffusers_makes_the_same_pictures_of_predicted_data(self):
        self.same_by_ddim("--set", "objective.prediction=x0")

    @torch.no_grad()
    def same_by_ddim(self, *changes):
        self.trained("ddpm", *changes)
        ours = self.samples("--sampler", "ddim", "--sampler-steps", "5")
        model = networks.load(self.path("out"))
        scheduler = DDIMScheduler.from_pretrained(self.path("out/scheduler"))
        steps = next(k for k in (5, 4, 3, 2) if scheduler.config.num_train_timesteps % k == 0)
        ours = self.samples("--sampler", "ddim", "--sampler-steps", str(steps))
        scheduler.set_timesteps(steps)
        x = self.normals("ddpm/sample-start", 6, 28, 28, 1).permute(0, 3, 1, 2)
        for t in scheduler.timesteps:
            x = scheduler.step(model(x, t.expand(len(x))), t, x, use_clipped_model_output=True).prev_sample
        self.close(ours, x)

    @torch.no_grad()
    def test_euler_of_diffusers_makes_the_same_pictures(self):
        self.trained("flow")
        ours = self.samples("--sampler-steps", "4")
        model = networks.load(self.path("out"))
        scheduler = FlowMatchEulerDiscreteScheduler.from_pretrained(self.path("out/scheduler"))
        scheduler.set_timesteps(sigmas=[1.0, 0.75, 0.5, 0.25])
        x = self.normals("flow/sample-start", 6, 28, 28, 1).permute(0, 3, 1, 2)
        for t in scheduler.timesteps:
            x = scheduler.step(model(x, t.expand(len(x))), t, x).prev_sample
        self.close(ours, x)

    @torch.no_grad()
    def test_euler_of_edm_makes_the_same_pictures(self):
        self.trained("edm")
        ours = self.samples("--sampler", "euler", "--sampler-steps", "5")
        model = networks.load(self.path("out"))
        scheduler = EDMEulerScheduler.from_pretrained(self.path("out/scheduler"))
        scheduler.set_timesteps(5)
        x = self.normals("edm/sample-start", 6, *ours.shape[1:]).permute(0, 3, 1, 2) * scheduler.config.sigma_max
        for t in scheduler.timesteps:
            x = scheduler.step(model(scheduler.scale_model_input(x, t), t.expand(6)), t, x).prev_sample
        self.close(ours, x)

    @torch.no_grad()
    def test_a_transformer_makes_the_same_pictures(self):
        self.trained("dit")
        ours = self.samples("--guidance", "1", "--sampler-steps", "4")
        model = networks.load(self.path("out"))
        scheduler = FlowMatchEulerDiscreteScheduler.from_pretrained(self.path("out/scheduler"))
        scheduler.set_timesteps(sigmas=[1.0, 0.75, 0.5, 0.25])
        x = self.normals("flow/sample-start", 6, *ours.shape[1:]).permute(0, 3, 1, 2)
        for t in scheduler.timesteps:
            x = scheduler.step(model(x.contiguous(), t.expand(6), torch.arange(6) % 3), t, x).prev_sample
        self.close(ours, x)

    @torch.no_grad()
    def test_guidance_by_class_in_pytorch(self):
        self.trained("class-ddpm")
        ours = self.samples("--class", "3", "--sampler", "ddim", "--sampler-steps", "4")
        model = networks.load(self.path("out"))
        scheduler = DDIMScheduler.from_pretrained(self.path("out/scheduler"))
        scheduler.set_timesteps(4)
        x = self.normals("ddpm/sample-start", 6, 28, 28, 1).permute(0, 3, 1, 2)
        y = torch.zeros(6, 10)
        y[:, 3] = 1
        for t in scheduler.timesteps:
            told, none = (model(x, t.expand(6), rows) for rows in (y, torch.zeros(6, 10)))
            x = scheduler.step(none + 2.5 * (told - none), t, x, use_clipped_model_output=True).prev_sample
        self.close(ours, x)

    @torch.no_grad()
    def generated(self, name):
        self.trained(name, steps=60)  # in 20 their pictures are grey
        config = json.loads(self.read("out/generator/config.json"))
        classes = config["classes"]
        y = torch.eye(classes)[torch.arange(6) % classes] if classes else None
        model = networks.load(self.path("out"), "generator")
        return self.samples(), model(self.normals("gan/sample-latent", 6, config["latent"]), y)

    def test_generators_make_the_same_pictures(self):
        for name in ("dcgan", "class-gan"):
            with self.subTest(name):
                for folder in ("run", "out"):
                    shutil.rmtree(self.path(folder), ignore_errors=True)
                self.close(*self.generated(name))
        with self.assertRaisesRegex(ValueError, "this generator has 3 classes: give y"):
            networks.load(self.path("out"), "generator")(torch.zeros(1, 1))
        with self.assertRaisesRegex(ValueError, "has no folder 'model'"):
            networks.load(self.path("out"))

    def test_points_of_a_multilayer_perceptron(self):
        ours, theirs = self.generated("toy-gan")
        numpy.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=1e-5)

    def test_every_tensor_is_there_by_its_bits(self):
        self.trained("class-gan", steps=3)
        saved = lockstep.read_checkpoint(self.path("run/checkpoints/step-00000003.h5"))
        for role in ("generator", "discriminator"):
            for weights, what in (("trained", "param"), ("average", "ema")):
                self.ok("export", "run", "one.safetensors", "--role", role, "--weights", weights)
                found = load_file(self.path("one.safetensors"))
                values = saved.role(role) | (saved.role(role, what) if role == "generator" else {}) | saved.role(role, "buffer")
                self.assertEqual(set(found), set(values))
                for path, tensor in found.items():
                    here = values[path]
                    if path.endswith(".u") and values[path[:-1] + "weight"].ndim == 4:
                        shape = values[path[:-1] + "weight"].shape[:3]
                        here = here.reshape(shape).transpose(2, 0, 1).ravel()
                    else:
                        here = {4: lambda w: w.transpose(3, 2, 0, 1), 2: lambda w: w.T}.get(here.ndim, lambda w: w)(here)
                    self.assertEqual(tensor.numpy().tobytes(), numpy.ascontiguousarray(here).tobytes(), path)
        with safe_open(self.path("one.safetensors"), "np") as file:
            self.assertEqual(file.metadata()["lockstep.step"], "3")
            self.assertEqual(file.metadata()["lockstep.state"], saved.meta["state"])
            self.assertEqual(file.metadata()["lockstep.weights"], "trained")  # the discriminator has no average

    def test_the_discriminator_judges_as_ours(self):
        """It loads, with spectral norm; its judgement is one number a sample."""
        self.trained("class-gan", steps=3)
        judge = networks.load(self.path("out"), "discriminator")
        logits = judge(torch.zeros(4, 3, 16, 16), torch.eye(3)[[0, 1, 2, 0]])
        self.assertEqual(logits.shape, (4,))
        self.assertEqual(logits[0], logits[3])
        self.assertNotEqual(logits[0], logits[1])

    def test_spectral_norm_follows_the_weights(self):
        self.trained("class-gan", steps=3)
        judge, x, y = networks.load(self.path("out"), "discriminator"), torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 2, 0])
        before = judge(x, y)
        for _ in range(2):
            judge(x, y).sum().backward()
        self.assertTrue(torch.equal(copy.deepcopy(judge)(x, y), before))
        torch.testing.assert_close(copy.deepcopy(judge).double()(x.double(), y), before.double(), rtol=1e-4, atol=1e-4)
        config = json.loads(self.read("out/discriminator/config.json"))
        judge.load_state_dict(networks.make(config).state_dict())
        self.assertFalse(torch.allclose(judge(x, y), before))
        self.assertEqual(networks.make(config)(x, y).shape, (4,))

    @torch.no_grad()
    def test_other_types_and_one_time_for_all(self):
        for name in ("ddpm", "dit"):
            self.trained(name, steps=2)
            model = networks.load(self.path("out"))
            x = torch.randn(2, *(json.loads(self.read("out/model/config.json"))["sample_shape"][at] for at in (2, 0, 1)))
            classes = json.loads(self.read("out/model/config.json"))["classes"]
            y = torch.tensor([0, 1]) if classes else None
            plain = model(x, torch.tensor([7, 7]), y)
            for t in (7, torch.tensor(7)):
                self.assertTrue(torch.equal(model(x, t, y), plain))
            for kind in (torch.float64, torch.bfloat16, torch.float16):
                other = networks.load(self.path("out")).to(kind)(x.to(kind), 7, y)
                self.assertEqual(other.dtype, kind)
                torch.testing.assert_close(other.float(), plain, rtol=0.1, atol=0.1)
            shutil.rmtree(self.path("run"))

    def test_weights_of_the_modules_come_back(self):
        for name, roles in (("ddpm", ["model"]), ("dit", ["model"]), ("class-gan", ["generator", "discriminator"])):
            self.trained(name, steps=2)
            for role in roles:
                model = networks.load(self.path("out"), role)
                save_file({key: value.contiguous() for key, value in model.state_dict().items()}, self.path("ours.safetensors"))
                for run, file in (("theirs", f"out/{role}/{WEIGHTS}"), ("ours", "ours.safetensors")):
                    self.ok("train", os.path.join(SOURCE, f"recipes/golden/{name}.toml"), "--run", run, "--quiet", "--set",
                            "run.steps=1", "--set", "samples.count=0", "--weights", f"{role}={file}")
                self.assertEqual([lockstep.read_checkpoint(self.path(run, "checkpoints/step-00000000.h5")).meta["state"]
                                  for run in ("theirs", "ours")], [lockstep.read_ledger(self.path("ours")).steps[0]["before"]] * 2)
                shutil.rmtree(self.path("theirs")), shutil.rmtree(self.path("ours"))
            shutil.rmtree(self.path("run")), shutil.rmtree(self.path("out"))

    @torch.no_grad()
    def test_a_classifier_classifies_as_ours(self):
        folder = "/usr/share/datasets/fashion-mnist"
        self.trained("classifier", "--set", "data.kind=images", "--set", "data.classes=10")
        told = json.loads(self.ok("eval", "run", "--data", f"{folder}/t10k-images-idx3-ubyte.gz", "--json", "--quiet"))
        pictures, labels = (numpy.frombuffer(gzip.open(f"{folder}/t10k-{name}-ubyte.gz").read(), numpy.uint8)
                            for name in ("images-idx3", "labels-idx1"))
        x = torch.tensor(pictures[16:].reshape(-1, 1, 28, 28).astype(numpy.float32)) / 127.5 - 1
        right = (networks.load(self.path("out"))(x).argmax(dim=1).numpy() == labels[8:]).sum()
        self.assertGreater(right, 2000)  # it has learnt something
        self.assertLess(abs(right - told["right"]), 4)  # but for logits that rounding brings together

    def test_what_pytorchs_copies_do_not_know_is_no_network_of_theirs(self):
        config = {"kind": "mlp-generator", "layers": 1, "latent": 2, "hidden": 3, "sample_shape": [2], "classes": 0, "role": "generator"}
        networks.make({**config, "norm": "none"})
        for changes, said in (({"activation": "mish"}, "mlp-generator: unknown activation: use the networks.py of"),
                              ({"kind": "vae"}, "there is no network 'vae': use the networks.py of")):
            with self.assertRaisesRegex(ValueError, said):
                networks.make({**config, **changes})

    def test_the_same_files_again_and_from_a_checkpoint(self):
        self.trained("toy-gan", steps=3)
        before = self.contents("out")
        self.ok("export", "run@3", "out2")
        self.ok("export", "run/checkpoints/step-00000003.h5", "out3/")
        self.assertEqual(before, self.contents("out2"))
        self.assertEqual(before, self.contents("out3"))
        said = json.loads(self.ok("export", "run", "out/", "--json"))
        self.assertEqual({os.path.relpath(name, "out"): digest for name, digest in said["sha256"].items()}, before)

    def test_what_is_refused(self):
        self.once("run", "train", "tiny.toml", "--run", "run", "--quiet")
        self.assertEqual(self.refused(2, "export", "run", "a.safetensors", "--role", "generator"),
                         "--role generator: this run has no such network (use one of: model)")
        self.assertIn("its ending says nothing", self.refused(2, "export", "run", "a.bin"))
        self.assertIn("--role is of one file", self.refused(2, "export", "run", "out/", "--role", "model"))
        self.write("file", "")
        self.assertIn("is no folder", self.refused(2, "export", "run", "file"))
        self.refused(2, "export", "run", "run/checkpoints")
        for place in ("model/config.json", "scheduler/scheduler_config.json"):
            os.makedirs(os.path.dirname(self.path("linked", place)))
            os.symlink(self.path("file"), self.path("linked", place))
            self.assertIn(f"{place} is a symbolic link", self.refused(2, "export", "run", "linked/"))
            self.assertEqual(os.listdir(os.path.dirname(self.path("linked", place))), [os.path.basename(place)])
            os.remove(self.path("linked", place))
        self.assertIn("no checkpoint of step 9", self.refused(2, "export", "run@9", "out/"))
        os.makedirs(self.path("gan/generator"))
        self.write(f"gan/generator/{WEIGHTS}", b"")
        self.assertIn("gan/generator has the weights of a network that this run has not", self.refused(2, "export", "run", "gan/"))
        self.assertEqual(os.listdir(self.path("gan")), ["generator"])

    def test_files_of_others_stay(self):
        self.once("run", "train", "tiny.toml", "--run", "run", "--quiet")
        for name in ("model/config.json", "scheduler/scheduler_config.json"):
            os.makedirs(os.path.dirname(self.path("theirs", name)))
            self.write(f"theirs/{name}", '{"mine": 1}')
            self.assertIn(f"{name} is not of an earlier export: no weights of one are beside it", self.refused(2, "export", "run", "theirs/"))
            self.assertEqual(self.read(f"theirs/{name}"), b'{"mine": 1}')
            shutil.rmtree(self.path("theirs"))
        self.ok("export", "run", "out/")
        before = self.contents("out")
        self.ok("export", "run", "out/")
        self.assertEqual(self.contents("out"), before)
        with self.assertRaisesRegex(ValueError, "weights and no configuration: `lockstep export RUN folder/` writes both"):
            networks.load(self.path("out/model", WEIGHTS))
        self.ok("train", os.path.join(SOURCE, "recipes/golden/toy-gan.toml"), "--run", "gan", "--quiet", "--set", "run.steps=1")
        shutil.rmtree(self.path("out/model"))
        self.assertIn("is a scheduler, and this run has none", self.refused(2, "export", "gan", "out/"))


class Readers(Cli):
    def test_a_run_is_read(self):
        self.once("run", "train", "tiny.toml", "--run", "run", "--quiet")
        ledger = lockstep.read_ledger(self.path("run"))
        metrics = lockstep.read_metrics(self.path("run"))
        self.assertEqual([step["step"] for step in ledger.steps], [1, 2])
        self.assertEqual(list(metrics["step"]), [1, 2])
        self.assertEqual(metrics["loss.denoise"].astype(numpy.float32).tobytes(), ledger.losses("denoise").tobytes())
        saved = lockstep.read_checkpoint(self.path("run/checkpoints/step-00000002.h5"))
        self.assertEqual((saved.step, saved.meta["state"]), (2, ledger.steps[-1]["state"]))
        self.assertEqual(saved.tensors["model/param/input.weight"].shape, (3, 3, 1, 8))
        self.assertEqual(lockstep.read_checkpoint(self.path("run")).meta["state"], saved.meta["state"])
        self.assertEqual(lockstep.read_checkpoint(self.path("run@2")).meta["state"], saved.meta["state"])
        with self.assertRaisesRegex(FileNotFoundError, "step-00000009.h5"):
            lockstep.read_checkpoint(self.path("run@9"))
        with self.assertRaisesRegex(KeyError, "there is no model/emma, but .*model/param"):
            saved.role("model", "emma")
        with self.assertRaisesRegex(FileNotFoundError, "has no checkpoints"):
            lockstep.read_checkpoint(self.folder)

    def test_a_changed_line_is_named(self):
        self.once("run", "train", "tiny.toml", "--run", "run", "--quiet")
        text = self.read("run/ledger.jsonl").replace(b'"samples":4', b'"samples":5')
        self.write("run/ledger.jsonl", text)
        with self.assertRaisesRegex(ValueError, "line 3"):
            lockstep.read_ledger(self.path("run"))


if __name__ == "__main__":
    main()
