"""The documents, by name."""

from __future__ import annotations

from equipoise.errors import require
from papers.elo_mmr.document import ELO_MMR
from papers.items import Document
from papers.performance.document import PERFORMANCE
from papers.rebalance.document import REBALANCE
from papers.team_glicko2.document import TEAM_GLICKO2

#: In the order of the documentation.
DOCUMENTS: dict[str, Document] = {
    one.name: one for one in (TEAM_GLICKO2, ELO_MMR, PERFORMANCE, REBALANCE)
}


def documents(name: str | None) -> list[Document]:
    """Return the document of a name, or all. Raises : InvalidParameterError."""
    require(name is None or name in DOCUMENTS, "document", f"one of {', '.join(DOCUMENTS)}", name)
    return list(DOCUMENTS.values()) if name is None else [DOCUMENTS[name]]
