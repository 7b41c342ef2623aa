"""What the wording of a prompt does to a score."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "GStudy": ResultDisplay(plots=("components", "d_study"), headline="variance_fact"),
        "PromptMean": ResultDisplay(plots=("prompt_means",), headline="prompts_fact", table_alone=True),
    },
    heads={
        "items_low": "these prompts, low", "items_high": "these prompts, high", "s2_prompt": "prompt variance",
        "prompt_width": "width under one prompt", "n_prompts": "prompts", "relative_error": "error of order",
        "absolute_error": "error of value", "e_rho2": "E(rho\u00b2)", "phi": "Phi",
    },
)  # fmt: skip
