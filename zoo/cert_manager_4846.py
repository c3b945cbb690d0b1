"""cert-manager: two Certificates fight over one Secret.

Link: https://github.com/cert-manager/cert-manager/issues/4846
Archetype: A10

Two Certificates named the same Secret. For each, the stored certificate did not match its own spec, so each had
it issued again and overwrote the Secret, which triggered the other one. Thousands of requests later the API
server was down.

Interleaving: a writes names=a -> b sees names=a, writes names=b -> a sees names=b, writes names=a -> ...

Fix: the Certificate that owns the Secret keeps it; another one with the same secretName is refused.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CERTIFICATE = "Certificate.cert-manager.io/v1"
SECRET = "Secret/v1"


class Certificates(Controller):
    """Stores a certificate in the Secret that the Certificate names."""

    kind = CERTIFICATE
    watches = {SECRET: lambda secret, cache: ["default/a", "default/b"]}
    checks_owner = False

    async def reconcile(self, request: Request, api: Api) -> None:
        certificate = await api.get(CERTIFICATE, request)
        wanted = {"tls.crt": certificate["spec"]["crt"]}
        note = {"cert-manager.io/certificate-name": request.name}
        try:
            secret = await api.get(SECRET, f"default/{certificate['spec']['secretName']}")
        except NotFound:
            name = certificate["spec"]["secretName"]
            await api.create(new_object(SECRET, name, namespace="default", annotations=note, data=wanted))
            return
        if self.checks_owner and secret["metadata"]["annotations"] != note:
            return
        if secret["data"] != wanted:
            secret["data"] = wanted
            secret["metadata"]["annotations"] = note
            await api.update(secret)


class Fixed(Certificates):
    name = "certificates"
    checks_owner = True


buggy = Scenario(
    controllers=[Certificates()],
    crds=[permissive_crd(CERTIFICATE)],
    objects=[
        new_object(CERTIFICATE, name, spec={"secretName": "tls", "crt": crt})
        for name, crt in (("a", "YQ=="), ("b", "Yg=="))
    ],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
