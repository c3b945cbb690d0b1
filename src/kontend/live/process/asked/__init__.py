"""What a Python program is given so that it answers when it is asked for its stacks."""
