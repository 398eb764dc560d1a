"""The published networks: where each comes from, what it holds, how its file is recognized."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

RAW_FILES = "https://raw.githubusercontent.com"


class Size(NamedTuple):
    """The four figures of a statistics table; an undirected edge counts once."""

    nodes: int
    edges: int
    attributes: int
    anomalies: int


@dataclass(frozen=True, kw_only=True)
class Network:
    """One network of the catalog.

    Parameters
    ----------
    name
        What to type, in lower case.
    kind
        ``"organic"`` (anomalies found by people), ``"to inject"`` (none yet) or ``"injected"``.
    size
        What ``load`` gives, or, where a note says so, what the publishers state.
    repository, commit, path
        The file on GitHub, at one commit for ever.
    sha256, git_blob
        One of the two is the checksum of that file; Git's is sha1("blob " + size + NUL + bytes).
    citation
        Whom to cite.
    aliases
        Other names that find it.
    saved_as
        What a fetched copy is called, if not as in the repository: no two networks share a file name.
    conversions
        Names of converted copies, preferred over the published file but without a published checksum.
    paper
        The size that the HCM paper gives, if it uses the network.
    notes
        Where the file differs from what was published about it, and why.
    """

    name: str
    kind: str
    size: Size
    repository: str
    commit: str
    path: str
    citation: str
    sha256: str = ""
    git_blob: str = ""
    aliases: tuple[str, ...] = ()
    saved_as: str = ""
    conversions: tuple[str, ...] = ()
    paper: Size | None = None
    notes: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """What a fetched copy is called."""
        return self.saved_as or Path(self.path).name

    @property
    def checksum(self) -> str:
        """The published checksum, with its algorithm in front."""
        return f"sha256:{self.sha256}" if self.sha256 else f"git:{self.git_blob}"

    def address(self, base_url: str | None = None) -> str:
        """Return where to download the file."""
        return f"{(base_url or RAW_FILES).rstrip('/')}/{self.repository}/{self.commit}/{self.path}"

    def checksum_of(self, file: Path) -> str:
        """Return the checksum of a file on disk, by the algorithm of ``checksum``."""
        content = file.read_bytes()
        if self.sha256:
            return f"sha256:{hashlib.sha256(content).hexdigest()}"
        blob = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
        blob.update(content)
        return f"git:{blob.hexdigest()}"


_ANOMALOUS = ("zpeng27/ANOMALOUS", "f51f03edfb41d67b46207e2277cf2452abadd01c")
_DOMINANT = ("kaize0409/GCN_AnomalyDetection_pytorch", "83fa93931164aee5386fdc74c12a5d5c46a5d62f")
_AANE = ("xhuang31/AANE_Python", "bbbd413ae87b2cd48585fdefd5bf0d7139d45135")
_BOND = ("pygod-team/data", "77976df4129f5f753907beea4945bd3e21d0251f")

_HUANG_2017 = "Huang, Li & Hu: Accelerated Attributed Network Embedding. SDM 2017"
_DING_2019 = "Ding, Li, Bhanushali & Liu: Deep Anomaly Detection on Attributed Networks. SDM 2019"
_LIU_2022 = "Liu et al.: BOND: Benchmarking Unsupervised Outlier Node Detection. NeurIPS 2022"
_MULLER_2013 = "Müller, Sánchez, Mülle & Böhm: Ranking Outlier Nodes in Subspaces of Attributed Graphs. ICDEW 2013"

_UNSEEN = "The size is the publishers' own and was not counted here."
_ARCS = "The number of edges is BOND's: arcs as stored, so an edge stored in both directions counts twice."
_TOPICS = "Label in the file is the topic of a node, not an anomaly."


def _dominant(name: str, size: Size, blob: str, paper: Size) -> Network:
    """Return a network with the anomalies that the DOMINANT authors injected."""
    return Network(
        name=f"{name.lower()}_dominant",
        kind="injected",
        size=size,
        repository=_DOMINANT[0],
        commit=_DOMINANT[1],
        path=f"data/{name}.mat",
        git_blob=blob,
        citation=_DING_2019,
        aliases=(f"{name.lower()}_injected",),
        saved_as=f"{name}_dominant.mat",
        paper=paper,
        notes=(_UNSEEN, "The HCM paper followed this protocol; whether it used these very anomalies it does not say."),
    )


def _bond(name: str, kind: str, size: Size, blob: str, citation: str, notes: tuple[str, ...]) -> Network:
    """Return a network of the BOND benchmark, a zipped PyTorch Geometric file."""
    return Network(
        name=name,
        kind=kind,
        size=size,
        repository=_BOND[0],
        commit=_BOND[1],
        path=f"{name}.pt.zip",
        git_blob=blob,
        citation=f"{citation}; {_LIU_2022}",
        conversions=(f"{name}.mat", f"{name}.pt"),
        notes=notes,
    )


NETWORKS: tuple[Network, ...] = (
    Network(
        name="amazon",
        kind="organic",
        size=Size(1_418, 3_695, 21, 28),
        repository=_ANOMALOUS[0],
        commit=_ANOMALOUS[1],
        path="dataset/Amazon.mat",
        sha256="73318e5a2276b0a1ba831e14dac65456eefaa6bb798cc4d5080ea1af2857e6db",
        citation=_MULLER_2013,
        aliases=("books",),
        paper=Size(1_418, 3_695, 28, 28),
        notes=(
            "21 attributes, not the paper's 28: this file and BOND's copy (books) have 21; 28 is Disney's number.",
            "Each edge is stored once, in an arbitrary direction: read as undirected.",
        ),
    ),
    Network(
        name="enron",
        kind="organic",
        size=Size(13_533, 176_987, 18, 5),
        repository=_ANOMALOUS[0],
        commit=_ANOMALOUS[1],
        path="dataset/Enron.mat",
        sha256="0d8007be6aba951e5e30ad187a6a06cb6433eb75277b083e97e3fe58ce33977a",
        citation=(
            "Metsis, Androutsopoulos & Paliouras: Spam Filtering with Naive Bayes. CEAS 2006; Sánchez, Müller, "
            "Laforet, Keller & Böhm: Statistical Selection of Congruent Subspaces. ICDM 2013"
        ),
        paper=Size(13_533, 176_987, 20, 5),
        notes=(
            "18 attributes, not the paper's 20: this file and BOND's copy have 18.",
            "Each edge is stored once, in an arbitrary direction: read as undirected.",
        ),
    ),
    Network(
        name="disney",
        kind="organic",
        size=Size(124, 335, 28, 6),
        repository="kaize0409/GCN_AnomalyDetection",
        commit="04ebcf093ad7ecc28cd148c2ebea11e12f53a37c",
        path="gae/data/Disney.mat",
        sha256="2bb0133d43c5338249bf9f23f532927a9b5fa9a3ba480f4d0ecc3563f44076fd",
        citation=_MULLER_2013,
        notes=("Each edge is stored once, in an arbitrary direction: read as undirected.",),
    ),
    Network(
        name="blogcatalog",
        kind="to inject",
        size=Size(5_196, 171_743, 8_189, 0),
        repository=_AANE[0],
        commit=_AANE[1],
        path="BlogCatalog.mat",
        sha256="886e1d8dec043588247ef7188fe6459f2ba657b6b9211d73f255d28b42f06b0c",
        citation=_HUANG_2017,
        aliases=("blog",),
        paper=Size(5_196, 171_743, 8_189, 300),
        notes=("No anomalies in the file; the paper injects 300: 10 cliques of 15 and 150 attribute rows.", _TOPICS),
    ),
    Network(
        name="flickr",
        kind="to inject",
        size=Size(7_575, 239_738, 12_047, 0),
        repository=_AANE[0],
        commit=_AANE[1],
        path="Flickr.mat",
        sha256="1493f3f261395b232dd37845beae9215c0abccc9d63902a3cc0af7fd4f0972cd",
        citation=_HUANG_2017,
        paper=Size(7_575, 239_738, 12_074, 450),
        notes=(
            "12,047 attributes, not the paper's 12,074: two digits of its table are swapped.",
            "No anomalies in the file; the paper injects 450: 15 cliques of 15 and 225 attribute rows.",
            _TOPICS,
        ),
    ),
    Network(
        name="acm",
        kind="to inject",
        size=Size(16_484, 71_980, 8_337, 0),
        repository="xhuang31/FeatWalk_AAAI19",
        commit="4121e32e0221c40fb9638025b38c381d5410318b",
        path="ACM.mat",
        git_blob="a8e7e8deed30d4595661e5ccd8e74b6f5cba654a",
        citation=(
            "Tang et al.: ArnetMiner. KDD 2008; Huang, Song, Yang & Hu: Large-Scale Heterogeneous Feature "
            "Embedding. AAAI 2019"
        ),
        paper=Size(16_484, 71_980, 8_337, 600),
        notes=(
            "No anomalies in the file; the paper injects 600: 20 cliques of 15 and 300 attribute rows.",
            _TOPICS,
            _UNSEEN,
        ),
    ),
    _dominant(
        "BlogCatalog",
        Size(5_196, 171_743, 8_189, 300),
        "5a7e764ddede8fa28e39d21b713d157a320c75d5",
        Size(5_196, 171_743, 8_189, 300),
    ),
    _dominant(
        "Flickr",
        Size(7_575, 239_738, 12_047, 450),
        "3a97ad1b5ce6f92afec544efce4debf328b9793b",
        Size(7_575, 239_738, 12_074, 450),
    ),
    _dominant(
        "ACM",
        Size(16_484, 71_980, 8_337, 600),
        "fb9d065eb4b79dcf3689d461c3b17174cf39ece8",
        Size(16_484, 71_980, 8_337, 600),
    ),
    _bond(
        "inj_cora",
        "injected",
        Size(2_708, 5_574, 1_433, 138),
        "a452aad0a4946a6efab41174d9ce02011689aa98",
        "Sen et al.: Collective Classification in Network Data. AI Magazine 2008",
        (
            "5,574 edges; BOND counts 11,060 arcs, some of them stored in one direction only.",
            "138 anomalies: 70 structural and 70 attribute ones share two nodes.",
        ),
    ),
    _bond(
        "inj_amazon",
        "injected",
        Size(13_752, 515_042, 767, 694),
        "1d225e978ca1e97c39f358da7d8f3c7f14efa686",
        "Shchur, Mumme, Bojchevski & Günnemann: Pitfalls of Graph Neural Network Evaluation. 2018",
        (_UNSEEN, _ARCS, "Not the Amazon of the HCM paper: computers bought together, not books."),
    ),
    _bond(
        "inj_flickr",
        "injected",
        Size(89_250, 933_804, 500, 4_414),
        "cdc7c22093ace811813277ed4f1d5a888664a696",
        "Zeng, Zhou, Srivastava, Kannan & Prasanna: GraphSAINT. ICLR 2020",
        (_UNSEEN, _ARCS, "Not the Flickr of the HCM paper: images, not people."),
    ),
    _bond(
        "weibo",
        "organic",
        Size(8_405, 407_963, 400, 868),
        "71a1687cd7b9d51f815e9ea99e88ff6f12a6593a",
        "Zhao, Deng, Yu, Jiang, Wang & Jiang: Error-Bounded Graph Anomaly Loss for GNNs. CIKM 2020",
        (_UNSEEN, _ARCS),
    ),
    _bond(
        "reddit",
        "organic",
        Size(10_984, 168_016, 64, 366),
        "7851dbe7e17aea7ca44983696b6d7e3d7a696711",
        "Kumar, Zhang & Leskovec: Predicting Dynamic Embedding Trajectory in Temporal Interaction Networks. KDD 2019",
        (_UNSEEN, _ARCS),
    ),
)
