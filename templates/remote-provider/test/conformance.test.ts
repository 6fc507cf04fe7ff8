import { join } from "node:path";
import { after, describe, test } from "node:test";
import { contractFeatures, describeProvider, shellPrograms } from "@virtual-kubelet/testing/conformance";
import { provider } from "../src/index.ts";
import { FakeApi, type Fault } from "./fake-api.ts";

const api = await FakeApi.start();
after(() => api[Symbol.asyncDispose]());

/** Lets something go wrong until it is disposed. */
async function fault(name: Fault): Promise<AsyncDisposable> {
  api.faults.add(name);
  return { [Symbol.asyncDispose]: async () => void api.faults.delete(name) };
}

await describeProvider({
  runner: { after, describe, test },
  provider,
  config: { address: api.address, pollIntervalSeconds: 0.2 },
  required: [...contractFeatures, "adoption", "notifications", "node", "networks", "environment", "logs", "logs-follow"],
  programs: shellPrograms({ image: "none" }),
  backend: {
    losePod: ({ uid }) => api.lose(uid),
    leftovers: async () => api.names(),
    breakBackend: () => fault("away"),
    breakLists: () => fault("partial"),
  },
  readme: join(import.meta.dirname, "../README.md"),
});
