"""A search in many processes or on many machines: shards, and the engines that run them."""
