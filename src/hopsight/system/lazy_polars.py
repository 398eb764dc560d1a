"""polars, imported when it is first used: graphs that are not in tables do not need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopsight.system.threads import check_polars

__all__ = ["pl"]

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        """Stands for the module, and refuses its use in a forked process, where it would wait forever."""

        def __getattr__(self, name: str) -> Any:
            check_polars()
            import polars

            return getattr(polars, name)

    pl = _Polars()
