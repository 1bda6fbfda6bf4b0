"""The erasures' addition to the package: the KMS operation that signs receipts."""

from infra.package.trim import Service

SERVICES = {"kms": Service("kms", ("Sign",))}
