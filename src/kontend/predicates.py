"""Predicates decide which events of a kind trigger a reconcile. They mean what controller-runtime's predicates mean.

>>> from kontend import Controller
>>> class Widgets(Controller):
...     kind = "Widget.example.com/v1"
...     predicates = {"Widget.example.com/v1": GenerationChanged() | LabelChanged()}
"""

from kontend.runtime.predicates import (
    AnnotationChanged,
    Event,
    GenerationChanged,
    LabelChanged,
    Predicate,
    ResourceVersionChanged,
    Where,
)

__all__ = [
    "AnnotationChanged",
    "Event",
    "GenerationChanged",
    "LabelChanged",
    "Predicate",
    "ResourceVersionChanged",
    "Where",
]
