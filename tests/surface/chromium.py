"""Headless Chromium, driven through its DevTools protocol: what a reader's browser makes of a page."""

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import aiohttp
import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium here: no program chromium or google-chrome"),
]
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"),
    *("--no-first-run", "--remote-debugging-port=0", "--disable-component-update", "--disable-sync"),
)
# ruff: noqa: ASYNC220, ASYNC240 - nothing else runs beside the one browser
_CODES = {
    "Enter": ("Enter", 13), "Tab": ("Tab", 9), " ": ("Space", 32), "Escape": ("Escape", 27), "?": ("Slash", 191),
    "ArrowLeft": ("ArrowLeft", 37), "ArrowUp": ("ArrowUp", 38), "ArrowRight": ("ArrowRight", 39),
    "ArrowDown": ("ArrowDown", 40), "End": ("End", 35), "Backspace": ("Backspace", 8), ".": ("Period", 190),
}  # fmt: skip
_NOT_OF_THE_PAGE = ("data:", "about:", "chrome")


class Visit:
    """A page opened at one width; everything that it asked for and said is kept."""

    def __init__(self, socket):
        self.socket, self.number, self.events = socket, 0, []

    async def call(self, method, **params):
        self.number += 1
        mine = self.number
        await self.socket.send_json({"id": mine, "method": method, "params": params})
        while True:
            answer = await self.socket.receive_json(timeout=60)
            if answer.get("id") == mine:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    async def read(self, script):
        """The value of an expression in the page."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"].get("description", script))
        return found["result"].get("value")

    async def press(self, *keys, **event):
        """Keys one after the other, as from a keyboard; `event` says more of them, such as autoRepeat=True."""
        for key in keys:
            code, number = _CODES.get(key) or (_code(key), ord(key.upper()))
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            fields = {"key": key, "code": code, "windowsVirtualKeyCode": number} | event
            await self.call("Input.dispatchKeyEvent", type="keyDown", **fields, **({"text": text} if text else {}))
            await self.call("Input.dispatchKeyEvent", type="keyUp", **fields)

    async def type(self, text):
        """A text as from a keyboard or a paste, into what has the focus."""
        await self.call("Input.insertText", text=text)

    async def click(self, selector):
        """A click of the mouse in the middle of an element."""
        script = (
            f"const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: 'nearest'}});"
        )
        script += "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2];"
        x, y = await self.read(f"(() => {{ {script} }})()")
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def open(self, url, width, height=1000, *, dark=False, mobile=None):
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.call(f"{domain}.enable")
        phone = width < 600 if mobile is None else mobile
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call("Page.navigate", url=url)
        await self.settled()

    async def reload(self, *, scripts=True):
        await self.read("window.former = true")
        await self.call("Page.reload")
        await self.settled("!window.former", scripts=scripts)

    async def settled(self, condition="location.href !== 'about:blank'", *, scripts=True):
        """Until the page is there, and has said and asked for what it still does."""
        await self.until(f"document.readyState === 'complete' && {condition}")
        if scripts:  # a page to label with first looks up what is kept
            await self.until("!document.querySelector('main > section#start') || document.body.dataset.view")
        await asyncio.sleep(0.1)
        await self.read("1")

    async def until(self, condition, seconds=30):
        for _ in range(50 * seconds):
            with contextlib.suppress(RuntimeError):  # between two documents
                if await self.read(condition):
                    return
            await asyncio.sleep(0.02)
        raise TimeoutError(condition)

    async def downloaded(self, folder, act):
        """The file that comes into the folder through `act`."""
        before = set(Path(folder).iterdir())
        await act
        for _ in range(1500):
            new = [one for one in set(Path(folder).iterdir()) - before if _is_whole(one)]
            if new and new[0].stat().st_size:
                return new[0]
            await asyncio.sleep(0.02)
        raise TimeoutError("nothing was downloaded")

    async def give(self, selector, path):
        """A file for a field of files, as picked in its dialog."""
        document = await self.call("DOM.getDocument")
        found = await self.call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector)
        await self.call("DOM.setFileInputFiles", nodeId=found["nodeId"], files=[str(path)])

    async def picture(self, path):
        """A screenshot of the whole page."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        width = await self.read("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": size["height"], "scale": 1}
        shot = await self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    async def pdf(self, path):
        Path(path).write_bytes(base64.b64decode((await self.call("Page.printToPDF", printBackground=True))["data"]))

    @property
    def said(self):
        """Console messages, errors, dialogs."""
        kinds = (
            "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening",
        )  # fmt: skip
        return [event for event in self.events if event.get("method") in kinds]

    def asked(self, url):
        """Addresses that were asked for, but for the page itself."""
        sent = [event["params"]["request"]["url"] for event in self.events if _is_request(event)]
        return [found for found in sent if found != url and not found.startswith(_NOT_OF_THE_PAGE)]


def _code(key):
    return f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"


def _is_whole(file):
    """Until it has its name, a download is a hidden file or one of another ending."""
    return not file.name.startswith(".") and file.suffix not in (".crdownload", ".tmp")


def _is_request(event):
    return event.get("method") == "Network.requestWillBeSent"


class Browser:
    """A browser with a profile of its own, which outlives it: `async with Browser(profile) as browser: ...`."""

    def __init__(self, profile, downloads=None):
        self.profile, self.downloads = Path(profile), downloads

    async def __aenter__(self):
        self.process = subprocess.Popen(
            [PROGRAM, *_OPTIONS, f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.session = aiohttp.ClientSession()
        try:
            address = await asyncio.to_thread(_address, self.process)
        except RuntimeError:
            await self.__aexit__()
            raise
        self.at = re.sub(r"^ws://([^/]+)/.*", r"http://\1/json/", address)
        return self

    async def __aexit__(self, *_):
        """The browser ends as when the power fails; its profile stays."""
        await self.session.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # this browser and its own children
        self.process.wait()
        self.process.stderr.close()

    async def tab(self, page, width=1200, height=1000, *, before="", **how):
        """A page (a file) in a new tab; `before` is a script that runs before those of the page."""
        made = await (await self.session.put(f"{self.at}new?about:blank")).json()
        visit = Visit(await self.session.ws_connect(made["webSocketDebuggerUrl"], max_msg_size=0))
        if before:
            await visit.call("Page.enable")
            await visit.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        if self.downloads:
            how_to = {"behavior": "allow", "downloadPath": str(self.downloads)}
            await visit.call("Page.setDownloadBehavior", **how_to)
        await visit.open(Path(page).resolve().as_uri(), width, height, **how)
        return visit


def visited(page, look, **size):
    """What `look`, which takes a `Visit`, finds in the page (a file), opened at the size."""

    async def visit(browser):
        return await look(await browser.tab(page, **size))

    return driven(visit)


def driven(work, downloads=None):
    """What `work`, which takes a `Browser`, comes to."""

    async def run():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            async with Browser(profile, downloads) as browser:
                return await work(browser)

    return asyncio.run(run())


def _address(process):
    for line in process.stderr:
        if found := re.search(r"DevTools listening on (ws://\S+)", line):
            return found[1]
    raise RuntimeError("Chromium ended before it listened")
