"""The pages of a benchmark and of a run over time in a real browser."""

from __future__ import annotations

from hopsight.report.pages import write_bench_page, write_timeline
from report_pages import IMAGE, SCRIPT, Show, column, violations


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
