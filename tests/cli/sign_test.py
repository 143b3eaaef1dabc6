"""Signed runs: keys, what `train --sign` leaves, what `verify --key` says, the openssl program as a witness, and
evidence forged by who has everything but the private key."""

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys

import forger
from support import PROGRAM, SOURCE, main
from toy import STEPS, TRAIN, Toy

sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
from ports import free_port  # noqa: E402


def checkpoint(step, run="run", tail=""):
    return f"{run}/checkpoints/step-{step:08}.h5{tail}"


class Signed(Toy):
    def setUp(self):
        super().setUp()
        self.put_key()

    def openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              check=True).stdout

    def train(self, *more, run="run"):
        return self.once(run, *TRAIN, "--run", run, "--sign", "key", *more)

    def verified(self, code, *arguments):
        result = self.run_it("verify", *(arguments or ("run", "--key", "key.pub")))
        self.assertEqual((result.returncode, result.stderr), (code, ""), result.stdout)
        return result.stdout

    def forged(self, *words, alone):
        """With the key it is damaged, and a line has all these words; without, the exit code is `alone`."""
        lines = self.verified(5).splitlines()
        self.assertTrue(all(line.startswith(("damaged: ", "unsigned: ")) for line in lines), lines)
        self.assertTrue(any(all(word in line for word in ("damaged: ", *words)) for line in lines), lines)
        self.verified(alone, "run")


class Keys(Signed):
    def test_are_pem_files_of_their_owner_that_openssl_reads(self):
        out = json.loads(self.ok("keygen", "other", "--json"))
        self.assertEqual((out["private"], out["public"]), ("other", "other.pub"))
        self.assertEqual(os.stat(self.path("other")).st_mode & 0o777, 0o600)
        public = self.openssl("pkey", "-in", "other", "-pubout")
        self.assertEqual(public, self.read("other.pub"))
        self.assertEqual(self.openssl("pkey", "-pubin", "-in", "other.pub", "-outform", "DER")[-32:].hex(), out["key"])
        self.assertNotEqual(self.read("other"), self.read("key"))

    def test_inspect_shows_whose_key_it_is(self):
        out = json.loads(self.ok("keygen", "other", "--json"))
        self.assertEqual(json.loads(self.ok("inspect", "other.pub", "--json")), {"kind": "public key", "ed25519": out["key"]})

    def test_are_not_overwritten(self):
        before = self.contents()
        self.assertIn("key is there already", self.refused(2, "keygen", "key"))
        os.remove(self.path("key"))
        self.assertIn("key.pub is there already", self.refused(2, "keygen", "key"))
        del before["key"]
        self.assertEqual(self.contents(), before)

    def test_that_openssl_made_sign_too(self):
        self.openssl("genpkey", "-algorithm", "ED25519", "-out", "theirs")
        self.openssl("pkey", "-in", "theirs", "-pubout", "-out", "theirs.pub")
        os.chmod(self.path("theirs"), 0o600)
        self.ok(*TRAIN, "--run", "run", "--sign", "theirs")
        self.verified(0, "run", "--key", "theirs.pub")

    def test_may_come_through_a_pipe_bit_by_bit(self):
        self.train("--set", "run.steps=10", run="file")
        command = shlex.join([PROGRAM, *TRAIN, "--set", "run.steps=10", "--run", "pipe"])
        by_pipe = f"{command} --sign <(head -c 40 key; sleep 1; tail -c +41 key)"
        result = subprocess.run(["bash", "-c", by_pipe], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        name = checkpoint(10, "pipe", ".sig")
        self.assertEqual(self.read(name), self.read(checkpoint(10, "file", ".sig")))
        self.verified(0, "pipe", "--key", "key.pub")

    def test_a_signed_checkpoint_is_proved_under_any_name(self):
        self.train(run="run")
        last, before = (checkpoint(step) for step in (40, 30))
        for tail in ("", ".sha256", ".sig"):
            shutil.copy(self.path(last + tail), self.path("kept" + tail))
        self.verified(0, "kept", "--key", "key.pub")
        shutil.copy(self.path(before + ".sig"), self.path("kept.sig"))
        self.verified(5, "kept", "--key", "key.pub")

    def test_that_will_not_do_are_named_before_anything_is_trained(self):
        self.openssl("genpkey", "-algorithm", "ED25519", "-aes256", "-pass", "pass:secret", "-out", "locked")
        self.openssl("genpkey", "-algorithm", "X25519", "-out", "x25519")
        self.write("empty", "")
        self.write("open", self.read("key"))
        for name in ("locked", "x25519", "empty", "key.pub"):
            os.chmod(self.path(name), 0o600)
        os.chmod(self.path("open"), 0o640)
        self.write("text", "no key")  # as others may read it, too
        for name, why in (("locked", "no Ed25519 private key"), ("text", "no Ed25519 private key"), ("x25519", "no Ed25519 private key"),
                          ("empty", "no Ed25519 private key"), ("key.pub", "is a public key"),
                          ("open", "others may read"), ("none", "cannot read the key none: No such file"),
                          (".", "Is a directory")):
            self.assertIn(why, self.refused(2, *TRAIN, "--run", "run", "--sign", name), name)
        err = self.run_it(*TRAIN, "--run", "run", "--sign", "none", "--ranks", "3")
        self.assertEqual(err.returncode, 2, err.stderr)
        self.assertIn("rank 0: cannot read the key none", err.stderr)
        self.assertIn("cannot read the key none", self.refused(2, *TRAIN, "--run", "run", "--sign", "none", "--dry-run"))
        self.assertFalse(os.path.exists(self.path("run")))
        self.train()
        for name, why in (("key", "no Ed25519 public key"), ("none", "cannot read the key"), (".", "Is a directory")):
            self.assertIn(why, self.refused(2, "verify", "run", "--key", name))


class Runs(Signed):
    def test_have_the_same_statements_for_any_number_of_ranks_and_however_they_were_stopped(self):
        self.train()
        expected = self.evidence("run")
        self.assertEqual([name[-15:] for name in sorted(expected) if name.endswith(".sig")],
                         [f"{step:08}.h5.sig" for step in range(10, STEPS + 1, 10)])
        self.train("--ranks", "3", "--shard", "optimizer", run="three")
        self.assertEqual(self.evidence("three"), expected)
        for steps in (13, 25, STEPS):  # 13 and 25 are the last of shorter runs: they stay, and are nobody's parents
            self.train("--set", f"run.steps={steps}", run="stopped")
            self.verified(0, "stopped", "--key", "key.pub")
        self.assertEqual(self.without("stopped", 13, 25), self.contents("run/checkpoints"))
        unsigned = self.alone()
        self.assertEqual({name: digest for name, digest in expected.items() if not name.endswith(".sig")}, unsigned)

    def test_a_signal_leaves_a_signed_checkpoint(self):
        process = self.start(*TRAIN, "--set", "run.steps=100000", "--run", "signalled", "--sign", "key")
        self.wait_for_step(15, "signalled")
        process.terminate()
        _, err = process.communicate(timeout=200)
        self.assertEqual((process.returncode, err), (75, ""))
        at = self.lines("signalled") - 1
        self.assertIn(f"step-{at:08}.h5.sig", os.listdir(self.path("signalled/checkpoints")))
        self.verified(0, "signalled", "--key", "key.pub")
        steps = ("--set", f"run.steps={at + 5}")
        self.train(*steps, run="signalled")
        self.train(*steps)
        self.assertEqual(self.evidence("signalled"), {**self.evidence("run"), **self.of_step(at, "signalled")})

    def of_step(self, step, run):
        return {name: digest for name, digest in self.evidence(run).items() if f"step-{step:08}" in name}

    def without(self, run, *steps):
        """The folder's checkpoints but these."""
        return {name: digest for name, digest in self.contents(run, "checkpoints").items()
                if not any(name.startswith(f"step-{step:08}.") for step in steps)}

    def test_keep_the_statements_of_checkpoints_that_went(self):
        self.train("--set", "checkpoint.keep_last=1")
        names = os.listdir(self.path("run/checkpoints"))
        self.assertEqual([name for name in sorted(names) if name.endswith(".h5")], ["step-00000040.h5"])
        self.assertEqual(len([name for name in names if name.endswith(".sig")]), 4)
        self.assertIn("signed up to step 40; ledger lines after it: 0", self.verified(0))

    def test_verify_says_how_far_they_are_signed(self):
        self.train("--set", f"run.steps={STEPS - 5}")
        for tail in ("", ".sha256", ".sig"):
            os.remove(self.path(checkpoint(STEPS - 5, tail=tail)))
        shutil.rmtree(self.path("run/samples"))
        self.assertEqual(self.verified(0).splitlines()[1], "run: signed up to step 30; ledger lines after it: 5")
        report = json.loads(self.verified(0, "run", "--key", "key.pub", "--json"))
        self.assertEqual((report["ok"], report["signed_to"], report["steps"]), (True, 30, 35))
        without = json.loads(self.verified(0, "run", "--json"))
        self.assertNotIn("signed_to", without)
        self.assertIn("checkpoints are signed: --key compares that with a public key", without["notes"])
        self.assertIn("the newest checkpoint is of step 30, and the ledger ends with 35: commands take that step's state; "
                      "`train` makes the others again", without["notes"])
        self.assertEqual(self.verified(0, checkpoint(30), "--key", "key.pub").splitlines()[1],
                         checkpoint(30) + ": signed up to step 30")

    def test_openssl_alone_checks_a_statement(self):
        self.train()
        with open(os.path.join(SOURCE, "docs/verify.md"), encoding="utf-8") as page:
            commands = re.search(r"```sh\n(.*?openssl.*?)```", page.read(), re.DOTALL).group(1)
        script = commands.replace("runs/a/checkpoints/step-00000500.h5.sig", checkpoint(30, tail=".sig"))
        self.assertNotEqual(script, commands)

        def check():
            return subprocess.run(["bash", "-e", "-c", script], cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False)
        self.assertEqual((check().returncode, check().stdout), (0, "Signature Verified Successfully\n"))
        text = self.read(checkpoint(30, tail=".sig"))
        self.write(checkpoint(30, tail=".sig"), text.replace(b"step 30", b"step 31"))
        self.assertNotEqual(check().returncode, 0)

    def test_what_a_kill_left_unsigned_is_signed_before_training_goes_on(self):
        self.train()
        expected = self.contents("run", "checkpoints")
        for steps in (20, 25):  # a scheduled checkpoint, and one that is not
            shutil.rmtree(self.path("run"))
            self.train("--set", f"run.steps={steps}")
            os.remove(self.path(checkpoint(steps, tail=".sig")))
            self.assertIn(f"unsigned: {checkpoint(steps)}: step-{steps:08}.h5.sig is missing", self.verified(5))
            self.train("--set", f"run.steps={steps}")  # nothing is left to train
            self.verified(0)
            os.remove(self.path(checkpoint(steps, tail=".sig")))
            self.write(checkpoint(steps, tail=".sig.lockstep.tmp"), "lockstep statement 1\n")
            self.train()
            self.assertEqual(self.without("run", 25), expected)

    def test_that_began_without_a_key_may_be_signed_from_then_on(self):
        self.train()
        expected = self.contents("run/checkpoints")
        shutil.rmtree(self.path("run"))
        self.ok(*TRAIN, "--run", "run", "--set", "run.steps=20")
        self.train()
        self.assertEqual(self.contents("run/checkpoints"), expected)

    def test_are_not_mixed_with_those_of_another_key_or_of_none(self):
        self.train("--set", "run.steps=20")
        self.ok("keygen", "other")
        before = self.contents("run")
        line = self.refused(2, *TRAIN, "--run", "run", "--sign", "other")
        self.assertIn(checkpoint(10, tail=".sig") + " is signed by another key", line)
        self.assertIn("run is a signed run, and there is no --sign", self.refused(2, *TRAIN, "--run", "run"))
        self.assertEqual(self.contents("run"), before)
        self.train()
        self.verified(0)

    def test_rank_0_alone_reads_the_key(self):
        self.train()
        os.mkdir(self.path("elsewhere"))
        common = {"LOCKSTEP_SECRET_FILE": self.secret(), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                  "MASTER_PORT": str(free_port())}
        here, arguments = self.folder, [*TRAIN, "--run", "two", "--sign", "key"]
        ranks = [self.start(*arguments, RANK="0", **common)]
        self.folder = self.path("elsewhere")
        ranks.append(self.start(*arguments, RANK="1", **common))
        self.folder = here
        for rank in ranks:
            _, err = rank.communicate(timeout=200)
            self.assertEqual(rank.returncode, 0, err)
        self.assertEqual(self.evidence("two"), self.evidence("run"))


class Forged(Signed):
    """Each with its control: what is honest is accepted, and what only the key can tell is not found without."""

    def setUp(self):
        super().setUp()
        self.train("--set", "evidence.commit_every=20")
        self.verified(0)

    def rewrite(self, step, data):
        """A checkpoint's bytes with a sidecar that fits them."""
        old = self.read(checkpoint(step, tail=".sha256")).decode()
        self.write(checkpoint(step), data)
        self.write(checkpoint(step, tail=".sha256"),
                   forger.sidecar(data, "".join(re.findall(r"^tensor .*\n", old, re.MULTILINE))))

    def copy(self, source, target, *tails):
        for tail in tails:
            shutil.copy(self.path(source + tail), self.path(target + tail))

    def without_statements(self):
        for step in range(10, STEPS + 1, 10):
            os.remove(self.path(checkpoint(step, tail=".sig")))

    def test_a_sidecar_made_again_for_the_whole_file_is_fine(self):
        self.rewrite(30, self.read(checkpoint(30)))
        self.verified(0)

    def test_a_checkpoint_of_another_run_with_its_valid_hash(self):
        self.train("--set", "evidence.commit_every=20", "--set", "run.seed=12", run="other")
        self.copy(checkpoint(30, "other"), checkpoint(30), "", ".sha256")
        self.forged(checkpoint(30, tail=".sig"), "it is a statement of another run", alone=1)

    def test_an_older_checkpoint_under_a_newer_name(self):
        self.copy(checkpoint(20), checkpoint(30), "", ".sha256")
        self.forged(checkpoint(30, tail=".sig"), "its checkpoint is of another step", alone=1)
        self.copy(checkpoint(20), checkpoint(30), ".sig")
        self.forged(checkpoint(30, tail=".sig"), "its name does not match its step, 20", alone=1)

    def test_a_ledger_that_is_rewritten_and_chained_anew(self):
        lines = self.read("run/ledger.jsonl").decode().splitlines()
        lines[25] = re.sub(r'"loss":{"discriminator":[^,]+', '"loss":{"discriminator":0.5', lines[25])
        self.write("run/ledger.jsonl", "".join(forger.rechained(lines)))
        self.forged(checkpoint(30, tail=".sig"), "the ledger's chain at step 30 is not the one that was", alone=1)
        # What is taken away cannot be judged: without what was signed after the forged line, it holds.
        for step in (30, 40):
            for tail in ("", ".sha256", ".sig"):
                os.remove(self.path(checkpoint(step, tail=tail)))
        self.assertIn("signed up to step 20; ledger lines after it: 20", self.verified(0))

    def test_a_statement_of_another_run_by_the_same_key(self):
        self.train("--set", "evidence.commit_every=20", "--set", "run.seed=12", run="other")
        self.copy(checkpoint(30, "other"), checkpoint(30), ".sig")
        self.forged(checkpoint(30, tail=".sig"), "it is a statement of another run", alone=1)

    def test_a_statement_by_the_forgers_own_key(self):
        self.ok("keygen", "forger")
        self.without_statements()
        self.ok(*TRAIN, "--set", "evidence.commit_every=20", "--run", "run", "--sign", "forger")
        self.forged(checkpoint(40, tail=".sig"), "it is signed by another key", alone=0)
        self.verified(0, "run", "--key", "forger.pub")

    def test_a_statement_dropped_from_the_middle_of_the_chain(self):
        os.remove(self.path(checkpoint(20, tail=".sig")))
        self.forged(checkpoint(30, tail=".sig"), "names as its parent is missing", alone=5)

    def test_no_statement_at_all(self):
        self.without_statements()
        self.assertEqual(self.verified(5).splitlines(),
                         [f"unsigned: {checkpoint(step)}: step-{step:08}.h5.sig is missing"
                          for step in range(10, STEPS + 1, 10)])
        self.verified(0, "run")
        self.ok("report", "run", "--key", "key.pub")
        page = self.read("run/report.html").decode()
        self.assertNotIn("The evidence does not hold.", page)
        self.assertIn("The given key did not sign all of it.", page)
        shutil.rmtree(self.path("run/checkpoints"))
        note = "note: there is no checkpoint: the ledger's digests are compared with no state\n"
        self.assertEqual(self.verified(5), "unsigned: run: nothing in it is signed\n" + note)
        self.verified(0, "run")

    def collide(self, step):
        """Floats that are others in a state whose leaf hashes, and so the digest that file and ledger name, are the
        same: the leaves' keys are public."""
        sidecar = self.read(checkpoint(step, tail=".sha256")).decode()
        at, size = map(int, re.search(r"tensor (\d+) (\d+) /state/generator/param/hidden2.weight", sidecar).groups())
        data = bytearray(self.read(checkpoint(step)))
        tile = bytes(data[at:at + min(size, forger.TILE)])
        forged = forger.collision(tile)
        old, new = (struct.unpack(f"<{len(tile) // 4}f", part) for part in (tile, forged))
        self.assertGreater(max(abs(a - b) for a, b in zip(old, new)), 1e-3)
        data[at:at + len(tile)] = forged
        self.rewrite(step, bytes(data))

    def test_a_state_with_colliding_leaf_hashes_is_found_by_the_ledgers_commit(self):
        self.collide(40)
        self.forged(checkpoint(40, tail=".sig"), "its checkpoint is not the file that was signed", alone=1)
        self.without_statements()
        self.assertIn(checkpoint(40) + ": its bytes are not what the ledger's commit says", self.verified(1, "run"))

    def test_between_commits_it_is_found_by_a_replay(self):
        self.collide(30)
        self.without_statements()
        self.verified(0, "run")
        for words in ((), ("--ranks", "2"), ("--from", "30", "--to", "30")):
            said = self.run_it("replay", "run", "--quiet", *words)
            self.assertEqual(said.returncode, 1, said.stdout + said.stderr)
            self.assertIn("FAIL: step 30: every digest is the ledger's, and its checkpoint holds another state than the one recomputed\n"
                          "checkpoint of step 30: 1 tensor differs, first ", said.stdout)
        self.ok("replay", "run", "--from", "21", "--to", "29", "--quiet")

    def test_between_commits_it_is_found_by_its_signature_only(self):
        self.collide(30)
        self.forged(checkpoint(30, tail=".sig"), "its checkpoint is not the file that was signed", alone=1)
        self.without_statements()
        self.verified(0, "run")  # the limit of evidence that nobody signed


if __name__ == "__main__":
    main()
