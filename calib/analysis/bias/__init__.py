"""Whether the judge is fair: what moves it beyond what people see, and how it rates beside their own spread."""

from calib.core.topic import Topic

TOPIC = Topic(home=__name__)
