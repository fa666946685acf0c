"""Chapter 06: MADE's masks, the parents that masks leave, several orders as one model, the order of an
unknown one, a class of one's own, and one to be mended."""
