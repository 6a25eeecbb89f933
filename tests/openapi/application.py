"""An application by the client that openapi-python-client wrote from the document of the interface."""

import json
import os

from weir_api import AuthenticatedClient
from weir_api.api.default import check, tenant_read
from weir_api.models import CheckRequest, Decision, Problem, TenantReply

client = AuthenticatedClient(base_url=os.environ["BASE"], token=os.environ["TOKEN"])

decision = check.sync(client=client, body=CheckRequest(tenant="acme", budget="tokens", cost=3))
assert isinstance(decision, Decision), decision

refused = check.sync(client=client, body=CheckRequest(tenant="acme", budget="unknown"))
assert isinstance(refused, Problem), refused

tenant = tenant_read.sync(client=client, id="acme")
assert isinstance(tenant, TenantReply), tenant

print(json.dumps({"allowed": decision.allowed, "remaining": decision.remaining}))
