"""A person's photo, which the profile page stores in the client's member `squarePhotoURL` as a `data:` URL.

The content security policy allows neither `data:` URLs in pages nor images from other hosts. The photo is therefore
served as an SVG file at its own URL. SVG is text, so the gateway needs no binary media type.
"""

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights, sessions
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.template_filters import MAX_PHOTO, PHOTO, is_photo, photo_version
from chalicelib.storage import Document

_REMOVE = "removePhoto"  # the form's field that removes the stored photo
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">'
    '<image width="1" height="1" preserveAspectRatio="xMidYMid slice" href="{}"/></svg>'
)


@signed_in(sessions.ACCOUNT)
def read_photo(session: Session, client_id: str) -> Response:
    """Return the photo of the session's person. Administrators and operators also see those in their list of people.

    The browser keeps the photo, whose address contains its version. Another person's photo costs one request.
    """
    client = session.client if client_id == session.client_id else _read_other(session, client_id)
    if not photo_version(client):
        raise errors.NotFound.of("file")
    return pages.private_file("image/svg+xml", _SVG.format(client[PHOTO]))


def change(session: Session, sent: dict[str, str]) -> Document:
    """Return the member that a form changes: the chosen photo, None to remove it, or nothing. Raise a form error."""
    photo = sent.get(PHOTO)
    if sent.get(_REMOVE):
        return {PHOTO: None}
    if photo and len(photo) > MAX_PHOTO:
        raise guard.form_error(session, f"{PHOTO}.length", size=_kilobytes(len(photo)), most=_kilobytes(MAX_PHOTO))
    if photo and not is_photo(photo):
        raise guard.form_error(session, PHOTO)
    return {PHOTO: photo} if photo else {}


def submitted(sent: dict[str, str]) -> str:
    """Return the valid photo in a form, which the form contains again if another field is invalid, or an empty text."""
    photo = sent.get(PHOTO, "")
    return photo if is_photo(photo) and not sent.get(_REMOVE) else ""


def _kilobytes(characters: int) -> int:
    """Return the size of an image in kilobytes, rounded up. Base64 encodes three bytes as four characters."""
    return -(-characters * 3 // 4_000)


def _read_other(session: Session, client_id: str) -> Document:
    """Return a person whom the session's person sees in the list of people. Raise Forbidden and NotFound."""
    client: Document = calls.get("/v2/clients/{client_id}", client_id=client_id)["data"]
    rights.require_organisation(session, client.get("orgId") or "")
    if not session.may_open("/settings"):
        raise errors.Forbidden("You have no access to the people of your organisation.")
    return client
