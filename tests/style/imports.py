"""No object of ours imports a function of libm, or one that reads or writes numbers by the locale:
what a compiler or an inlined header slipped in shows here.

usage: imports.py NM LIBRARY...
"""
import re
import subprocess
import sys

from banned import MATH
from common import report

LIBM = re.compile(
    rf"^(?:__)?(?:{MATH}|sincos|exp10|pow10|scalbn|scalbln|logb|ilogb|nextafter|fdim|remquo|llround|llrint|j[01n]|y[01n]|"
    r"fmax|fmin|fabs|c(?:exp|log|pow|sqrt|abs|arg|sin|cos))(?:f|l|f128|f64x)?(?:_finite|_r)?$"
    r"|^_ZGV")  # libmvec
LOCALE = re.compile(r"^(?:v?[fsd]?n?printf|setlocale|strto(?:d|f|ld)|rand|random)$")
# JSON's header formats and reads control characters and numbers; ours never go through floats of it
# but for metrics, and it corrects for the locale itself.
ALLOWED = {"snprintf", "strtod", "strtof", "strtold"}


def problems(nm, libraries):
    found = []
    for library in libraries:
        member = ""
        for line in subprocess.run([nm, "-u", library], check=True, capture_output=True, text=True).stdout.splitlines():
            if line.endswith(":"):
                member = line[:-1]
                continue
            name = line.split()[-1].split("@")[0] if line.split() else ""
            if LIBM.match(name) or (LOCALE.match(name) and name not in ALLOWED):
                found.append(f"{library.split('/')[-1]}, {member}: imports {name}")
    return found


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    report(problems(sys.argv[1], sys.argv[2:]))
