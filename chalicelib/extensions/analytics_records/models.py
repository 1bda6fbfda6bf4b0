"""The wire models of listed and deleted analytics records."""

from chalicelib.analytics.models import AnalyticsRecord
from chalicelib.http.wire import Number, WireModel, omitted


class ConversationAnalytics(WireModel):
    """A conversation's analytics records as they were written. `lastModified` is the Unix time of the last write."""

    convoID: str
    lastModified: Number
    load: AnalyticsRecord = omitted()
    convo: AnalyticsRecord = omitted()


class DeletedAnalytics(WireModel):
    """The number of conversations whose records were deleted."""

    deleted: Number
