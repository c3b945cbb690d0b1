"""knative: a Service is ready although its new revision is not.

Link: https://github.com/knative/serving/issues/8004
Archetype: A8

The controller of a Service copies the readiness of its Configuration. It did not compare the generation that
the readiness belongs to. Right after it had changed the Configuration, the condition in it was still that of
the spec before, and the Service was reported as ready for the new one.

Interleaving: service updates its configuration, generation 2 -> the configuration still says Ready, observed 1
-> the service reports Ready for v2

Fix: readiness counts only if the observed generation is the generation.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

SERVICE = "Service.serving.knative.dev/v1"
CONFIGURATION = "Configuration.serving.knative.dev/v1"


class Services(Controller):
    """Passes the image on to the configuration, and reports the readiness of the configuration."""

    kind = SERVICE
    watches = {CONFIGURATION: lambda configuration, cache: ["default/web"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        service = await api.get(SERVICE, request)
        configuration = await api.get(CONFIGURATION, "default/web")
        image = service["spec"]["image"]
        if configuration["spec"]["image"] != image:
            configuration["spec"]["image"] = image
            await api.update(configuration)
        wanted = {"ready": image if self.is_ready(configuration) else ""}
        if service.get("status") != wanted:
            service["status"] = wanted
            await api.status.update(service)

    def is_ready(self, configuration: dict[str, Any]) -> bool:
        return bool(configuration["status"]["ready"])


class Configurations(Controller):
    """Makes the revision of an image ready."""

    kind = CONFIGURATION

    async def reconcile(self, request: Request, api: Api) -> None:
        configuration = await api.live.get(CONFIGURATION, request)
        generation = configuration["metadata"]["generation"]
        wanted = {"ready": True, "image": configuration["spec"]["image"], "observedGeneration": generation}
        if configuration.get("status") != wanted:
            configuration["status"] = wanted
            await api.status.update(configuration)


class Fixed(Services):
    name = "services"

    def is_ready(self, configuration: dict[str, Any]) -> bool:
        status = configuration["status"]
        return bool(status["ready"] and status["observedGeneration"] == configuration["metadata"]["generation"])


def ready_too_early(cluster: Cluster) -> bool:
    ready = (cluster.get(SERVICE, "web").get("status") or {}).get("ready")
    return ready == "web:2" and cluster.get(CONFIGURATION, "web")["status"]["image"] == "web:1"


service = new_object(SERVICE, "web", spec={"image": "web:1"})
status = {"ready": True, "image": "web:1", "observedGeneration": 1}
buggy = Scenario(
    controllers=[Services(), Configurations()],
    crds=[permissive_crd(SERVICE), permissive_crd(CONFIGURATION)],
    objects=[service, new_object(CONFIGURATION, "web", spec={"image": "web:1"}, status=status)],
    actions=[update(service, spec={"image": "web:2"})],
    properties=[never(ready_too_early)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Configurations()])
