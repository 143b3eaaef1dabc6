"""A kernel that adds in another order is found by every tool that should find it, and named.

Usage: broken_kernel_test.py PROGRAM BROKEN_PROGRAM, the second with one dot product added in another order
(numerics/cpu/register_tile_simd.cpp)
"""

import json
import os
import sys
import tempfile

import golden

NAME, STEPS = "ddpm", 4


def found(program, code, *arguments):
    """The JSON report of a command that must end so."""
    exit_code, out, err = program.run(*arguments, "--json")
    assert exit_code == code, f"{arguments}: exit {exit_code}\n{out}{err}"
    return json.loads(out)


def main():
    whole, broken = golden.Program(sys.argv[1]), golden.Program(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="lockstep-broken-") as folder:
        run, other = os.path.join(folder, "run"), os.path.join(folder, "other")
        for program, place in ((whole, run), (broken, other)):
            code, _, err = program.run("train", golden.recipe(NAME), "--run", place, "--set", f"run.steps={STEPS}",
                                       "--set", "checkpoint.every=1", "--set", "checkpoint.keep_last=0", "--quiet")
            assert code == 0, err

        replayed = found(broken, 1, "replay", run, "--quiet")
        step = replayed["first_difference"]
        assert replayed["place"]["checkpoint"] == step and replayed["place"]["tensor"].startswith("model/"), replayed
        assert found(whole, 0, "replay", run, "--quiet")["agrees"]

        diff = found(whole, 1, "diff", run, other)
        assert diff["first_difference"]["step"] == step, diff["first_difference"]
        assert (diff["tensors"][0]["step"], diff["tensors"][0]["tensor"]) == (step, replayed["place"]["tensor"])

        bisect = found(whole, 1, "bisect", run, other, "--program-b", broken.path)
        assert bisect["step"] == step and bisect["odd"]["a"] == bisect["odd"]["b"], bisect
        assert any(op in bisect["odd"]["a"] for op in ("linear", "conv2d", "attention")), bisect["odd"]
        assert 0 < bisect["values"]["different"] <= bisect["values"]["elements"], bisect["values"]
        assert found(whole, 0, "bisect", run, run, "--step", 2)["same"]

        check = found(broken, 1, "check")
        wrong = [finding["fact"] for finding in check["findings"]]
        assert "portable.linear" in wrong and "portable.updates" not in wrong, wrong
        assert found(whole, 0, "check")["findings"] == []
    print(f"found at step {step} by replay and diff, in {bisect['odd']['a']} by bisect, as {', '.join(wrong)} by check")


if __name__ == "__main__":
    main()
