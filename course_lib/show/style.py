"""Colors and defaults of figures."""

import matplotlib.pyplot as plt

INK, ACCENT, SECOND = "#1f2933", "#b3541e", "#1b6ca8"                # black, orange and blue

plt.rcParams.update({
    "figure.dpi": 100, "figure.facecolor": "white", "savefig.facecolor": "white", "font.size": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.prop_cycle": plt.cycler(color=[SECOND, ACCENT, INK]),
    "image.interpolation": "nearest", "legend.frameon": False,
})
