"""The page in real Chromium: verdicts by key, undo, learning, two windows, hostile names, a phone, keyboard alone."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from review_served import IMAGE, Served

expect: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)  # of a busy machine


@pytest.fixture
def opened(browser: Any, served: Served) -> Iterator[Any]:
    """Return the open page; whatever the test does, it logs nothing and asks nobody but its server."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, troubles = watched(context, served)
    page.goto(served.url)
    has_chosen(page, IMAGE)
    yield page
    context.close()
    expected = ("DISCONNECTED", "403 (Forbidden)")  # a test cuts the connection; a reload first asks without the token
    assert [trouble for trouble in troubles if not any(each in trouble for each in expected)] == []


def watched(context: Any, served: Served) -> tuple[Any, list[str]]:
    page, troubles = context.new_page(), []
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.on("response", lambda got: got.status != 403 or got.url == f"{served.address}/" or troubles.append(got.url))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (troubles.append("a dialog opened"), dialog.dismiss()))
    page.on("request", lambda request: request.url.startswith(served.address) or troubles.append(request.url))
    return page, troubles


def has_chosen(page: Any, name: str) -> None:
    expect(page.locator("#chosen bdi")).to_have_text(name)


def says(page: Any, text: str) -> None:
    expect(page.locator("#told")).to_contain_text(text)


def listed(page: Any) -> list[str]:
    names: list[str] = page.locator("#suspects bdi").all_inner_texts()
    return names


def verdicts(served: Served) -> dict[str, str]:
    return {row.node: row.verdict for row in served.session.decisions().values()}


def test_verdicts_by_key_undo_and_notes(opened: Any, served: Served) -> None:
    first, second, third = listed(opened)[:3]
    assert first == IMAGE
    opened.locator("#note").fill("a note with <b>markup</b>")
    opened.keyboard.press("a")  # typed into the note: no verdict
    assert verdicts(served) == {}
    opened.keyboard.press("Escape")
    opened.keyboard.press("a")
    says(opened, f"Anomalous: {IMAGE}. Saved.")
    has_chosen(opened, second)
    opened.keyboard.press("u")
    has_chosen(opened, third)
    opened.keyboard.press("n")
    says(opened, "Normal")
    assert verdicts(served) == {first: "anomalous", second: "unsure", third: "normal"}
    assert served.session.store.rows()[0].note == "a note with <b>markup</b>a"
    opened.keyboard.press("z")
    says(opened, "Undone")
    has_chosen(opened, third)
    says(opened, f"Undone: {third} has no verdict now.")
    assert verdicts(served) == {first: "anomalous", second: "unsure"}
    place = opened.evaluate("location.hash")
    opened.keyboard.press("a")
    says(opened, f"Anomalous: {third}. Saved.")
    expect(opened.locator("#chosen bdi")).not_to_have_text(third)
    opened.evaluate(f"location.hash = '{place}'")
    has_chosen(opened, third)
    opened.keyboard.press("n")
    says(opened, "Normal")
    opened.keyboard.press("z")
    says(opened, f"Undone: {third} is anomalous again.")
    opened.keyboard.press("z")
    says(opened, f"Undone: {third} has no verdict now.")
    opened.reload()
    expect(opened.locator("#progress")).to_contain_text("2 verdicts: 1 anomalous, 0 normal, 1 unsure")
    opened.locator("#view").select_option("anomalous")
    expect(opened.locator("#suspects a")).to_have_count(1)
    assert listed(opened) == [IMAGE]


def test_learning_gives_a_new_order_that_a_reload_and_a_second_window_show(opened: Any, served: Served) -> None:
    other, troubles = watched(opened.context, served)
    other.goto(served.url)
    has_chosen(other, IMAGE)
    labels = served.session.graph.labels
    rows = served.session.listed("queue")
    for row in rows[:50]:
        word = "anomalous" if labels[row["place"]] == 1 else "normal"
        served.session.decide(f"r{row['place']}", row["place"], word, "", "bob")
    expect(opened.locator("#progress")).to_contain_text("50 verdicts")
    expect(opened.locator("#progress")).not_to_contain_text("learning")
    expect(opened.locator("#learned")).to_contain_text("Learned from")
    expect(opened.locator("#mix")).to_contain_text(
        re.compile(r"^Of the next 50, \d+ are the most probable; the others would teach most")
    )
    expect(opened.locator("#curve svg circle")).to_have_count(3)
    after = [row["name"] for row in served.session.listed("queue")]
    expect(opened.locator("#suspects bdi")).to_have_text(after)
    expect(opened.locator("#suspects .chance").first).to_contain_text("%")
    assert not set(after) & {row["name"] for row in rows[:50]}
    expect(other.locator("#suspects bdi")).to_have_text(after)
    assert troubles == []
    opened.reload()
    expect(opened.locator("#suspects bdi")).to_have_text(after)
    has_chosen(opened, IMAGE)


def test_any_node_is_found_and_explained_and_its_neighbors_can_be_followed(opened: Any, served: Served) -> None:
    opened.keyboard.press("/")
    opened.keyboard.type("user-019")
    expect(opened.locator("#suspects a")).to_have_count(1)
    opened.keyboard.press("Tab")
    opened.keyboard.press("Tab")
    opened.keyboard.press("Enter")
    has_chosen(opened, "user-019")
    assert opened.locator(".sentences p").count() >= 2
    neighbor = opened.locator('table[aria-label="Neighbors"] tbody a').first
    name = neighbor.inner_text()
    neighbor.click()
    has_chosen(opened, name)
    with opened.expect_download() as download:
        opened.locator("#export").click()
    assert download.value.suggested_filename == "verdicts.csv"


def test_sentences_come_before_the_picture_and_the_picture_before_the_numbers(opened: Any) -> None:
    places = [
        opened.locator(each).first.bounding_box()["y"]
        for each in (".sentences", ".verdicts", "#node .ego svg", 'table[aria-label="Attributes"]', ".evidence")
    ]
    assert places == sorted(places)
    words = opened.locator(".sentences").inner_text()
    assert not re.search(r"\bhops?\b|AHP|variance", words)


def test_a_hostile_name_is_text(opened: Any) -> None:
    assert opened.locator("img").count() == 0 and IMAGE in opened.locator("#suspects").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_everything_without_scrolling_sideways_and_axe_finds_no_fault(
    browser: Any, served: Served, scheme: str
) -> None:
    from axe_core_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": 400, "height": 850}, color_scheme=scheme, bypass_csp=True)
    page, troubles = watched(context, served)
    page.goto(served.url)
    has_chosen(page, IMAGE)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert page.locator("button[data-verdict=normal]").is_visible()
    found = Axe().run(page)
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert found["passes"]
    context.close()
    assert troubles == []


def test_everything_can_be_done_with_the_keyboard_alone(opened: Any, served: Served) -> None:
    second = listed(opened)[1]
    seen = set()
    for _ in range(120):
        opened.keyboard.press("Tab")
        seen.add(opened.evaluate("document.activeElement.id || document.activeElement.dataset.verdict || ''"))
        if opened.evaluate("document.activeElement.dataset.verdict") == "unsure":
            break
    assert {"undo", "export", "find", "view", "anomalous", "normal", "unsure"} <= seen
    opened.keyboard.press("Enter")
    says(opened, "Unsure")
    has_chosen(opened, second)
    opened.keyboard.press("j")
    opened.keyboard.press("k")
    has_chosen(opened, listed(opened)[0])
    assert verdicts(served) == {IMAGE: "unsure"}


def test_a_server_that_is_gone_is_said_and_nothing_is_called_saved(opened: Any, served: Served) -> None:
    opened.wait_for_load_state("networkidle")
    opened.context.set_offline(True)
    opened.keyboard.press("a")
    says(opened, "Not saved yet")
    opened.context.set_offline(False)
    says(opened, "Saved.")
    assert verdicts(served) == {IMAGE: "anomalous"} and len(served.session.store.rows()) == 1


@pytest.mark.parametrize("width", [1280, 400])
def test_the_names_in_the_queue_can_be_read(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    sizes = opened.locator("#suspects bdi").evaluate_all("all => all.map(name => name.getBoundingClientRect().width)")
    assert min(sizes) > 50
