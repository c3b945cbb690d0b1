"""Objects that belong to an informer's cache, followed from where they are read to where they are changed."""
