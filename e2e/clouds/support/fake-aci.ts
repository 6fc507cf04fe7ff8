import { systemClock } from "@virtual-kubelet/clock";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { groupBody, groupsPath } from "../../aci/arm-calls.ts";
import { viewOf } from "../../aci/fake/container-group-view.ts";
import { FakeAzure, fakeAccount } from "../../aci/fake/fake-azure.ts";
import { quickTimings } from "../../aci/fake/fake-container-group.ts";
import { DockerHost } from "../../support/container-host/docker-host.ts";
import type { Cloud, ForeignObject } from "./cloud.ts";

const { subscriptionId, resourceGroup, location, tenantId, clientId, clientSecret } = fakeAccount;

/**
 * Starts the fake of Azure Container Instances. The program has the environment variables of the README, those of a service principal, and the
 * fake's addresses and authority.
 */
export async function openAci(dockerHost: string): Promise<Cloud> {
  await using ends = new AsyncDisposableStack();
  const host = ends.use(new DockerHost({ host: dockerHost, prefix: "aci" }));
  const azure = ends.use(new FakeAzure({ host, timings: quickTimings }));
  await azure.listen();
  const directory = mkdtempSync(join(tmpdir(), "vk-azure-"));
  ends.defer(() => rmSync(directory, { recursive: true, force: true }));
  const authority = join(directory, "ca.pem");
  writeFileSync(authority, azure.caCertificate);
  const all = ends.move();
  return {
    providerConfig: {},
    env: {
      AZURE_SUBSCRIPTION_ID: subscriptionId,
      ACI_RESOURCE_GROUP: resourceGroup,
      ACI_REGION: location,
      AZURE_TENANT_ID: tenantId,
      AZURE_CLIENT_ID: clientId,
      AZURE_CLIENT_SECRET: clientSecret,
      AZURE_AUTHORITY_HOST: azure.url,
      AZURE_RESOURCE_MANAGER_ENDPOINT: azure.url,
      NODE_EXTRA_CA_CERTS: authority,
    },
    // A container group has an address only if it is in a subnet or has public ports.
    hasAddresses: false,
    secretAnnotations: {},
    // Each access token of the fake begins with the second.
    credentials: [clientSecret, "fake-token-"],
    objectsOf: (podUid) =>
      [...azure.instances.groups.values()]
        .filter(({ tags }) => Object.values(tags).includes(podUid))
        .map(({ name, provisioningState, containers }) => ({
          group: name,
          isLive: provisioningState !== "Deleting",
          runs: containers[0]?.runs ?? [],
        })),
    countCreates: () => azure.calls.filter(({ method, path }) => method === "PUT" && /\/containerGroups\/[^/]+$/i.test(path)).length,
    leaveNextCreateUnanswered: () =>
      void azure.faults.add({ method: "PUT", path: /\/containerGroups\//i, times: 1, answer: () => new Promise(() => {}) }),
    createForeign: () => createForeign(azure),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Creates a container group of another user; returns when it runs. */
async function createForeign(azure: FakeAzure): Promise<ForeignObject> {
  const resources = { requests: { cpu: 1, memoryInGB: 1 } };
  const container = { name: "web", properties: { image: "busybox:1.37", command: ["sleep", "3600"], resources } };
  const answer = await azure.handle({
    method: "PUT",
    path: `${groupsPath}/others`,
    query: new URLSearchParams({ "api-version": "2025-09-01" }),
    headers: { authorization: `Bearer ${azure.tokens.issue()}` },
    body: groupBody({ restartPolicy: "Always", containers: [container] }, { team: "others" }),
  });
  if (typeof answer === "string" || answer.status !== 201) throw new Error(`create a container group of others: ${JSON.stringify(answer)}`);
  while (azure.instances.group("others").provisioningState !== "Succeeded") await systemClock.sleep(20);
  return { describe: () => viewOf(azure.instances.group("others"), { subscription: subscriptionId, hasInstanceView: true }) };
}
