"""The resources by which users configure admission, under the keys of their objects.

A cluster that has none of these objects never imports the modules that obey them, nor CEL.
"""

from __future__ import annotations

from typing import Final

_GROUP: Final = "admissionregistration.k8s.io"
MUTATING_WEBHOOKS: Final = f"mutatingwebhookconfigurations.{_GROUP}"
VALIDATING_WEBHOOKS: Final = f"validatingwebhookconfigurations.{_GROUP}"
POLICIES: Final = f"validatingadmissionpolicies.{_GROUP}"
POLICY_BINDINGS: Final = f"validatingadmissionpolicybindings.{_GROUP}"
