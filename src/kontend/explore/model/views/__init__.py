"""Views of the controller instances: events delivered to them, reads answered from them, reconciles they trigger."""
