"""Replies in other shapes, as chat completions: the Responses API, content in parts, legacy log-probabilities."""

from __future__ import annotations

from typing import Any

_CUT_OFF = {"max_output_tokens": "length", "content_filter": "content_filter"}


def as_chat(reply: Any) -> Any:
    """A reply as a chat completion; what has none of these shapes as it is.

    Examples
    --------
    >>> parts = [{"type": "output_text", "text": "4"}]
    >>> answer = as_chat({"output": [{"type": "reasoning"}, {"type": "message", "content": parts}]})
    >>> answer["choices"][0]["message"]["content"]
    '4'
    """
    if not isinstance(reply, dict):
        return reply
    if "choices" not in reply and isinstance(reply.get("output"), list):
        reply = _of_responses(reply)
    choices = reply.get("choices")
    if not isinstance(choices, list):
        return reply
    return reply | {"choices": [_choice(one) if isinstance(one, dict) else one for one in choices]}


def _of_responses(reply: dict[str, Any]) -> dict[str, Any]:
    """What the Responses API sends: the last message counts, and what the model reasoned is no part of it."""
    messages = [one for one in reply["output"] if isinstance(one, dict) and one.get("type") == "message"]
    usage, details = (reply.get(name) or {} for name in ("usage", "incomplete_details"))
    if not messages and reply.get("status") not in ("completed", "incomplete"):
        return reply  # it failed, or is under way
    parts = messages[-1].get("content") if messages else None
    parts = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    refusal = "".join(str(one["refusal"]) for one in parts if one.get("refusal"))
    places = [place for one in parts for place in (one.get("logprobs") or []) if one.get("type") == "output_text"]
    choice = {
        "message": {"content": parts, "refusal": refusal},
        "finish_reason": _CUT_OFF.get(str(details.get("reason")), "stop"),
        "logprobs": {"content": places},
    }
    counts = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    return {"choices": [choice], "usage": counts | {"total_tokens": usage.get("total_tokens")}}


def _choice(choice: dict[str, Any]) -> dict[str, Any]:
    """A choice with its message in one piece, and log-probabilities place by place."""
    message, logprobs = choice.get("message"), choice.get("logprobs")
    if isinstance(message, dict) and isinstance(parts := message.get("content"), list):
        texts = [one.get("text") for one in parts if isinstance(one, dict) and "thinking" not in one]
        choice = choice | {"message": message | {"content": "".join(one for one in texts if isinstance(one, str))}}
    tokens = logprobs.get("tokens") if isinstance(logprobs, dict) else None
    if not isinstance(logprobs, dict) or logprobs.get("content") or not isinstance(tokens, list):
        return choice
    own, tops = (logprobs.get(name) or [None] * len(tokens) for name in ("token_logprobs", "top_logprobs"))
    rows = zip(tokens, own, tops, strict=False)
    places = [{"token": token, "logprob": p, "top_logprobs": _listed(top)} for token, p, top in rows]
    said = {"message": {"content": choice["text"]}} if message is None and "text" in choice else {}
    return choice | said | {"logprobs": {"content": places}}


def _listed(top: Any) -> list[Any]:
    if isinstance(top, dict):
        return [{"token": token, "logprob": p} for token, p in top.items()]
    return top if isinstance(top, list) else []
