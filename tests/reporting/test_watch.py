"""The film of a run: a page that plays by itself, without a network."""

from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure

from storm_lab.reporting.figures.watch import without_icon_font


def test_the_player_asks_for_nothing_from_elsewhere_and_its_buttons_say_what_they_do() -> None:
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
