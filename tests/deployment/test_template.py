"""The generated CloudFormation template fits into a request, and its parts agree."""

from infra.deploy import template

_CLOUDFORMATION_BYTES = 51_200  # TemplateBody of CreateStack


def test_an_eighth_of_the_size_that_cloudformation_accepts_is_free() -> None:
    size = len(template.body(template.build()).encode())
    assert size <= _CLOUDFORMATION_BYTES * 7 / 8, f"{size} bytes"
