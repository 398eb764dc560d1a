"""What the documentation site adds to its Markdown files while it is built: outputs, gallery, results, changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
RUN = re.compile(r"^```(shell|python) run(?: lines=(\d+))?\n(.*?)^```\n", re.M | re.S)
OUTSIDE = re.compile(r"\]\(\.\./(?:RESULTS\.md|examples/(\w+)\.py)")
OUTPUTS: dict[str, Future[list[list[str]]]] = {}  # of the blocks of each page


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are generated, so that none of them is kept in the repository."""
    sys.path.insert(0, str(ROOT / "docs"))  # here, because mkdocs restores the path after it has read this file
    from drawings import all_drawings
    from gallery import PROMISED, index, page, run_example

    for name, drawn in all_drawings().items():
        if (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") != drawn:
            raise PluginError(f"docs/pictures/{name}.svg is out of date: run python docs/drawings.py")
    pool = ThreadPoolExecutor(1)  # beside the gallery, which runs in this process
    for file in files.documentation_pages():
        blocks = RUN.findall(Path(file.abs_src_path or "").read_text(encoding="utf-8"))
        if blocks:
            OUTPUTS[file.src_path] = pool.submit(_outputs, blocks, file.src_path)
    examples = [run_example(name) for name in PROMISED]
    made = {"gallery/index.md": index(examples)}
    for example in examples:
        made[f"gallery/{example.name}.md"] = page(example)
        for number, picture in enumerate(example.pictures, start=1):
            made[f"gallery/{example.name}-{number}.svg"] = picture
    made["results.md"] = moved("RESULTS.md").replace("](results/)", "](results/comparison.md)")
    made["changes.md"] = moved("CHANGELOG.md")
    made["commands.md"] = commands()
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Show below every block marked ``shell run`` or ``python run`` what it printed.

    ``run lines=12`` shows the first twelve lines only. A block that fails stops the build. Links to files outside
    ``docs/``, which work in a clone, become links to the pages made from these files.
    """
    markdown = OUTSIDE.sub(lambda link: f"](gallery/{link[1]}.md" if link[1] else "](results.md", markdown)
    if page.file.src_path not in OUTPUTS:
        return markdown
    outputs = iter(OUTPUTS[page.file.src_path].result())

    def ran(block: re.Match[str]) -> str:
        language, lines, program = block.groups()
        output = next(outputs)
        if lines and len(output) > int(lines):
            output = [*output[: int(lines)], "…"]
        shown = "\n".join(output)
        return f"```{language}\n{program}```\n" + (f"\n```text\n{shown}\n```\n" if shown else "")

    return RUN.sub(ran, markdown)


def _outputs(blocks: Sequence[tuple[str, str, str]], name: str) -> list[list[str]]:
    """Run the blocks of a page one after the other in a folder of its own, and return what they printed."""
    with TemporaryDirectory() as folder:
        return [_output(language, program, folder, name) for language, _, program in blocks]


def _output(language: str, program: str, folder: str, name: str) -> list[str]:
    """Return the lines that a block prints on standard output."""
    command = ["bash", "-e", "-c", program] if language == "shell" else [sys.executable, "-c", program]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PluginError(f"{name}: this example failed:\n{program}\n{done.stdout}\n{done.stderr}")
    return [line.rstrip() for line in done.stdout.rstrip().splitlines()]


def on_post_page(output: str, **_: Any) -> str:
    """Name the search for people who hear the page."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def on_post_build(*, config: Any) -> None:
    """Remove the page for missing addresses, which only works on a server."""
    (Path(config["site_dir"]) / "404.html").unlink(missing_ok=True)


def moved(name: str) -> str:
    """Return a Markdown file of the root folder with its links as seen from ``docs/``."""
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](").replace("](RESULTS.md", "](results.md")


def commands() -> str:
    """Return the page of all commands, as their help describes them."""
    import typer

    from hopsight.cli import app
    from hopsight.cli.options import decorate

    lines = ["# Command line\n", "`hopsight COMMAND --help` shows the same on a terminal.\n"]
    for name, command in decorate(typer.main.get_command(app)).commands.items():
        for part, each in getattr(command, "commands", {"": command}).items():
            lines.append(f"## hopsight {name} {part}".rstrip() + f"\n\n{_help(each)}\n")
    return "\n".join(lines)


def _help(command: Any) -> str:
    text = (command.help or "").strip()
    if command.epilog:
        examples = [line.strip() for line in command.epilog.splitlines() if line.strip().startswith("hopsight ")]
        text += "\n\n```shell\n" + "\n".join(examples) + "\n```" if examples else ""
    rows = []
    for each in command.params:
        if getattr(each, "hidden", False) or each.name == "help":
            continue
        shown = ", ".join([*each.opts, *each.secondary_opts]) if each.param_type_name == "option" else ""
        shown = f"{shown} {each.metavar or ''}".strip()  # the word for its value, as in the help
        rows.append(f"| `{shown}` | {(getattr(each, 'help', '') or '').replace('|', chr(92) + '|')} |")
    return text + "\n\n| option | meaning |\n|---|---|\n" + "\n".join(rows)
