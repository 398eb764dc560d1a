"""Evidence, groups, ground truth and names of nodes on the report, in a real browser."""

import copy
import csv
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import hopsight as hs
from report_pages import (
    IMAGE,
    KNOWN,
    SCRIPT,
    Show,
    column,
    each_look,
    explain_top,
    has_chosen,
    violations,
    write_report,
)


def test_evidence_is_drawn_for_every_suspect(opened_with_evidence: Any, suspected: Any) -> None:
    page = opened_with_evidence
    assert column(page, "Most anomalous nodes", 7)[:3] == ["activity", "misfit", "ring"]  # nodes 3, 4 and 5
    assert page.locator(".columns-of-evidence").count() == 8 and page.locator(".evidence li").count() == 5
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
    assert column(page, "Groups", 2) == ["ring", "lockstep"] and IMAGE in column(page, "Groups", 3)[0]
    assert all(words for words in column(page, "Groups", 6))
    assert all(" / " in words for words in column(page, "Edges most out of place", 8))
    scores = [float(cell) for cell in column(page, "Edges most out of place", 4)]
    assert scores == sorted(scores, reverse=True)
    page.locator('table[aria-label="Groups"] a', has_text="user-007").click()
    has_chosen(page, "user-007")


def test_evidence_fits_the_page_at_every_size(opened_with_evidence: Any) -> None:
    page = opened_with_evidence
    rights = "all => all.map(part => part.getBoundingClientRect().right)"
    for width, _ in each_look(page):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = "all => all.filter(box => box.scrollWidth > box.clientWidth).map(box => box.getAttribute('aria-label'))"
        assert (width, page.locator(".scroll").evaluate_all(cut)) == (width, [])  # no table hides a column
        right = page.locator("#node").evaluate("box => box.getBoundingClientRect().right")
        assert max(page.locator(".evidence li > *").evaluate_all(rights)) <= right
        colors = page.locator(".evidence .strength i").evaluate_all(
            "all => all.map(bar => getComputedStyle(bar).backgroundColor)"
        )
        assert len(set(colors)) == 3  # the one that decided, the others, and the one that does not count


def test_an_outlier_is_shown_with_the_names_of_its_unusual_attributes(show: Show, suspected: Any) -> None:
    model = copy.copy(suspected)
    model.decided_by_ = np.full(80, model.evidence.index("outlier"))
    explanations = explain_top(model, 3)
    page = show(write_report, model, 3)
    assert page.locator(".suspects .why").all_inner_texts()[:3] == [each.in_short for each in explanations]
    assert column(page, "Most anomalous nodes", 5)[:3] == [each.in_short for each in explanations]


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


def test_after_learning_the_page_shows_probabilities_and_labels_and_no_number_breaks(
    show: Show, suspected: Any
) -> None:
    """Node 3 has a probability of 91%, labeled; 4 and 5 have 87.9% and 87.3%, on both sides of the threshold."""
    from playwright.sync_api import expect

    model = copy.copy(suspected)
    model.graph_ = dataclasses.replace(suspected.graph_, known=np.arange(80) != 79)
    chances = np.append([0.91, 0.879, 0.873], np.linspace(0.5, 0.001, 77))
    model.probability_ = np.empty(80)
    model.probability_[[3, 4, 5, 0, 1, 2, *range(6, 80)]] = chances
    model.decision_score_, model.threshold_ = -np.log10(1.0 - model.probability_), -np.log10(1.0 - 0.876)
    model.label_ = (model.probability_ > 0.876).astype(int)
    model.learned_ = SimpleNamespace(
        kept=[0], anomalous=np.arange(2) < 1, labels=(np.array([3, 5]), np.array([True, False]))
    )
    model.learned_reasons = lambda graph: SimpleNamespace(influences=lambda position: ())
    model.score_without = lambda graph, position, edges: -np.log10(1.0 - 0.6)
    page = show(write_report, model, 5, files=("scores.csv",))
    without = ", the probability would be about 60% instead of 91% and the rank about 3 instead of 1."
    expect(page.locator("#node .notice")).to_contain_text(without)
    expect(page.locator("header .lead").first).to_contain_text(
        "2 nodes flagged (probability of 87.6% or more). How many are false alarms is unknown"
    )
    assert column(page, "Most anomalous nodes", 3)[:4] == ["91%", "88%", "87%", "50%"]
    assert page.locator(".suspects .why").all_inner_texts()[0].startswith("labeled anomalous; ")
    assert page.locator("#chosen .badge").all_inner_texts() == ["flagged", "labeled anomalous"]
    panel = " ".join(page.locator("#node .values").inner_text().split())
    assert panel.startswith("Probability 91% flagged from 87.6% Rank 1 of 79 Connections ")
    assert "Ranks 1 of 79 (flagged)." in page.locator("#node").inner_text()
    assert "For any other" not in page.locator("#most-anomalous-nodes").inner_text()  # all are here
    for part in ("#node", "#most-anomalous-nodes", "#probabilities"):
        assert "score" not in page.locator(part).inner_text().lower()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        lines = page.locator(".suspects .number").evaluate_all(
            "all => all.map(each => each.getClientRects()[0].height)"
        )
        assert set(lines) == {lines[0]} and lines[0] < 30


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


def test_what_is_shown_is_saved_as_csv_that_begins_no_formula(show: Show, suspected: Any, tmp_path: Path) -> None:
    from hopsight.system.cells import guarded

    odd = ["=1+1", "+cmd", "-1", "@x", " =2", "\tx", "\u200b=3", "＝4", "'tis", 'a "quoted", name', "plain"]
    names = [*odd, *(f"user-{i}" for i in range(80 - len(odd)))]
    suspected.graph_ = dataclasses.replace(suspected.graph_, node_ids=names)
    page = show(write_report, suspected, 5, {})
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
    assert float(rows[0]["Score"]) == pytest.approx(9.0) and float(rows[0]["activity"]) == pytest.approx(9.0)
    page.get_by_placeholder("Search the nodes").fill("quoted")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").first.click()
    download.value.save_as(tmp_path / "one.csv")
    assert len((tmp_path / "one.csv").read_text(encoding="utf-8-sig").splitlines()) == 2


def test_contents_keys_words_and_files(opened_with_evidence: Any) -> None:
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


def test_axe_finds_no_serious_violation(opened_with_evidence: Any) -> None:
    for look in each_look(opened_with_evidence):
        assert (look, violations(opened_with_evidence)) == (look, [])


def test_names_are_shown_and_found_beside_ids(show: Show, suspected: Any) -> None:
    suspected.graph_ = dataclasses.replace(suspected.graph_, node_names=[f"Person {node}" for node in range(80)])
    page = show(write_report, suspected, 5)
    assert [cell.split("\n")[0] for cell in column(page, "Most anomalous nodes", 2)[:2]] == ["Person 3", "Person 4"]
    assert page.locator("#chosen .title").inner_text() == "Person 3"
    assert page.locator(".suspects li a").first.inner_text().split() == ["Person", "3", *IMAGE.split()]
    find = page.get_by_placeholder("Go to a node")
    find.fill("person 61")  # neither explained nor flagged
    find.press("Enter")
    page.locator("#chosen .title", has_text="Person 61").wait_for()
    page.get_by_placeholder("Search the nodes").fill("person 4")
    assert {name[:8] for name in column(page, "Most anomalous nodes", 2)} == {"Person 4"}


def test_types_have_shapes_and_can_be_hidden(show: Show) -> None:
    rng, n = np.random.default_rng(1), 400
    paid = pl.DataFrame({"a": rng.integers(0, n, 1200), "b": rng.integers(0, n, 1200)})
    rows = {(user, user) for user in range(n)} | {(user, user + 1) for user in range(100, 180, 2)}
    rows |= {(user, device) for user in range(5, 9) for device in (5, 6, 7)}
    used = pl.DataFrame(sorted(rows), ["u", "d"], orient="row")
    users = pl.DataFrame({"id": np.arange(n), "age": rng.normal(size=n), "size": rng.normal(size=n)})
    edges = {("user", "paid", "user"): paid, ("user", "used", "device"): used}
    graph = hs.load(nodes={"user": users}, edges=edges, rank="user", notices=[])
    model = hs.CrossHCM.untrained().fit(graph)
    model.graph_ = graph
    page = show(write_report, model, 5)
    page.locator("#groups .members a").first.click()
    for _ in each_look(page):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".ego polygon.other.type-0").count() >= 4  # three devices, and their mark in the legend
    assert page.locator(".drawings polygon").count() == 3
    assert "They share device 5 (4 of 4 members)" in page.locator("#groups").inner_text()
    shown = page.locator(".ego a.spot").count()
    page.locator(".toggles button", has_text="shared device").click()
    assert page.locator(".ego polygon.other").count() == 1 and page.locator(".ego a.spot").count() == shown - 3
    assert set(column(page, "Neighbors", 2)) == {"paid"} and violations(page) == []
