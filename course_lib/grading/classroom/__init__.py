"""Grade a class: collect submissions, grade them, write marks and pages."""
