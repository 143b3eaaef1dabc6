#include "report/sections.h"

namespace lockstep::report {

const std::string_view kStyle = R"(
:root { --ink: #1b1f24; --soft: #57606a; --rule: #d5dae0; --paper: #fff; --shade: #f5f7f9;
  --curve: #1f5fa8; --wrong: #b3261e; --fine: #1a7f4b; --bar: #8fb3d9; }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe4ea; --soft: #98a2ad; --rule: #363d46;
  --paper: #14171b; --shade: #1c2127; --curve: #79b0ee; --wrong: #ff8a80; --fine: #6fce9d; --bar: #3f6a99; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1.25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 3rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
p { margin: .5rem 0 1rem; max-width: 46rem; }
section > p, footer p { color: var(--soft); }
.kicker { margin: 0; color: var(--soft); font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: .8125rem; }
code { overflow-wrap: anywhere; }
pre { background: var(--shade); padding: 1rem; overflow-x: auto; line-height: 1.45; }
.verdict { border-left: 4px solid var(--fine); background: var(--shade); padding: .75rem 1rem; margin-bottom: 1.5rem; }
.verdict.wrong { border-color: var(--wrong); }
.verdict p { margin: 0; max-width: none; }
.verdict p + p, .verdict ul + p { margin-top: .4rem; }
.verdict .fine strong { color: var(--fine); }
.verdict .wrong strong { color: var(--wrong); }
.verdict ul { margin: .25rem 0 0; padding-left: 1.25rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem 1.25rem; margin: 0 0 1rem; }
dt { color: var(--soft); }
dd { margin: 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.75rem 2rem; }
.charts figure { max-width: 32rem; }
figure { margin: 0; break-inside: avoid; }
figcaption { font-size: .9rem; }
figcaption span, .said { color: var(--soft); font-weight: normal; }
.said { font-size: .8125rem; margin: .15rem 0 0; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; overflow: visible; }
.chart text { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
.chart .end { text-anchor: end; }
.chart .middle { text-anchor: middle; }
.grid { stroke: var(--rule); stroke-width: .6; }
.axis { stroke: var(--soft); stroke-width: .8; }
.mark { stroke: var(--soft); stroke-width: .8; stroke-dasharray: 3 3; }
.curve { fill: none; stroke: var(--curve); stroke-width: 1.4; stroke-linejoin: round; }
.band { fill: var(--curve); fill-opacity: .22; }
.point { fill: var(--curve); }
.odd { fill: var(--wrong); }
.pointer { stroke: var(--ink); stroke-width: .8; }
.pictures { display: flex; flex-wrap: wrap; gap: 1.25rem; }
.pictures img { max-width: 100%; height: auto; image-rendering: pixelated; display: block;
  outline: 1px solid var(--rule); }
.scatter { width: 18rem; max-width: 100%; background: var(--shade); }
.points { fill: none; stroke: var(--curve); stroke-width: 4; stroke-linecap: round; stroke-opacity: .6; }
.pictures figcaption { color: var(--soft); margin-top: .25rem; }
.timeline { align-items: center; font-size: .875rem; gap: .25rem 1rem; }
.track { height: 14px; background: var(--shade); }
.track .bar { fill: var(--bar); }
.track .tick { stroke: var(--curve); stroke-width: 2px; vector-effect: non-scaling-stroke; }
.track.wrong .bar { fill: var(--wrong); }
.ends { display: flex; justify-content: space-between; color: var(--soft); }
.table { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--soft); }
td code { font-size: .75rem; }
td ul { margin: 0; padding: 0; list-style: none; }
small { color: var(--soft); }
tr.wrong td, ul.wrong { color: var(--wrong); }
footer { margin-top: 3rem; border-top: 1px solid var(--rule); font-size: .875rem; }
@media (max-width: 36rem) { main { padding: 1.5rem 1rem 3rem; }
  header dl { display: block; } header dd { margin-bottom: .5rem; } }
@media print { :root { --ink: #000; --soft: #444; --rule: #bbb; --paper: #fff; --shade: #f5f5f5;
    --curve: #1f5fa8; --wrong: #b3261e; --fine: #1a7f4b; --bar: #8fb3d9; }
  body { font-size: 10pt; } main { max-width: none; padding: 0; } h2, h3 { break-after: avoid; }
  pre { white-space: pre-wrap; columns: 2; } .pictures img { max-width: 5.4cm; } .table { overflow: visible; } tr { break-inside: avoid; } }
)";

// Shows the values of the column nearest to the pointer instead of the words below a chart.
const std::string_view kScript = R"(
for (const svg of document.querySelectorAll("svg[data-v]")) {
  const columns = svg.dataset.v.split(";").filter(Boolean).map(c => c.split(","));
  const said = svg.parentNode.querySelector(".said"), still = said.textContent;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const at = c => svg.dataset.x === "step" ? (c.includes(" ") ? "steps " : "step ") + c : c + " " + svg.dataset.x;
  const words = c => c.length < 4 ? at(c[1]) + ": " + c[2]
    : at(c[1] + " to " + c[2]) + ": mean " + c[3] + ", lowest " + c[4] + ", highest " + c[5];
  for (const [name, value] of [["class", "pointer"], ["y1", 10], ["y2", 152]]) line.setAttribute(name, value);
  svg.addEventListener("pointermove", event => {
    if (!columns.length) return;
    const x = new DOMPoint(event.clientX, 0).matrixTransform(svg.getScreenCTM().inverse()).x;
    const near = columns.reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);
    line.setAttribute("x1", near[0]);
    line.setAttribute("x2", near[0]);
    svg.append(line);
    said.textContent = words(near);
  });
  svg.addEventListener("pointerleave", () => { line.remove(); said.textContent = still; });
}
)";

}  // namespace lockstep::report
