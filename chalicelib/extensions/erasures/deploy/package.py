"""What the erasures add to the package: the operation of KMS that signs receipts."""

from infra.package.trim import Service

SERVICES = {"kms": Service("kms", ("Sign",))}
