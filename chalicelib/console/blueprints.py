"""All pages of the console, for the app."""

from chalicelib.console.agents import routes as agents
from chalicelib.console.analytics import routes as analytics
from chalicelib.console.convos import routes as conversations
from chalicelib.console.leads import routes as leads
from chalicelib.console.operators import routes as operators
from chalicelib.console.people import routes as people
from chalicelib.console.routes import routes
from chalicelib.console.settings import routes as settings
from chalicelib.console.versions import routes as versions

blueprints = (routes, conversations, analytics, leads, agents, versions, settings, people, operators)
