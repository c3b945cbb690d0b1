"""Controllers that bind and protect volumes and claims."""
