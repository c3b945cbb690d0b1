"""Resources that are registered at run time: the server's own controllers for definitions and API services."""
