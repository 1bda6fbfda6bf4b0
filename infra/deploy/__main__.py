"""`python -m infra.deploy`."""

import sys

try:
    from infra.deploy.commands import deployment
except ValueError as error:  # an import creates an SDK client, which may raise this error
    sys.exit(f"Error: {error}: correct AWS_ENDPOINT_URL, or unset it.")

deployment(prog_name="python -m infra.deploy")
