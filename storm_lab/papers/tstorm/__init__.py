"""T-Storm: Traffic-aware Online Scheduling in Storm (Xu, Chen, Tang and Su, ICDCS 2014)."""
