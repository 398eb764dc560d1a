"""HTML pages: the report of one detection and the page of one benchmark.

``hopsight.report(model)`` shows a report in a notebook. The package itself can be called, because it has the name of
that function: ``hopsight.report`` would otherwise mean one or the other, depending on what was imported first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that passes calls on to :func:`hopsight.report.page.report`."""

    def __call__(self, model: Any, graph: Any = None, **options: Any) -> Any:
        from hopsight.report.page import report

        return report(model, graph, **options)


sys.modules[__name__].__class__ = _CallablePackage
