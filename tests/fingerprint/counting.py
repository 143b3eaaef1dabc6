"""Writes the overrides of a device that counts its kernels' calls and gives them to another one:
counting.py DEVICE_KERNELS_INL OUT"""

import re
import sys


def main(declarations, out):
    with open(declarations, encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    kernels = re.findall(r"(\S+(?:<\w+>)?) (\w+)\(([^()]*)\) override;", text)
    assert len(kernels) == text.count("override;"), "a declaration of another form"
    with open(out, "w", encoding="utf-8") as file:
        for result, name, parameters in kernels:
            names = ", ".join(re.findall(r"(\w+)(?=,|$)", re.sub(r"\s+", " ", parameters)))
            file.write(f"{result} {name}({parameters}) override {{\n"
                       f"  ++calls[\"{name}\"];\n  return inner_.{name}({names});\n}}\n")
        every = ", ".join(f'{{"{name}", 0}}' for _, name, _ in kernels)
        file.write(f"std::map<std::string, int> calls = {{{every}}};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
