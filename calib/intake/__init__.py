"""Files and frames of one's own, recognised: what each column is, and the tables that they make."""
