"""A third stock, two mistakes an exercise and one fault in each, written from the exercises' pages
alone, by somebody who had seen neither checks nor messages nor the other stocks."""
