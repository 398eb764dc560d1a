"""What tests of the review share: the hostile name, the token, and a running server."""

from typing import NamedTuple

from hopsight.review.session import Session

IMAGE = "<img src=x onerror=alert(1)>"
TOKEN = "a-token-for-the-tests"


class Served(NamedTuple):
    """A running server."""

    address: str
    port: int
    session: Session

    @property
    def url(self) -> str:
        """The address with its token, as it is opened in the browser."""
        return f"{self.address}/?token={TOKEN}"
