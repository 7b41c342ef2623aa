"""How sure a judge is of each verdict and how often it errs, as far as that is known before labels are bought."""

from __future__ import annotations










