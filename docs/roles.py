"""Show the cross-references of our docstrings (``:class:`HCM```) as code on the documentation site."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Rewrites the docstring of every object when it is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Replace roles by code."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub(r"`\1`", obj.docstring.value)
