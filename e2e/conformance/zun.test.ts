import { join } from "node:path";
import { provider } from "@virtual-kubelet/provider-zun";
import { freePort } from "@virtual-kubelet/testing";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { afterAll } from "vitest";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import { FakeCloud } from "../zun/fake/fake-cloud.ts";
import { reportFile, root } from "./support/paths.ts";

// A cloud in this process whose containers are processes; Zun's own schemas judge each request.
const cloud = await FakeCloud.start();
afterAll(() => cloud[Symbol.asyncDispose]());

const noTerminals = "python3 is not here, which gives the fake's commands their terminals";

await describeProvider({
  provider,
  config: cloud.config,
  required: requiredFeatures.zun,
  lacks: {
    restarts: "Zun restarts containers by itself, and does not tell how the run before has ended",
    "logs-previous": "Docker's log of a container goes on over its restarts",
    "init-containers": "Zun goes on to the next container whatever the exit code of an init container is",
  },
  lacksInSeveral: {
    ends: "Zun does not look at a capsule's containers again once they run",
    logs: "Zun gives no access to a capsule's containers",
    probes: "Zun runs no commands in a capsule's containers",
    stats: "Zun does not measure a capsule's containers",
  },
  notRun: canOpenTerminals()
    ? {}
    : { exec: noTerminals, "exec-exit-code": noTerminals, "exec-input": noTerminals, "exec-tty": noTerminals },
  backend: {
    leftovers: async () => [
      ...[...cloud.zun.containers.keys()].map((uuid) => `container ${uuid}`),
      ...[...cloud.zun.capsules].flatMap(([uuid, { isGone }]) => (isGone ? [] : [`capsule ${uuid}`])),
      ...["ports", "floatingips"].flatMap((table) => (cloud.neutron.tables[table] ?? []).map(({ id }) => `${table} ${String(id)}`)),
    ],
    async losePod({ uid }) {
      for (const container of cloud.zun.containers.values()) if (container.body.labels?.["UID"] === uid) await container.lose();
    },
    async breakBackend() {
      cloud.faults.away = true;
      return {
        async [Symbol.asyncDispose]() {
          delete cloud.faults.away;
        },
      };
    },
    async breakLists() {
      cloud.faults.listsFail = true;
      return {
        async [Symbol.asyncDispose]() {
          delete cloud.faults.listsFail;
        },
      };
    },
  },
  // Each container, and each command, is a process or two of this machine.
  timeouts: { startMs: 30_000, endMs: 30_000, callMs: 15_000 },
  port: await freePort(),
  readme: join(root, "providers/zun/README.md"),
  against: {
    kind: "fake",
    name: "a cloud in the tests' process, held to Zun's own schemas",
    version: "18.0.0",
  },
  report: reportFile("zun"),
});
