"""Files and frames of one's own, recognised: what each column is, and the tables that they make.

On the way in they pass `source`, `roles`, `rows` and `ids`; `tables` walks it, `resolve` is the door of the verbs,
`availability` says what the tables answer, `calls` what to type, `look` shows all of it.
"""
