"""cert-manager and OpenShift: two authorities rewrite one Secret.

Link: https://github.com/cert-manager/cert-manager/issues/6988
Archetype: A10

A Service asks OpenShift for a serving certificate in a Secret, and a Certificate asks cert-manager for one in
the same Secret. Each of the two controllers finds a certificate that is not its own, and writes its own one.

Interleaving: service CA writes crt=sca -> cert-manager sees a foreign issuer, writes crt=cm -> service CA
writes crt=sca -> ...

Fix: neither overwrites a Secret that carries the mark of another controller.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CERTIFICATE = "Certificate.cert-manager.io/v1"
SECRET = "Secret/v1"
ISSUER = "issuer"


class CertManager(Controller):
    """Keeps its certificate in the Secret."""

    kind = CERTIFICATE
    watches = {SECRET: lambda secret, cache: ["default/web"]}
    respects_others = False

    async def reconcile(self, request: Request, api: Api) -> None:
        secret = await api.get(SECRET, "default/web-tls")
        annotations = secret["metadata"].setdefault("annotations", {})
        issuer = annotations.get(ISSUER, "")
        if issuer == self.name or (issuer and self.respects_others):
            return
        annotations[ISSUER] = self.name
        await api.update(secret)


class ServiceCa(CertManager):
    """OpenShift's authority, for Services that ask for a certificate."""


class PoliteCertManager(CertManager):
    name = "certmanager"
    respects_others = True


class PoliteServiceCa(ServiceCa):
    name = "serviceca"
    respects_others = True


buggy = Scenario(
    controllers=[CertManager(), ServiceCa()],
    crds=[permissive_crd(CERTIFICATE)],
    objects=[new_object(CERTIFICATE, "web", spec={}), new_object(SECRET, "web-tls")],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[PoliteCertManager(), PoliteServiceCa()])
