"""What one item's score means: the chance of each label that people would give it, sets, and when to ask them."""

from calib.core.topic import Topic

TOPIC = Topic(home=__name__)
