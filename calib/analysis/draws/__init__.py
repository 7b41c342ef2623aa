"""What several draws of one judge are worth."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "Convergence": ResultDisplay(
            plots=("convergence", "gain"), pictures="convergence_pictures", headline="error_fact"
        ),
        "VarianceComponents": ResultDisplay(plots=("gain",), table_alone=True),
    },
    heads={
        "draws": "draws, N", "rmse": "RMSE", "rmse_low": "RMSE, low", "rmse_high": "RMSE, high",
        "rmse_predicted": "RMSE predicted", "rmse_limit": "RMSE to endless draws", "correlation": "with the reference",
        "correlation_predicted": "with the reference, predicted", "agreement": "with people",
        "agreement_low": "with people, low", "agreement_high": "with people, high",
        "agreement_predicted": "with people, predicted",
    },
)  # fmt: skip
