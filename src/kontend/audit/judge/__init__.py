"""From classified sites to findings, under a policy.

`verdicts` judges one site, `locks` the question that comes first in it, `writers` compares sites, `fold` makes one
finding of one problem, `interleaving` and `fixes` add the steps that hurt and the change that helps.
"""
