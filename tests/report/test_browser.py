"""The pages in a real browser."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest

from hopsight.report.pages import write_bench_page, write_timeline
from report_pages import IMAGE, RECORD, SCRIPT, Show, column, each_look, has_chosen, violations, write_report


def test_the_page_says_what_was_found(opened: Any) -> None:
    text = opened.locator("main").inner_text()
    assert "hopsight explain" not in text  # there is no folder of a run beside this page
    for words in ("80 nodes", "8 nodes flagged", "ROC-AUC 0.910", "Most anomalous nodes", "Edges most out of place"):
        assert words in text
    for recorded in ("seed", "11", "n_layers", "3.11.7", "column <email> was left out"):
        assert recorded in text
    assert opened.locator("figure svg .bar").count() > 5


def test_names_made_of_markup_are_text(opened: Any) -> None:
    assert column(opened, "Most anomalous nodes", 2)[:2] == [IMAGE, SCRIPT]
    has_chosen(opened, IMAGE)
    assert opened.locator("img").count() == 0 and opened.locator("main b:has-text('income')").count() == 0
    assert opened.locator("h1").inner_text() == "<i>shop</i>" and opened.title() == "<i>shop</i> · hopsight"


def test_sorting_a_column_orders_its_values_both_ways(opened: Any, judged: Any) -> None:
    head = opened.locator('table[aria-label="Most anomalous nodes"] th', has_text="Edges")
    opened.get_by_role("button", name="Show all 30").click()
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    degrees = [int(cell) for cell in column(opened, "Most anomalous nodes", 4)]
    assert degrees == sorted(degrees, reverse=True) and degrees[0] > degrees[-1]
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
    assert hops == sorted(hops, reverse=True) and opened.locator(".ego svg .edge").count() == len(neighbors)
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
    assert "score" in text and any(f"looks {hop:.2f} hops away" in text for hop in hops)
    line = opened.locator(".ego .reach").first.evaluate(
        "line => { const b = line.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }"
    )
    opened.mouse.move(*line)
    text = opened.locator("#tip").inner_text()
    assert any(f"ends look {hop:.2f} hops apart" in text for hop in hops) and "probability of 1 hop" in text


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


def test_notices_fold_into_one_line_but_for_those_that_decide(show: Show, judged: Any) -> None:
    notes = ["Read edges from column 'a' to column 'b'.", "Merged 3 duplicate edges.", "Read 5 nodes."]
    page = show(write_report, judged, 3, RECORD | {"warnings": notes})
    assert page.locator("details.notice summary").inner_text() == "2 more notes on the data and the run"
    assert page.get_by_text(notes[0]).is_visible() and not page.get_by_text(notes[1]).is_visible()
    page.locator("details.notice summary").click()
    assert page.get_by_text(notes[1]).is_visible()


def test_the_list_says_so_if_not_every_flagged_node_is_explained(
    show: Show, judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.report.page.N_NODES", 5)
    page = show(write_report, judged, 3)
    words = page.locator("#most-anomalous-nodes").inner_text()
    assert "This page has 5 of 80 nodes. It explains the first 5 of 8 flagged nodes." in words


def test_a_large_page_is_compressed_and_opens_all_the_same(
    show: Show, judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.report.shell.MAX_PLAIN", 1000)
    page = show(write_report, judged, 3)
    has_chosen(page, IMAGE)
    assert page.locator("#data").get_attribute("type") == "application/gzip"
    assert column(page, "Most anomalous nodes", 2)[:2] == [IMAGE, SCRIPT]


def test_the_benchmark_page_sorts_numbers_and_shows_figures(show: Show) -> None:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><script>alert(3)</script><circle r="9"/></svg>'
    )
    rows = [
        ["HCM", "0.763 ± 0.006"], ["<b>LOF</b>", "0.49 ± 0.02"], ["Radar", "timed out"], ["CrossHCM", "0.852 ± 0.004"],
    ]  # fmt: skip
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
    assert shown.get_by_text("They had no path.").count() == 1 and shown.get_by_text("Many.").count() == 1
    shown.locator("rect[role=button]").nth(1).click()
    assert shown.get_by_text("They had no path.").count() == 1 and shown.get_by_text("Many.").count() == 0
    shown.get_by_role("button", name="c 3").click()
    assert shown.get_by_text("Calm.").count() == 1 and shown.locator("img").count() == 0
    shown.get_by_role("button", name="3.50").click()  # a node with a chart
    assert violations(shown) == []
