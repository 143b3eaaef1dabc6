"""The sections of a page that tools/bench writes, each between two markers, and tables."""
import re


def replace(text, part, body):
    """The page with the section of this part rewritten."""
    begin, end = f"<!-- tools/bench --only {part} -->", f"<!-- end of {part} -->"
    pattern = re.compile(rf"^{re.escape(begin)}$.*?^{re.escape(end)}$", re.MULTILINE | re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"the page has no section {begin} … {end}")
    return pattern.sub(lambda _: f"{begin}\n\n{body.strip()}\n\n{end}", text)


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value):
    """Three digits that matter."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def spread(values, show=number):
    """median (lowest to highest)"""
    from statistics import median
    if not values:
        return "-"
    if len(values) == 1:
        return show(values[0])
    return f"{show(median(values))} ({show(min(values))} to {show(max(values))})"


def ratio(value):
    return f"{value:.2f}"
