"""Matplotlib's backend in the page: `plt.show()` hands each open figure on as the drawing that a stored one is, in the
colours of a light page and of a dark one, and closes it.
"""

import itertools
import re

from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

__all__ = ["FigureCanvas", "show"]
COUNT = itertools.count()


def show(*args, **options):
    import cells
    from byhand.show.page import on_page
    from byhand.show.svg import svg

    for manager in Gcf.get_all_fig_managers():
        drawn = on_page(svg(manager.canvas.figure), "")
        own = rf"\g<1>{next(COUNT)}-"  # the stored figure may be the same one, and is hidden with all that has its ids
        drawn = re.sub(r'(?<=["#])(f[0-9a-f]{6}-)(?=\d+[")])', own, drawn)
        cells._flush()
        cells._session.tell({"drawing": drawn})
        Gcf.destroy(manager)
