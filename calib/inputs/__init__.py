"""Files and frames of one's own, recognised: what each column is, and the tables that they make.

On the way in they pass `files`, `cells`, `columns` and `rows`; `intake` walks it, `entry` is the door of the verbs,
`can` says what the tables answer, `calls` what to type, `look` shows all of it.
"""
