"""`python -m infra.verify`. `python -m infra.deploy verify` starts it in the environment of the stage."""

from infra.verify.command import verify

verify(prog_name="python -m infra.deploy verify")
