"""CustomResourceDefinitions: their validation, defaults and status, and the strategy of the resources they define."""
