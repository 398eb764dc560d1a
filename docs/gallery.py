"""Run the examples and turn each into a page: its text, its program, what it prints and the picture that it draws."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import runpy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

WIDE = "---\nhide: [toc]\n---\n"  # without contents, programs need no scrolling
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROMISED = {  # what each example prints, in the order of the pages: the build stops where one no longer does
    "find_anomalies": ", decided by amount",
    "own_tables": "stands out: p3",
    "transactions": "a7",
    "explain_node": "planted: True",
    "groups": "12 of them planted",
    "compare_detectors": "hcm  ROC-AUC",
    "thresholds": "3 of 3 outliers among them",
    "score_new_graph": "6 of them planted",
    "verdicts": "after: 10 of the first 20",
    "networkx_graph": "'Les Misérables', 77 nodes",
    "pygod_drop_in": "3 of the 3 outliers are among them",
    "on_spark": "largest difference from the local engine",
}


@dataclass(frozen=True)
class Example:
    """An example that has run: its name, title, text, program, output, and pictures as SVG.

    ``absent`` says what is missing where an example could not run.
    """

    name: str
    title: str
    text: str
    program: str
    output: str
    pictures: tuple[str, ...]
    absent: str | None = None


def run_example(name: str) -> Example:
    """Run an example of ``examples/`` and return what it printed and drew: what is promised, and one picture."""
    import matplotlib.pyplot as plt

    path = EXAMPLES / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or name).partition("\n")
    program = source.split('"""', 2)[2].strip()
    absent = missing_for(name)
    if absent is not None:
        return Example(name, title.rstrip("."), text.strip(), program, "", (), absent)
    printed = io.StringIO()
    with TemporaryDirectory() as folder:
        os.environ["HOPSIGHT_PICTURES"] = folder
        plt.switch_backend("module://picture_backend")
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
        pictures = tuple(each.read_text(encoding="utf-8") for each in sorted(Path(folder).glob("*.svg")))
    if PROMISED[name] not in printed.getvalue() or len(pictures) != 1 or not text.strip():
        raise RuntimeError(
            f"{name} printed no {PROMISED[name]!r}, drew no picture or has no text: {printed.getvalue()}"
        )
    return Example(name, title.rstrip("."), text.strip(), program, printed.getvalue(), pictures)


def missing_for(name: str) -> str | None:
    """Return what this machine lacks to run an example, or None."""
    from hopsight.spark.session import missing_requirement

    return missing_requirement() if name == "on_spark" else None


def page(example: Example) -> str:
    """Return the page of an example as Markdown."""
    if example.absent is not None:
        note = f"This example did not run when the page was built, because {example.absent}."
        text = f"{example.text}\n\n!!! note\n    {note}"
        return f"{WIDE}# {example.title}\n\n{text}\n\n```python\n{example.program}\n```\n"
    images = "\n".join(
        f"![{example.title}: what the example draws]({example.name}-{number}.svg){{ .picture }}\n"
        for number in range(1, len(example.pictures) + 1)
    )
    return (
        f"{WIDE}# {example.title}\n\n{example.text}\n\n{images}\n```python\n{example.program}\n```\n\n"
        f"It prints:\n\n```text\n{example.output.rstrip()}\n```\n"
    )


def index(examples: list[Example]) -> str:
    """Return the page that lists the examples, each with its picture."""
    lines = [
        f"{WIDE}# Gallery\n",
        "Each example is a short script of `examples/` that ran while this page was built: it prints and draws what "
        "you see.\n",
        '<div class="gallery" markdown>\n',
    ]
    for each in examples:
        picture = f"![]({each.name}-1.svg){{ alt='' }}<br>" if each.pictures else ""
        lines.append(f"[{picture}{each.title}]({each.name}.md)\n")
    return "\n".join([*lines, "</div>\n"])
