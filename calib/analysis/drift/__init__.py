"""Whether a judge still reads as it did: anchors read again."""

from calib.core.topic import Topic

TOPIC = Topic(home=__name__)
