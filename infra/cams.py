"""`python -m infra.cams`."""

from infra.operator.commands import cams

cams(prog_name="python -m infra.cams")
