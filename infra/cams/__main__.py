"""`python -m infra.cams`."""

from infra.cams.commands import cams

cams(prog_name="python -m infra.cams")
