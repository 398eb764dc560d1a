"""The page around the data: nothing in the data can end a script or reach the network."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from hopsight.report.shell import embedded_json, render_page

SCRIPTS = ("charts.js", "ego.js", "node.js", "report.js")


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "\u2028\u2029", "&amp;", "\ud800", "\x00", "日本"])
def test_embedded_text_survives_and_cannot_leave_its_element(text: str) -> None:
    embedded = embedded_json({"name": text})
    assert json.loads(embedded) == {"name": text}
    assert embedded.isascii()
    assert not set(embedded) & set("<>&\u2028\u2029\x00")


def test_the_policy_allows_exactly_the_script_and_style_of_the_page() -> None:
    page = render_page("a title", {}, SCRIPTS)
    for element in ("script", "style"):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert "unsafe" not in page


def test_nothing_in_the_page_names_an_address_to_fetch() -> None:
    page = render_page("a title", {}, (*SCRIPTS, "bench.js"))
    addresses = set(re.findall(r"""(?:https?:)?//[\w.]+\.\w{2,}[^\s"']*""", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of SVG, never fetched
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)


def test_the_title_is_escaped() -> None:
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in render_page("</title><script>", {}, SCRIPTS)


def test_every_aria_attribute_is_one_that_browsers_know() -> None:
    known = {"aria-label", "aria-labelledby", "aria-hidden", "aria-sort"}
    assert set(re.findall(r"aria-[a-z]+", render_page("a title", {}, SCRIPTS))) == known
