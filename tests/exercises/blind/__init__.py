"""Wrong answers that were written from the exercises' pages alone, by somebody who knew neither the checks nor their messages.

There are two or three to each function, one fault in each, described after the exercise's id. They measure what the checks find of
mistakes that nobody foresaw, so an answer is never changed to fit a check, and a new one is written without reading the references.
A module for each chapter, with the name of the chapter's folder.
"""
