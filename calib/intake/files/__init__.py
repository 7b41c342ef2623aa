"""Files and frames as they come: text cut into cells, sheets, JSON, and where a row stands."""
