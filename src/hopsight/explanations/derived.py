"""Values of derived attributes as people read them: counts instead of logarithms, differences with a sign."""

from __future__ import annotations

import math

from hopsight.explanations.text import number
from hopsight.io.derive import FOR_COUNT

LOGARITHMS = (", log", ", log count")  # ends of the names of attributes that are log(1 + count)


def said(name: str, value: float) -> str:
    """Return the value of an attribute as text.

    What is compared with nodes that have about as many edges is a difference, or a factor where it is one of
    logarithms.

    >>> said("in-degree, log", 3.0445), said("age", 31.0)
    ('20', '31')
    >>> said("amount sent, maximum for its count", 1220.0), said("amount sent, log sum for its count", -0.6931)
    ('+1,220', '×0.5')
    """
    if name.endswith(FOR_COUNT):
        if ", log " in name:
            return f"×{math.exp(min(value, 300.0)):,.2g}"
        return f"+{number(value)}" if value > 0 else number(value)
    return number(round(math.expm1(value), 6)) if name.endswith(LOGARITHMS) and 0 <= value < 100 else number(value)


def named(name: str) -> str:
    """Return the name of an attribute without the logarithm that its values no longer are.

    >>> named("in-degree, log"), named("edges sent, log count"), named("amount sent, log sum for its count")
    ('in-degree', 'edges sent', 'amount sent, sum for its count')
    """
    for end in LOGARITHMS:
        name = name.removesuffix(end)
    return name.replace(", log ", ", ") if name.endswith(FOR_COUNT) else name


def phrase(name: str, value: float) -> str:
    """Return an attribute with its value as a part of a sentence.

    >>> phrase("amount sent, maximum for its count", 1220.0)
    'amount sent, maximum: 1,220 more than usual for as many edges'
    >>> phrase("amount sent, log sum for its count", 2.92), phrase("in-degree, log", 3.0445)
    ('amount sent, sum: 19 times what is usual for as many edges', 'in-degree 20')
    >>> phrase("date sent, first for its count", 48.0)
    'date sent, first: 48 later than usual for as many edges'
    """
    text, short = said(name, value), named(name)
    if not name.endswith(FOR_COUNT):
        return f"{short} {text}"
    short = short.removesuffix(FOR_COUNT)
    if text.startswith("×"):
        return f"{short}: {text[1:]} times what is usual for as many edges"
    if value == 0:
        return f"{short}: as usual for as many edges"
    words = ("later", "earlier") if short.endswith((", first", ", last")) else ("more", "less")
    return f"{short}: {number(abs(value))} {words[value < 0]} than usual for as many edges"
