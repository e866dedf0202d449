"""SciPy's functions for arrays on a card, under SciPy's names.

``daskasc.scipy.special``, ``daskasc.scipy.ndimage`` and ``daskasc.scipy.signal`` offer the
functions of SciPy's modules. What each computes on the card, and what goes to the host, is the
table in :mod:`daskasc.scipy.coverage`. SciPy is needed (``pip install "daskasc[scipy]"``) and
imported at the first use of a name.
"""
