"""Deployment to an AWS account: `chalice deploy --stage prod`, `chalice delete --stage prod`.

`functions` declares each function's permissions and event source; `infra/template.yaml` declares the rest.
"""
