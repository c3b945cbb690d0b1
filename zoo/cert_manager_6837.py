"""cert-manager: a request that seemed to fail makes two revisions.

Link: https://github.com/cert-manager/cert-manager/issues/6837
Archetype: A4

The controller counts the next revision up in the status and then creates the CertificateRequest for it. The API
server timed out but had stored the request. The controller took it for a failure and went on with the revision
after it: both requests exist, and each of the two controllers behind it waits for the other one.

Interleaving: revision 1 is stored -> create request 1: stored, but the response is lost -> retry: revision 2,
create request 2

Fix: name the request after its revision and count up only when it is done.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CERTIFICATE = "Certificate.cert-manager.io/v1"
REQUEST = "CertificateRequest.cert-manager.io/v1"


class Requests(Controller):
    """Requests the next revision of a certificate."""

    kind = CERTIFICATE
    counts_first = True

    async def reconcile(self, request: Request, api: Api) -> None:
        certificate = await api.live.get(CERTIFICATE, request)
        status = certificate.setdefault("status", {"revision": 0})
        if status.get("requested"):
            return
        revision = status["revision"] + 1
        if self.counts_first:
            status["revision"] = revision
            await api.status.update(certificate)
        wanted = new_object(REQUEST, f"{request.name}-{revision}", namespace="default")
        set_controller_reference(certificate, wanted)
        with suppress(AlreadyExists):
            await api.create(wanted)
        certificate["status"] = {"revision": revision, "requested": True}
        await api.status.update(certificate)


class Fixed(Requests):
    name = "requests"
    counts_first = False


buggy = Scenario(
    controllers=[Requests()],
    crds=[permissive_crd(CERTIFICATE), permissive_crd(REQUEST)],
    objects=[new_object(CERTIFICATE, "tls", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
