from typing import Any
def compile_rules(schema: Any) -> Any: return None
def rule_errors(rules: Any, obj: Any, old: Any) -> list[Any]: return []
