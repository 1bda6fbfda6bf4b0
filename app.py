"""The composition root: the app, its middleware in order, its routes. No logic, no routes of its own."""

from chalice.app import Chalice

from chalicelib import auth, http, idempotency, telemetry
from chalicelib.agents.functions import functions as sweeps
from chalicelib.agents.routes import routes as agents
from chalicelib.analytics.routes import routes as analytics
from chalicelib.clients.routes import routes as clients
from chalicelib.conversations.routes import routes as conversations
from chalicelib.leads.routes import routes as leads
from chalicelib.openapi.routes import routes as openapi
from chalicelib.organisations.routes import routes as organisations
from chalicelib.tools.routes import routes as tools
from chalicelib.webhooks.routes import routes as webhooks
from chalicelib.webhooks.streams import streams
from chalicelib.workspaces.routes import routes as workspaces

app = Chalice(app_name="cams")

# Outermost first: an error of any of the others is answered in the one error shape.
for middleware in (
    telemetry.measured,
    http.envelope,
    auth.authenticate,
    http.decode_path,
    auth.confine,
    idempotency.once,
):
    app.register_middleware(middleware, "http")

resources = (agents, tools, conversations, analytics, clients, organisations, leads, workspaces)
for blueprint in (*resources, webhooks, openapi, streams, sweeps):
    app.register_blueprint(blueprint)
