"""What an earlier call of tools/gpu-check has found, from which another one goes on: where commands may take ten minutes, and all takes
longer. What held or failed is not tried again; what was not done is."""
import hashlib
import json
import os

NO_TIME = ("no time left", "not done after", "interrupted")  # how the detail of a check begins that the time did not suffice for
LAST = "the GPU after"  # of the part speed


class Refused(Exception):
    """Why nothing can go on from there."""


def choices(args, libraries):
    """What decides what a check is."""
    return {"program": os.path.abspath(args.program), "binaries": args.elsewhere and args.binaries[0], "pytorch": libraries,
            **{name: getattr(args, name) for name in ("device", "golden", "steps", "quick", "conformance")}}


def had_no_time(row):
    return row["result"] == "not done" and row["detail"].startswith(NO_TIME)


class Earlier:
    """found: None if there is nothing yet. accepted: the device is known to be that of the earlier call."""

    def __init__(self, args, libraries, sources):
        self.out, self.found, self.accepted = args.out, None, True
        if not os.path.exists(args.out):
            return
        with open(args.out, encoding="utf-8") as file:
            try:
                self.found = json.load(file)
                known = self.found["sources"], self.found["choices"], self.found["programs"]
            except (ValueError, KeyError, TypeError):
                self.refuse("no file that this gpu-check wrote")
        self.accepted = False
        if known[0] != sources:
            self.refuse(f"of sources of {known[0]}, and these are of {sources}")
        for name, value in choices(args, libraries).items():
            if known[1].get(name) != value:
                self.refuse(f"of another choice: {name} was {known[1].get(name)!r}, and is {value!r}")
        for path, digest in known[2].items():
            if not os.path.exists(path):
                self.refuse(f"of {path}, which is gone")
            with open(path, "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != digest:
                    self.refuse(f"of another {path}")

    def refuse(self, why):
        raise Refused(f"--resume: {self.out} is {why}; give another --out")

    def require_same(self, facts):
        """The device's. One whose fingerprint fails does not tell."""
        for name in ("device", "driver"):
            before, now = self.found["facts"].get(name), facts.get(name, "unknown")
            if before is not None and before != now:
                self.refuse(f"of {before}, and this is {now}")
        self.accepted = True

    def measured(self):
        """Whether the part speed came to its end. What is compared is measured in one call."""
        rows = [row for row in self.found["checks"] if row["part"] == "speed"] if self.found else []
        return any(row["check"] == LAST for row in rows) and not any(map(had_no_time, rows))

    def speed_lacked_time(self):
        return not self.measured() and any(row["part"] == "speed" and row["check"] != "all" for row in (self.found or {}).get("checks", ()))

    def rows(self):
        """But for what every call finds anew."""
        return [row for row in self.found["checks"] if row["part"] != "device" and (row["part"] != "speed" or self.measured()) and
                (row["check"], row["result"]) != ("all", "not done")]  # of a call without a GPU

    def done(self, part, name):
        """The row of a check that need not be made again, or None."""
        if not self.found or part in ("device", "speed"):
            return None
        return next((row for row in self.found["checks"] if (row["part"], row["check"]) == (part, name) and
                     (row["result"] != "not done" or row["final"])), None)
