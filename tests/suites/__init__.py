"""Suites of other projects, run with arrays on a card in the place of the arrays they expect.

A suite runs in a process of its own, twice: with host fallback allowed and forbidden. What is known
to fail stands in a list beside it, one test a line with its reason; anything else that fails fails
here, and so does a listed test that passes.
"""
