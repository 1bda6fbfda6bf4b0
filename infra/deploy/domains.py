"""Custom domains for an API. Operators map the domains (docs/operate.md). A domain outlives the stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click


def require_unmapped(gateway: Any, api_id: str) -> None:
    """Raise ClickException if a domain is mapped to the API, because API Gateway would reject its deletion."""
    for domain, base_path in _list_mappings(gateway, api_id):
        raise click.ClickException(
            f"The domain {domain} is mapped to this API, and API Gateway deletes no API with a mapping: run `aws "
            f"apigateway delete-base-path-mapping --domain-name {domain} --base-path '{base_path}'`, then repeat."
        )


def _list_mappings(gateway: Any, api_id: str) -> Iterator[tuple[str, str]]:
    """Yield the domain name and base path of each mapping to the API."""
    for page in gateway.get_paginator("get_domain_names").paginate():
        for domain in page.get("items", ()):
            name = domain["domainName"]
            for mappings in gateway.get_paginator("get_base_path_mappings").paginate(domainName=name):
                items = mappings.get("items", ())  # absent if the domain has no mapping
                yield from ((name, mapping["basePath"]) for mapping in items if mapping["restApiId"] == api_id)
