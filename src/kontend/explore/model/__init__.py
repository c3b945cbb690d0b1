"""The model: states of the cluster and of all controller instances, and the steps between them."""
