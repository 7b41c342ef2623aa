"""Where a judge says which of two is better: position, agreement with people, boards of systems."""

from calib.core.topic import Topic

TOPIC = Topic(home=__name__)
