import { strict as assert } from "node:assert";
import type { Provider, ProviderDefinition } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { RecordingProvider } from "../recording-provider/recording-provider.ts";
import { check, runCheck, type Check } from "./check.ts";
import type { ConformanceOptions, ConformanceTimeouts } from "./options.ts";

const forever = new Promise<never>(() => {});

/** The recording provider, with some methods replaced. */
function optionsWith(changed: Partial<Provider> = {}, timeouts: ConformanceTimeouts = {}): ConformanceOptions {
  const { definition } = new RecordingProvider();
  const provider: ProviderDefinition = {
    ...(definition as ProviderDefinition),
    create: async (host, config) => ({ ...(await (definition as ProviderDefinition).create(host, config)), ...changed }),
  };
  return { provider, required: [], timeouts: { startMs: 30_000, endMs: 30_000, callMs: 50, checkMs: 300, ...timeouts } };
}

const checkThat = (run: Check["run"]): Check => check("lifecycle", "it is so", run);

async function failureOf(run: Check["run"], options: ConformanceOptions): Promise<Error> {
  const error: unknown = await runCheck(checkThat(run), options).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof Error, "the check passed");
  return error;
}

test("a failure in the clean-up after a failed check is reported after the check's failure, which is the cause", async () => {
  const options = optionsWith({ [Symbol.asyncDispose]: () => Promise.reject(new Error("the connection does not close")) });
  const own = new Error("the pod does not run");
  const error = await failureOf(() => Promise.reject(own), options);

  expect(error.message).toBe("the pod does not run; then, while disposing: the connection does not close");
  expect(error.cause).toBe(own);
});

test("a check that fails throws its own error when the clean-up succeeds", async () => {
  const own = new Error("the pod does not run");

  expect(await failureOf(() => Promise.reject(own), optionsWith())).toBe(own);
});

test.each(["getPods", "getPod", "ping", "configureNode"] as const)(
  "a %s that never settles fails the check in time, even if the check ignores errors",
  async (method) => {
    const options = optionsWith({ [method]: () => forever });
    const error = await failureOf(async ({ provider, signal }) => {
      const ref = { namespace: "x", name: "x", uid: "x" };
      const call = { getPods: () => provider.getPods(signal), getPod: () => provider.getPod(ref, signal) };
      await (method in call ? call[method as keyof typeof call]() : provider[method as "ping"]?.(signal))?.catch(() => undefined);
    }, options);

    expect(error.message).toBe(`${method} has not come back within 50 ms`);
  },
);

test("a provider whose creation never settles fails the check in time", async () => {
  const options = optionsWith();
  const error = await failureOf(async () => {}, { ...options, provider: { ...options.provider, create: () => forever } });

  expect(error.message).toBe("create has not come back within 50 ms");
});

test("a check that never ends is stopped at its limit, names the pending calls, and stops calling the provider", async () => {
  let calls = 0;
  const options = optionsWith({ runInContainer: () => forever, ping: async () => void calls++ });
  const error = await failureOf(async ({ provider, signal, clock }) => {
    const io = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };
    provider.runInContainer?.({ namespace: "x", name: "x", uid: "x" }, "main", ["true"], io, signal).catch(() => undefined);
    for (;;) {
      await provider.ping?.(signal);
      await clock.sleep(5);
    }
  }, options);

  expect(error.message).toMatch(/^the check has not ended within 300 ms; still under way: runInContainer, called \d+ ms ago$/);
  const before = calls;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(calls).toBe(before);
});

test("a pod whose deletion never settles is named, and the check ends", async () => {
  const error = await failureOf((rig) => rig.run().then(() => {}), optionsWith({ deletePod: () => forever }, { checkMs: 30_000 }));

  expect(error.message).toBe("deletePod has not come back within 50 ms");
});
