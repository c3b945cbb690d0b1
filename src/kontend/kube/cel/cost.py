def expression_cost(expression, declaration): return 1
