"""Server-side apply: field ownership, managed fields, and merging along a schema."""
