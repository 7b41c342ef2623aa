"""The command line's calibration: calibrate, forecast-quality, sets, escalate."""

from __future__ import annotations
