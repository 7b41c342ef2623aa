"""A user's files and frames as tables: `source` reads them, `roles` recognises columns, `rows`, `tables` make tables.

`resolve` is where the verbs call, `availability` the table of what each analysis needs, `look` prints all of it.
"""
