"""A second stock of wrong answers, written from the exercises' pages alone, to be used once."""
