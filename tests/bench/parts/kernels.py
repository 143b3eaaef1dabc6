"""Our kernels against PyTorch's, oneDNN's and MKL's, on the recipes' shapes, one core."""
import json

import contest
from page import number, ratio, spread, table


def listed(context):
    """Names of kernels_bench for the best instruction set of this CPU, which it lists last."""
    names = context.programs.call([context.programs.binary("kernels_bench"), "--benchmark_list_tests"]).split("\n")
    names = [name for name in names if name]
    isa = names[-1].split()[-1]
    return [name for name in names if name.split()[-1] == isa and context.kernel(name)], isa


def measure(context):
    names, isa = listed(context)
    programs = context.programs

    def ours():
        # Shapes are literal text: they hold nothing that a regular expression reads otherwise.
        out = json.loads(programs.call([programs.binary("kernels_bench"), f"--benchmark_filter=^({'|'.join(names)})$",
                                        f"--benchmark_min_time={context.kernel_seconds}", "--benchmark_format=json"]))
        rates = {b["name"]: b["flops"] / 1e9 for b in out["benchmarks"]}
        return {"rates": {" ".join(name.split()[:-1]): rate for name, rate in rates.items()}}

    def theirs():
        out = programs.pytorch("kernels.py", "--seconds", context.kernel_seconds, given="\n".join(names))
        return {"rates": {name: {layout: rate / 1e9 for layout, rate in rates.items()} for name, rates in out["flops"].items()}}

    results = contest.run({"Lockstep": ours, **({"PyTorch": theirs} if context.pytorch else {})}, context.repetitions)
    return {"isa": isa, "repetitions": results.repetitions, "failed": results.failed,
            "lockstep": results.values("Lockstep", "rates"), "pytorch": results.values("PyTorch", "rates")}


def tables(raw, head):
    if not raw["lockstep"]:
        return f"{head}\n\nfailed: {raw['failed']}"
    shapes = list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in raw["lockstep"][0]))
    kinds = list(dict.fromkeys(name.rsplit(" ", 1)[1] for name in raw["lockstep"][0]))
    rows, quotients = [], {kind: [] for kind in kinds}
    for shape in shapes:
        best = [max(run[shape].values()) for run in raw["pytorch"]]
        row = [shape]
        for kind in kinds:
            own = [run[f"{shape} {kind}"] for run in raw["lockstep"] if f"{shape} {kind}" in run]
            row.append(spread(own, lambda x: f"{x:.0f}"))
            each = [a / b for a, b in zip(own, best)]
            row.append(spread(each, ratio))
            if each:
                quotients[kind].append(sorted(each)[len(each) // 2])
        for layouts in (("nchw", "mm"), ("channels-last",)):
            row.append(spread([run[shape][name] for run in raw["pytorch"] for name in layouts if name in run[shape]],
                              lambda x: f"{x:.0f}"))
        rows.append(row)
    columns = ["shape"] + [c for kind in kinds for c in (f"{kind}, GFLOP/s", f"{kind} / the faster PyTorch")]
    parts = [head, f"CPU time of one core, {raw['isa']} kernels of ours; `mm` of PyTorch stands in the column NCHW.",
             table([*columns, "PyTorch NCHW (oneDNN, MKL)", "PyTorch channels-last"], rows)]
    for kind, each in quotients.items():
        if each:
            parts.append(f"{kind}: faster than PyTorch in {sum(q > 1 for q in each)} of {len(each)} shapes; "
                         f"median ratio {sorted(each)[len(each) // 2]:.2f}, from {number(min(each))} to {number(max(each))}.")
    return "\n\n".join(parts)
