"""All pages of the console, for the app."""

from chalicelib.console.agents import routes as agents
from chalicelib.console.analytics import routes as analytics
from chalicelib.console.convos import routes as conversations
from chalicelib.console.leads import routes as leads
from chalicelib.console.routes import routes

blueprints = (routes, conversations, analytics, leads, agents)
