"""What runs in a sandbox: the worker, how it confines itself, and the name space of an answer. Of the grader they import the protocol alone."""
