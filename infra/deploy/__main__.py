"""`python -m infra.deploy`."""

from infra.deploy.commands import deployment

deployment(prog_name="python -m infra.deploy")
