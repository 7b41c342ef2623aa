"""What a model takes of a request: by LiteLLM's model list, and by what its server says when it refuses one.

A request is made in one form (chat completions, `max_tokens`, a temperature), which is that of its key, and sent in the
one that the model takes. Models that reason on their own get room for it, as what they reason counts as reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from calib.judge.calls.endpoint import model_entry

ROOM = 8192  # tokens that a model may reason before its reply
_LEAST_OUTPUT = 16  # of the Responses API
_NOT_IN_RESPONSES = ("messages", "max_tokens", "n", "seed", "logprobs", "top_k", "min_p", "add_generation_prompt",
                     "continue_final_message")  # fmt: skip
_UNSUPPORTED = re.compile(
    r"(?:un|not |n't )support|unrecognized|unknown|not permitted|not allowed|deprecated|cannot both", re.IGNORECASE
)
_NAMED = r"(?<![\w\\-]){0}(?![\w-])"
# how servers name the longest list: "must be less than or equal to 5", "in range [0, 5]", "max allowed: 5"
_MOST = re.compile(
    r"(?:<=?|≤|(?:less|lower|smaller|fewer) than(?: or equal to)?|at most|up to|no more than|exceeds?|between \d+ and"
    r"|[\[(]\d+,|limit(?:ed)?(?: is| of| to)?:?|max(?:imum)?\b(?! retries)[^\d]{0,40}?) *['\"`]?(\d+)",
    re.IGNORECASE,
)


class Dialect(NamedTuple):
    """How requests are sent: the field of the longest reply, room for reasoning, fields left out, the longest list.

    `responses`: by the Responses API.

    Examples
    --------
    >>> request = {"messages": [], "max_tokens": 8, "temperature": 1.0}
    >>> Dialect(limit="max_completion_tokens", room=100, without=("temperature",)).body(request)
    {'messages': [], 'max_completion_tokens': 108}
    """

    limit: str = "max_tokens"
    room: int = 0
    without: tuple[str, ...] = ()
    top: int | None = None
    responses: bool = False

    def body(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request in the form that the model takes."""
        if self is PLAIN:
            return request
        most, left_out = request["max_tokens"] + self.room, (*self.without, "max_tokens")
        body = {name: value for name, value in request.items() if name not in left_out}
        if self.top and "top_logprobs" in body:
            body["top_logprobs"] = min(self.top, body["top_logprobs"])
        if not self.responses:
            return body | {self.limit: most}
        lists = {"include": ["message.output_text.logprobs"]} if "top_logprobs" in body else {}
        body = {name: value for name, value in body.items() if name not in _NOT_IN_RESPONSES} | lists
        return body | {"input": request["messages"], "max_output_tokens": max(most, _LEAST_OUTPUT), "store": False}

    def after(self, refusal: str, request: Mapping[str, Any], room: int) -> Dialect | None:
        """The form without what a server refused; None where it names nothing that can be left out.

        A ValueError says that the judge's temperature is what the model does not take.
        """
        if "v1/responses" in refusal and not self.responses:
            return self._replace(responses=True, room=room)
        if refused_names(refusal, [self.limit]) and not self.responses:
            other = "max_completion_tokens" if self.limit == "max_tokens" else "max_tokens"
            if other in self.without:  # neither is taken
                return None
            return self._replace(limit=other, room=max(room, self.room), without=(*self.without, self.limit))
        if "logprob" in refusal and "top_logprobs" in request:
            top = min(self.top or request["top_logprobs"], request["top_logprobs"])
            most = [int(number) - (int(number) == top) for number in _MOST.findall(refusal)]
            fewer = [number for number in most if 0 < number < top]
            return self._replace(top=fewer[0]) if fewer else None
        fields = [name for name in refused_names(refusal, ("top_p", "temperature", "seed")) if name in request]
        new = tuple(name for name in fields if name not in self.without)
        if "temperature" in new and request["temperature"] != 1:
            raise ValueError("it takes no temperature but its own, which is 1")
        return self._replace(without=(*self.without, *new)) if new else None

    def notes(self, top: int, seed: int | None) -> list[str]:
        """What a user has to know of what was sent in place of what the judge says."""
        notes = []
        if self.top and self.top < top:
            notes.append(f"the server lists at most {self.top} token probabilities, not {top}: the rest is unseen.")
        if seed is not None and ("seed" in self.without or self.responses):
            notes.append("the server takes no seed: another run would draw other replies.")
        return notes


PLAIN = Dialect()


def refused_names(refusal: str, names: Iterable[str]) -> list[str]:
    """Which of these fields of a request a server says that it does not take.

    Examples
    --------
    >>> refused_names("Unrecognized request argument supplied: top_k", ("n", "top_k"))
    ['top_k']
    """
    if not _UNSUPPORTED.search(refusal):
        return []
    return [name for name in names if re.search(_NAMED.format(name), refusal)]


def dialect_of(model: str, temperature: float, room: int, *, direct: bool) -> Dialect:
    """What is on LiteLLM's list about a model; `direct` where OpenAI itself is asked.

    Examples
    --------
    >>> dialect_of("openai/o3-mini", 1.0, ROOM, direct=True)[:3]
    ('max_completion_tokens', 8192, ('temperature', 'top_p'))
    >>> dialect_of("openai/gpt-4o-mini", 1.0, ROOM, direct=True) == PLAIN
    True
    """
    entry = model_entry(model)
    provider = str(entry.get("litellm_provider"))
    if not entry.get("supports_reasoning") or "claude" in model:  # which reasons only where it is told to
        return PLAIN
    if provider not in ("openai", "azure"):
        return Dialect(room=room)
    own = ("temperature", "top_p") if temperature == 1 else ()  # 1 is what they have without it
    by_responses = direct and entry.get("mode") == "responses"
    return Dialect("max_completion_tokens", room, own, responses=by_responses)


def other_way(model: str) -> str:
    """How a model of another provider is asked by LiteLLM; empty for one of OpenAI, or of no provider on its list."""
    name = model.removeprefix("openai/")
    provider = str(model_entry(name).get("litellm_provider", ""))
    if not provider or provider.endswith("openai"):
        return ""
    return f"litellm/{name if '/' in name else f'{provider}/{name}'}"
