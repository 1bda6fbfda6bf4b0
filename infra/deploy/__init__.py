"""Deployment to an AWS account: `chalice deploy --stage prod`, `chalice delete --stage prod`.

`functions` declares the permissions and the event source of each function; `infra/template.yaml` declares the rest.
"""
