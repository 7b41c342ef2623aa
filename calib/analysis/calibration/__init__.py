"""What one item's score means: the chance of each label that people would give it, sets, and when to ask them."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "CalibrationMap": Shown(
            name="what a score means", plots=("calibration",), apart=True, fact="map_fact",
            conclusions="map_sentences", speaks=True, adds=True,
        ),
        "ForecastQuality": Shown(
            name="scores as forecasts of people", plots=("corp", "pit"), pictures="forecast_pictures",
            fact="forecast_fact", conclusions="forecast_sentences", speaks=True,
        ),
    },
    heads={
        "judge": "judge's score", "n_at": "labels there", "label_mean": "mean label there",
        "skill_in_sample": "skill beside these labels' shares", "rps": "RPS", "crps": "CRPS", "mcb": "MCB",
        "dsc": "DSC", "unc": "UNC", "ece": "calibration error", "ece_null": "of calibrated forecasts",
        "log_shares": "log score of the shares", "crps_shares": "CRPS of the shares",
        "mcb_null_high": "MCB of calibrated forecasts, upper end",
    },
    items="said_of_items",
    commands=("calibrate",),
)  # fmt: skip
