"""`python -m infra.verify`. `python -m infra.deploy verify` starts this module in the stage's environment."""

from infra.verify.command import verify

verify(prog_name="python -m infra.deploy verify")
