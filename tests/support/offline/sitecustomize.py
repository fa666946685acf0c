"""Found through PYTHONPATH by every Python that a test starts: it has no network either."""
import netblock

netblock.install()
