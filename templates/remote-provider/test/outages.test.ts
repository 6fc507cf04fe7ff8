import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { ProviderRig } from "@virtual-kubelet/testing/conformance";
import { provider } from "../src/index.ts";
import { FakeApi } from "./fake-api.ts";

/** A fake API, and a provider that works with it; both end with the test. */
async function start(t: TestContext, { timeoutSeconds = 10 } = {}): Promise<{ api: FakeApi; rig: ProviderRig }> {
  const api = await FakeApi.start();
  const rig = await ProviderRig.open({
    provider,
    config: { address: api.address, pollIntervalSeconds: 0.1, timeoutSeconds },
    required: [],
  });
  t.after(async () => {
    // Its pods are deleted, which takes an API that answers.
    api.faults.clear();
    await rig[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });
  return { api, rig };
}

for (const fault of ["lost-answer", "no-answer"] as const) {
  test(`a job whose creation was not answered is found by its tag and adopted (${fault})`, async (t) => {
    const { api, rig } = await start(t, { timeoutSeconds: 0.5 });
    api.faults.add(fault);

    const ref = await rig.create();

    assert.deepEqual(api.names(), [ref.uid]);
    assert.equal((await rig.status(ref)).phase, "Running");
  });
}

test("a create that did not reach the API fails as Unavailable, and can be made again", async (t) => {
  const { api, rig } = await start(t);
  const pod = rig.plan();
  api.faults.add("away");
  await assert.rejects(rig.create(pod), isUnavailable);
  api.faults.delete("away");

  await rig.create(pod);

  assert.deepEqual(api.names(), [pod.metadata?.uid]);
});

test("a pod that an incomplete list lacks is unknown, and never called gone", async (t) => {
  const { api, rig } = await start(t);
  const ref = await rig.run();
  api.faults.add("partial");

  assert.deepEqual(await rig.inventory(), { uids: [ref.uid], complete: false });
  assert.equal((await rig.provider.getPod(ref, rig.signal)).status.phase, "Running");
  await rig.clock.sleep(500);
  assert.ok(rig.told(ref).every((update) => !("gone" in update)));
});

test("what ended while the API was away is reported when it is back", async (t) => {
  const { api, rig } = await start(t);
  const ref = await rig.run({ containers: [{ program: { kind: "exit", exitCode: 3, afterSeconds: 1 } }] });
  api.faults.add("away");
  await rig.clock.sleep(1500);
  api.faults.delete("away");

  await eventually(
    () => {
      const last = rig.told(ref).at(-1);
      assert.ok(last && "status" in last && last.status.phase === "Failed");
    },
    { timeoutMs: 30_000 },
  );
});

test("a job that cannot be read is left out, and the list says that it is incomplete", async (t) => {
  const { api, rig } = await start(t);
  const ref = await rig.run();
  api.faults.add("garbled");

  assert.deepEqual(await rig.inventory(), { uids: [ref.uid], complete: false });
});

test("a proxy that answers 404 for the API does not make pods gone", async (t) => {
  const { api, rig } = await start(t);
  const ref = await rig.run();
  api.faults.add("proxy");
  await assert.rejects(rig.provider.getPod(ref, rig.signal), isUnavailable);
  await assert.rejects(rig.create(), isUnavailable);
  await rig.clock.sleep(3000);
  api.faults.delete("proxy");

  assert.equal((await rig.provider.getPod(ref, rig.signal)).status.phase, "Running");
  assert.ok(rig.told(ref).every((update) => !("gone" in update)));
});
