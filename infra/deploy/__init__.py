"""The deployment to a cloud account: `make deploy STAGE=prod`, `make destroy STAGE=prod`.

`functions` says what each function may do and what calls it; the cloud's resources are in `infra/template.yaml`.
"""
