"""Matplotlib's backend in the page: `plt.show()` hands each open figure on as a PNG, and closes it."""

import base64
import io

from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

__all__ = ["FigureCanvas", "show"]


def show(*args, **options):
    import cells

    for manager in Gcf.get_all_fig_managers():
        store = io.BytesIO()
        manager.canvas.figure.savefig(store, format="png", bbox_inches="tight")
        cells._flush()
        cells._session.tell({"png": base64.b64encode(store.getvalue()).decode()})
        Gcf.destroy(manager)
