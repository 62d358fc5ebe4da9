"""The film of a run: a self-contained page that needs no network."""

from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure

from storm_lab.reporting.figures.watch import without_icon_font


def test_the_player_loads_nothing_from_the_network_and_its_buttons_have_labels() -> None:
    figure = Figure(figsize=(1, 1))
    film = FuncAnimation(figure, lambda number: [], frames=2)
    player = film.to_jshtml()
    assert "https://" in player
    alone = without_icon_font(player)
    assert "://" not in alone.replace("http://www.w3.org", "")
    assert 'class="fa' not in alone
    assert '<img alt="' in alone
    assert alone.count("▶") == 1 and alone.count("‖") == 1
    assert alone.count("<button") == player.count("<button") == 9
