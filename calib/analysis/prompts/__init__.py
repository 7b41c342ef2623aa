"""What the wording of a prompt does to a score."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "GStudy": Shown(plots=("components", "d_study"), fact="variance_fact", speaks=True),
        "PromptMean": Shown(plots=("prompt_means",), fact="prompts_fact"),
    },
    heads={
        "items_low": "these prompts, low", "items_high": "these prompts, high", "s2_prompt": "prompt variance",
        "prompt_width": "width under one prompt", "n_prompts": "prompts", "relative_error": "error of order",
        "absolute_error": "error of value", "e_rho2": "E(rho\u00b2)", "phi": "Phi",
    },
    commands=("sensitivity",),
)  # fmt: skip
