"""Bodies, content types and path values that every route rejects, whatever its model."""

from tests.bad_input.service import CANARY

# Bodies that every route rejects: the bytes, and the path of the invalid member (empty for the body itself).
MALFORMED: dict[str, tuple[bytes, str]] = {
    "not JSON": (CANARY.encode(), ""),
    "single quotes": (b"{'title': 'canary-4f1c'}", ""),
    "truncated": (b'{"title": "canary-4f1c"', ""),
    "text after the JSON": (b'{} "canary-4f1c"', ""),
    "a trailing comma": (b'{"title": "canary-4f1c",}', ""),
    "a comment": (b"{} // canary-4f1c", ""),
    "an array": (b'["canary-4f1c"]', ""),
    "text": (b'"canary-4f1c"', ""),
    "a number": (b"918273645546372819", ""),
    "true": (b"true", ""),
    "null": (b"null", ""),
    "NaN": (b"NaN", ""),
    "infinity": (b"-1e999", ""),
    "NaN in a member": (b'{"a": "canary-4f1c", "title": NaN}', "title"),
    "Infinity in a member": (b'{"title": {"a": [0, Infinity]}}', "title.a.1"),
    "-Infinity in a member": (b'{"title": -Infinity}', "title"),
    "1e999 in a member": (b'{"title": 1e999}', "title"),
    "-1e999 in a member": (b'{"title": -1E+999}', "title"),
    "1e999 after a string that looks like a number": (b'{"description": "1e9", "title": 1e999}', "title"),
    "300 digits and an exponent": (b'{"title": ' + b"9" * 305 + b"e9}", "title"),
    "50,000 arrays": (b"[" * 50_000 + b"]" * 50_000, ""),
    "50,000 objects": (b'{"title":' * 50_000 + b"1" + b"}" * 50_000, ""),
    "50,000 arrays in a member": (b'{"title": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", ""),
    "5,000 digits": (b'{"title": ' + b"9" * 5_000 + b"}", ""),
    "a lone high surrogate": (b'{"title": "canary-4f1c \\ud800"}', ""),
    "a lone low surrogate": (b'{"title": "canary-4f1c \\udc00"}', ""),
    "surrogates in reverse order": (b'{"title": "canary-4f1c \\udc00\\ud800"}', ""),
    "a surrogate in a name": (b'{"\\ud800": "canary-4f1c"}', ""),
    "invalid UTF-8": (b'{"title": "canary-4f1c \xff"}', ""),
    "truncated UTF-8": (b'{"title": "canary-4f1c \xe2\x82"}', ""),
    "overlong UTF-8": (b'{"title": "canary-4f1c \xc0\xaf"}', ""),
    "a surrogate encoded as UTF-8": (b'{"title": "canary-4f1c \xed\xa0\x80"}', ""),
    "UTF-16": ('{"title": "canary-4f1c"}'.encode("utf-16"), ""),
    "a byte order mark": (b'\xef\xbb\xbf{"title": "canary-4f1c"}', ""),
    "a control character": (b'{"title": "canary-4f1c \x00"}', ""),
}

CONTENT_TYPES: dict[str, dict[str, str]] = {
    "missing": {},
    "empty": {"Content-Type": ""},
    "text": {"Content-Type": "text/plain"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "nearly": {"Content-Type": "application/jsonp"},
    "another JSON type": {"Content-Type": "application/vnd.api+json"},
    "anything": {"Content-Type": "*/*"},
    "a list": {"Content-Type": "text/plain, application/json"},
}

# Percent-encoded path values that are not identifiers, with the rule that each value breaks.
_CHARACTERS = "must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -."
# A client removes these segments: a browser that deletes the conversation `..` would delete its agent.
_DOTS = 'must not be "." or "..".'
INVALID_IDENTIFIERS = {
    "a%2540x.test": _CHARACTERS,  # encoded twice
    "%ff": _CHARACTERS,  # invalid UTF-8
    "a%e2%82": _CHARACTERS,  # truncated UTF-8
    "%ed%a0%80": _CHARACTERS,  # a surrogate
    "a%zz": _CHARACTERS,
    "a%": _CHARACTERS,
    "a" * 129: _CHARACTERS,
    "a%2Fb": _CHARACTERS,  # a slash
    "a%23b": _CHARACTERS,  # a number sign, which separates the parts of keys
    "a%3Fb": _CHARACTERS,  # a question mark
    "%20": _CHARACTERS,
    "%20a%20": _CHARACTERS,
    "a%00": _CHARACTERS,
    "a%0A": _CHARACTERS,
    "caf%C3%A9": _CHARACTERS,  # a letter beyond ASCII
    "%E2%80%8B": _CHARACTERS,  # an invisible character
    "%22a%22": _CHARACTERS,
    "a%5Cb": _CHARACTERS,  # a backslash
    "%2E": _DOTS,
    "%2e%2E": _DOTS,
    "..": _DOTS,
}
