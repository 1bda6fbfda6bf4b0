"""Deployment to an AWS account: `make deploy STAGE=prod`, `make destroy STAGE=prod`.

`functions` declares the permissions and the event source of each function; `infra/template.yaml` declares the rest.
"""
