"""YAML files that users write: scenarios, plans, campaigns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from kontend.explore.problems import BadScenario
from kontend.kube.encoding.yaml_text import not_yaml
from kontend.runtime.source_location import working_directory


def read_yaml(path: str | Path) -> Any:
    """The document of a file. Raises :class:`BadScenario` where there is no file, or no YAML in it."""
    try:
        return yaml.safe_load((working_directory() / path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadScenario(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadScenario(not_yaml(path, error)) from error
