"""Prints how many lines of code each step changes, against its budget; exits 1 above one."""

import os
import subprocess
import tempfile

import steps
import tool


def changed_lines(old, new):
    """Lines of code removed plus lines added from file old to file new."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("old", "new")]
        for path, source in zip(paths, (old, new)):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in steps.code_lines(source))
        result = subprocess.run(["diff", "--minimal", *paths], stdout=subprocess.PIPE, text=True)
    return sum(line[0] in "<>" for line in result.stdout.splitlines())


def budgets():
    """[("01", "02", 110), ...] from tests/budgets.tsv."""
    lines = steps.text(os.path.join(steps.ROOT, "tests", "budgets.tsv")).splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(base, step, int(budget)) for base, step, budget in rows]


def main():
    sources = steps.sources()
    failed = False
    print("from  to  changed  budget")
    for base, step, budget in budgets():
        missing = [number for number in (base, step) if number not in sources]
        changed = None if missing else changed_lines(sources[base], sources[step])
        verdict = f"no step {missing[0]}" if missing else "too much" if changed > budget else ""
        failed = failed or verdict != ""
        line = f"  {base}  {step}  {'' if missing else changed:>7}  {budget:>6}  {verdict}"
        print(line.rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    tool.run(main)
