"""What a command line that does not fit is told, and what help, the manual page and completion show."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

from support import PROGRAM, SOURCE, Cli, main

SHARE = os.path.join(os.path.dirname(PROGRAM), "..", "share")
BASH = os.path.join(SHARE, "bash-completion/completions/lockstep")
ZSH = os.path.join(SHARE, "zsh/site-functions/_lockstep")


class Help(Cli):
    texts = {}  # by command

    def text(self, *command):
        if command not in self.texts:
            self.texts[command] = self.ok("help", *command)
        return self.texts[command]

    def commands(self):
        return re.findall(r"^  (\w+)  +\w", self.text().split("Exit codes:")[0], re.MULTILINE)

    def test_without_arguments_goes_to_standard_error_with_2(self):
        result = self.run_it()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, self.text())

    def test_is_the_same_by_command_and_by_option(self):
        self.assertEqual(self.text(), self.ok("--help"))
        self.assertGreater(len(self.commands()), 14)
        for command in self.commands():
            text = self.text(command)
            self.assertEqual(text, self.ok(command, "--help"))
            self.assertIn(f"Usage: lockstep {command}", text)
            self.assertIn("Example: ", text)
        self.assertEqual(self.text("train"), self.ok("train", "-h"))

    def test_has_the_exit_codes(self):
        with open(os.path.join(SOURCE, "include/lockstep/core/error.h"), encoding="utf-8") as file:
            codes = re.findall(r"^  k\w+ = (\d+)", file.read(), re.MULTILINE)
        self.assertEqual(re.findall(r"^ +(\d+)  ", self.text().split("Exit codes:")[1], re.MULTILINE), codes)

    def test_names_options_and_values_as_the_page_does(self):
        with open(os.path.join(SOURCE, "docs/cli.md"), encoding="utf-8") as file:
            sections = re.findall(r"^## `lockstep (\w+).*?`\n(.*?)(?=^## |\Z)", file.read(), re.MULTILINE | re.DOTALL)
        self.assertEqual(sorted(name for name, _ in sections), sorted(self.commands()))
        for command, section in sections:
            section = section.partition("| option | meaning |")[2].partition("\n\n")[0]
            described = [row.replace("\\|", "|") for row in re.findall(r"^\| `(--[^`]*)` \|", section, re.MULTILINE)]
            lines = [line.strip() for line in self.text(command).splitlines()]
            shown = [re.sub(r" \[.*\]$", "", line.split("  ")[0]) for line in lines if line.startswith("--")]
            self.assertEqual(sorted(shown), sorted(described), command)

    def test_has_the_environment(self):
        with open(os.path.join(SOURCE, "docs/cli.md"), encoding="utf-8") as file:
            variables = set(re.findall(r"`(LOCKSTEP_\w+)`", file.read()))
        self.assertEqual(set(re.findall(r"^  (LOCKSTEP_\w+)  ", self.text(), re.MULTILINE)), variables)

    def test_needs_no_machine_that_can_compute(self):
        self.ok("help", LOCKSTEP_ISA="nonsense")

    def test_version(self):
        self.assertEqual(self.ok("-V"), self.ok("--version"))


class Refused(Cli):
    def test_words_that_are_near_are_named(self):
        for words, wanted in (
                (["verfy", "run"], "there is no command 'verfy' (did you mean 'verify'? `lockstep help` shows all)"),
                (["trian", "train"], "there is no command 'trian' (did you mean 'train'? `lockstep help` shows all)"),
                (["help", "repaly"], "there is no command 'repaly' (did you mean 'replay'? `lockstep help` shows all)"),
                (["xyzzy"], "there is no command 'xyzzy' (`lockstep help` shows all)"),
                (["train", "tiny.toml", "--dry"],
                 "train has no option --dry (did you mean '--dry-run'? `lockstep help train` shows all)"),
                (["train", "--thraeds=2", "tiny.toml"],
                 "train has no option --thraeds (did you mean '--threads'? `lockstep help train` shows all)"),
                (["verify", "--jsn"], "verify has no option --jsn (did you mean '--json'? `lockstep help verify` shows all)"),
                (["sample", "run", "--sampler-stops", "10"],
                 "sample has no option --sampler-stops (did you mean '--sampler-steps'? `lockstep help sample`"),
                (["--threads", "2", "train", "tiny.toml"],
                 "there is no option --threads before the command (a command's options come after it)")):
            self.assertIn(wanted, self.refused(2, *words))

    def test_words_that_are_far_are_not(self):
        for words in (["sample", "run", "--n", "4"], ["sample", "run", "-n", "4"], ["train", "tiny.toml", "--lr", "1"],
                      ["train", "tiny.toml", "--epochs", "3"], ["verify", "run", "--verbose"], ["verify", "run", "---"],
                      ["tune"], ["generate"]):
            self.assertNotIn("did you mean", self.refused(2, *words), words)

    def test_options_of_other_programs_are_told_what_to_do_here(self):
        for words, hint in ((["--steps", "5"], "--set run.steps="), (["--lr", "1e-3"], "--set model.optimizer.lr="),
                            (["--epochs", "3"], "a recipe counts steps: --set run.steps="),
                            (["--resume"], "the same command continues a run"),
                            (["--gpu", "0"], "--device cuda:N"), (["--seed", "5"], "--set run.seed="),
                            (["--batch-size", "4"], "--set batch.samples_per_lane=")):
            line = self.refused(2, "train", "tiny.toml", *words)
            self.assertIn(f"train has no option {words[0]} (", line)
            self.assertIn(hint, line)
        self.assertIn("`lockstep help verify` shows all", self.refused(2, "verify", "run", "--steps", "5"))

    def test_too_much_and_too_little_is_named(self):
        for words, wanted in ((["replay"], "replay: RUN is missing"),
                              (["diff", "a"], "diff: B is missing"),
                              (["completion"], "completion: SHELL is missing"),
                              (["train", "tiny.toml", "x", "y"], "train: 'x' is one argument too many"),
                              (["train", "tiny.toml", "--", "--quiet"], "train: '--quiet' is one argument too many"),
                              (["train", "tiny.toml", "train"], "train: 'train' is one argument too many"),
                              (["train", "tiny.toml", "--run"], "train: --run has no value"),
                              (["train", "--run=", "tiny.toml"], "--run= has no value"),
                              (["train", "tiny.toml", "--run", "a", "--run", "b"], "--run is given more than once"),
                              (["train", "tiny.toml", "--run", "--quiet"], "'--quiet' stands where its value should")):
            self.assertIn(wanted, self.refused(2, *words))

    def test_empty_words_mean_nothing(self):
        before = self.contents()
        for words in (["train", "tiny.toml", "--run", ""], ["train", "tiny.toml", "--sign", ""],
                      ["train", "tiny.toml", "--set", ""], ["train", ""], ["sample", "run", "--out", ""],
                      ["verify", "run", "--key", ""], ["verify", "run", "--chain", ""], ["replay", "run", "--data", ""],
                      ["replay", "run", "--container", ""], ["bisect", "a", "b", "--program-a", ""],
                      ["check", ""], ["pack", "images", ""], ["keygen", ""], ["trace", "run", ""],
                      ["doctor", "--run", ""], ["report", "run", "--out", ""]):
            self.assertIn("it is empty", self.refused(2, *words), words)
        self.assertEqual(self.contents(), before)

    def test_options_that_have_no_use_without_another_are_2(self):
        self.ok("train", "tiny.toml", "--quiet", "--run", "run")
        before = self.contents()
        last = "run/checkpoints/step-00000002.h5"
        for words, wanted in ((["replay", "run", "--seed", "7"], "replay: --seed requires --spot"),
                              (["replay", "run", "--from", "1", "--spot-steps", "3"], "replay: --spot-steps requires --spot"),
                              (["replay", "run", "--engine", "podman"], "replay: --engine requires --container"),
                              (["bisect", "run", "run", "--step", "1", "--engine", "podman"],
                               "bisect: --engine requires --container-a or --container-b"),
                              (["train", "tiny.toml", "--from", "run"], "train: --from requires --run"),
                              (["verify", last, "--parent", "run"], "--parent is of a run")):
            self.assertIn(wanted, self.refused(2, *words))
        self.assertEqual(self.contents(), before)

    def test_a_device_has_a_name_and_is_there_before_ranks_start(self):
        before = self.contents()
        ways = (["train", "tiny.toml"], ["train", "tiny.toml", "--ranks", "2", "--max-restarts", "1"])
        names = ("nonsense", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:128", "cuda:18446744073709551616")
        others = (ways[1], ["train", "tiny.toml", "--dry-run"], ["replay", "run"], ["sample", "run"])
        for words, name in (*((ways[0], name) for name in names), *((words, names[0]) for words in others)):
            self.assertIn(f"'{name}' is not a device: give cpu, cuda or cuda:N", self.refused(2, *words, "--device", name))
        for words in ways:
            self.refused(4, *words, "--device", "cuda:127")
        self.assertEqual(self.contents(), before)

    def test_numbers_are_decimal_digits_in_range(self):
        for words, wanted in ((["replay", "run", "--from", "1e2"], "'1e2' is not a whole number, such as 100"),
                              (["replay", "run", "--from", "0x10"], "'0x10' is not a whole number"),
                              (["replay", "run", "--from", "1.5"], "'1.5' is not a whole number"),
                              (["replay", "run", "--from", ""], "'' is not a whole number"),
                              (["replay", "run", "--from", "9" * 20], "99999999999999999999 is too large"),
                              (["replay", "run", "--to", "-1"], "--to: "),
                              (["replay", "run", "--seed", "-2"], "--seed: "),
                              (["train", "tiny.toml", "--threads", "5000"], "train: --threads: 5000 is out of range: it may be 0 to 4096 ("),
                              (["train", "tiny.toml", "--ranks", "0"], "--ranks: "),
                              (["trace", "run", "out.jsonl", "--values-of", "-2"], "--values-of: "),
                              (["trace", "run", "out.jsonl", "--values-of", "-1"], "--values-of: ")):
            self.assertIn(wanted, self.refused(2, *words))
        self.ok("train", "tiny.toml", "--quiet")
        self.assertIn("steps 10 to 2", self.refused(2, "replay", "runs/tiny", "--from", "010"))  # ten, not eight

    def test_a_word_that_is_no_choice_is_told_them(self):
        for words, wanted in ((["train", "tiny.toml", "--shard", "x"], "train: --shard: it may be none or optimizer, not 'x' ("),
                              (["completion", "fish"], "completion: SHELL: it may be bash or zsh, not 'fish' ("),
                              (["train", "tiny.toml", "--quiet=x"], "train: --quiet takes no value ("),
                              (["train", "tiny.toml", "--dry-run=3"], "train: --dry-run takes no value (")):
            self.assertIn(wanted, self.refused(2, *words))

    def test_variables_that_are_nearly_ours_are_named(self):
        told = "warning: the variable LOCKSTEP_DEADLIN is not read (did you mean LOCKSTEP_DEADLINE?)\n"
        for variables, err in (({"LOCKSTEP_DEADLIN": "3"}, told), ({"LOCKSTEP_HOME": "/opt"}, ""), ({"LOCKSTEP_DEADLINE": "3"}, ""),
                               ({"LOCKSTEP_DEADLIN": "3", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2",
                                 "MASTER_ADDR": "m"}, ""),
                               ({"LOCKSTEP_DEADLIN": "3", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "MASTER_ADDR": "m"}, "")):
            result = self.run_it("inspect", "tiny.toml", **variables)
            self.assertEqual((result.returncode, result.stderr), (0, err))

    def test_ranks_without_lanes_are_refused_before_any_starts(self):
        self.ok("train", "tiny.toml", "--quiet")
        for words in (["train", "tiny.toml"], ["train", "tiny.toml", "--dry-run"], ["replay", "runs/tiny"]):
            self.assertEqual(self.refused(2, *words, "--ranks", "3"),
                             "3 ranks: the recipe has 2 lanes (a rank holds at least one; use fewer ranks)")

    def test_a_file_that_is_not_there_is_named_once(self):
        self.assertEqual(self.refused(2, "check", "gone.json").count("gone.json"), 1)
        os.mkdir(self.path("folder.json"))
        self.assertEqual(self.refused(2, "check", "folder.json").count("folder.json"), 1)

    def test_a_default_stands_once(self):
        line = re.search(r"--shard none\|optimizer \[none\]\n.*", self.ok("help", "train"))[0]
        self.assertEqual(line.count("[none]"), 1)


class Manual(Cli):
    def test_has_all_commands_and_options(self):
        page = self.ok("man")
        for command in re.findall(r"^  (\w+)  +\w", self.ok("help").split("Exit codes:")[0], re.MULTILINE):
            self.assertTrue(rf"lockstep {command}\fR" in page, command)
        self.assertTrue(r"\-\-max\-restarts" in page)
        with open(os.path.join(SHARE, "man/man1/lockstep.1"), encoding="utf-8") as file:
            self.assertEqual(file.read(), page)

    def test_is_roff_without_a_warning(self):
        result = subprocess.run(["groff", "-ww", "-man", "-Tutf8"], input=self.ok("man"), text=True, capture_output=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = re.sub(r"\x1b\[\d*m|.\x08", "", result.stdout)
        self.assertEqual(re.findall(r"^([A-Z][A-Z ]+)$", text, re.MULTILINE),
                         ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES",
                          "EXAMPLES", "SEE ALSO"])

    def test_has_the_files_of_a_run_and_the_variables(self):
        page = self.ok("man").replace(r"\-", "-")
        with open(os.path.join(SOURCE, "docs/running.md"), encoding="utf-8") as file:
            table = file.read().split("## A run's folder")[1].split("\n## ")[0]
        files = re.findall(r"`([\w./-]+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
        self.assertGreater(len(files), 10)
        for name in files:
            self.assertIn(name.removeprefix("."), page)
        with open(os.path.join(SOURCE, "docs/cli.md"), encoding="utf-8") as file:
            for name in set(re.findall(r"`(LOCKSTEP_\w+)`", file.read())):
                self.assertIn(name, page)


class Completion(Cli):
    def test_is_what_the_program_says(self):
        for shell, name in (("bash", BASH), ("zsh", ZSH)):
            with open(name, encoding="utf-8") as file:
                self.assertEqual(file.read(), self.ok("completion", shell))

    CASES = (("lockstep ver", "verify"), ("lockstep train --max", "--max-restarts"),
             ("lockstep train x --shard opt", "optimizer"), ("lockstep train x --shard=opt", "optimizer"),
             ("lockstep help fing", "fingerprint"), ("lockstep completion z", "zsh"))

    def test_in_bash(self):
        for line, wanted in self.CASES:
            words = line.replace("=", " = ").split()
            script = (f"source {BASH}; COMP_WORDS=({' '.join(words)}) COMP_CWORD={len(words) - 1}; _lockstep; "
                      'echo "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual((done.stdout, done.stderr), (wanted + "\n", ""), line)

    def test_in_bash_lists_all_and_leaves_files_to_bash(self):
        script = f"source {BASH}; COMP_WORDS=(lockstep train '') COMP_CWORD=2; _lockstep; echo \"${{COMPREPLY[@]}}\""
        self.assertEqual(subprocess.check_output(["bash", "--norc", "-c", script], text=True), "\n")
        script = f"source {BASH}; COMP_WORDS=(lockstep '') COMP_CWORD=1; _lockstep; echo \"${{COMPREPLY[@]}}\""
        names = subprocess.check_output(["bash", "--norc", "-c", script], text=True).split()
        self.assertEqual(names, re.findall(r"^  (\w+)  +\w", self.ok("help").split("Exit codes:")[0], re.MULTILINE))

    def test_in_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("NOT PROVED: no zsh")
        for line, wanted in (*self.CASES, ("lockstep inspect ti", "tiny.toml")):
            self.assertEqual(self.completed_by_zsh(line).split(" ")[-1].split("=")[-1], wanted, line)

    def completed_by_zsh(self, line):
        """The line after a Tab, as zsh has it then."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": self.folder,
                                                     "PS1": "> ", "LC_ALL": "C.UTF-8"})
        try:
            os.write(terminal, f"autoload -U compinit; compinit -D -u; source {ZSH}; echo REA''DY\r".encode())
            self.read_until(terminal, b"READY\r\n")
            # Home, a command in front of the line and a quote around it, and Enter.
            os.write(terminal, line.encode() + b"\t\x01echo 'DO''NE:\x05'\r")
            text = self.read_until(terminal, b"\r\nDONE:", b"\r\n")
            return text.rsplit(b"\nDONE:", 1)[1].split(b"\r\n")[0].decode().strip()
        finally:
            os.close(terminal)
            os.waitpid(child, 0)

    def read_until(self, terminal, *marks):
        text, deadline = b"", time.monotonic() + 120
        while time.monotonic() < deadline:
            rest = text
            for mark in marks:
                rest = rest.partition(mark)[2] if mark in rest else None
                if rest is None:
                    break
            if rest is not None:
                return text
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 65536)
        self.fail(f"zsh says only {text!r}")


if __name__ == "__main__":
    main()
