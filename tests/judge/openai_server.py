"""OpenAI's two endpoints as they answer, in this process: their error texts, reasoning models, limits of theirs.

``with serve(reasons=True) as server:`` gives `server.base_url`, and `server.requests`, `server.paid` so far.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import web

SHARES = {"4": 0.6, "5": 0.25, "3": 0.1, "2": 0.04, "1": 0.01}
REASONING = 300  # tokens
MOST_SECONDS = 900
# as in reports of users; {0} is what was sent
TEXTS = {
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
    "instead.",
    "temperature": "Unsupported value: 'temperature' does not support {0} with this model. Only the default (1) value "
    "is supported.",
    "no temperature": "Unsupported parameter: 'temperature' is not supported with this model.",
    "top_p": "Unsupported parameter: 'top_p' is not supported with this model.",
    "logprobs": "'logprobs' is not supported with this model",
    "responses": "This model is only supported in v1/responses and not in v1/chat/completions.",
    "in responses": "Unsupported parameter: '{0}'. In the Responses API, this parameter has moved to "
    "'max_output_tokens'.",
    "unknown": "Unknown parameter: '{0}'.",
}
LIMITS = (
    "Invalid value for 'top_logprobs': must be less than or equal to {0}.",
    "Invalid 'top_logprobs': 20. Expected an integer in range [0, {0}]",
    "Invalid 'top_logprobs': integer above maximum value. Expected a value <= {0}, but got 20 instead.",
    "Requested sample logprobs of 20, which is greater than max allowed: {0}",
    "top_logprobs must be <= {0}",
    "The maximum value for top_logprobs is {0}",
    '{{"loc": ["body", "top_logprobs"], "msg": "Input should be less than or equal to {0}", "input": 20}}',
)


@dataclass
class Server:
    reasons: bool = False  # o3-mini: max_completion_tokens, no temperature or top_p, no logprobs
    fixed_temperature: bool = False  # gpt-5: as it, but temperature=1 may be said
    lenient: bool = False  # a gateway: takes whatever is sent, and counts reasoning against max_tokens
    only_responses: bool = False
    most: int = 20  # of top_logprobs
    limit_text: str = LIMITS[0]
    logprobs: str = "chat"  # "silent": none come, "legacy": in that shape
    echo: str = ""  # "plain" or "base64": the reply repeats the key; "token": as its one token
    alien: bool = False  # replies in a form of another provider
    samplers: bool = False  # takes those of vLLM
    takes: tuple[str, ...] = ()  # of a request, beside model and messages; other fields are refused one by one
    refused_item: tuple[str, str] = ("", "")  # a text in a prompt, and with what it is refused
    exceptions: dict[int, str] = field(default_factory=dict)  # paid replies that are "silent", "certain", "cut off"
    answer: str = "4"
    requests: list[dict] = field(default_factory=list)
    paid: int = 0
    port: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        if self.only_responses:
            return refused(404, TEXTS["responses"])
        if refusal := self.strictly(body):
            return refused(400, refusal)
        if not self.lenient and (self.reasons or self.fixed_temperature):
            if "max_tokens" in body:
                return refused(400, TEXTS["max_tokens"])
            if "temperature" in body and (self.reasons or body["temperature"] != 1):
                text = TEXTS["no temperature" if self.reasons else "temperature"]
                return refused(400, text.format(body["temperature"]))
            if "top_p" in body:
                return refused(400, TEXTS["top_p"])
            if "logprobs" in body:
                return refused(400, TEXTS["logprobs"])
        if body.get("top_logprobs", 0) > self.most:
            return refused(400, self.limit_text.format(self.most))
        self.paid += 1
        if self.alien:
            return web.json_response({"type": "message", "content": [{"type": "text", "text": "4"}]})
        text, finish, reasoning = self.said(body.get("max_completion_tokens", body.get("max_tokens", 9999)), request)
        if "evaluation steps" in body["messages"][-1]["content"] and "Labels" not in body["messages"][-1]["content"]:
            text = "1. Read it.\n2. Judge it."
        odd = self.exceptions.get(self.paid, "")
        if odd == "cut off":
            text, finish = "", "length"
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
        if body.get("logprobs") and "silent" not in (self.logprobs, odd):
            choice["logprobs"] = self.listed(text, body["top_logprobs"])
            if odd == "certain":
                choice["logprobs"]["content"][0] |= {"logprob": 0.0, "top_logprobs": [{"token": text, "logprob": 0.0}]}
        usage = {"prompt_tokens": 100, "completion_tokens": reasoning + 1, "total_tokens": 101 + reasoning}
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
        return web.json_response({"choices": [choice] * body.get("n", 1), "usage": usage})

    def strictly(self, body: dict) -> str:
        """What a server says of fields that it does not take, and of a text that it does not like."""
        unknown = [name for name in body if name not in ("model", "messages", *self.takes)]
        if self.takes and unknown:
            return f"Unsupported parameter: '{unknown[0]}' is not supported with this model."
        if self.refused_item[0] and self.refused_item[0] in body["messages"][-1]["content"]:
            return self.refused_item[1]
        samplers = [name for name in ("top_k", "min_p") if name in body and not (self.lenient or self.samplers)]
        return f"Unrecognized request argument supplied: {samplers[0]}" if samplers else ""

    async def responses(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        for name in ("max_tokens", "max_completion_tokens"):
            if name in body:
                return refused(400, TEXTS["in responses"].format(name))
        names = ["model", "input", "max_output_tokens", "temperature", "top_p", "top_logprobs", "include", "store"]
        if unknown := {*body} - {*names}:
            return refused(400, TEXTS["unknown"].format(min(unknown)))
        if body["max_output_tokens"] < 16:
            return refused(400, "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.")
        if self.reasons and not self.lenient:
            for name, text in (("temperature", "no temperature"), ("top_p", "top_p"), ("top_logprobs", "logprobs")):
                if name in body:
                    return refused(400, TEXTS[text])
        self.paid += 1
        text, finish, reasoning = self.said(body["max_output_tokens"], request)
        output = [{"type": "reasoning", "summary": []}] if reasoning else []
        if text:
            part = {"type": "output_text", "text": text, "annotations": []}
            if "top_logprobs" in body:
                part["logprobs"] = self.listed(text, body["top_logprobs"])["content"]
            output.append({"type": "message", "role": "assistant", "content": [part]})
        usage = {"input_tokens": 100, "output_tokens": reasoning + 1}
        usage["output_tokens_details"] = {"reasoning_tokens": reasoning}
        ended = {"status": "completed"}
        if finish == "length":
            ended = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        return web.json_response({"object": "response", "output": output, "usage": usage} | ended)

    def said(self, most: int, request: web.Request) -> tuple[str, str, int]:
        reasoning = REASONING if self.reasons or self.fixed_temperature else 0
        if most <= reasoning:
            return "", "length", most
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        echoed = {"plain": f"\nYou sent {key}", "base64": f"\n{base64.b64encode(f'Bearer {key}'.encode()).decode()}"}
        return self.answer + echoed.get(self.echo, ""), "stop", reasoning

    def listed(self, text: str, top: int) -> dict:
        tops = [{"token": label, "logprob": math.log(p)} for label, p in list(SHARES.items())[:top]]
        places = [{"token": text[:1], "logprob": tops[0]["logprob"], "top_logprobs": tops}]
        if rest := text[1:]:
            places.append({"token": rest, "logprob": -0.1, "top_logprobs": [{"token": rest, "logprob": -0.1}]})
        if self.logprobs == "chat":
            return {"content": places}
        return {
            "tokens": [place["token"] for place in places],
            "token_logprobs": [place["logprob"] for place in places],
            "top_logprobs": [{one["token"]: one["logprob"] for one in place["top_logprobs"]} for place in places],
        }


def refused(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status)


@contextmanager
def serve(**options: object) -> Iterator[Server]:
    """A server in a thread, which ends with the block, or after a quarter of an hour."""
    server, ready, loop = Server(**options), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/v1/chat/completions", server.chat)
        app.router.add_post("/v1/responses", server.responses)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.port = runner.addresses[0][1]
        ready.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), MOST_SECONDS)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert ready.wait(120)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


if __name__ == "__main__":
    with serve() as running:
        print(json.dumps({"base_url": running.base_url}))
