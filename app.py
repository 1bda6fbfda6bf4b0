"""The composition root, which creates the Chalice app and then registers middleware, routes and functions in order.

Each resource defines its routes in a Chalice blueprint, `chalicelib/<resource>/routes.py`, using `@routes.route`
instead of `@app.route`. Three other blueprints contain the functions that queues and streams invoke. Extensions declare
their routes and functions in `chalicelib/extensions/<name>/extension.py`.
"""

import gc

# Imported objects live as long as the process, and garbage collection during imports takes a tenth of a cold start.
gc.disable()

import sys

# This never runs in Lambda. It must precede imports of packages that the user's Chalice may be missing.
if "chalice.cli" in sys.modules:
    import chalice_guard

    chalice_guard.hand_over()

from functools import partial

from chalicelib import extensions, followers, maintenance, telemetry
from chalicelib.agents.routes import routes as agents
from chalicelib.analytics.routes import routes as analytics
from chalicelib.clients.routes import routes as clients
from chalicelib.conversations.message_list_routes import routes as message_lists
from chalicelib.conversations.message_routes import routes as conversation_messages
from chalicelib.conversations.routes import routes as conversations
from chalicelib.conversations.v3_routes import routes as conversations_v3
from chalicelib.conversations.visitor_routes import routes as visitor_tokens
from chalicelib.deletion.routes import routes as deletion
from chalicelib.http import auth, caching, commit, cors, envelope, privileges
from chalicelib.http.literal_paths import Service
from chalicelib.leads.routes import routes as leads
from chalicelib.openapi.routes import routes as openapi
from chalicelib.organisations.routes import routes as organisations
from chalicelib.tools.routes import routes as tools
from chalicelib.webhooks.functions import functions as webhook_functions
from chalicelib.webhooks.routes import routes as webhooks
from chalicelib.workspaces.routes import routes as workspaces

app = Service(app_name="cams")
# No response is binary. Chalice declares these types to API Gateway.
app.api.binary_types = []

# Middleware is listed outermost first. `envelope` wraps errors from all inner middleware in the error envelope.
for middleware in (
    telemetry.log_request,
    caching.forbid_storing,
    cors.allow_pages,
    *extensions.hooks("middleware"),
    envelope.envelope,
    auth.authenticate,
    privileges.require_scope(app.routes),
    envelope.decode_path,
    auth.require_own_path,
    partial(commit.commit, app.routes),
):
    app.register_middleware(middleware, "http")

core_routes = (
    agents,
    tools,
    conversations,
    message_lists,
    conversation_messages,
    visitor_tokens,
    analytics,
    clients,
    conversations_v3,
    organisations,
    leads,
    workspaces,
    deletion,
    webhooks,
    openapi,
)
# Queues invoke functions from `webhooks` and `maintenance`. Streams invoke functions from `webhooks` and `followers`.
core_functions = (webhook_functions, maintenance.functions, followers.functions)
for blueprint in (*core_routes, *extensions.routes(), *core_functions, *extensions.functions()):
    app.register_blueprint(blueprint)

if "chalice.cli" in sys.modules:
    chalice_guard.require_stage(app)

# Freezing excludes the imported objects from later garbage collections. Without freezing, these collections took most
# of the time needed to parse a body with many values.
gc.freeze()
gc.enable()
