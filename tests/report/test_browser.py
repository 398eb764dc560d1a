"""The pages in a real browser: they fetch nothing, sort, search, redraw, and show names as text."""

from __future__ import annotations

import copy
import csv
import dataclasses
import shutil
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.explanations import Explanation
from hopsight.report.bench_page import write_bench_page
from hopsight.report.page import write_report
from hopsight.report.timeline import write_timeline

ExplainTop = Callable[..., list[Explanation]]
IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
KNOWN = (3, 4, 40)  # the first two are flagged
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return headless Chromium, or skip where there is none."""
    program = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


class Seen:
    """What a page did while it was open."""

    def __init__(self, page: Any) -> None:
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.troubles.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))


Show = Callable[..., Any]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Return a function that writes a page and opens it; whatever a test does, the page logs and requests nothing."""
    opened: list[tuple[Any, Seen, Path]] = []

    def show(write: Callable[..., None], *values: Any, **options: Any) -> Any:
        path = tmp_path / "page.html"
        write(path, *values, **options)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.append((page, Seen(page), path))
        page.goto(path.as_uri())
        return page

    yield show
    for page, seen, path in opened:
        page.close()
        assert seen.troubles == []
        assert {url for url in seen.requests if not url.startswith(("data:", "blob:"))} == {path.as_uri()}


@pytest.fixture
def opened(show: Show, judged: Any, record: dict[str, Any], explain_top: ExplainTop) -> Any:
    """Return the open report of a detector without evidence."""
    return show(write_report, judged, judged.graph_, explain_top(judged, judged.graph_, 30), record)


@pytest.fixture
def opened_with_evidence(show: Show, suspected: Any, record: dict[str, Any], explain_top: ExplainTop) -> Any:
    """Return the open report of a detector with evidence, of a graph with labels, beside other files."""
    suspected.graph_ = dataclasses.replace(suspected.graph_, labels=[1 if node in KNOWN else 0 for node in range(80)])
    first = explain_top(suspected, suspected.graph_, 5)
    return show(write_report, suspected, suspected.graph_, first, record, files=["scores.csv", "run.json"])


def column(page: Any, label: str, place: int) -> list[str]:
    cells: list[str] = page.locator(f'table[aria-label="{label}"] tbody tr td:nth-child({place})').all_inner_texts()
    return cells


def violations(page: Any) -> list[tuple[str, str]]:
    """Return the serious violations that axe-core finds, each with its first element."""
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed").Axe()
    found = [each for each in axe.run(page)["violations"] if each["impact"] in ("serious", "critical")]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


def has_chosen(page: Any, name: str) -> None:
    """Wait until the page shows a node: the address changes first, the drawing follows."""
    from playwright.sync_api import expect

    expect(page.locator("#chosen bdi")).to_have_text(name)


def test_the_page_says_what_was_found(opened: Any) -> None:
    text = opened.locator("main").inner_text()
    assert "hopsight explain" not in text  # there is no folder of a run beside this page
    for words in ("80 nodes", "8 nodes flagged", "ROC-AUC 0.910", "Most anomalous nodes", "Edges most out of place"):
        assert words in text
    for recorded in ("seed", "11", "n_layers", "3.11.7", "column <email> was left out"):
        assert recorded in text
    assert opened.locator("figure svg .bar").count() > 5
    assert opened.locator("figure svg .curve").count() == 1


def test_names_made_of_markup_are_text(opened: Any) -> None:
    assert column(opened, "Most anomalous nodes", 2)[:2] == [IMAGE, SCRIPT]
    has_chosen(opened, IMAGE)
    assert opened.locator("img").count() == 0
    assert opened.locator("main b:has-text('income')").count() == 0
    assert opened.locator("h1").inner_text() == "<i>shop</i>"
    assert opened.title() == "<i>shop</i> · hopsight"


def test_sorting_a_column_orders_its_values_both_ways(opened: Any, judged: Any) -> None:
    head = opened.locator('table[aria-label="Most anomalous nodes"] th', has_text="Edges")
    opened.get_by_role("button", name="Show all 30").click()
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    degrees = [int(cell) for cell in column(opened, "Most anomalous nodes", 4)]
    assert degrees == sorted(degrees, reverse=True)
    assert degrees[0] > degrees[-1]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [int(cell) for cell in column(opened, "Most anomalous nodes", 4)] == sorted(degrees)


def test_searching_keeps_what_matches(opened: Any) -> None:
    box = opened.get_by_placeholder("Search the nodes")
    box.fill("ONERROR")
    assert column(opened, "Most anomalous nodes", 2) == [IMAGE]
    box.fill("nobody has this name")
    assert column(opened, "Most anomalous nodes", 2) == []
    assert opened.get_by_text("Nothing matches.").first.is_visible()
    box.fill("")
    assert len(column(opened, "Most anomalous nodes", 2)) == 15
    opened.get_by_placeholder("Search the edges").fill("user-0")
    assert all(
        "user-0" in source + target
        for source, target in zip(
            column(opened, "Edges most out of place", 2), column(opened, "Edges most out of place", 3), strict=True
        )
    )


def test_choosing_a_node_redraws_and_the_back_button_works(opened: Any, judged: Any) -> None:
    graph = judged.graph_
    opened.locator('table[aria-label="Most anomalous nodes"] a', has_text=SCRIPT).click()
    has_chosen(opened, SCRIPT)
    neighbors = {str(graph.node_ids[i]) for i in graph.adjacency[[4]].indices}
    assert set(column(opened, "Neighbors", 1)) == neighbors
    hops = [float(cell) for cell in column(opened, "Neighbors", 2)]
    assert hops == sorted(hops, reverse=True)
    assert opened.locator(".ego svg .edge").count() == len(neighbors)
    assert opened.locator(".ego svg .spot").count() == len(neighbors) + 1
    before = opened.locator(".ego svg").screenshot()
    farthest = opened.locator(".ego a.spot").first
    name = farthest.get_attribute("aria-label").split(", score")[0]
    farthest.locator(".halo").click()
    has_chosen(opened, name)
    assert opened.locator(".ego svg").screenshot() != before
    opened.go_back()
    has_chosen(opened, SCRIPT)


def test_everything_can_be_reached_by_keyboard(opened: Any) -> None:
    opened.locator("#next").focus()
    opened.keyboard.press("Enter")
    has_chosen(opened, SCRIPT)
    assert opened.evaluate("document.activeElement.id") == "next"
    opened.locator(".ego a.spot").first.focus()
    assert opened.locator("#tip").is_visible()
    opened.keyboard.press("Escape")
    assert not opened.locator("#tip").is_visible()
    name = opened.locator(".ego a.spot").first.get_attribute("aria-label").split(", score")[0]
    opened.keyboard.press("Enter")
    has_chosen(opened, name)
    assert opened.evaluate("document.activeElement.id") == "chosen"
    opened.locator("#find").fill(IMAGE)
    opened.keyboard.press("Enter")
    has_chosen(opened, IMAGE)


def test_hovering_shows_the_values_of_an_edge_and_a_node(opened: Any, judged: Any) -> None:
    hops = judged.edge_hop_[(judged.graph_.edges == 3).any(axis=0)]
    opened.locator(".ego .spot .dot").first.hover()
    text = opened.locator("#tip").inner_text()
    assert "score" in text
    assert any(f"looks {hop:.2f} hops away" in text for hop in hops)
    line = opened.locator(".ego .reach").first.evaluate(
        "line => { const b = line.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }"
    )
    opened.mouse.move(*line)
    text = opened.locator("#tip").inner_text()
    assert any(f"ends look {hop:.2f} hops apart" in text for hop in hops)
    assert "probability of 1 hop" in text


def each_look(page: Any) -> Iterator[tuple[int, str]]:
    """Show the page on a desk and on a phone, light and dark, and yield which of them it is."""
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            yield width, scheme


def test_the_page_is_drawn_at_every_size_in_both_colors(opened: Any) -> None:
    from matplotlib.image import imread

    for width, scheme in each_look(opened):
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        picture = imread(BytesIO(opened.screenshot(full_page=True)))[::3, ::3, :3]
        assert len(np.unique((picture * 255).astype(np.uint8).reshape(-1, 3), axis=0)) > 100
        lightness = float(np.median(picture))
        assert lightness > 0.9 if scheme == "light" else lightness < 0.2
        texts = opened.locator("figure svg text, .ego svg text").evaluate_all(
            "all => all.map(t => t.getBoundingClientRect().height)"
        )
        assert min(texts) > 9  # pixels: readable on a phone


def test_evidence_is_drawn_for_every_suspect(opened_with_evidence: Any, suspected: Any) -> None:
    page = opened_with_evidence
    assert column(page, "Most anomalous nodes", 6)[:3] == ["activity", "misfit", "ring"]  # nodes 3, 4 and 5
    assert page.locator(".columns-of-evidence").count() == 8
    assert page.locator(".evidence li").count() == 5
    assert page.locator(".evidence li.decided b").inner_text() == "activity"
    assert "(does not count)" in page.locator(".evidence li.faint").inner_text()
    widths = page.locator(".evidence .strength i").evaluate_all("all => all.map(bar => parseFloat(bar.style.width))")
    strengths = [suspected.evidence_[kind][3] for kind in ("misfit", "ring", "outlier", "activity", "lockstep")]
    assert widths == pytest.approx([100 * min(strength, 6) / 6 for strength in strengths], abs=0.1)
    page.locator("#next").click()
    has_chosen(page, SCRIPT)
    assert page.locator(".evidence li.decided b").inner_text() == "misfit"


def test_groups_and_edges_say_what_their_nodes_share_or_not(opened_with_evidence: Any) -> None:
    page = opened_with_evidence
    assert column(page, "Groups", 2) == ["ring", "lockstep"]
    assert IMAGE in column(page, "Groups", 3)[0]
    assert all(words for words in column(page, "Groups", 6))
    assert all(" / " in words for words in column(page, "Edges most out of place", 8))
    scores = [float(cell) for cell in column(page, "Edges most out of place", 7)]
    assert scores == sorted(scores, reverse=True)
    page.locator('table[aria-label="Groups"] a', has_text="user-007").click()
    has_chosen(page, "user-007")


def test_evidence_fits_the_page_at_every_size(opened_with_evidence: Any) -> None:
    page = opened_with_evidence
    rights = "all => all.map(part => part.getBoundingClientRect().right)"
    for width, _ in each_look(page):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        right = page.locator("#node").evaluate("box => box.getBoundingClientRect().right")
        assert max(page.locator(".evidence li > *").evaluate_all(rights)) <= right
        colors = page.locator(".evidence .strength i").evaluate_all(
            "all => all.map(bar => getComputedStyle(bar).backgroundColor)"
        )
        assert len(set(colors)) == 3  # the one that decided, the others, and the one that does not count


def test_an_outlier_is_shown_with_the_names_of_its_unusual_attributes(
    show: Show, suspected: Any, record: dict[str, Any], explain_top: ExplainTop
) -> None:
    model = copy.copy(suspected)
    model.decided_by_ = np.full(80, model.evidence.index("outlier"))
    explanations = explain_top(model, model.graph_, 3)
    page = show(write_report, model, model.graph_, explanations, record)
    names = [[each.name for each in explanation.own_values] for explanation in explanations]
    assert any(names)
    wanted = [f"unusual in {mine[0]}" if mine else "its own attributes are unusual" for mine in names]
    assert page.locator(".suspects .why").all_inner_texts()[:3] == wanted


def test_the_first_screen_shows_suspects_with_what_their_scores_are_made_of(opened_with_evidence: Any) -> None:
    page = opened_with_evidence
    rows = page.locator(".suspects li")
    assert rows.count() == 8
    assert rows.last.evaluate("row => row.getBoundingClientRect().bottom") < 900  # the height of the window
    bars = page.locator(".suspects .score-bar").evaluate_all(
        "all => all.map(bar => [...bar.children].reduce((sum, part) => sum + parseFloat(part.style.width), 0))"
    )
    assert bars[0] == pytest.approx(100, abs=0.1) and bars == sorted(bars, reverse=True)
    assert page.locator(".suspects .score-bar").first.get_attribute("aria-label").count(",") == 4
    second = rows.nth(1).locator("a")
    words = second.inner_text()
    second.click()
    has_chosen(page, words)


def test_j_and_k_go_through_the_nodes_unless_somebody_is_typing(opened: Any) -> None:
    opened.locator("h1").click()
    opened.keyboard.press("j")
    has_chosen(opened, SCRIPT)
    opened.keyboard.press("k")
    has_chosen(opened, IMAGE)
    opened.get_by_placeholder("Search the nodes").press("j")
    has_chosen(opened, IMAGE)


def test_the_card_stays_beside_the_list_on_a_wide_screen_and_follows_on_a_narrow_one(opened: Any) -> None:
    def top(selector: str) -> float:
        box: dict[str, float] = opened.locator(selector).first.bounding_box()
        return box["y"]

    assert abs(top(".beside > section") - top("#node")) < 40
    opened.set_viewport_size({"width": 800, "height": 900})
    assert top("#node") > top(".beside > section") + 300


def test_print_leaves_out_what_paper_cannot_do(opened: Any) -> None:
    assert opened.locator("#find").is_visible()
    opened.emulate_media(media="print", color_scheme="dark")
    assert not opened.locator("#find").is_visible()
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.locator(".ego svg").is_visible()


def test_the_benchmark_page_sorts_numbers_and_shows_figures(show: Show) -> None:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><script>alert(3)</script><circle r="9"/></svg>'
    )
    rows = [
        ["HCM", "0.763 ± 0.006"],
        ["<b>LOF</b>", "0.49 ± 0.02"],
        ["Radar", "timed out"],
        ["CrossHCM", "0.852 ± 0.004"],
    ]
    table = {"title": "ROC-AUC", "columns": ["Detector", "Flickr"], "rows": rows}
    settings = '{"versions": {"numpy": "2.4.6", "python": "3.11.7", "scikit-learn": "1.9.1", "torch": "2.13.0"}}'
    cells = [{"key": "a1", "detector": "hcm", "seed": seed, "auc": 0.7 + seed / 100} for seed in range(30)]
    cells = [cell | {"settings": settings, "machine": "Linux"} for cell in cells]
    page = show(write_bench_page, cells, [table], [{"title": "A figure", "svg": drawn}], title="Quick")
    page.locator('table[aria-label="ROC-AUC"] th', has_text="Flickr").get_by_role("button").click()
    assert column(page, "ROC-AUC", 1) == ["CrossHCM", "HCM", "<b>LOF</b>", "Radar"]
    page.get_by_placeholder("Search the cells").fill("0.99")
    assert column(page, "Every cell", 2) == ["29"]
    heads = page.locator('table[aria-label="Every cell"] th').all_inner_texts()
    assert [head.split()[0] for head in heads] == ["detector", "seed", "auc", "machine", "key", "settings"]
    assert page.locator('table[aria-label="Every cell"] tbody tr').first.bounding_box()["height"] < 60  # one line
    assert page.evaluate("document.images[0].complete && document.images[0].naturalWidth") == 40
    assert violations(page) == []


def test_a_window_of_a_run_over_time_can_be_opened(show: Show) -> None:
    windows = [[number, f"2024-01-0{number}", 30, 2, number == 2, 0.5, 1.0 + number, "events"] for number in (1, 2, 3)]
    alerts = [
        [2, IMAGE, "b", "2024-01-02", 3.5, "hop", 3.0, "They had no path."],
        [3, "c", "d", "2024", 4.0, "pair", 1.0, "Many."],
    ]
    nodes = [
        [SCRIPT, 3.5, "hop", 3, 1, "It was new.", [[2, "2024-01-02", 3, 3.5]]],
        ["c", 3.0, "pair", 3, 1, "Calm.", []],
    ]
    page = {"name": "pay.csv", "summary": ["Judged."], "n_windows": 3, "fits": [[400, "2024", "first", 0.7, 0.3]],
            "windows": windows, "alerts": alerts, "nodes": nodes, "run": {}}  # fmt: skip
    shown = show(write_timeline, page)
    assert shown.get_by_text("They had no path.").count() == 1
    assert shown.get_by_text("Many.").count() == 1
    shown.locator("rect[role=button]").nth(1).click()
    assert shown.get_by_text("They had no path.").count() == 1
    assert shown.get_by_text("Many.").count() == 0
    shown.get_by_role("button", name="c 3").click()
    assert shown.get_by_text("Calm.").count() == 1
    assert shown.locator("img").count() == 0
    shown.get_by_role("button", name="3.50").click()  # a node with a chart
    assert violations(shown) == []


def test_any_node_can_be_opened_with_its_evidence_rank_and_neighbors(opened_with_evidence: Any, suspected: Any) -> None:
    from playwright.sync_api import expect

    page, graph = opened_with_evidence, suspected.graph_
    last = int(np.argmin(suspected.decision_score_))
    page.locator("#find").fill(str(graph.node_ids[last]).upper())
    page.keyboard.press("Enter")
    has_chosen(page, str(graph.node_ids[last]))
    expect(page.locator("#node .values")).to_contain_text("80")  # its rank
    strengths = page.locator(".evidence .number").all_inner_texts()
    expected = [suspected.evidence_[kind][last] for kind in ("misfit", "ring", "outlier", "activity", "lockstep")]
    assert [float(text.removeprefix("< ")) for text in strengths] == pytest.approx(expected, abs=0.11)
    assert set(column(page, "Neighbors", 1)) == {str(graph.node_ids[i]) for i in graph.adjacency[[last]].indices}
    assert f"hopsight explain . {graph.node_ids[last]}" in page.locator("#node").inner_text()
    page.locator("#find").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.get_by_text("There is no node “nobody” on this page.")).to_be_visible()
    page.reload()  # the address remembers the node
    has_chosen(page, str(graph.node_ids[last]))


def test_flagged_nodes_without_tables_are_listed_found_and_have_a_sentence(
    show: Show, suspected: Any, explain_top: ExplainTop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.sync_api import expect

    monkeypatch.setattr("hopsight.report.flagged.MOST", 5)
    page = show(write_report, suspected, suspected.graph_, explain_top(suspected, suspected.graph_, 3), {})
    rows = page.locator('table[aria-label="Most anomalous nodes"] tbody tr')
    expect(rows).to_have_count(8)
    name = column(page, "Most anomalous nodes", 2)[7]
    page.get_by_placeholder("Search the nodes").fill(name)
    assert column(page, "Most anomalous nodes", 1) == ["8"]
    rows.locator("a").click()
    has_chosen(page, name)
    expect(page.locator("#node .lead")).to_contain_text("Ranks 8 of 80 (flagged), decided by")


def test_ground_truth_is_a_column_and_a_filter(opened_with_evidence: Any, suspected: Any) -> None:
    from playwright.sync_api import expect

    page, names = opened_with_evidence, suspected.graph_.node_ids
    assert column(page, "Most anomalous nodes", 4)[:3] == ["anomalous", "anomalous", "normal"]
    expect(page.locator("#chosen")).to_contain_text("known to be anomalous")
    choice = page.get_by_label("Which rows of Most anomalous nodes")
    rows = page.locator('table[aria-label="Most anomalous nodes"] tbody tr')
    choice.select_option(label="Known anomalies")
    expect(rows).to_have_count(3)
    assert set(column(page, "Most anomalous nodes", 2)) == {str(names[node]) for node in KNOWN}
    choice.select_option(label="Known anomalies, not flagged")
    expect(rows).to_have_count(1)
    assert column(page, "Most anomalous nodes", 2) == [str(names[40])]
    choice.select_option(label="Flagged, known to be normal")
    expect(rows).to_have_count(6)


def test_what_is_shown_is_saved_as_csv_that_begins_no_formula(
    show: Show, suspected: Any, explain_top: ExplainTop, tmp_path: Path
) -> None:
    from hopsight.system.cells import guarded

    odd = ["=1+1", "+cmd", "-1", "@x", " =2", "\tx", "\u200b=3", "＝4", "'tis", 'a "quoted", name', "plain"]
    names = [*odd, *(f"user-{i}" for i in range(80 - len(odd)))]
    suspected.graph_ = dataclasses.replace(suspected.graph_, node_ids=names)
    page = show(write_report, suspected, suspected.graph_, explain_top(suspected, suspected.graph_, 5), {})
    page.get_by_label("Which rows of Most anomalous nodes").select_option(label="All nodes")
    page.get_by_role("button", name="Show all 80").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").first.click()
    download.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert download.value.suggested_filename == "nodes.csv"
    assert {row["Node"] for row in rows} == {guarded(name) for name in names}
    assert [int(row["Rank"]) for row in rows] == list(range(1, 81))
    assert float(rows[0]["Score"]) == pytest.approx(9.0)
    assert float(rows[0]["activity"]) == pytest.approx(9.0)
    page.get_by_placeholder("Search the nodes").fill("quoted")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").first.click()
    download.value.save_as(tmp_path / "one.csv")
    assert len((tmp_path / "one.csv").read_text(encoding="utf-8-sig").splitlines()) == 2


def test_contents_keys_words_files_and_the_curve(opened_with_evidence: Any) -> None:
    page = opened_with_evidence
    links = page.locator(".contents a")
    assert links.all_inner_texts()[:3] == ["At a glance", "Most anomalous nodes", "Scores"]
    page.locator("h1").click()
    page.keyboard.press("4")
    assert page.evaluate("document.activeElement.textContent") == "Groups"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.locator(".legend .term").first.focus()
    assert "neighbors of a node look far away" in page.locator("#tip").inner_text()
    page.locator('table[aria-label="Edges most out of place"] th', has_text="P(1 hop)").get_by_role("button").hover()
    assert "out of place" in page.locator("#tip").inner_text()
    hrefs = page.locator(".files a").evaluate_all("all => all.map(link => link.getAttribute('href'))")
    assert hrefs == ["scores.csv", "run.json"]
    page.locator("figure .step .reach").nth(29).hover()
    assert page.locator("#tip").inner_text().split("\n") == ["Epoch 30", "loss 1.508"]


def test_axe_finds_no_serious_violation(opened_with_evidence: Any) -> None:
    for look in each_look(opened_with_evidence):
        assert (look, violations(opened_with_evidence)) == (look, [])


def test_names_are_shown_and_found_beside_ids(
    show: Show, suspected: Any, record: dict[str, Any], explain_top: ExplainTop
) -> None:
    suspected.graph_ = dataclasses.replace(suspected.graph_, node_names=[f"Person {node}" for node in range(80)])
    page = show(write_report, suspected, suspected.graph_, explain_top(suspected, suspected.graph_, 5), record)
    assert column(page, "Most anomalous nodes", 3)[:2] == ["Person 3", "Person 4"]
    assert page.locator("#chosen .title").inner_text() == "Person 3"
    assert page.locator(".suspects li a").first.inner_text() == f"Person 3 ({IMAGE})"
    find = page.get_by_placeholder("Go to any node")
    find.fill("person 61")  # neither explained nor flagged
    find.press("Enter")
    page.locator("#chosen .title", has_text="Person 61").wait_for()
    page.get_by_placeholder("Search the nodes").fill("person 4")
    assert {name[:8] for name in column(page, "Most anomalous nodes", 3)} == {"Person 4"}


def test_several_notices_fold_into_one_line(
    show: Show, judged: Any, record: dict[str, Any], explain_top: ExplainTop
) -> None:
    notes = ["Read edges from column 'a' to column 'b'.", "Merged 3 duplicate edges."]
    page = show(
        write_report, judged, judged.graph_, explain_top(judged, judged.graph_, 3), record | {"warnings": notes}
    )
    assert page.locator("details.notice summary").inner_text() == "2 notes on the data and the run"
    assert not page.get_by_text(notes[1]).is_visible()
    page.locator("details.notice summary").click()
    assert page.get_by_text(notes[1]).is_visible()


def test_the_list_says_so_if_not_every_flagged_node_is_explained(
    show: Show, judged: Any, record: dict[str, Any], explain_top: ExplainTop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.report.flagged.MOST", 5)
    monkeypatch.setattr("hopsight.report.flagged.MOST_SENTENCES", 2)
    page = show(write_report, judged, judged.graph_, explain_top(judged, judged.graph_, 3), record)
    assert "The page explains the first 7 of 8 flagged nodes." in page.locator("#most-anomalous-nodes").inner_text()
