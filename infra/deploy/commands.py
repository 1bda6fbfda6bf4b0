"""The command group that `python -m infra.deploy` and the Makefile targets call."""

from __future__ import annotations

import click
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import sdk_errors
from infra.deploy.adopt_command import adopt
from infra.deploy.deploy_command import deploy
from infra.deploy.destroy_command import destroy
from infra.deploy.restore_command import restore
from infra.deploy.verify_command import verify


class Commands(click.Group):
    """A command group that reports SDK errors and interruptions in one line."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (BotoCoreError, ClientError) as error:
            raise click.ClickException(sdk_errors.sentence(error)) from error
        except (KeyboardInterrupt, click.Abort) as error:
            click.echo(err=True)  # after ^C
            raise click.ClickException("Interrupted: run the command again to complete it.") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def deployment() -> None:
    """Deploy CAMS to the AWS account of the current credentials, or destroy a deployed stage."""


deployment.add_command(adopt)
deployment.add_command(deploy)
deployment.add_command(destroy)
deployment.add_command(restore)
deployment.add_command(verify)
