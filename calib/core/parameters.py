"""Parameters that recur in public functions, documented once: for docstrings and for the help of the command line."""

import re
from inspect import cleandoc

# parameters that recur: in a docstring the line `{name}` stands for its entry
PARAMETERS = {
    "scores": """
        scores : table, path or frame
            A judge's scores or ratings; or your own file, which may hold the labels, too.
        """,
    "labels": """
        labels : table, path or frame, optional
            People's labels of some of the items, where `scores` does not hold them; several people are pooled.
        """,
    "groups": """
        groups : str or None, default "group"
            The column of what items share (the source document, the prompt); None: items are independent.
        """,
    "by": """
        by : str, optional
            A column of the scores (in a shell also of --items), such as "system": one result for each of its values.
            Items without a value are in none, and counted in a warning.
        """,
    "systems": """
        systems : {"auto", "fixed", "random"}
            ``"fixed"``: the question is about these systems, and the interval speaks about new groups; ``"random"``:
            they stand for other systems, too; ``"auto"``: fixed below six.
        """,
    "sessions": """
        level : {"item", "session"}
            "session": scores and labels of turns, which share a `group`, become those of their sessions first.
        turns : {"mean", "worst", "last"}
            How turns become sessions, as for `calib.to_sessions`.
        """,
    "confidence_level": """
        confidence_level : float, default 0.95
        """,
    "columns": """
        **columns
            The roles of the columns of your own files, as for `calib.look`; those left out are inferred.
        """,
}


def completed(docstring: str) -> str:
    """A docstring with the entry of each line ``{name}``."""

    def entry(line: re.Match[str]) -> str:
        return "\n".join(f"{line[1]}{text}" for text in cleandoc(PARAMETERS[line[2]]).split("\n"))

    return re.sub(r"^( *)\{(\w+)\}$", entry, docstring, flags=re.MULTILINE)
