"""The operator commands of the reports extension."""

from chalicelib.extensions.reports.deploy.analytics_command import analytics
from chalicelib.extensions.reports.deploy.usage_command import usage

COMMANDS = (analytics, usage)
