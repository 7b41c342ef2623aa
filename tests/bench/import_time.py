"""CPU time of `import calib` and of answers of the command line, beside what they rest on: a benchmark, not a test.

Run: python tests/bench/import_time.py
"""

import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

_SHELL = "from calib.cli import main; main({})"
_LINES = ["--version", "--help", "nonsense", "interval --help", "rate --help", "interval a b --nonsense"]


def cpu_ms(code: str, repeats: int = 10) -> float:
    """Smallest user + system time of a fresh interpreter that runs the code, in milliseconds."""
    spent = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * min(spent)


def results(path: Path, n: int = 1000) -> Path:
    """A user's file: a judge's score of each output, a label of every fifth."""
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write("id,model,judge,human\n")
        for k in range(n):
            quality = rng.randint(1, 5)
            score = min(5, max(1, quality + rng.gauss(0, 0.7)))
            file.write(f"i{k},m{k % 7},{score:.2f},{quality if k % 5 == 0 else ''}\n")
    return path


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(results(Path(folder, "results.csv")))
        codes = {
            "python -c pass": "pass",
            **{code: code for code in ("import typer", "import numpy", "import numpy, pandas, scipy.stats")},
            **{code: code for code in ("import calib", "import calib.stats", "import calib; calib.agreement")},
            **{f"calib {line}": _SHELL.format(line.split()) for line in _LINES},
            "calib look, 1,000 rows": _SHELL.format(["look", path]),
            "import calib; calib.interval, 1,000 rows": f"import calib; calib.interval({path!r}, judge='judge')",
        }
        for name, code in codes.items():
            print(f"{name:42s} {cpu_ms(code):7.0f} ms")


if __name__ == "__main__":
    main()
