"""CloudFormation's schemas of resource types, from cfn-lint."""

from typing import Any


def resource_schema(region: str, kind: str) -> Any:
    """Return the schema of a resource type. Raise an error if the region does not have the type."""
    # Collecting the tests does not need cfn-lint, whose import takes half a second.
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

    return PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, kind).schema
