"""What people see on a terminal: one status line, refreshed in place, and whole lines above it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from support import PROGRAM, main
from toy import TOY, Toy

COLUMNS = 60
STATUS = r"step \d+/\d+  \d+%  ETA [\d.hms ]+  [\d.]+ steps/s  [\d.]+ samples/s"


def screen(text):
    """The lines that a terminal shows in the end: \\r, \\n and the one escape sequence that we use."""
    lines, at = [""], 0
    for token in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+|\x1b", text):
        if token == "\r":
            at = 0
        elif token == "\n":
            lines.append("")
        elif token == "\x1b[K":
            lines[-1] = lines[-1][:at]
        else:
            assert token != "\x1b", "an escape sequence that nobody expects"
            lines[-1] = lines[-1][:at] + token + lines[-1][at + len(token):]
            at += len(token)
    return lines


class Terminal(Toy):
    def shown(self, *arguments, meanwhile=None, code=0, columns=COLUMNS, **environment):
        """All bytes that the program writes to a terminal of so many columns."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=theirs, env={**os.environ, "TERM": "xterm", **environment})
        self.addCleanup(self.end, process)
        os.close(theirs)
        asked = []

        def look(text):
            if meanwhile and not asked and meanwhile(text):
                asked.append(process.send_signal(signal.SIGINT))
        text = self.written(ours, look)
        self.assertEqual(process.wait(timeout=60), code, text)
        return text

    def written(self, terminal, look=lambda text: None):
        """Until the other side closes it. look(all that was written so far)."""
        text, deadline = b"", time.monotonic() + 120
        while time.monotonic() < deadline:
            look(text.decode())
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                text += os.read(terminal, 65536)
            except OSError:
                return text.decode()
        self.fail(f"it still writes, or nothing more: {text.decode()}")

    def logged(self, run="run"):
        """Lines of the log without their times."""
        return [line.split(" ", 1)[1] for line in self.read(run, "log.txt").decode().splitlines()]

    def test_ranks_write_where_background_jobs_may_not(self):
        child, terminal = pty.fork()
        if child == 0:
            try:
                modes = termios.tcgetattr(0)
                modes[3] |= termios.TOSTOP
                termios.tcsetattr(0, termios.TCSANOW, modes)
                os.chdir(self.folder)
                os.execv(PROGRAM, [PROGRAM, *TOY, "--run", "run", "--ranks", "2"])
            finally:
                os._exit(1)
        self.addCleanup(os.close, terminal)
        try:
            text = self.written(terminal)
        except AssertionError:
            os.kill(child, signal.SIGKILL)
            raise
        self.assertEqual(os.waitpid(child, 0)[1], 0, text)
        self.assertIn("rank 1 of 2", text)

    def test_has_one_status_line_that_is_refreshed(self):
        text = self.shown(*TOY, "--run", "run", "--set", "run.steps=1500", "--set", "checkpoint.every=0")
        updates = re.findall(r"([^\r\n]*)\x1b\[K\r", text)
        self.assertGreater(len(updates), 3)
        for update in updates:
            self.assertLessEqual(len(update), COLUMNS - 1)
            self.assertRegex(update, r"^step \d+/1500  \d+%  ")
            for field in update.split("  ")[2:]:  # whole ones: a number that is cut is another
                self.assertRegex(field, r"^(ETA [\d.hms ]+|[\d.]+ (steps|samples)/s|discriminator [\d.e-]+)$")
        lines = screen(text)
        self.assertEqual(lines.pop(), "")
        self.assertTrue(lines[-3].startswith("step 1500/1500  100%  "), lines)
        self.assertNotIn("ETA", lines[-3])
        for line in lines:  # whole lines alone, with nothing of a status behind them
            self.assertIn(line, self.logged())
        self.assertNotRegex(self.read("run", "log.txt").decode(), r"[^\x20-\x7e\n]")

    def test_a_wide_one_has_all_of_it(self):
        text = self.shown(*TOY, "--run", "run", "--set", "run.steps=1500", columns=300)
        self.assertRegex(text, STATUS + r"  discriminator [\d.e-]+  generator [\d.e-]+  \|grad discriminator\| ")

    def test_without_a_cursor_has_plain_lines(self):
        for name, environment in (("dumb", {"TERM": "dumb"}), ("none", {"TERM": ""})):
            text = self.shown(*TOY, "--run", name, "--set", "run.steps=300", **environment)
            self.assertNotIn("\x1b", text)
            self.assertEqual(text.replace("\r", "").splitlines(), self.logged(name))
        self.assertNotIn("\x1b", self.run_it(*TOY, "--run", "piped").stderr)

    def test_has_no_colours(self):
        for environment in ({}, {"NO_COLOR": "1"}):
            self.assertNotRegex(self.shown(*TOY, "--run", f"run{len(environment)}", **environment), r"\x1b\[[^K]")

    def test_quiet_is_silent_and_logs_as_ever(self):
        self.assertEqual(self.shown(*TOY, "--run", "run", "--quiet"), "")
        self.assertTrue(any(line.startswith("step 40/40") for line in self.logged()))

    def test_an_error_stands_alone(self):
        text = self.shown(*TOY, "--run", "run", "--set", "run.steps=100000", "--set", "monitor.loss_limit=1e-3",
                          "--set", "monitor.loss_steps=900", code=7)
        lines = screen(text)
        self.assertRegex(lines[-2], r"^lockstep: step 900: divergence: .*RUN@890\)$")
        self.assertEqual(lines[-1], "")

    def test_a_signal_is_answered_in_a_line_of_its_own(self):
        text = self.shown(*TOY, "--run", "run", "--set", "run.steps=1000000", "--set", "samples.count=0", code=75,
                          meanwhile=lambda shown: shown.count("\x1b[K\r") > 3)
        lines = screen(text)
        self.assertIn("lockstep: stopping after this step; a second Ctrl-C ends at once", lines)
        self.assertIn("stopped by a signal: saving, then ending", lines)
        self.assertEqual(lines[-1], "")

    def test_sampling_shows_how_far_it_is(self):
        self.ok("train", "tiny.toml", "--quiet")
        text = self.shown("sample", "runs/tiny", "--threads", "1", "--count", "800", "--sampler-steps", "10", "--out", "some.png")
        self.assertRegex(text, r"\d+ of 800 samples are made, about [\d.hms ]+ left\x1b\[K\r")
        self.assertEqual(screen(text), [""])

    def test_a_single_sample_of_a_run_shows_how_far_it_is(self):
        text = self.shown("train", "tiny.toml", "--threads", "1", "--set", "run.steps=1", "--set", "samples.count=1",
                          "--set", "objective.timesteps=1000", "--set", "objective.sampler_steps=1000")
        self.assertRegex(text, r"0 of 1 samples are made, about [\d.hms ]+ left\x1b\[K\r")


if __name__ == "__main__":
    main()
