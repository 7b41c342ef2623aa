"""A prompt, judges, and replies that go wrong: for the tests of each harness."""

import calib

PROMPT = calib.geval_prompt("coherence")
OFFLINE = calib.Judge("offline", method="logprob")
SAMPLED = calib.Judge("m", method="sample", draws=3)
SECRET = "sk-proj-abcdefghijklmnop1234567890"


def fails(request):
    raise RuntimeError(f"no such model for key {SECRET}")


def unreadable(request):
    return said("I would rather not say.")


def by_turns():
    """Replies 2, 4, none that can be read, again and again."""
    count = iter(range(10_000))
    return lambda request: said(["2", "4", "no idea"][next(count) % 3])


def said(text):
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def always(text, seen):
    """A judge that gives one reply, and keeps what it was asked."""

    def complete(request):
        seen.append(request["messages"][-1]["content"])
        return said(text)

    return complete
