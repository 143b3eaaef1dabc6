"""No object of ours imports a function of libm, and no library of ours one that reads or writes
numbers by the locale: what a compiler or an inlined header slipped in shows here. (The program's
objects hold CLI11, which reads numbers.) Nor does any open, read or parse a file by HDF5, which is
not safe on hostile ones.

usage: imports.py NM BUILD
"""
import re
import subprocess
import sys
from pathlib import Path

from banned import MATH
from common import report

LIBM = re.compile(
    rf"^(?:__)?(?:{MATH}|sincos|exp10|pow10|scalbn|scalbln|logb|ilogb|nextafter|fdim|remquo|llround|llrint|j[01n]|y[01n]|"
    r"fmax|fmin|fabs|c(?:exp|log|pow|sqrt|abs|arg|sin|cos))(?:f|l|f128|f64x)?(?:_finite|_r)?$"
    r"|^_ZGV")  # libmvec
LOCALE = re.compile(r"^(?:v?[fsd]?n?printf|setlocale|strto(?:d|f|ld)|rand|random)$")
PARSES = re.compile(r"^H5(?:F(?:re)?open|Fis_|Fmount|LTopen|Pset_file_image|[DGLOT]open|[DAR]read|Dget_(?:type|space)|Ovisit|Literate|Gget)")
ALLOWED = {"snprintf"}  # the headers of JSON and spdlog, for escapes and integers
# What reads JSON: its header gives strtod the locale's own point. No bit of a state comes from there.
READ_JSON = {"json.cpp.o"}


def problems(nm, libraries, program=()):
    found = []
    for library in [*libraries, *program]:
        member = ""
        for line in subprocess.run([nm, "-u", library], check=True, capture_output=True, text=True).stdout.splitlines():
            if line.endswith(":"):
                member = line[:-1]
                continue
            name = line.split()[-1].split("@")[0] if line.split() else ""
            allowed = name in ALLOWED or (name == "strtod" and member in READ_JSON)
            by_locale = LOCALE.match(name) and not allowed and library not in program
            if LIBM.match(name) or PARSES.match(name) or by_locale:
                found.append(f"{library.split('/')[-1]}, {member}: imports {name}")
    return found


def built(build):
    """The objects of everything that ships: libraries and the program."""
    libraries = sorted(Path(build, "src").glob("*/liblockstep_*.a"))
    program = sorted(Path(build, "tools").rglob("*.o"))
    if not libraries or not program:
        sys.exit(f"{build}: nothing is built there")
    return [str(path) for path in libraries], [str(path) for path in program]


if __name__ == "__main__":
    report(problems(sys.argv[1], *built(sys.argv[2])))
