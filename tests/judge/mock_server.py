"""A fast judge on this machine that speaks OpenAI's chat completions: for tests and benchmarks.

``with serve(mode="json", p429=0.1) as server:`` starts it in a process of its own, ends it, and gives
``server.base_url``, ``server.stats()`` and ``server.truth()``. `Options` says what it can do, and go wrong at.
By hand: ``python mock_server.py --mode=digit --latency-ms=300 --max-seconds=600`` prints its port as a line of JSON.
"""

import argparse
import asyncio
import contextlib
import functools
import hashlib
import json
import math
import random
import socket
import struct
import subprocess
import sys
import time
from bisect import bisect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from http.client import HTTPConnection, responses as REASONS
from itertools import accumulate

WORDS = "the answer covers clearly with points which source details but leaves summary reader claims order neither"
WORDS = [" " + word for word in (WORDS + " should convincing because mostly between paragraphs evidence").split()]
ON_SCALE = 0.995  # of the probability at the label's token: real models leave some to other words
PROMPT_TOKENS = 500  # in every usage: replies are rendered before the prompts are known
BIG = 10_000_000
ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

OF_ATTEMPT = ("p429", "p500", "p400", "phang", "ptruncate", "preset", "pdrop", "pgarble", "pslow")
FAILURES = {"429": "Rate limit reached."} | dict.fromkeys(("500", "400"), "The mock server was told to fail.")
OF_ITEM = ("pempty", "prefuse", "pfilter", "pbig", "plong", "pbare")


@dataclass(frozen=True)
class Options:
    """What the server does. Faults are probabilities; those of one group exclude each other."""

    mode: str = "json"  # {"reason": 30 words, "score": d}, "digit": d alone, "line": words and "\nScore: d"
    lo: int = 1
    hi: int = 5
    words: str = ""  # of the labels from lo to hi, with commas between: what is said in place of the numbers
    variants: int = 64  # how many different replies and truths; a hash of the messages chooses
    top: int = 20  # most alternatives listed at a token; a request may ask for fewer
    latency_ms: float = 0.0  # before every answer to a completion, errors too
    rng_seed: int = 1  # of truths, of faults per attempt, of draws without a seed
    max_seconds: float = 900.0  # it ends by itself, later than any test on a machine that does much else
    max_replies: int = 0  # with the last of so many whole ones it ends, too; 0: whatever their number
    port: int = 0  # 0: a free one
    ignore_n: bool = False  # one choice, whatever n says
    copies: bool = False  # n choices that are all the same
    # drawn anew at each attempt
    p429: float = 0.0
    p500: float = 0.0
    p400: float = 0.0
    phang: float = 0.0  # never answers, keeps the connection
    ptruncate: float = 0.0  # 200 and half of the JSON, as if it were all
    preset: float = 0.0  # 200 and half of the JSON, then the connection is reset
    pdrop: float = 0.0  # the connection ends without an answer
    pgarble: float = 0.0  # 200 and a page that is no JSON
    pslow: float = 0.0  # the reply comes after slow_ms
    slow_ms: float = 3000.0
    # properties of the messages: asked again, it is the same again
    pempty: float = 0.0
    prefuse: float = 0.0
    pfilter: float = 0.0
    pbig: float = 0.0  # 10 MB of reasoning before the label, which is 4 where the scale has it
    plong: float = 0.0  # 10 MB with logprobs: the words of the reasoning over and over, each with its alternatives
    pbare: float = 0.0  # no logprobs, though they were asked for
    # not by chance
    plogprobs_missing_after: int = -1  # requests, after which replies carry `logprobs: null`; -1: never
    reject_fields: str = ""  # names with commas between; a request that has one gets 400
    error_status: int = 0  # the answer to everything
    retry_after: str = ""  # with 429, alone; without it `retry-after-ms: 50` and `retry-after: 1`
    echo_key: bool = False  # errors quote the path, the authorization header, and the key without "Bearer"
    pad: int = 0  # letters before what an error quotes
    bodies: int = 100_000  # most hashes of texts that are kept

    def __post_init__(self):
        if self.mode not in {"json", "digit", "line"}:
            raise ValueError(f"no such mode: {self.mode}")
        if self.words and len(self.words.split(",")) != self.hi - self.lo + 1:
            raise ValueError(f"not as many words as labels: {self.words}")
        if max(sum(getattr(self, name) for name in names) for names in (OF_ATTEMPT, OF_ITEM)) > 1 + 1e-9:
            raise ValueError("the faults of one group add up to more than 1")


def message_key(messages: list) -> bytes:
    """What makes requests one item: 16 bytes, of which the first 8 choose the variant, the others the fault."""
    return hashlib.blake2b(ENCODE(messages).encode(), digest_size=16).digest()


def variant_of(messages: list, variants: int) -> int:
    return int.from_bytes(message_key(messages)[:8], "big") % variants


def text_hash(text: str) -> str:
    """As in `texts` of the stats. Half of a surrogate pair is a text too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- replies ----------------------------------------------------------------------------------------------------


def answer(status: int, body: bytes, extra: str = "") -> bytes:
    about = f"HTTP/1.1 {status} {REASONS.get(status, 'Other')}\r\ncontent-type: application/json\r\n{extra}"
    return f"{about}content-length: {len(body)}\r\n\r\n".encode() + body


def dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def entry(token: str, p: float) -> dict:
    return {"token": token, "logprob": math.log(p), "bytes": list(token.encode())}


class Replies:
    """Replies of all variants, rendered once."""

    def __init__(self, options: Options):
        self.options = options
        rng = random.Random(options.rng_seed)
        self.truths = [self._truth(rng) for _ in range(options.variants)]
        self.likeliest = [max(truth, key=truth.__getitem__) for truth in self.truths]
        # instance caches: the arguments repeat for as long as the server runs
        self.tokens, self.choice, self.single, self.ladder, self.stretch = map(
            functools.cache, (self._tokens, self._choice, self._single, self._ladder, self._stretch)
        )
        for variant in range(options.variants):
            self.single(variant, options.top)

    def said(self, label: int) -> str:
        return self.options.words.split(",")[label - self.options.lo] if self.options.words else str(label)

    def _truth(self, rng: random.Random) -> dict[int, float]:
        """A normal curve with a random centre and width, on the labels."""
        lo, hi = self.options.lo, self.options.hi
        centre, width = rng.uniform(lo, hi), rng.uniform(0.3, 1.6)
        weights = {label: math.exp(-(((label - centre) / width) ** 2) / 2) + 1e-9 for label in range(lo, hi + 1)}
        return {label: weight / sum(weights.values()) for label, weight in weights.items()}

    def _ladder(self, variant: int, temperature: float) -> list[float]:
        """Cumulative probabilities of the labels. At temperature 0 all is on the likeliest."""
        truth, likeliest = self.truths[variant], self.likeliest[variant]
        if temperature == 0:
            return [float(label >= likeliest) for label in truth]
        raised = [(p / truth[likeliest]) ** (1 / temperature) for p in truth.values()]
        return [part / sum(raised) for part in accumulate(raised)]

    def label(self, variant: int, temperature: float, u: float) -> int:
        return min(self.options.lo + bisect(self.ladder(variant, temperature), u), self.options.hi)

    def _tokens(self, variant: int, label: int) -> tuple[list[str], int]:
        """The tokens of a reply and where the label is among them."""
        rng = random.Random(f"{self.options.rng_seed}/{variant}")
        words = ["The", *rng.choices(WORDS, k=29)]
        if self.options.mode == "digit":
            return [self.said(label)], 0
        if self.options.mode == "json":
            quote = '"' if self.options.words else ""
            return ['{"reason": "', *words, f'.", "score": {quote}', self.said(label), f"{quote}}}"], 32
        return [*words, ".", "\n", "Score", ":", " ", self.said(label)], 35

    def listed(self, variant: int, token: str, top: int, *, is_label: bool) -> dict:
        """A token with its alternatives: the truth at the label, plausible words elsewhere."""
        others = [word for word in WORDS if word != token]
        if is_label:
            pairs = [(self.said(label), p * ON_SCALE) for label, p in self.truths[variant].items()]
            pairs = sorted(pairs, key=lambda pair: -pair[1]) + [(word, 1e-10) for word in others]
        else:
            pairs = [(token, 0.8), *((word, 0.2 * 0.3 * 0.7**k) for k, word in enumerate(others))]
        return entry(token, dict(pairs)[token]) | {"top_logprobs": [entry(*pair) for pair in pairs[:top]]}

    def _choice(self, variant: int, label: int, top: int | None, kind: str | None = None) -> bytes:
        """A choice as JSON, but for its index. Without `top` it has no logprobs."""
        tokens, at = self.tokens(variant, label)
        content, refusal = "".join(tokens), None
        if kind == "empty":
            tokens, content = [], ""
        if kind == "refuse":
            tokens, content, refusal = [], None, "I'm sorry, but I can't help with that."
        if kind == "big":  # only the label's own token is listed: with all of them it were a gigabyte
            tokens, at = [str(label)], 0
            form = '{"reason": "BIG", "score": %d}' if self.options.mode == "json" else "BIG\nScore: %d"
            content = form % label
        logprobs = None
        if top is not None:
            listed = [self.listed(variant, token, top, is_label=i == at) for i, token in enumerate(tokens)]
            if kind == "long":
                listed.insert(1, "LONG")
            logprobs = {"content": listed, "refusal": None}
        if kind == "long":
            content = tokens[0] + "LONG" + "".join(tokens[1:])
        message = {"role": "assistant", "content": content, "refusal": refusal}
        return dump({"message": message, "logprobs": logprobs, "finish_reason": "stop"})

    def _stretch(self, variant: int, top: int) -> tuple[bytes, str, int]:
        """Words of the reasoning as JSON and as text, and how often they make 10 MB."""
        words = [token for token in self.tokens(variant, self.likeliest[variant])[0] if token in WORDS]
        listed = dump([self.listed(variant, word, top, is_label=False) for word in words])[1:-1]
        return listed, "".join(words), BIG // len(listed) + 1

    def completion(self, variant: int, labels: list[int], top: int | None, kind: str | None = None) -> bytes:
        """The answer with one choice for each label, headers and all."""
        parts = [b'{"index":%d,' % i + self.choice(variant, label, top, kind)[1:] for i, label in enumerate(labels)]
        each = {"empty": 0, "refuse": 10, "big": BIG // 5}.get(kind, len(self.tokens(variant, labels[0])[0]))
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": each * len(labels)}
        usage["total_tokens"] = sum(usage.values())
        about = {"id": "chatcmpl-mock", "object": "chat.completion", "created": 1_700_000_000, "model": "mock"}
        about |= {"service_tier": "default", "system_fingerprint": "fp_mock"}
        body = dump(about)[:-1] + b',"usage":' + dump(usage) + b',"choices":[' + b",".join(parts) + b"]}"
        if kind == "big":
            body = body.replace(b"BIG", b"word " * (BIG // 5))
        if kind == "long":
            listed, words, times = self.stretch(variant, self.options.top if top is None else top)
            body = body.replace(b'"LONG"', b",".join([listed] * times)).replace(b"LONG", words.encode() * times)
        return answer(200, body)

    def _single(self, variant: int, top: int) -> bytes:
        return self.completion(variant, [self.likeliest[variant]], top)


# --- the server -------------------------------------------------------------------------------------------------


class Server:
    """What all connections share: options, replies and counts."""

    def __init__(self, options: Options):
        self.options, self.replies, self.rng = options, Replies(options), random.Random(options.rng_seed)
        self.counts, self.faults = Counter(), Counter()
        self.delivered, self.authorization, self.texts = Counter(), set(), set()
        self.rejected = [name for name in options.reject_fields.split(",") if name]
        self.of_attempt, self.of_item = (
            list(zip(names, accumulate(getattr(options, name) for name in names), strict=True))
            for names in (OF_ATTEMPT, OF_ITEM)
        )
        self.stop = asyncio.Event()
        self.cpu = time.process_time()
        self.limit, self.held = math.inf, list[Callable[[], None]]()  # `Running.hold`

    def fault(self, steps: list[tuple[str, float]], u: float) -> str | None:
        name = next((name[1:] for name, upto in steps if u < upto), None)
        if name:
            self.faults[name] += 1
        return name

    def error(self, status: int, message: str, sent: tuple[str, str], code: str | None = None) -> bytes:
        code = "rate_limit_exceeded" if status == 429 else code
        if self.options.echo_key:
            path, authorization = sent
            about = {"path": path, "authorization": authorization, "key": authorization.removeprefix("Bearer ")}
            message += "." * self.options.pad + f" ({', '.join(f'{name}: {value}' for name, value in about.items())})"
        retry = ""
        if status == 429:
            seconds = self.options.retry_after
            retry = f"retry-after: {seconds}\r\n" if seconds else "retry-after-ms: 50\r\nretry-after: 1\r\n"
        kind = "invalid_request_error" if status < 500 else "server_error"
        return answer(status, dump({"error": {"message": message, "type": kind, "param": None, "code": code}}), retry)

    def page(self, path: str) -> bytes:
        name, _, number = path.rpartition("/")[2].partition("?")
        if name == "shutdown":
            asyncio.get_running_loop().call_later(0.05, self.stop.set)
        pages = {"stats": self.stats, "truth": lambda: self.replies.truths, "shutdown": dict, "models": self.models}
        pages["hold"] = lambda: self.hold(float(number))
        page = pages.get(name)
        return answer(200, dump(page())) if page else self.error(404, f"no such page: {path}", (path, ""))

    def models(self) -> dict:
        return {"object": "list", "data": [{"id": "mock", "object": "model", "created": 0, "owned_by": "tests"}]}

    def hold(self, limit: float) -> dict:
        self.limit, waiting = limit, self.held
        self.held = []
        for send in waiting:
            send()
        return {}

    def stats(self) -> dict:
        names = ("requests", "full_replies", "choices", "abandoned", "connections", "open", "peak_open")
        items = {key[:2] for key in self.delivered}
        return {name: self.counts[name] for name in names} | {
            "faults": dict(self.faults),
            "cpu_s": time.process_time() - self.cpu,  # since it listens
            "delivered": {"distinct": len(items), "most": max(self.delivered.values(), default=0)},
            "authorization": sorted(self.authorization),
            "texts": sorted(self.texts),
        }

    def complete(
        self, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[bytes | None, str | None, tuple | None]:
        """The answer to a completion (None: never), what to do to it, and what it counts as if it arrives whole."""
        self.counts["requests"] += 1
        authorization = headers.get("authorization", "")
        if authorization:
            self.authorization.add(text_hash(authorization))
        sent = (path, authorization)
        try:
            request = json.loads(body)
            messages = request["messages"]
            key = message_key(messages)
            self.note_text(messages)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            self.faults["bad_request"] += 1
            return self.error(400, f"no chat completion request: {error!r}", sent), None, None
        if status := self.options.error_status:
            self.faults["error_status"] += 1
            return self.error(status, REASONS.get(status, "Other"), sent), None, None
        if named := next((name for name in self.rejected if name in request), None):
            self.faults["reject_fields"] += 1
            return self.error(400, f"Unrecognized request argument supplied: {named}", sent), None, None
        trouble = self.fault(self.of_attempt, self.rng.random())
        if trouble == "hang":
            return None, None, None
        if trouble == "garble":
            return answer(200, b"<!doctype html><title>Bad gateway</title>"), None, None
        if trouble in FAILURES:
            return self.error(int(trouble), FAILURES[trouble], sent), None, None
        kind = self.fault(self.of_item, int.from_bytes(key[8:], "big") / 2**64)
        if kind == "filter":
            if trouble:
                self.faults[trouble] -= 1  # there is no reply that it could spoil
            said = "The response was filtered due to the prompt triggering the content management policy."
            return self.error(400, said, sent, "content_filter"), None, None
        reply, choices = self.reply(request, key, kind)
        return reply, trouble, (key, request.get("seed"), request.get("n") or 1, choices)

    def note_text(self, messages: list) -> None:
        text = next((message["content"] for message in reversed(messages) if message["role"] == "user"), None)
        if isinstance(text, str) and len(self.texts) < self.options.bodies:
            self.texts.add(text_hash(text))

    def reply(self, request: dict, key: bytes, kind: str | None) -> tuple[bytes, int]:
        options, replies = self.options, self.replies
        variant = int.from_bytes(key[:8], "big") % options.variants
        n = 1 if options.ignore_n else request.get("n") or 1
        top = min(request.get("top_logprobs") or 0, options.top) if request.get("logprobs") else None
        if 0 <= options.plogprobs_missing_after < self.counts["requests"]:
            top = None
        if kind == "bare":
            top = kind = None
        if top is not None and n == 1 and kind is None:
            return replies.single(variant, top), 1
        if kind == "big":
            labels = [min(max(4, options.lo), options.hi)] * n
        elif top is not None:
            labels = [replies.likeliest[variant]] * n
        else:
            labels = self.draw(request, key, variant, n)
        return replies.completion(variant, labels, top, kind), n

    def draw(self, request: dict, key: bytes, variant: int, n: int) -> list[int]:
        """Labels drawn from the truth: the same for the same messages, seed and place among the n."""
        seed, temperature = request.get("seed"), request.get("temperature")
        temperature = 1.0 if temperature is None else temperature

        def u(i: int) -> float:
            if seed is None:
                return self.rng.random()
            raw = hashlib.blake2b(key + f"/{seed}/{i}".encode(), digest_size=8).digest()
            return int.from_bytes(raw, "big") / 2**64

        labels = [self.replies.label(variant, temperature, u(i)) for i in range(n)]
        return labels[:1] * n if self.options.copies else labels


class Connection(asyncio.Protocol):
    """Takes one request after the other: answers to pipelined ones leave in their order."""

    def __init__(self, server: Server):
        self.server, self.counts = server, server.counts
        self.buffer, self.busy, self.unsent = bytearray(), False, []

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(0)  # so resume_writing says when all is with the kernel
        self.counts["connections"] += 1
        self.counts["open"] += 1
        self.counts["peak_open"] = max(self.counts["peak_open"], self.counts["open"])

    def connection_lost(self, error: Exception | None) -> None:
        self.counts["open"] -= 1
        self.counts["abandoned"] += len(self.unsent)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.work()

    def work(self) -> None:
        while not (self.busy or self.transport.is_closing()) and (request := self.take()):
            self.busy = True
            self.handle(*request)

    def take(self) -> tuple[str, dict[str, str], bytes] | None:
        """The next whole request in the buffer: path, headers, body."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        split = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in split}
        stop = end + 4 + int(headers.get("content-length", 0))
        if len(self.buffer) < stop:
            return None
        body = bytes(self.buffer[end + 4 : stop])
        del self.buffer[:stop]
        return first.split(" ")[1], headers, body

    def handle(self, path: str, headers: dict[str, str], body: bytes) -> None:
        if not path.partition("?")[0].endswith("/chat/completions"):
            self.send(self.server.page(path), None, None)
            return
        reply, trouble, paid = self.server.complete(path, headers, body)
        if reply is None:
            return
        slow, options = trouble == "slow", self.server.options
        late = partial(self.send_late, reply, None if slow else trouble, paid)
        if self.counts["requests"] > self.server.limit:
            self.server.held.append(late)
        elif wait := (options.slow_ms if slow else options.latency_ms) / 1000:
            asyncio.get_running_loop().call_later(wait, late)
        else:
            self.send(reply, trouble, paid)

    def send_late(self, reply: bytes, trouble: str | None, paid: tuple | None) -> None:
        self.send(reply, trouble, paid)
        self.work()

    def send(self, reply: bytes, trouble: str | None, paid: tuple | None) -> None:
        self.busy = False
        if self.transport.is_closing():
            self.counts["abandoned"] += paid is not None
            return
        if trouble:
            self.spoil(reply, trouble)
            return
        self.transport.write(reply)
        if paid:
            self.unsent.append(paid)
        if not self.transport.get_write_buffer_size():
            self.resume_writing()

    def spoil(self, reply: bytes, trouble: str) -> None:
        """Send half of a reply, or nothing."""
        if trouble == "drop":
            self.transport.close()
            return
        head, _, body = reply.partition(b"\r\n\r\n")
        half = body[: len(body) // 2]
        if trouble == "truncate":
            self.transport.write(answer(200, half))
            return
        self.transport.write(head + b"\r\n\r\n" + half)
        # without lingering the kernel closes by a reset, not by an orderly end
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def resume_writing(self) -> None:
        """All that was written has left: now it counts."""
        for *item, choices in self.unsent:
            self.server.delivered[tuple(item)] += 1
            self.counts["full_replies"] += 1
            self.counts["choices"] += choices
        self.unsent.clear()
        if 0 < self.server.options.max_replies <= self.counts["full_replies"]:
            self.server.stop.set()


async def run(options: Options) -> None:
    server, loop = Server(options), asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", options.port, backlog=4096)
    print(json.dumps({"port": listening.sockets[0].getsockname()[1]}), flush=True)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(server.stop.wait(), options.max_seconds)
    listening.close()


# --- for tests --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    port: int
    options: Options

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def get(self, path: str) -> object:
        # http.client knows no proxies, whatever the environment says
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())

    def stats(self) -> dict:
        """Counts so far; asking for them is one more connection."""
        return self.get("/stats")

    def hold(self, after: float) -> None:
        """Answer so many requests, of all that ever came, and the further ones when it is said again how many."""
        self.get(f"/hold?{after}")

    def truth(self) -> list[dict[int, float]]:
        """The distribution of labels of each variant."""
        return [{int(label): p for label, p in truth.items()} for truth in self.get("/truth")]

    def truth_of(self, messages: list) -> dict[int, float]:
        """The distribution of labels for these messages."""
        return self.truth()[variant_of(messages, self.options.variants)]


@contextlib.contextmanager
def serve(**options):
    """Run a server with these `Options` in a process that ends with the block."""
    chosen = Options(**options)
    given = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in options.items()]
    given = [word for word in given if not word.endswith("=False")]
    # -I -S: only the standard library is needed, and it starts faster without the rest
    command = [sys.executable, "-I", "-S", __file__, *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the mock server did not start; its last words are on stderr")
            yield Running(json.loads(line)["port"], chosen)
        finally:
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for field in fields(Options):
        how = {"action": "store_true"} if field.type is bool else {"type": field.type, "default": field.default}
        parser.add_argument(f"--{field.name.replace('_', '-')}", **how)
    asyncio.run(run(Options(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
