"""`lockstep report`: the page is whole HTML that needs nothing else, says what is so, shows what is damaged, and
nothing in the run's folder becomes markup. In a headless browser, if there is one: no errors, no requests."""

import base64
import hashlib
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

from forger import rechained
from support import SOURCE, main
from toy import TOY, Toy

VOID = {"meta", "img", "br", "hr", "link", "input"}
ADDRESSES = {"src", "href", "srcset", "action", "poster", "data", "xlink:href", "formaction", "background"}
GEOMETRY = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "d", "width", "height"}
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
PAYLOADS = ("<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg/onload=alert(1)>", "</style><b>",
            "</pre></main><iframe src=//evil.example>", "javascript:alert(1)", "&lt;&#60;\u202etxt.exe")


class Page(html.parser.HTMLParser):
    """Elements with their attributes; fails on nesting that does not close."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.problems, self.words, self.rows = [], [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.problems.append(f"{tag}: an attribute twice")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td" and self.rows:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)
            if "td" in self.open:
                self.rows[-1][-1] += data

    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


class Report(Toy):
    def train(self, *more, run="run"):
        return self.once(run, *TOY, "--quiet", "--set", "samples.every=20", "--run", run, *more)

    def page(self, run="run", *more):
        self.ok("report", run, *more)
        text = self.read(run, "report.html").decode("utf-8")
        return self.checked(text)

    def checked(self, text):
        page = Page(text)
        self.assertEqual(page.problems, [])
        self.assertTrue(text.startswith("<!doctype html>\n"))
        for tag, attributes in page.elements:
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on"), (tag, attributes))
                if name in ADDRESSES:
                    self.assertEqual((tag, name), ("img", "src"), attributes)
                    self.assertRegex(value, r"^data:image/png;base64,[A-Za-z0-9+/=]+$")
        self.assertEqual(len(page.all("script")), 1)
        self.assertEqual(len(page.all("style")), 1)
        style, script = (re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL).group(1) for tag in ("style", "script"))
        self.assertNotIn("url(", style)
        self.assertNotIn("@import", style)
        policy = next(meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
        for content in (style, script):
            self.assertIn(base64.b64encode(hashlib.sha256(content.encode()).digest()).decode(), policy)
        self.assertEqual([tag for tag in ("iframe", "object", "embed", "form", "base", "link", "a")
                          if page.all(tag)], [])
        for _, attributes in page.elements:
            for name in GEOMETRY & attributes.keys():
                self.assertNotRegex(attributes[name], "nan|inf")
        return page

    def append(self, name, content, run="run"):
        with open(self.path(run, name), "ab") as file:
            file.write(content.encode())


class Runs(Report):
    def test_are_shown_whole(self):
        self.train()
        page = self.page()
        ledger = [json.loads(line) for line in self.read("run/ledger.jsonl").splitlines()]
        said = page.text()
        self.assertIn("Finished. All 40 steps are done. No monitor watched it ([monitor] in docs/recipes.md): see curves "
                      "and samples. The evidence holds. lockstep verify looked at 40 steps, 4 checkpoints and 2 pictures: nothing is "
                      "damaged, nothing disagrees. Nobody signed it: a forger who rewrites all of it is not caught. "
                      "Not replayed yet. Nothing shows that the numbers are right.", said)
        for value in (ledger[0]["recipe"], ledger[0]["data"], ledger[-1]["chain"], "portable: same bits",
                      "discriminator loss", "generator gradient norm",
                      "generator learning rate", "(steps/s)", "Not replayed yet: nothing shows that the numbers are right",
                      "gave the bits that every machine must give", "[discriminator.optimizer]"):
            self.assertIn(value, said)
        planes = [svg for svg in page.all("svg") if svg["class"] == "chart scatter"]
        self.assertEqual([svg["aria-label"] for svg in planes], ["samples after step 20", "samples after step 40"])
        drawn = [path["d"] for path in page.all("path") if path["class"] == "points"]
        for points, step in zip(drawn, (20, 40), strict=True):
            width, _, rows = pixels(self.read(f"run/samples/step-{step:08}.png"))
            lit = [(26.5 + x, 6.5 + y) for y, row in enumerate(rows) for x in range(width) if row[x] != (0,)]
            self.assertGreater(len(lit), 20)
            self.assertEqual([tuple(map(float, at.split())) for at in re.findall(r"M([\d. ]+)h0", points)], lit)
        roots = [self.read(f"run/checkpoints/step-{step:08}.h5.sha256").split(b"root=")[1][:64].decode()
                 for step in (10, 20, 30, 40)]
        self.assertEqual([row[2] for row in page.rows if len(row) == 5], roots)

    def test_show_pictures_of_images_as_they_are(self):
        self.ok("train", "tiny.toml", "--quiet", "--set", "samples.count=4")
        images = self.page("runs/tiny").all("img")
        self.assertEqual([image["alt"] for image in images], ["samples after step 2"])
        png = base64.b64decode(images[0]["src"].partition(",")[2])
        self.assertEqual(png, self.read("runs/tiny/samples/step-00000002.png"))
        self.assertEqual((int(images[0]["width"]), int(images[0]["height"])), struct.unpack(">II", png[16:24]))

    def test_say_from_which_run_they_start(self):
        self.train(run="parent")
        child = ["--from", "parent@20", "--set", "run.steps=3", "--set", "run.from.optimizer=anew"]
        self.train(*child, run="child")
        self.assertNotIn("Starts from", self.page("parent").text())
        said = self.page("child").text()
        header = json.loads(self.read("child/ledger.jsonl").splitlines()[0])["from"]
        parent = json.loads(self.read("parent/ledger.jsonl").splitlines()[0])["recipe"]
        self.assertIn(f"Starts from step 20 of the run of recipe {parent} ; optimisers and schedules begin anew "
                      f"State at step 0 {header['state']} (SHA-256 tree) Compared with it Nobody compared it here", said)
        self.ok("replay", "child", "--parent", "parent", "--quiet")
        self.assertIn("A replay said: step 0 is the state of parent@20.", self.page("child").text())
        said = self.page("child", "--parent", "parent").text()
        self.assertIn("lockstep verify: step 0 is the state of parent@20.", said)
        self.train("--set", "generator.optimizer.lr=2e-3", run="other")
        said = self.page("child", "--parent", "other").text()
        self.assertIn("The evidence disagrees.", said)
        self.assertIn("lockstep verify did: see its findings above.", said)

    def test_that_stand_still_do_not_lead_with_finished(self):
        self.train()
        for losses, wanted in (('"discriminator":0,"generator":3.25', "discriminator is 0 in each of the last 12 steps"),
                               ('"discriminator":1.5,"generator":"inf"',
                                "generator is not finite in 12 steps, first in step 29")):
            with self.subTest(losses=losses):  # a dead GAN, which nobody watched
                lines = self.read("run/ledger.jsonl").decode().splitlines()
                lines[-12:] = [re.sub(r'"loss":\{.*?\}', f'"loss":{{{losses}}}', line) for line in lines[-12:]]
                self.write("run/ledger.jsonl", "".join(rechained(lines)))
                text = self.page().text()
                for words in ("The losses are not those of a run that learns.", "the loss of the " + wanted):
                    self.assertIn(words, text)
                    self.assertLess(text.index(words), text.index("Finished."))
        self.train(run="alive")
        self.assertNotIn("The losses are not", self.page("alive").text())

    def test_losses_are_the_ledgers(self):
        self.train()
        lines = self.read("run/metrics.jsonl").decode().splitlines()
        changed = [json.loads(line) for line in lines]
        for line in changed:
            line["loss"] = {name: 1000 for name in line["loss"]}
        self.write("run/metrics.jsonl", "".join(json.dumps(line) + "\n" for line in changed))
        page = self.page()
        last = json.loads(self.read("run/ledger.jsonl").splitlines()[-1])["loss"]["generator"]
        drawn = next(svg for svg in page.all("svg") if svg["aria-label"].startswith("generator loss"))
        self.assertIn(f"last {last:.4g};", drawn["aria-label"])
        self.assertIn("steps with another loss than the ledger's: 40", page.text())

    def test_give_the_same_page_again_from_anywhere_in_any_locale(self):
        self.train()
        self.page()
        first = self.read("run/report.html")
        self.page("run", "--out", "run/report.html")
        self.assertEqual(self.read("run/report.html"), first)
        self.ok("report", self.path("run"), "--out", "other.html", LC_ALL="de_DE.UTF-8", TZ="Asia/Tokyo")
        self.assertEqual(self.read("other.html"), first)
        shutil.copytree(self.path("run"), self.path("moved"))
        self.ok("report", "moved/.")
        self.assertEqual(self.read("moved/report.html"), first)
        self.append("metrics.jsonl", "x\n", run="moved")  # the control: another folder, another page
        self.ok("report", "moved")
        self.assertNotEqual(self.read("moved/report.html"), first)

    def test_are_left_as_they_were(self):
        self.train()
        before = self.contents("run")
        self.page()
        after = self.contents("run")
        del after["report.html"]
        self.assertEqual(after, before)
        self.ok("verify", "run")

    def test_that_were_stopped_and_went_on_with_other_ranks(self):
        self.train("--set", "run.steps=15")
        os.remove(self.path("run/checkpoints/step-00000015.h5"))  # so it goes on from 10, and five steps come twice
        self.train("--ranks", "3")
        page = self.page()
        rows = [row for row in page.rows if len(row) == 7]
        self.assertEqual([row[:2] + row[3:5] for row in rows],
                         [["1", "1", "1 to 15", "0"], ["2", "3", "11 to 40", "5"]])
        self.assertIn("4 fingerprints", page.text())
        for name in ("attempt 1", "attempt 2"):
            self.assertIn(name, [svg["aria-label"].split(":")[0] for svg in page.all("svg")])
        # The same gradient norms as of a run that was not stopped: the last attempt's count, once.
        self.train(run="straight")
        norms = [[svg["data-v"] for svg in of.all("svg") if "gradient norm" in svg["aria-label"]]
                 for of in (page, self.page("straight"))]
        self.assertEqual(*norms)

    def test_signed_by_a_key(self):
        self.ok("keygen", "key")
        self.ok("keygen", "other")
        self.train("--sign", "key")
        self.assertIn("It is signed; without --key nobody checked by whom.", self.page().text())
        page = self.page("run", "--key", "key.pub")
        self.assertIn("The given key signed it up to step 40.", page.text())
        self.assertEqual([row[3:] for row in page.rows if len(row) == 5], [["the given key", "holds"]] * 4)
        page = self.page("run", "--key", "other.pub")
        self.assertIn("The evidence does not hold.", page.text())
        self.assertIn("it is signed by another key", page.text())
        self.assertEqual([row[4] for row in page.rows if len(row) == 5], ["does not hold"] * 4)

    def test_that_were_replayed(self):
        self.train()
        self.ok("replay", "run", "--from", "25", "--to", "30", "--quiet")
        page = self.page()
        self.assertIn("Replayed in part. Steps 21 to 30 of 40 were computed again and agreed; 1 to 20 and 31 to 40 "
                      "were not.", page.text())
        shutil.copytree(self.path("run"), self.path("wrong"))
        subprocess.run([sys.executable, os.path.join(SOURCE, "tests/style/wrong_machine.py"), self.path("wrong"), "33"],
                       check=True)
        self.assertIn("The evidence holds", self.page("wrong").text())
        self.assertEqual(self.run_it("replay", "wrong", "--from", "31", "--quiet").returncode, 1)
        said = self.page("wrong").text()
        self.assertIn("A replay disagrees. Its bits differ from the ledger's", said)
        self.assertIn("differs at step 33: state digest", said)

    def test_that_a_monitor_stopped(self):
        result = self.run_it(*TOY, "--quiet", "--run", "run", "--set", "monitor.every=10",
                             "--set", "monitor.stop_distance=1000")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertIn("nothing was saved yet; the same command with --set monitor.stop_distance=0 begins again", result.stderr)
        self.assertNotIn("--from", result.stderr)
        self.assertTrue(self.read("run/log.txt").decode().endswith(" " + result.stderr.splitlines()[-1] + "\n"))
        stop = json.loads(self.read("run/metrics.jsonl").splitlines()[-1])["stop"]
        self.assertEqual((stop["by"], stop["step"], stop["code"]), ("monitor", 10, 7))
        self.assertEqual(json.loads(self.ok("inspect", "run", "--json"))["stop"], stop)
        said = self.page().text()
        stopped = said.index("A monitor stopped it at step 10 of 40. collapse: the mean distance of samples is")
        self.assertLess(stopped, said.index("The evidence holds."))  # it leads
        self.assertIn("monitor step 10: collapse: the mean distance", said)
        later = self.run_it(*TOY, "--quiet", "--run", "later", "--set", "monitor.every=15",
                            "--set", "monitor.stop_distance=1000")
        self.assertIn("the checkpoint of step 10 is intact; the same command with --set monitor.stop_distance=0 goes on from "
                      "there; to train otherwise change the recipe and start anew, or from that step with --from RUN@10",
                      later.stderr)
        self.train("--set", "monitor.stop_distance=0")  # and went on
        said = self.page().text()
        self.assertIn("Finished. All 40 steps are done.", said)
        self.assertIn("monitor step 10: collapse: the mean distance", said)
        self.assertNotIn("stop", json.loads(self.ok("inspect", "run", "--json")))

    def test_whose_layers_were_looked_at(self):
        self.train("--set", "monitor.layers_every=10")
        last = json.loads(self.read("run/metrics.jsonl").splitlines()[-1])["layers"]
        rows = {row[0]: row for row in self.page().rows if row and row[0] in last["norm"]}
        self.assertEqual(rows.keys(), last["norm"].keys())
        for tensor, row in rows.items():
            for shown, value in ((row[2], last["norm"][tensor]), (row[3], last["gradient_norm"][tensor])):
                self.assertAlmostEqual(float(shown), value, delta=abs(value) * 1e-3)
        given = [row for row in self.page().rows if row and row[0] in last["activation_rms"]]
        self.assertEqual([row[0] for row in given], list(last["activation_rms"]))  # in the order of a pass
        for row in given:
            value = last["activation_rms"][row[0]]
            self.assertAlmostEqual(float(row[2]), value, delta=abs(value) * 1e-3)

    def test_that_diverged(self):
        result = self.run_it(*TOY, "--quiet", "--run", "run", "--set", "generator.optimizer.lr=1e6",
                             "--set", "generator.optimizer.weight_decay=1e6", "--set", "generator.optimizer.ema_decay=0.0")
        self.assertEqual(result.returncode, 7, result.stderr)
        step = self.lines()  # of the one that gave no line
        said = self.page().text()
        self.assertIn(f"It diverged after step {step - 1} of 40. step {step}: training diverged: non-finite value in", said)
        self.assertTrue(self.read("run/log.txt").decode().endswith(" " + result.stderr.splitlines()[-1] + "\n"))
        stop = json.loads(self.read("run/metrics.jsonl").splitlines()[-1])["stop"]
        self.assertEqual((stop["by"], stop["step"], stop["code"]), ("error", step - 1, 7))

    def test_that_are_not_finished(self):
        process = self.start(*TOY, "--quiet", "--run", "run", "--set", "run.steps=1000000")
        self.wait_for_step(5)
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 75)
        steps = self.lines() - 1
        self.assertIn(f"Not finished: step {steps} of 1000000. A signal stopped it, and all was saved: the same command "
                      "goes on.", self.page().text())
        process = self.start(*TOY, "--quiet", "--run", "run", "--set", "run.steps=1000000")
        self.wait_for_step(steps + 5)
        process.kill()
        process.wait(timeout=60)
        self.assertIn(f"Not finished: step {self.lines() - 1} of 1000000. It was interrupted, or it is still training.",
                      self.page().text())


class Damage(Report):
    def test_is_shown_and_the_rest_still_drawn(self):
        self.train()
        ledger = self.read("run/ledger.jsonl").split(b"\n")
        ledger[21] = ledger[21].replace(b'"samples":', b'"samples":1', 1)
        self.write("run/ledger.jsonl", b"\n".join(ledger))
        checkpoint = bytearray(self.read("run/checkpoints/step-00000020.h5"))
        checkpoint[5000] ^= 1
        self.write("run/checkpoints/step-00000020.h5", bytes(checkpoint))
        picture = bytearray(self.read("run/samples/step-00000020.png"))
        picture[len(picture) // 2] ^= 1
        self.write("run/samples/step-00000020.png", bytes(picture))
        self.append("metrics.jsonl", "{\"step\":")
        self.write("run/environment/attempt-001-rank-0.json", "{")
        self.append("replays.jsonl", "]\n")
        page = self.page()
        said = page.text()
        for words in ("The evidence does not hold.", "damaged: ledger.jsonl:22: step 21", "Steps 20 of 40",
                      "damaged: checkpoints/step-00000020.h5, bytes 0 to", "the bytes differ from what was saved",
                      "Damaged pictures are not shown: step 20.",
                      "metrics.jsonl: lines that cannot be read: 1", "replays.jsonl: lines that cannot be read: 1",
                      "environment/attempt-001-rank-0.json: it is not a fingerprint"):
            self.assertIn(words, said)
        self.assertEqual([row[4] for row in page.rows if len(row) == 5],
                         ["holds by itself", "does not hold", "holds by itself", "holds by itself"])

    def test_of_everything_leaves_a_page(self):
        self.train()
        everything = sorted(name for name in self.contents("run") if "step-00000010" not in name and "step-00000030" not in name)
        for name in everything:
            for way in ("missing", "empty", "noise", "folder"):
                with self.subTest(name=name, way=way):
                    shutil.copytree(self.path("run"), self.path("bad"))
                    os.remove(self.path("bad", name))
                    if way == "folder":
                        os.mkdir(self.path("bad", name))
                    elif way != "missing":
                        self.write(f"bad/{name}", b"" if way == "empty" else bytes(range(256)) * 4)
                    evidence = name in ("recipe.toml", "ledger.jsonl") or name.startswith(("samples/", "checkpoints/"))
                    held = "The evidence holds" in self.page("bad").text()
                    # What was deleted whole is not missed by anybody: docs/verify.md.
                    if way != "missing" or name in ("recipe.toml", "ledger.jsonl") or name.endswith(".sha256"):
                        self.assertEqual(held, not evidence)
                    shutil.rmtree(self.path("bad"))

    def test_of_folders_leaves_a_page(self):
        self.train()
        for name in ("checkpoints", "samples", "environment"):
            shutil.rmtree(self.path("run", name))
            self.page()
            self.write(f"run/{name}", "a file")
            self.page()
        self.write("run/ledger.jsonl", self.read("run/ledger.jsonl").split(b"\n")[0] + b"\n")
        self.assertIn("Steps 0 of 40", self.page().text())

    def test_that_is_no_run_is_refused(self):
        os.mkdir(self.path("empty"))
        self.assertIn("is not a run folder", self.refused(2, "report", "empty"))
        self.assertIn("there is no nothing", self.refused(2, "report", "nothing"))
        self.train()
        self.assertIn("is no name for a page", self.refused(2, "report", "run", "--out", "run/ledger.jsonl"))
        self.assertIn("cannot read the key", self.refused(2, "report", "run", "--key", "none"))
        self.assertIn("No such file", self.refused(4, "report", "run", "--out", "none/page.html"))
        self.ok("verify", "run")
        self.assertFalse(os.path.exists(self.path("run/report.html")))


class Hostile(Report):
    def of_ledger(self):
        """What makes a line of replays.jsonl one of this ledger."""
        last = json.loads(self.read("run/ledger.jsonl").splitlines()[-1])
        return {"steps": last["step"], "chain": last["chain"]}

    def test_a_warning_of_every_attempt_stands_there_once(self):
        self.train()
        for second in range(3):
            self.append("log.txt", f"2026-01-01T00:00:0{second}+00:00 warning: as always\n")
        self.page()  # checks its marks
        page = self.read("run/report.html").decode()
        self.assertEqual(page.count("warning: as always"), 1)
        self.assertIn("2026-01-01T00:00:00+00:00 warning: as always (3 times)", page)

    def test_names_and_values_become_no_markup(self):
        self.train()
        clean = [(tag, sorted(attributes)) for tag, attributes in self.page().elements]
        for payload in PAYLOADS:
            line = {"attempt": 1, "step": 40, "seconds": 0.1, "time": 1e300, "gradient_norm": {payload: 1},
                    "learning_rate": {payload: payload}, "monitor": {payload: 2}}
            self.append("metrics.jsonl", json.dumps(line) + "\n")
            stop = {"by": payload, "step": 40, "code": 7, "reason": payload}
            self.append("metrics.jsonl", json.dumps({"attempt": 1, "stop": stop}) + "\n")
            self.append("log.txt", f"2026-01-01T00:00:00+00:00 warning: {payload}\n")
            self.append("replays.jsonl", json.dumps({**self.of_ledger(), "time": payload, "agrees": payload,
                                                     "what": payload,
                                                     "first_difference": payload, "windows": [payload, {"to": payload}],
                                                     "machine": {"host": payload},
                                                     "place": {"tensor": payload}}) + "\n")
            facts = json.loads(self.read("run/environment/attempt-001-rank-0.json"))
            facts.update({payload: payload, "portable." + payload: payload, "native." + payload: payload,
                          "cpu": payload})
            self.write(f"run/environment/attempt-{PAYLOADS.index(payload) + 2:03}-rank-0.json", json.dumps(facts))
            if "/" not in payload:
                self.write(f"run/checkpoints/{payload}", payload)
                self.write(f"run/samples/{payload}", payload)
                self.write(f"run/environment/{payload}", payload)
        page = self.page()  # checks scripts, handlers and addresses
        allowed = {tag for tag, _ in clean} | {"li", "ul", "small", "circle", "h3"}
        self.assertEqual({tag for tag, _ in page.elements} - allowed, set())
        names = {(tag, name) for tag, attributes in clean for name in attributes}
        self.assertEqual({(tag, name) for tag, attributes in page.elements for name in attributes} - names -
                         {("tr", "class"), ("ul", "class"), ("td", "colspan")} -
                         {("circle", name) for name in ("cx", "cy", "r", "class")}, set())
        for payload in PAYLOADS[:-1]:
            self.assertIn(" ".join(payload.split()), page.text())
        self.assertNotIn("\u202e", page.text())

    def test_the_recipe_and_the_ledger_become_no_markup(self):
        self.train()
        self.write("run/recipe.toml", "".join(payload + "\n" for payload in PAYLOADS))
        self.append("ledger.jsonl", PAYLOADS[0] + "\n")
        self.assertIn(PAYLOADS[4], self.page().text())

    def test_numbers_beyond_all_reason(self):
        self.train()
        ours = json.dumps(self.of_ledger())[1:-1]
        for value in ("1e308", "-1e308", "1e999", "-0.0", "null", "9223372036854775807", "-9223372036854775808",
                      "18446744073709551615", "1e-320", "true", "[]", "{}"):
            for name in ("step", "seconds", "time", "attempt"):
                line = {"step": "39", "seconds": "0.1", "time": "1", "attempt": "1", name: value}
                body = ",".join(f'"{key}":{said}' for key, said in line.items())
                self.append("metrics.jsonl", f'{{{body},"gradient_norm":{{"generator":{value}}}}}\n')
            for this in (ours, f'"steps":{value},"chain":{value}'):
                self.append("replays.jsonl", f'{{{this},"agrees":true,"windows":[{{"started":{value},"to":{value}}},'
                                             f'{{"started":0,"to":{value}}}]}}\n')
        self.append("metrics.jsonl", "[" * 100000 + "\n")
        deep = "[" * 200000 + "]" * 200000
        self.append("replays.jsonl", f'{{{ours},"agrees":false,"time":{deep},"what":{deep},"machine":{{"cpu":{deep}}}}}\n')
        self.page()

    def test_a_picture_that_is_none(self):
        self.train()
        svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
        self.write("run/samples/step-00000040.png", svg)
        self.append("samples/step-00000020.png", "<script>")  # libpng would not mind
        page = self.page()
        self.assertEqual(page.all("img") + [svg for svg in page.all("svg") if "scatter" in svg["class"]], [])
        self.assertIn("Damaged pictures are not shown: step 20, 40.", page.text())

    def test_the_checks_find_markup_that_slipped_through(self):
        """The control: each payload, put into the page as it is, is found."""
        self.train()
        self.page()
        text = self.read("run/report.html").decode()
        for payload in (PAYLOADS[0], PAYLOADS[1][2:], PAYLOADS[2][2:], PAYLOADS[4], "<p>", "</p>",
                        "<link href=x>", "<p style='a' style='b'></p>", "<img src='https://example.org/a.png'>"):
            with self.subTest(payload=payload), self.assertRaises(AssertionError):
                self.checked(text.replace("Curves", payload, 1))


def pixels(png):
    """Width, height and rows of an 8-bit grey, RGB or RGBA PNG, unfiltered."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        at += size + 12
        if kind == b"IHDR":
            width, height, _, colours = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            data += body
    channels, raw = {0: 1, 2: 3, 6: 4}[colours], zlib.decompress(data)
    stride, rows, before = width * channels, [], bytes(width * channels)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            up, guess = before[i], left + before[i] - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(line))
        before = line
    return width, height, [[tuple(row[i:i + min(channels, 3)]) for i in range(0, stride, channels)] for row in rows]


BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)


@unittest.skipUnless(BROWSER, "NOT PROVED: the page in a browser: there is no headless Chromium here")
class Browser(Report):
    def browse(self, page, *flags):
        """What the browser says, with a log of its network."""
        log = self.path("net.json")
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--enable-logging=stderr", "--v=0", f"--log-net-log={log}",
             f"--user-data-dir={self.path('profile')}", "--virtual-time-budget=2000", *flags,
             "file://" + self.path(page)],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=120, cwd=self.folder, check=False,
            env={**os.environ, "HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        with open(log, errors="replace") as file:
            asked = set(re.findall(r'"url":"([^"]+)"', file.read()))
        console = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
        return done.stdout.decode(errors="replace"), console, {url for url in asked if not url.startswith("file:")}

    def shot(self, width, *flags):
        self.browse("run/report.html", f"--window-size={width},1200", "--screenshot=shot.png", *flags)
        return pixels(self.read("shot.png"))

    def test_shows_it_without_errors_or_requests(self):
        self.train()
        self.page()
        dom, console, asked = self.browse("run/report.html", "--dump-dom")
        self.assertEqual((console, asked), ([], set()))
        self.assertIn("The evidence holds", dom)
        papers = []
        for width, *flags in ((1100,), (390,), (1100, "--blink-settings=preferredColorScheme=0")):
            seen, height, rows = self.shot(width, *flags)
            self.assertEqual((seen, height), (width, 1200))
            colours = {colour for row in rows for colour in row}
            self.assertGreater(len(colours), 20)  # not blank
            papers.append(rows[5][5])
            inked = sum(colour != rows[5][5] for row in rows for colour in row)
            self.assertGreater(inked, width * 1200 / 100)
        self.assertEqual(papers, [(255, 255, 255), (255, 255, 255), (20, 23, 27)])

    def test_finds_errors_requests_and_foreign_scripts(self):
        """The control, and what the page's policy keeps out even if markup slipped through."""
        self.train()
        self.page()
        text = self.read("run/report.html").decode()
        self.write("throws.html", "<!doctype html><script>nothing.here()</script>")
        _, console, _ = self.browse("throws.html", "--dump-dom")
        self.assertIn("nothing is not defined", "\n".join(console))
        self.write("asks.html", "<!doctype html><img src='http://127.0.0.1:9/a.png'>")
        _, _, asked = self.browse("asks.html", "--dump-dom")
        self.assertIn("http://127.0.0.1:9/a.png", asked)
        hole = "<script>document.title='taken over'</script><img src='http://127.0.0.1:9/b.png' onerror='alert(1)'>"
        self.write("hole.html", text.replace("<h2>Curves</h2>", hole, 1))
        dom, console, asked = self.browse("hole.html", "--dump-dom")
        self.assertNotIn("<title>taken over", dom)
        self.assertEqual(asked, set())
        self.assertIn("Content Security Policy", "\n".join(console))


if __name__ == "__main__":
    main()
