"""Adds KMS, which signs receipts, to the deployment package."""

from infra.package.trim import Service

SERVICES = {"kms": Service("kms", ("Sign",))}
