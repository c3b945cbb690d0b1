"""Search strategies on top of the model: breadth first, depth first, and random walks."""
