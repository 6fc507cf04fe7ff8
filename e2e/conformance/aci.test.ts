import { provider } from "@virtual-kubelet/provider-aci";
import { freePort } from "@virtual-kubelet/testing";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { FakeAzure, fakeAccount } from "../aci/fake/fake-azure.ts";
import { quickTimings } from "../aci/fake/fake-container-group.ts";
import { trustAuthority } from "../aci/trust-authority.ts";
import { ProcessHost } from "../support/container-host/process-host.ts";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import { reportFile, root } from "./support/paths.ts";

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

// Azure in this process, whose containers are processes; the service's schema judges each request.
const host = resources.use(new ProcessHost());
const azure = resources.use(new FakeAzure({ host, timings: quickTimings, servesRealtimeMetrics: true }));
await azure.listen();
const folder = mkdtempSync(join(tmpdir(), "vk-aci-"));
resources.defer(() => rm(folder, { recursive: true, force: true }));
const caFile = join(folder, "ca.pem");
writeFileSync(caFile, azure.caCertificate);
// The vendor's library for credentials takes no authority of its own.
resources.use(trustAuthority(azure.caCertificate));

const { subscriptionId, resourceGroup, location, tenantId, clientId, clientSecret } = fakeAccount;
const noTerminals = "python3 is not here, which gives the fake's commands their terminals";

await describeProvider({
  provider,
  config: {
    subscriptionId,
    resourceGroup,
    region: location,
    endpoint: azure.url,
    authorityHost: azure.url,
    caFile,
    credential: "clientSecret",
    tenantId,
    clientId,
    clientSecret,
    // In a subnet pods have addresses, and their figures are seconds old.
    subnetId: `/subscriptions/${subscriptionId}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/pods/subnets/pods`,
    realTimeMetrics: true,
    // Azure reports no end of a container; the suite waits a minute for it.
    pollInterval: "5s",
  },
  required: requiredFeatures.aci,
  lacks: {
    "sidecar-containers":
      "Azure restarts all containers of a pod alike, so a sidecar would keep other pods than those that always restart from ending",
    "logs-previous": "Azure keeps the output of a container's current run only",
  },
  lacksPart: {
    "attach-input": "Azure gives containers no standard input",
    "grace-periods": "Azure takes no grace period: how long containers have to end is its own",
    "startup-probes": "Azure has liveness and readiness probes only",
  },
  notRun: canOpenTerminals()
    ? {}
    : { exec: noTerminals, "exec-exit-code": noTerminals, "exec-input": noTerminals, "exec-tty": noTerminals },
  backend: {
    leftovers: async () => [...azure.instances.groups.keys()],
    async losePod({ uid }) {
      const own = [...azure.instances.groups.values()].filter((group) => Object.values(group.tags).includes(uid));
      await Promise.all(own.map(({ name }) => azure.instances.lose(name)));
    },
    async breakBackend() {
      azure.isAway = true;
      return { [Symbol.asyncDispose]: async () => void (azure.isAway = false) };
    },
    async breakLists() {
      const fault = azure.faults.add({
        method: "GET",
        path: /\/containerGroups\?/,
        answer: { status: 503, body: { error: { code: "ServiceUnavailable", message: "no list today" } } },
      });
      return { [Symbol.asyncDispose]: async () => fault[Symbol.dispose]() };
    },
  },
  timeouts: { startMs: 30_000, endMs: 30_000, callMs: 15_000 },
  port: await freePort(),
  readme: join(root, "providers/aci/README.md"),
  against: { kind: "fake", name: "Azure in the tests' process, held to the service's schema", version: "2025-09-01" },
  report: reportFile("aci"),
});
