"""How large a view is, how long it takes to open, sort, filter and search, and the memory of its tab: a benchmark.

Run: python tests/bench/view_speed.py (with Chromium or Firefox, and aiohttp)
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

for folder in ("surface", "view"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

import aiohttp  # noqa: E402
import chromium  # noqa: E402
from view_data import run_of  # noqa: E402

import calib  # noqa: E402

COLUMNS = {"item": "id", "judge": "judge", "label": "label", "system": "model", "scale": "1|2|3|4|5"}
_SHOWN = "document.body.dataset.state"
_ACTS = {
    "sort by score": "state.sort = 'score'", "sort by id": "state.sort = '-item'",
    "filter": "state.ranges.score = [2, 3]", "search": "Object.assign(state, {query: 'w1', ranges: {}})",
}  # fmt: skip
_TIMED = (
    "opened.then(page => {{ const began = performance.now(); {}; page.renew(); document.body.offsetHeight; "
    "return performance.now() - began; }})"
)
# when the table is there, and when all of it is, from the start of the navigation
_CLOCK = """
    const seen = {};
    new MutationObserver(() => {
        const state = document.body?.dataset.state;
        if (state) seen[state] ??= performance.now();
    }).observe(document, {subtree: true, childList: true, attributes: true});
    window.seen = seen;
"""


def _renderers(group):
    """The processes of a browser that hold pages."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ProcessLookupError):
            if os.getpgid(int(process.name)) == group and b"--type=renderer" in (process / "cmdline").read_bytes():
                yield process


def _resident(process):
    return int(re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text())[1]) / 1000


async def in_chromium(page):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        async with chromium.Browser(profile) as browser:
            tab = await browser.tab(page, before=_CLOCK)
            await tab.until(f"{_SHOWN} === 'ready'")
            times = dict(await tab.read("window.seen"))
            for name, act in _ACTS.items():
                times[name] = await tab.read(_TIMED.format(act))
            times["memory of the tab, MB"] = max(map(_resident, _renderers(browser.process.pid)))
            return times


async def in_firefox(page):
    """By WebDriver BiDi."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        process = await asyncio.create_subprocess_exec("firefox", *options, stdout=DEVNULL, stderr=PIPE)
        try:
            address = ""
            while not address:
                line = (await process.stderr.readline()).decode()
                address = next(iter(re.findall(r"WebDriver BiDi listening on (ws://\S+)", line)), "")
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(f"{address}/session", max_msg_size=0) as socket,
            ):
                number = 0

                async def call(method, **params):
                    nonlocal number
                    number += 1
                    await socket.send_json({"id": number, "method": method, "params": params})
                    while (answer := await socket.receive_json(timeout=60)).get("id") != number:
                        pass
                    return answer["result"]

                await call("session.new", capabilities={})
                context = (await call("browsingContext.getTree"))["contexts"][0]["context"]
                await call("script.addPreloadScript", functionDeclaration=f"() => {{ {_CLOCK} }}")

                async def read(script):
                    target = {"context": context}
                    text = f"Promise.resolve({script}).then(JSON.stringify)"
                    found = await call("script.evaluate", expression=text, target=target, awaitPromise=True)
                    return json.loads(found["result"]["value"])

                await call("browsingContext.navigate", context=context, url=page.resolve().as_uri(), wait="complete")
                while await read(f"{_SHOWN} ?? null") != "ready":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                times = await read("({...window.seen})")
                for name, act in _ACTS.items():
                    times[name] = await read(_TIMED.format(act))
                return times
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for n, length in ((10_000, 2_000), (100_000, 0)):
            path, run = Path(folder, f"{n}.html"), run_of(n, length=max(length, 10))
            began = time.perf_counter()
            calib.view(run if length else run.drop(columns=["prompt", "response"]), path, **COLUMNS)
            took = time.perf_counter() - began
            print(f"{n:,} items, {length:,} characters: {path.stat().st_size / 1e6:.2f} MB, {took:.1f} s")
            for name, measure in (("Chromium", in_chromium), ("Firefox", in_firefox)):
                if name == "Firefox" and not shutil.which("firefox"):
                    continue
                each = [asyncio.run(measure(path)) for _ in range(3)]
                best = {key: sorted(one[key] for one in each)[1] for key in each[0]}
                print(f"  {name}: " + ", ".join(f"{key} {value:.0f}" for key, value in best.items()))
