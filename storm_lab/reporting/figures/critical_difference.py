"""Critical-difference diagram: mean ranks on a line, with a bar that joins schedulers that do not differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from storm_lab.errors import UserError
from storm_lab.reporting.figures.style import INK, LINES, MUTED, house_style, new_figure


def critical_difference(
    mean_ranks: Mapping[str, float],
    *,
    difference: float | None,
    groups: Sequence[Sequence[str]],
    instances: int,
    highlight: Sequence[str],
) -> Figure:
    """Draw the diagram of mean ranks by scheduler over a number of ``instances``; the best is on the left.

    ``difference`` is Nemenyi's critical difference of mean ranks, None to draw none. ``groups`` are
    schedulers that do not differ; the names of those in ``highlight`` are bold. Raises `UserError` for fewer
    than two schedulers.
    """
    if len(mean_ranks) < 2:
        raise UserError("a comparison needs at least two schedulers", field="mean_ranks")
    names = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    half = (len(names) + 1) // 2
    with house_style():
        figure = new_figure(1.5 + 0.24 * half + 0.16 * len(groups))
        axes = figure.subplots()
        axes.set_xlim(0.4, len(names) + 0.6)
        depth = half + 0.7 * len(groups) + 2.0
        axes.set_ylim(-depth, 2.2)
        axes.axis("off")
        axes.plot([1, len(names)], [0, 0], color=INK, linewidth=1.2)
        for rank in range(1, len(names) + 1):
            axes.plot([rank, rank], [0, 0.18], color=INK, linewidth=1.0)
            axes.annotate(str(rank), (rank, 0.3), ha="center", va="bottom", fontsize=8)
        first = 0.7 * len(groups) + 0.8
        for place, name in enumerate(names):
            left, mean = place < half, mean_ranks[name]
            level = -(first + (place if left else len(names) - 1 - place))
            edge = 0.9 if left else len(names) + 0.1
            axes.plot([mean] * 2, [0, level], color=MUTED, linewidth=0.8)
            axes.plot([mean, edge], [level, level], color=MUTED, linewidth=0.8)
            axes.annotate(
                f"{name}  {mean:.2f}", (edge, level), xytext=(-3 if left else 3, 0),
                textcoords="offset points", ha="right" if left else "left", va="center", fontsize=8.5,
                fontweight="bold" if name in highlight else "normal", annotation_clip=False,
            )  # fmt: skip
        for row, group in enumerate(groups):
            ends = [mean_ranks[name] for name in group]
            level = -(0.45 + 0.7 * row)
            span = [min(ends) - 0.04, max(ends) + 0.04]
            axes.plot(span, [level, level], color=LINES[0], linewidth=3.2, solid_capstyle="butt")
        foot = f"mean rank over {instances} instances, 1 is best"
        if difference is not None:
            axes.plot([1, 1 + difference], [1.5, 1.5], color=INK, linewidth=1.4)
            axes.annotate(
                f"critical difference {difference:.2f} (Nemenyi, 5 %)", (1 + difference, 1.5), xytext=(5, 0),
                textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
            foot += "; schedulers joined by a bar do not differ"
        figure.text(0.01, 0.01, foot, fontsize=7.5, color=MUTED)
    return figure
