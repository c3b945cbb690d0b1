// The interactive page: the steps that are enabled in the current state, of which the reader takes one.
