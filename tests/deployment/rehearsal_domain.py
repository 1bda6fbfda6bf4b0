"""Step: requests through a custom domain contain a different host, and a path without the stage.

Console pages are not compared, because the emulator, unlike AWS, adds the stage to the path in their events.
tests/http/test_custom_domain.py contains real AWS events.
"""

from tests.deployment import cloud
from tests.deployment.rehearsal import STAGE, Failed
from tests.deployment.rehearsal_client import Gateway

_DOMAIN = "cams.example.com"
_CERTIFICATE = f"arn:aws:acm:{cloud.REGION}:{cloud.ACCOUNT}:certificate/rehearsal"
_MAPPING = {"domainName": _DOMAIN, "basePath": "(none)"}


def check_domain(here: cloud.Cloud, api: Gateway) -> None:
    """Map a domain to the API, read a list through the domain, and remove the domain."""
    gateway = here.sdk("apigateway")
    (deployed,) = gateway.get_rest_apis()["items"]
    gateway.create_domain_name(
        domainName=_DOMAIN, regionalCertificateArn=_CERTIFICATE, endpointConfiguration={"types": ["REGIONAL"]}
    )
    gateway.create_base_path_mapping(**_MAPPING, restApiId=deployed["id"], stage=STAGE)
    domain, host = Gateway(f"http://127.0.0.1:{here.port}", api.token), {"Host": _DOMAIN}
    if domain.call("GET", "/v3/agents", headers=host) != api.call("GET", "/v3/agents"):
        raise Failed("The custom domain and the gateway's URL return different agents.")
    gateway.delete_base_path_mapping(**_MAPPING)
    gateway.delete_domain_name(domainName=_DOMAIN)
