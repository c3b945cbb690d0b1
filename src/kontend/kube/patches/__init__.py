"""JSON patch, merge patch and strategic merge patch: applying and computing them."""
