"""The verdict on an answer: the checks in their order, the name of a mistake, the report."""
