"""Where a judge says pass or fail: its rates of right and wrong, and the pass rate that people would give."""

from calib.core.topic import Topic

TOPIC = Topic(home=__name__)
