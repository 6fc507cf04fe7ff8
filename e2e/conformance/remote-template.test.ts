import { contractFeatures, describeProvider, shellPrograms } from "@virtual-kubelet/testing/conformance";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { provider } from "../../templates/remote-provider/src/index.ts";
import { FakeApi, type Fault } from "../../templates/remote-provider/test/fake-api.ts";
import { run } from "../../tools/run.ts";
import { reportFile, root } from "./support/paths.ts";

const api = await FakeApi.start();
afterAll(() => api[Symbol.asyncDispose]());

async function fault(name: Fault): Promise<AsyncDisposable> {
  api.faults.add(name);
  return { [Symbol.asyncDispose]: async () => void api.faults.delete(name) };
}

// What new providers of remote APIs start from, as test/conformance.test.ts there runs it in theirs.
await describeProvider({
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
  readme: join(root, "templates/remote-provider/README.md"),
  against: { kind: "fake", name: "the API of its tests, whose jobs are processes of the machine" },
  report: reportFile("remote-template"),
});

test("the provider's other tests pass on Node's own runner", async () => {
  const files = ["outages", "translate"].map((name) => `test/${name}.test.ts`);
  const { code, output } = await run("node", ["--conditions=@virtual-kubelet/source", "--test", ...files], {
    cwd: join(root, "templates/remote-provider"),
  });

  expect(code, output).toBe(0);
});
