"""What is wrong with objects of the built-in kinds, in the words and in the order of kube-apiserver."""
