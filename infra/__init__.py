"""Everything around the service: AWS resources, deployment, packaging, the local run and the operator commands."""
