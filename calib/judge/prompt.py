"""Prompts: what a judge is asked about an item."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from calib.core import check
from calib.core.check import ArgumentError, check_types
from calib.core.text import printable
from calib.judge import variants as wording
from calib.judge.conversation import parsed_messages, shown_parts
from calib.judge.criteria import CONVERSATION_CRITERIA, CRITERIA, LEVELS, WORDING, meaning_of, steps_of
from calib.judge.scale import Scale
from calib.table.schema import ORDERS

REASONING = ("form", "think", "json")
_SLOT = re.compile(r"\{\{([^{}]+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to the judge, frozen: what is sent for an item is `render(item)` and nothing else.

    Parameters
    ----------
    criterion : str
        The dimension that is rated.
    template : str
        The message. ``{{column}}`` stands for the text of an item's column, ``{{steps}}``
        for the evaluation steps; item text is put between marks that it cannot contain.
    scale : Scale
    reasoning : {"form", "think", "json"}
        "form": the reply is the label alone. "think": reasons first, last line ``Score: <label>``.
        "json": reasons first, in a JSON object with the keys "reason" and "score".
    steps : tuple of str or None
        Evaluation steps. None: to be written once by the judge (auto-CoT), see `write_steps`.
    changes : tuple of (str, str)
        In what a variant differs from its original: facet and choice (see `variants`). Not
        part of the `id`, which is a hash of what is sent.
    parts : optional
        What the template was made from by `from_criteria`; `variants` needs it.
    pair : tuple of (str, str), optional
        The two columns that are compared, where the question is which of two outputs is better
        (see `pairwise`). `rate` then asks in both orders: the two texts change places, and what
        the labels stand for is turned. The scale says the share of the first, from 0 to 1.

    Examples
    --------
    >>> prompt = geval_prompt("coherence")
    >>> prompt.inputs, prompt.id == geval_prompt("coherence").id
    (('source', 'output'), True)
    """

    criterion: str
    template: str
    scale: Scale = field(default_factory=Scale)
    reasoning: str = "form"
    steps: tuple[str, ...] | None = ()
    changes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    parts: wording.Parts | None = field(default=None, compare=False)
    pair: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown kind of reasoning, a template that shows no item, and what is no pair of outputs."""
        check.choice(self.reasoning, "reasoning", REASONING)
        if not self.inputs:
            raise ArgumentError("template", "must name an item's column as {{column}}", "names none")
        if (pair := self.pair) is None:
            return
        if not isinstance(pair, tuple) or len(set(pair)) != 2 or len(pair) != 2 or not set(pair) <= set(self.inputs):
            rule = f"must be a tuple of two columns that the template shows, of {', '.join(map(repr, self.inputs))}"
            raise ArgumentError("pair", rule, f"got {pair!r}")
        values = sorted(self.scale.values)
        mirrored = all(math.isclose(a + b, 1) for a, b in zip(values, values[::-1], strict=True))
        if (values[0], values[-1]) != (0, 1) or not mirrored:
            rule = "of a pair must be shares of A, from 0 (the second is better) to 1, as far below 0.5 as above"
            raise ArgumentError("scale", rule, f"got {self.scale!r}")

    @classmethod
    def from_criteria(
        cls,
        name: str,
        criteria: str,
        *,
        task: str | None = None,
        scale: Scale | str | None = None,
        inputs: Sequence[str] = ("source", "output"),
        reasoning: str = "form",
        steps: Sequence[str] | None = None,
    ) -> Prompt:
        """A prompt for any criterion in your own words, over any columns of the items.

        Parameters
        ----------
        name, criteria : str
            Of the criterion, as it stands in the tables, and what it means.
        task : str, optional
            What the judge sees and has to do. Default: names the inputs.
        scale, inputs, reasoning
            As for `calib.geval_prompt`.
        steps : sequence of str, optional
            Evaluation steps. Default: written once by the judge, then frozen. Empty: none.

        Examples
        --------
        >>> prompt = Prompt.from_criteria("grounded", "Every claim of the answer is backed by the passage.",
        ...                               inputs=("passage", "question", "answer"), scale=Scale.of(no=0, yes=1))
        >>> prompt.inputs
        ('passage', 'question', 'answer')
        """
        _check_inputs(inputs)
        chosen = Scale() if scale is None else scale
        if isinstance(chosen, str):
            try:
                chosen = Scale.parse(chosen)
            except ArgumentError as error:
                raise error.renamed({"labels": "scale"}) from None
        if not isinstance(chosen, Scale):
            raise TypeError(f"`scale` must be a calib.Scale, such as Scale.of(no=0, yes=1), but got {scale!r}.")
        columns = tuple(inputs)
        task = task or wording.ANY_TASKS[0].format(shown=", ".join(columns), rated=columns[-1])
        parts = wording.Parts(task, name, criteria, chosen, columns, reasoning)
        prompt = cls(name, wording.layout(parts), chosen, reasoning, None, parts=parts)
        return prompt if steps is None else prompt.with_steps(steps)

    @classmethod
    def pairwise(
        cls,
        criteria: str,
        *,
        name: str | None = None,
        ties: bool = True,
        task: str | None = None,
        labels: Sequence[str] | None = None,
        inputs: Sequence[str] = ("source", "output_a", "output_b"),
        reasoning: str = "form",
        steps: Sequence[str] | None = (),
    ) -> Prompt:
        """A prompt that asks which of two outputs is better, for items that are pairs (see `calib.pair_items`).

        `rate` asks about each pair twice, once with either output first, and writes down which (`shown_first`); what
        comes first is always called A. Scores are in terms of the item's `output_a`, whatever was first: 1 it is
        better, 0 the other is, 0.5 a tie. `summarize` averages the two orders. Both orders are one prompt with one
        `id`. A wording of your own, as a whole, is ``Prompt(name, template, scale, pair=("output_a", "output_b"))``.

        Parameters
        ----------
        criteria : str
            What makes the better output, in your own words, or one of "coherence", "consistency",
            "fluency", "relevance".
        name : str, optional
            Of the criterion, as it stands in the tables. Default: the criteria if they are one word,
            else "preference".
        ties : bool, default True
            Whether the judge may say that neither is better.
        task : str, optional
            What the judge sees and has to do. Default: names the inputs.
        labels : sequence of str, optional
            What the judge answers for the first output, the second and, with `ties`, neither.
            Default "A", "B", "tie".
        inputs : sequence of str, default ("source", "output_a", "output_b")
            Columns of the items, in the order in which they are shown; the last two are compared.
        reasoning : {"form", "think", "json"}
        steps : sequence of str or None
            Evaluation steps, by default none. None: written once by the judge, then frozen.

        References
        ----------
        Zheng et al. (2023), Judging LLM-as-a-Judge, section 3.4, arXiv:2306.05685, for asking in both
        orders; the wording is calib's own.

        Examples
        --------
        >>> prompt = Prompt.pairwise("The answer helps the asker.", inputs=("question", "output_a", "output_b"))
        >>> prompt.inputs, prompt.scale
        (('question', 'output_a', 'output_b'), Scale.of(B=0, tie=0.5, A=1))
        """
        check_types(Prompt.pairwise, locals())
        if not str(criteria).strip():
            raise ArgumentError("criteria", "must say what makes the better output", f"got {criteria!r}")
        _check_inputs(inputs)
        if len(set(inputs)) < max(2, len(inputs)):
            rule = "must be two or more different columns, of which the last two are compared"
            raise ArgumentError("inputs", rule, f"got {inputs!r}")
        name, columns = name or (criteria if len(str(criteria).split()) == 1 else "preference"), tuple(inputs)
        meaning = meaning_of(criteria) if criteria in CRITERIA else criteria
        scale = wording.pair_scale(labels, ties=ties)
        has_steps = steps is None or len(steps) > 0
        template = wording.pair_layout(name, meaning, task, columns, scale, reasoning, steps=has_steps)
        prompt = cls(name, template, scale, reasoning, None, pair=(columns[-2], columns[-1]))
        return prompt if steps is None else prompt.with_steps(steps)

    @property
    def orders(self) -> tuple[str, ...]:
        """What is shown first, call by call: "a" and then "b" of a pair, "" where there is no order."""
        return ORDERS if self.pair else ("",)

    @property
    def turned_scale(self) -> Scale:
        """What the labels stand for where a pair's second output is shown first: the opposite."""
        if not self.pair:
            return self.scale
        values = sorted(self.scale.values)
        opposite = dict(zip(values, reversed(values), strict=True))
        return Scale(self.scale.labels, tuple(opposite[value] for value in self.scale.values))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that the template shows."""
        return tuple(dict.fromkeys(name for name in _pieces(self.template)[1::2] if name != "steps"))

    @property
    def answer(self) -> str:
        """Where the reply holds the label: "label" (at its start), "line" (last score line), "json" (key "score")."""
        return {"form": "label", "think": "line", "json": "json"}[self.reasoning]

    @property
    def id(self) -> str:
        """Criterion, kind, and a hash of all that is sent but the items."""
        return f"{self.criterion}-{self.reasoning}-{hashlib.blake2b(self._sent, digest_size=3).hexdigest()}"

    @property
    def sha256(self) -> str:
        """The whole hash of all that is sent but the items: what a calibration is bound to."""
        return hashlib.sha256(self._sent).hexdigest()

    @property
    def _sent(self) -> bytes:
        sent = [_SYSTEM, self.template, self.steps, self.scale.labels, self.scale.values, self.answer]
        sent += [self.pair] if self.pair else []
        return json.dumps(sent).encode("utf-8", "surrogatepass")

    def with_steps(self, steps: Sequence[str]) -> Prompt:
        """A copy of this prompt with these evaluation steps frozen into it."""
        if isinstance(steps, str):
            raise ArgumentError("steps", "must be a sequence of texts, one for each step", f"got {steps!r}")
        if self.pair and steps and "steps" not in _pieces(self.template)[1::2]:
            raise ArgumentError("steps", "need a place in the template, {{steps}}: give them to `Prompt.pairwise`")
        return replace(self, steps=tuple(steps))

    def variants(self, n: int) -> tuple[Prompt, ...]:
        """The prompt itself and n - 1 others that ask the same in other ways, to see what the wording does.

        They differ in four facets with four choices each: the instruction (as given, to an assessor, as a question,
        as an order), the order (criterion and steps before or after the material), the scale (labels alone, ends in
        words, levels in words, best first) and the format (plain, headings, tags, terse). Criterion, texts, labels,
        steps, the kind of reasoning and the form of the answer stay. `write_variants` has the judge reword the task
        and the criterion instead.

        Which ones come is fixed, and the first n are always the same: among them each choice of a facet comes up
        equally often, or once more; among the first 16 each pair of choices of two facets once. Each has its
        `changes`; steps that are still to be written are written once for all of them.

        Parameters
        ----------
        n : int
            How many in all, at most 256. The first is the prompt itself.

        Examples
        --------
        >>> for prompt in geval_prompt("fluency").variants(2):
        ...     prompt.changes
        ()
        (('instruction', 'to an assessor'), ('order', 'criterion, material, steps'),
         ('scale', 'ends in words'), ('format', 'headings'))
        """
        parts = template_parts(self, "variants")
        if isinstance(n, bool) or not hasattr(n, "__index__") or not 1 <= n <= wording.MOST_VARIANTS:
            there = "all the ways there are (`calib.write_variants` has the judge write others)"
            raise ArgumentError("n", f"must be a whole number from 1 to {wording.MOST_VARIANTS}, {there}", f"got {n!r}")
        prompts = []
        for way in map(wording.way_of, range(n)):
            changed = [(facet, wording.FACETS[facet][choice]) for facet, choice in way._asdict().items() if choice]
            prompts.append(replace(self, template=wording.layout(parts, way), changes=(*self.changes, *changed)))
        return tuple(prompts)

    def render(self, item: Mapping[str, Any], *, shown_first: str = "a") -> list[dict[str, str]]:
        """The chat messages for one item, which must have the columns that the template names.

        Of a pair the second output stands in the place of the first with ``shown_first="b"``.
        """
        check.choice(shown_first, "shown_first", ORDERS if self.pair else ORDERS[:1])
        names = self.inputs
        for name in names:
            if name not in item:
                hint = " (`calib.pair_items` makes pairs of systems' outputs)" if name in (self.pair or ()) else ""
                raise ArgumentError("items", f"must have the columns that the prompt shows; {name!r} is missing{hint}")
            if is_empty(item[name]):
                empty = f"item {item.get('item')!r} has none"
                raise ArgumentError("items", f"must have a text in {name!r} everywhere; {empty}")
        steps = "\n".join(f"{i}. {step}" for i, step in enumerate(self.steps or (), start=1))
        texts = {name: str(item[name]) for name in names}
        conversation = parsed_messages(item) if "messages" in names else None
        if conversation:
            texts["messages"] = conversation.text
        if self.pair and shown_first == "b":
            first, second = self.pair
            texts |= {first: texts[second], second: texts[first]}
        # a hash of all texts: none of them can hold it, and so none can begin or end another
        mark = hashlib.blake2b(json.dumps(texts).encode(), digest_size=8).hexdigest()
        if conversation:
            texts |= shown_parts(conversation, mark, item["turn"] if "turn" in names else None, item.get("item"))
        texts = {n: f"BEGIN {n.upper()} {mark}\n{text}\nEND {n.upper()} {mark}" for n, text in texts.items()}
        texts["steps"] = steps
        # one pass over the template alone: what an item says is never read as a template
        user = "".join([texts[piece] if place % 2 else piece for place, piece in enumerate(_pieces(self.template))])
        return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": user}]

    def render_steps_request(self) -> list[dict[str, str]]:
        """The chat messages that ask the judge for the evaluation steps (auto-CoT)."""
        # a variant asks as its original does: all of them then share the steps
        template = wording.layout(self.parts) if self.parts and self.changes else self.template
        head = template.split(wording.STEPS_HEADING)[0].strip()
        return [{"role": "system", "content": _STEPS_SYSTEM}, {"role": "user", "content": f"{head}\n\n{_STEPS_ASK}"}]

    def __repr__(self) -> str:
        changed = "".join(f"; {facet}: {choice}" for facet, choice in self.changes)
        return f"<Prompt {printable(self.id)}: {printable(', '.join(self.inputs))} on {self.scale!r}{changed}>"


def is_empty(text: Any) -> bool:
    """Whether a cell of an item holds nothing to show."""
    return text is None or (isinstance(text, float) and math.isnan(text))


@lru_cache(maxsize=1024)
def _pieces(template: str) -> list[str]:
    """What stands between the slots of a template, and every second one the name in a slot."""
    return _SLOT.split(template)


def template_parts(prompt: Prompt, verb: str) -> wording.Parts:
    """The parts that a prompt's template was made from; refuses one that was written or changed by hand, or varied."""
    if prompt.parts is None or wording.layout(prompt.parts) != prompt.template:
        own = "is one for pairs" if prompt.pair else "has a template written by hand"
        what = "is a variant itself" if prompt.parts and prompt.changes else own
        rule = "needs a prompt whose parts are known, as `geval_prompt` and `Prompt.from_criteria` make it"
        raise ArgumentError(verb, rule, f"{printable(prompt.id)} {what}")
    return prompt.parts


def parse_steps(reply: str) -> tuple[str, ...]:
    r"""The numbered or bulleted lines of a reply, without their numbers.

    Examples
    --------
    >>> parse_steps("Steps:\n1. Read both texts.\n2) Compare them.")
    ('Read both texts.', 'Compare them.')
    """
    return tuple(re.findall(r"(?m)^\s*(?:\d+[.)]|[-*])\s+(\S.*?)\s*$", reply))


_SYSTEM, _STEPS_SYSTEM, _STEPS_ASK = (WORDING["requests"][name] for name in ("system", "steps_system", "steps"))


def _check_inputs(inputs: Sequence[str]) -> None:
    if isinstance(inputs, str) or not inputs or not all(_SLOT.fullmatch("{{" + name + "}}") for name in inputs):
        raise ArgumentError("inputs", "must be a sequence of column names without braces", f"got {inputs!r}")
    if "steps" in inputs:
        raise ArgumentError("inputs", "must not name 'steps', which stands for the evaluation steps; rename the column")


def geval_prompt(
    criterion: str,
    *,
    reasoning: str = "form",
    scale: Scale | str | None = None,
    inputs: Sequence[str] = ("source", "output"),
) -> Prompt:
    """The prompt for a built-in criterion, of summaries or of conversations, with evaluation steps as in G-Eval.

    Parameters
    ----------
    criterion : str
        Of summaries "coherence", "consistency", "fluency", "relevance", as in SummEval. Of conversations
        "task-completed", "instructions-kept", "tool-use", "no-contradiction", "escalation", with levels from 1 to 4 in
        words: with ``inputs=("messages",)`` of the whole, with ``inputs=("messages", "turn")`` of the message whose
        number stands in the column `turn`, after those before it.
    reasoning : {"form", "think", "json"}, default "form"
        "form": the reply is the label alone, as in the paper's form filling. "think":
        the judge reasons first and ends in one score line.
    scale : Scale or str, optional
        Default 1 to 5, of conversations 1 to 4. As text: ``"1|2|3"``, ``"no=0|yes=1"``.
    inputs : sequence of str, default ("source", "output")
        Columns of the items to show; the last is rated.

    References
    ----------
    Liu et al. (2023), G-Eval, arXiv:2303.16634, for the method; the wording is calib's own.

    Examples
    --------
    >>> geval_prompt("fluency", reasoning="think").answer
    'line'
    >>> prompt = geval_prompt("task-completed", inputs=("messages",))
    >>> asked = prompt.render({"messages": [{"role": "user", "content": "Hi"}]})[1]["content"]
    >>> "4: all of it is done" in asked, prompt.scale
    (True, Scale.of(1, 2, 3, 4))
    """
    check_types(geval_prompt, locals())
    if criterion not in (*CRITERIA, *CONVERSATION_CRITERIA):
        names = ", ".join(map(repr, (*CRITERIA, *CONVERSATION_CRITERIA))) + " ({0} takes any other)"
        mentions = ("Prompt.from_criteria",)
        raise ArgumentError("criterion", f"must be one of {names}", f"got {criterion!r}", mentions=mentions)
    criteria, task = meaning_of(criterion), wording.SUMMARY_TASKS[0]
    if criterion in CONVERSATION_CRITERIA:
        if "messages" not in inputs:
            rule = f"of {criterion!r}, which is about conversations, must name 'messages'"
            raise ArgumentError("inputs", rule, f"got {tuple(inputs)!r}")
        task = WORDING["tasks"]["turn" if inputs[-1] == "turn" else "conversation"]
        if scale is None:
            levels = dict(enumerate(LEVELS[criterion], start=1))
            scale = Scale.of(*levels)
            criteria = "\n".join([criteria, *(f"{level}: {words}" for level, words in levels.items())])
    options: dict[str, Any] = {"scale": scale, "inputs": inputs, "reasoning": reasoning, "steps": steps_of(criterion)}
    return Prompt.from_criteria(criterion, criteria, task=task, **options)
