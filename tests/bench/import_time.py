"""CPU time of `import calib` and of short answers of the command line, over bare Python: a benchmark, not a test.

Run: python tests/bench/import_time.py
"""

import resource
import subprocess
import sys


def cpu_ms(code: str, repeats: int = 15) -> float:
    """Smallest user + system time of a fresh interpreter that runs the code, in milliseconds."""
    spent = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * min(spent)


if __name__ == "__main__":
    bare = cpu_ms("pass")
    print(f"{'bare Python':40s} {bare:8.1f} ms; over it:")
    for code in ("import calib", "import numpy", "import calib.stats", "import calib; calib.agreement"):
        print(f"{code:40s} {cpu_ms(code) - bare:8.1f} ms")
    for line in ("--version", "--help", "nonsense", "interval --help", "rate --help", "interval a b --nonsense"):
        command = f"from calib.cli import main; main({line.split()})"
        print(f"{'calib ' + line:40s} {cpu_ms(command) - bare:8.1f} ms")
