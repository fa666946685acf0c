"""A class: submissions to records, and records to tables, pages and the files of Gradescope."""
