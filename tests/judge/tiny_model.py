"""A real inference server with a tiny random model: llama.cpp from PyPI (`xllamacpp`), and nothing is downloaded.

The model knows nothing, but it answers every chat with a label, and which one depends on the prompt through real
attention. How a model that was never trained comes to do that:

- Three dimensions of the residual stream are reserved. The blocks neither read nor write them, so that what a token
  has there by its embedding is there at the output. LEVEL is the same for all tokens: the output weights there are
  biases, in favour of the labels. DONE is set for labels: after a label the answer ends. ONE is set for "1" where
  digits are split: after it "0" can come too.
- All else is random. The hidden states of random chats are computed here, with numpy, and the output weights are
  scaled and shifted so that over such chats each label has its share on average.

Prompts are read byte by byte: 1,000 characters of ASCII are 1,000 tokens.

``python tiny_model.py MODEL SECONDS OPTIONS`` serves a model for that long and prints the port; with options of
`write_model`, as JSON, it writes the model first.
"""

import json
import os
import string
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

CONTEXT = 8192  # tokens of a request
SLOTS = 8  # requests served at the same time
WIDTH, INNER, LAYERS, HEADS = 64, 128, 2, 4
LEVEL, DONE, ONE, RESERVED = range(4)
HEIGHT = 24.0  # of the reserved dimensions: above all the rest, so that the last norm changes the biases little
NEVER = -25.0  # logit of what is no answer
ZERO = 0.7  # probability of "0" after "1" where digits are split
SPREAD, STEADY = 0.8, 0.3  # standard deviations of a logit over prompts; STEADY for "1" and "0" where they are split
START, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    f"{{% for m in messages %}}{START}{{{{ m['role'] }}}}\n{{{{ m['content'] }}}}{END}\n{{% endfor %}}"
    f"{{% if add_generation_prompt %}}{START}assistant\n{{% endif %}}"
)


# --- the model --------------------------------------------------------------------------------------------------


def write_model(
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str],
    split_digits: bool = False,
    leak: float = 0.02,
    leak_to: Sequence[str] = string.ascii_lowercase,
    seed: int = 0,
) -> None:
    """Write a model that answers with one of the labels, as a GGUF file.

    Labels in the upper half are the likely ones, others are rare: with five, 4, 10, 23, 34 and 29 %. Before the label
    stands now and then another token, or several.

    Parameters
    ----------
    path
        The file to write.
    labels
        The answers, from low to high. Each is one token.
    split_digits
        The label "10" is two tokens, "1" and "0".
    leak
        About how much probability misses the labels.
    leak_to
        Where it goes: texts that become one token each. A label comes after them, and they change which.
    seed
        Of the random weights.
    """
    rng = np.random.default_rng(seed)
    share = _shares(labels)
    if split_digits:
        share["1"] += share.pop("10")
    tokens, merges = _vocabulary([*share, *leak_to])
    answers = [tokens.index(_spelt(label)) for label in share]
    others = sorted({tokens.index(_spelt(text)) for text in leak_to} - set(answers))
    chats = _chats(rng, tokens)

    model = _blocks(rng) | {"token_embd": _embedding(rng, len(tokens), answers)}
    states = np.array([_last_state(model, chat) for chat in chats])
    mean = np.full(len(tokens), NEVER)
    mean[others] = np.log(leak / len(others))
    mean[answers] = np.log(np.array([*share.values()]) * (1 - leak))
    spread = np.full(len(tokens), SPREAD)
    if split_digits:
        spread[[tokens.index("1"), tokens.index("0")]] = STEADY
    model["output"] = _output(rng, states, mean - spread**2 / 2, spread)
    model["output"][answers, DONE] = 2 * NEVER / states[:, LEVEL].mean()
    model["output"][tokens.index(END), DONE] = -2 * NEVER / states[:, LEVEL].mean()
    if split_digits:
        _let_zero_follow_one(model, chats, tokens)
    _save(path, model, tokens, merges)


def _shares(labels: Sequence[str]) -> dict[str, float]:
    """Average probabilities of the labels: a hump in the upper half, and a little for each."""
    at = np.arange(len(labels))
    hump = np.exp(-(((at - 0.8 * at[-1]) / 1.3) ** 2) / 2)
    return dict(zip(labels, 0.9 * hump / hump.sum() + 0.1 / len(labels), strict=True))


def _alphabet() -> list[str]:
    """The character that stands for each byte in a byte-level vocabulary, as GPT-2 has it."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) if byte in shown else chr(256 + hidden.index(byte)) for byte in range(256)]


def _spelt(text: str) -> str:
    alphabet = _alphabet()
    return "".join(alphabet[byte] for byte in text.encode())


def _vocabulary(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The bytes and what is needed to make each text one token."""
    tokens, merges = [START, END, *_alphabet()], []
    for text in map(_spelt, [*texts, "  "]):  # llama.cpp takes no model without merges: two spaces are one
        for end in range(1, len(text)):
            if text[: end + 1] not in tokens:
                tokens.append(text[: end + 1])
                merges.append(f"{text[:end]} {text[end]}")
    return tokens, merges


def _chats(rng: np.random.Generator, tokens: list[str], n: int = 64) -> list[list[int]]:
    """Chats of random words as token numbers, up to the place of the answer."""
    words = ["".join(rng.choice([*string.ascii_lowercase], rng.integers(2, 9))) for _ in range(200)]
    texts = [" ".join(rng.choice(words, rng.integers(10, 40))) for _ in range(n)]
    start, end = ([tokens.index(token)] for token in (START, END))
    numbers = [[tokens.index(char) for char in _spelt(text)] for text in ("user\n", "\n", "assistant\n", *texts)]
    user, line, assistant, *texts = numbers
    return [start + user + text + end + line + start + assistant for text in texts]


def _embedding(rng: np.random.Generator, n: int, answers: list[int]) -> np.ndarray:
    embedding = rng.normal(size=(n, WIDTH))
    embedding[:, :RESERVED] = 0
    embedding[:, LEVEL] = HEIGHT
    embedding[answers, DONE] = HEIGHT
    return embedding


def _blocks(rng: np.random.Generator) -> dict[str, np.ndarray]:
    def random(rows: int, columns: int, size: float) -> np.ndarray:
        return rng.normal(size=(rows, columns)) * size / np.sqrt(columns)

    norm = np.full(WIDTH, HEIGHT / np.sqrt(WIDTH))  # undoes what the reserved dimensions do to the size of the rest
    norm[:RESERVED] = 0
    model = {"output_norm": np.ones(WIDTH)}
    for i in range(LAYERS):
        block = {
            "attn_norm": norm,
            "attn_q": random(WIDTH, WIDTH, 3),  # large: looks at a few places, not at the average of all
            "attn_k": random(WIDTH, WIDTH, 3),
            "attn_v": random(WIDTH, WIDTH, 1.5),
            "attn_output": random(WIDTH, WIDTH, 1.5),
            "ffn_norm": norm,
            "ffn_gate": random(INNER, WIDTH, 1),
            "ffn_up": random(INNER, WIDTH, 1),
            "ffn_down": random(WIDTH, INNER, 0.5),
        }
        block["attn_output"][:RESERVED] = block["ffn_down"][:RESERVED] = 0
        model |= {f"blk.{i}.{name}": weights for name, weights in block.items()}
    return model


def _output(rng: np.random.Generator, states: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Output weights with which the tokens' logits have these means and standard deviations in these states."""
    output = rng.normal(size=(len(mean), WIDTH))
    output[:, :RESERVED] = 0
    output *= (spread / (states @ output.T).std(0))[:, None]
    output[:, LEVEL] = (mean - (states @ output.T).mean(0)) / states[:, LEVEL].mean()
    return output


def _let_zero_follow_one(model: dict[str, np.ndarray], chats: list[list[int]], tokens: list[str]) -> None:
    """Set what "0" has against the end of the answer after "1"."""
    zero, one, end = (tokens.index(token) for token in ("0", "1", END))
    model["token_embd"][one, ONE] = HEIGHT
    states = np.array([_last_state(model, [*chat, one]) for chat in chats])
    ahead = states @ (model["output"][zero] - model["output"][end])
    model["output"][zero, ONE] = (np.log(ZERO / (1 - ZERO)) - ahead.mean()) / states[:, ONE].mean()


def _last_state(model: dict[str, np.ndarray], numbers: list[int]) -> np.ndarray:
    """The last token's state before the output weights: a Llama as in the papers."""
    x = model["token_embd"][numbers]
    for i in range(LAYERS):
        block = {name.removeprefix(f"blk.{i}."): weights for name, weights in model.items()}
        x = x + _attention(_normed(x) * block["attn_norm"], block) @ block["attn_output"].T
        y = _normed(x) * block["ffn_norm"]
        gate = y @ block["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ block["ffn_up"].T)) @ block["ffn_down"].T
    return _normed(x[-1])


def _normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def _attention(x: np.ndarray, block: dict[str, np.ndarray]) -> np.ndarray:
    n, size = len(x), WIDTH // HEADS
    angles = np.arange(n)[:, None] * 10_000.0 ** (-np.arange(0, size, 2) / size)
    q, k, v = ((x @ block[name].T).reshape(n, HEADS, size).swapaxes(0, 1) for name in ("attn_q", "attn_k", "attn_v"))
    q, k = ((y[..., ::2] + 1j * y[..., 1::2]) * np.exp(1j * angles) for y in (q, k))
    scores = np.where(np.tri(n) > 0, (q @ k.conj().swapaxes(1, 2)).real / np.sqrt(size), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return ((weights / weights.sum(-1, keepdims=True)) @ v).swapaxes(0, 1).reshape(n, WIDTH)


def _save(path: str | os.PathLike[str], model: dict[str, np.ndarray], tokens: list[str], merges: list[str]) -> None:
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(tokens)
    kinds = {START: gguf.TokenType.CONTROL, END: gguf.TokenType.CONTROL}
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in tokens])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(tokens.index(END))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, weights in model.items():
        writer.add_tensor(f"{name}.weight", weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# --- the server -------------------------------------------------------------------------------------------------


@contextmanager
def serve(path: str | os.PathLike[str], seconds: float = 900, **options: object) -> Iterator[str]:
    """Serve a model on this machine in a process of its own, for so long at most; the value is the base URL.

    With options of `write_model` the process writes the model first.
    """
    command = [sys.executable, __file__, os.fspath(path), str(seconds), json.dumps(options)]
    # on a busy machine threads of linear algebra wait for one another: 20 s instead of 0.5
    alone = os.environ | dict.fromkeys([f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL")], "1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=alone) as process:
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"no server for {path}")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def main(path: str, seconds: str, options: str) -> None:
    import xllamacpp

    if model := json.loads(options):
        write_model(path, **model)
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # several wait for one another, as above
    params.n_gpu_layers = params.cache_ram_mib = params.verbosity = 0
    params.offline, params.ui, params.warmup, params.fit_params = True, False, False, False
    # slower for long prompts, but without it the same request can differ by 0.02 in a logprob
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(params)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it writes there about bad requests
    print(server.listening_address.rpartition(":")[2], flush=True)
    time.sleep(float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
