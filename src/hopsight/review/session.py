"""What the page asks for: the queue, one node with its reasons, a search, verdicts, learning."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import check_choice
from hopsight.detectors.table import decided_by, evidence_of, weights_of
from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.events import Calendar
from hopsight.explanations.reasons import MEANINGS
from hopsight.feedback.curve import Point, in_words
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.io.labels import VERDICTS, Labels, position_of
from hopsight.metrics import ranking
from hopsight.report.nodes import PageNodes, cut
from hopsight.report.page import MOST_EVENTS, level_range, node_reasons
from hopsight.report.words import title_of
from hopsight.review.storage import UNDO, Decision, Store, current
from hopsight.runs.finished import open_run
from hopsight.runs.folder import LEARNED, WRITTEN, adding, locked, read_record
from hopsight.runs.results import write_scores
from hopsight.system.cells import guarded
from hopsight.system.files import replacing
from hopsight.system.lazy_polars import pl

VIEWS = ("queue", "flagged", "judged", *VERDICTS)
N_LISTED = 50
N_FOUND = 20
N_MEMBERS = 40


class Session:
    """A finished run, the verdicts on it, and the ranking that was learned from them; for several windows at once."""

    def __init__(self, folder: Path, store: Store, run: tuple[Any, Any]) -> None:
        self.folder, self.store = folder, store
        self.fitted, self.graph = run
        self.run = self._run()
        self.title = title_of(self.graph, read_record(folder))
        self.n_ranked = self.graph.n_nodes if self.graph.ranked is None else int(self.graph.ranked.sum())
        self.lock = threading.RLock()  # explaining uses torch and fills caches
        self.turn = threading.Lock()  # guards the three below
        self.drawing = threading.Lock()  # one learning curve at a time
        self.learner: threading.Thread | None = None
        self.newest = self.learned_from = 0  # numbers of the latest verdict, and of the latest that was learned from
        self.learning = -1
        self.learned: str | None = None
        self.curve: list[Point] = []
        self.unlearned = Explainer(self.fitted, self.graph)
        self._use(self.unlearned, getattr(self.fitted, "learned_words", None))
        rows = store.rows()
        if rows and can_learn(self.fitted):
            self.newest = self.learned_from = rows[-1].number
            self._learn()
            threading.Thread(target=self._find_curve, daemon=True, name="curve").start()

    def state(self) -> dict[str, Any]:
        """Return what changes while people review: progress, and what was learned."""
        rows = self.store.rows()
        last = rows[-1].number if rows else 0
        self.learn_soon(last)  # another process may have written to the same file
        counts = Counter(decision.verdict for decision in current(rows).values())
        return {
            "last": last,
            "counts": {verdict: counts[verdict] for verdict in VERDICTS},
            "pending": self.learner is not None,
            "learning": self.learning,
            "learned": self.learned,
            "curve": [[each.n_labels, each.roc_auc] for each in self.curve],
            "helps": in_words(self.curve),
            **self.ranges,
        }

    def listed(self, view: str) -> list[dict[str, Any]]:
        """Return the nodes of a view: the queue, the flagged nodes, or those with a verdict."""
        check_choice("view", view, VIEWS)
        known = self.decisions()
        if view == "queue":
            return [
                self._row(place, known, kind)
                for place, kind in next_nodes(self.model, self.graph, N_LISTED, list(known))
            ]
        if view == "flagged":
            order = ranking(self.model.decision_score_, self.graph.id_places)
            return [
                self._row(place, known) for place in order[: min(N_LISTED * 4, int(self.model.label_.sum()))].tolist()
            ]
        chosen = [place for place, row in known.items() if view in ("judged", row.verdict)]
        return [self._row(place, known) for place in reversed(chosen)]

    def node(self, place: int) -> dict[str, Any]:
        """Return everything about one node."""
        if not 0 <= place < self.graph.n_nodes:
            raise ValueError(f"there is no node at place {place}")
        with self.lock:
            found = self.explainer.node(self.graph.node_ids[place])
            shown = PageNodes(self.explainer, keys=np.arange(self.graph.n_nodes))
            ego = shown.around(place)
            reasons = node_reasons(found) | {"sentences": _sentences(found)}
            events = shown.events(place, MOST_EVENTS)
            group = self._group(shown, place)
        kinds, decided, weights = evidence_of(self.model), decided_by(self.model), weights_of(self.model)
        evidence = {
            place: [None if decided is None else str(decided[place]), *(each[place] for each in kinds.values())]
        }
        rows = [row for row in self.store.rows() if row.node == self._name(place)]
        undone = {row.undoes for row in rows}
        return {
            "place": place,
            "row": self._row(place, self.decisions()),
            "page": {
                "served": True, "nodes": shown.rows, "egos": {place: ego}, "reasons": {place: reasons},
                "evidence": evidence if kinds else {},
                "kinds": [[kind, weights[kind] * (kind in self.model.evidence), MEANINGS[kind]] for kind in kinds],
                "n_ranked": self.n_ranked, "events": {place: events},
                "dates": Calendar.of(self.graph).pattern,
            },
            "group": group,
            "history": [[row.verdict, row.reviewer, row.decided, row.note, row.number in undone] for row in rows
                        if row.verdict != UNDO],
        }  # fmt: skip

    def search(self, text: str) -> list[dict[str, Any]]:
        """Return nodes whose id or name has the text, the exact one and beginnings first."""
        wanted = text.strip().casefold()
        if not wanted:
            return []
        found = {place: name for names in self._folded for place, name in enumerate(names) if wanted in name}
        order = sorted(found, key=lambda place: (found[place] != wanted, not found[place].startswith(wanted), place))
        known = self.decisions()
        return [self._row(place, known) for place in order[:N_FOUND]]

    def decide(self, request: str, place: int, verdict: str, note: str, reviewer: str) -> Decision:
        """Write a verdict on a node."""
        if not 0 <= place < self.graph.n_nodes:
            raise ValueError(f"there is no node at place {place}")
        decision = self.store.add(request, self._name(place), verdict, note, reviewer)
        self.learn_soon(decision.number)
        return decision

    def undo(self, request: str, reviewer: str) -> int | None:
        """Take back the reviewer's latest verdict, and return the place of its node."""
        row = self.store.undo(request, reviewer)
        if row is None:
            return None
        self.learn_soon(row.number)
        return position_of(self.graph, row.node)

    def learn_soon(self, number: int) -> None:
        """Learn in the background if a verdict or an undo with this number is new; the newest state wins."""
        if not can_learn(self.fitted):
            return
        with self.turn:
            self.newest = max(self.newest, number)
            if self.learner is None and self.newest > self.learned_from:
                self.learner = threading.Thread(target=self._keep_learning, daemon=True, name="learner")
                self.learner.start()

    def _keep_learning(self) -> None:
        """Learn until no verdict has arrived meanwhile."""
        _yield_to_the_page()
        while True:
            with self.turn:
                if self.newest == self.learned_from:
                    self.learner = None
                    break
                self.learned_from = self.newest
            try:
                self._learn()
            except Exception as error:  # the page goes on with the ranking that it has
                self.learned = f"The ranking could not learn from the latest verdict: {error}"
                self.learning += 1
        self._find_curve()

    def _learn(self) -> None:
        """Rank by all verdicts, and write ``scores-learned.csv`` beside the old ranking."""
        decisions = self.decisions()
        model, words = learn_from(self.fitted, self.graph, {place: row.verdict for place, row in decisions.items()})
        explainer = self.unlearned
        if model is not self.fitted:
            explainer = Explainer(model, self.graph)
            explainer.node(self.graph.node_ids[0], absent=0)  # computes what all nodes share, before the page needs it
        with self.lock:
            self._use(explainer, words)
        learned = self.folder / LEARNED
        try:
            with locked(self.folder):
                if self._run() != self.run:
                    raise ValueError(f"{self.folder} has another run now; stop the review and start it again")
                if model is not self.fitted:
                    with adding(self.folder, LEARNED), replacing(learned) as file:
                        write_scores(file, self.graph, model)
                elif learned.exists():
                    with adding(self.folder, LEARNED):
                        learned.unlink()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self.learned = " ".join(filter(None, [words, f"{LEARNED} was not written: {reason}."]))
            self.learning += 1

    def _run(self) -> dict[str, Any]:
        """Return the record of the run, without the files that may be added to it: another run has another one."""
        return read_record(self.folder) | {WRITTEN: None}

    def _find_curve(self) -> None:
        """Find the learning curve of the newest ranking, which takes several times as long as learning."""
        _yield_to_the_page()
        with self.drawing:
            model, number = self.model, self.newest
            if number == self.learned_from and self.learner is None:
                curve = [] if getattr(model, "learned_", None) is None else model.learning_curve(self.graph)
                if number == self.newest:
                    self.curve = curve
                    self.learning += 1

    def export(self) -> str:
        """Return the verdicts that stand as CSV: node, verdict, reviewer, decided, note."""
        rows = list(current(self.store.rows()).values())
        columns = ("node", "verdict", "reviewer", "decided", "note")
        table = {name: [guarded(getattr(row, name)) for row in rows] for name in columns}
        text = io.StringIO()
        pl.DataFrame(table, schema=dict.fromkeys(columns, pl.String)).write_csv(text)
        return text.getvalue()

    def decisions(self) -> dict[int, Decision]:
        """Return the decision that stands for each node, by its position, the latest last."""
        return dict(self._placed(current(self.store.rows())))

    def _placed(self, rows: dict[str, Decision]) -> Iterator[tuple[int, Decision]]:
        for node, row in sorted(rows.items(), key=lambda item: item[1].number):
            try:
                yield position_of(self.graph, node), row
            except ValueError:
                continue  # a verdict on a node that this graph no longer has

    def _use(self, explainer: Explainer, learned: str | None) -> None:
        """Rank by the model of an explainer; ``learning`` counts, so that other windows notice."""
        self.explainer, self.model, self.learned = explainer, explainer.model, learned
        self.ranges = level_range(explainer) | {"n_flagged": int(self.model.label_.sum())}
        self.learning += 1

    def _row(self, place: int, known: dict[int, Decision], kind: str | None = None) -> dict[str, Any]:
        before = getattr(self.model, "rank_before_", None)
        decision = known.get(place)
        return {
            "place": place,
            "name": cut(self._name(place)),
            "title": None if self.graph.node_names is None else cut(str(self.graph.node_names[place])),
            "rank": int(self.explainer.ranks[place]),
            "before": None if before is None else int(before[place]),
            "flagged": bool(self.model.label_[place]),
            "probability": self._probability(place),
            "teaches": kind,
            "verdict": None if decision is None else decision.verdict,
        }

    def _group(self, shown: PageNodes, place: int) -> dict[str, Any] | None:
        """Return the group of a node, with its members under the keys of the page."""
        groups = self.explainer.groups
        for number, group in enumerate(groups.found, start=1):
            if place in group.members:
                return {
                    "words": f"Group {number}, a {group.kind}: {groups.explain(number).summary}",
                    "shared": cut(groups.shared.among(group.members)),
                    "members": [shown.key(each) for each in group.members[:N_MEMBERS].tolist()],
                    "size": int(group.members.size),
                }
        return None

    @cached_property
    def _folded(self) -> list[list[str]]:
        """The names to show, where nodes have them, and the ids, in lower case."""
        titles = [] if self.graph.node_names is None else [self.graph.node_names]
        return [[str(each).casefold() for each in names.tolist()] for names in (*titles, self.graph.node_ids)]

    def _probability(self, place: int) -> float | None:
        """Return the probability that a node is anomalous, once the ranking has learned from verdicts."""
        learned = getattr(self.model, "learned_", None) is not None
        return float(self.model.probability_[place]) if learned else None

    def _name(self, place: int) -> str:
        return str(self.graph.node_ids[place])


def open_session(folder: Path) -> Session:
    """Open a finished run and its verdicts."""
    from hopsight.review.storage import FILE, graph_key

    run = open_run(folder)
    session = Session(folder, Store(folder / FILE, graph_key(run[1])), run)
    for row in session.listed("queue")[:1]:
        session.node(row["place"])  # computes what all nodes share, so that the page need not wait for it
    return session


def _yield_to_the_page() -> None:
    """Let the threads that answer requests go before this one, where a thread has a priority of its own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def can_learn(model: Any) -> bool:
    """Return whether a detector learns from verdicts."""
    return isinstance(model, CrossHCM) and model.score == "evidence"


def learn_from(model: Any, graph: AttributedGraph, verdicts: dict[int, str]) -> tuple[Any, str | None]:
    """Return a detector that has learned from verdicts by position, and what it learned, in words.

    Labels that the detector has learned from before the review count as well; a verdict replaces the label of its
    node, and an unsure one removes it. Until there are labels of both kinds, the detector stays as it is.
    """
    before = model.learned_
    known = {} if before is None else dict(zip(*(each.tolist() for each in before.labels), strict=True))
    known |= {place: verdict == "anomalous" for place, verdict in verdicts.items()}
    places = sorted(place for place in known if verdicts.get(place) != "unsure")
    positions, anomalous = np.array(places, dtype=np.int64), np.array([known[place] for place in places], dtype=bool)
    labels = Labels(positions, anomalous, np.zeros(0, dtype=np.int64))
    if not verdicts or not labels.both_kinds:
        return model, model.learned_words
    learned = model.learn(labels, graph=graph, notices=[])  # they would be the same after every verdict
    return learned, learned.learned_words


def next_nodes(model: Any, graph: AttributedGraph, n: int, judged: list[int]) -> list[tuple[int, str | None]]:
    """Return positions of nodes to look at next, and why: None, or what a verdict would show."""
    n = min(n, model.decision_score_.size)
    if can_learn(model):
        return list(model.questions(n, graph, judged))
    order = ranking(model.decision_score_, graph.id_places)[: n + len(judged)]
    left: list[tuple[int, str | None]] = [(place, None) for place in order.tolist() if place not in set(judged)]
    return left[:n]


def _sentences(explanation: Explanation) -> list[str]:
    """Return the reasons in words: where the node stands, what is unusual, and what labels say."""
    flagged = "flagged" if explanation.flagged else "not flagged"
    place = f"It ranks {explanation.rank:,} of {explanation.n_ranked or explanation.n_nodes:,} nodes and is {flagged}."
    return [sentence for sentence in (place, explanation.unusual, explanation.by_labels) if sentence]
