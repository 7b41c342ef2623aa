"""What a judge's distribution over the labels says: its numbers, its temperature, its fit to draws."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={"PointScores": Shown(speaks=True), "Temperature": Shown(speaks=True)},
    heads={"tau_p_value": "p of tau 1"},
)
