import assert from "node:assert/strict";
import { duplexPair, PassThrough } from "node:stream";
import type { PodRef } from "@virtual-kubelet/core";
import { check, type Check } from "../check.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { capture } from "./capture.ts";

/** Calls one method with this signal; `undefined` when the provider does not have the method. */
type Call = (rig: ProviderRig, ref: PodRef, signal: AbortSignal) => Promise<unknown> | undefined;

const calls: Readonly<Record<string, Call>> = {
  createPod: (rig, _ref, signal) => rig.create(rig.plan(), signal),
  deletePod: (rig, ref, signal) =>
    rig.provider.deletePod({ ...ref, uid: "00000000-0000-4000-8000-000000000005" }, { gracePeriodSeconds: 0 }, signal),
  getPod: (rig, ref, signal) => rig.provider.getPod(ref, signal),
  getPodStatus: (rig, ref, signal) => rig.provider.getPodStatus(ref, signal),
  getPods: (rig, _ref, signal) => rig.provider.getPods(signal),
  ping: (rig, _ref, signal) => rig.provider.ping?.(signal),
  configureNode: (rig, _ref, signal) => rig.provider.configureNode?.(signal),
  getStatsSummary: (rig, _ref, signal) => rig.provider.getStatsSummary?.(signal),
  getMetricsResource: (rig, _ref, signal) => rig.provider.getMetricsResource?.(signal),
  getContainerLogs: (rig, ref, signal) =>
    rig.provider
      .getContainerLogs?.(ref, "main", { follow: true, previous: false, timestamps: false }, signal)
      .then(async ({ data, live }) => {
        for await (const _ of data);
        for await (const _ of live ?? []);
      }),
  runInContainer: (rig, ref, signal) =>
    rig.provider.runInContainer?.(ref, "main", ["sleep", "600"], capture({ stdin: new PassThrough() }), signal),
  attachToContainer: (rig, ref, signal) => rig.provider.attachToContainer?.(ref, "main", capture(), signal),
  portForward: (rig, ref, signal) => {
    const [near, far] = duplexPair();
    near.on("error", () => {});
    far.on("error", () => {});
    return rig.provider.portForward?.(ref, 18_079, far, signal).finally(() => near.destroy());
  },
};

/** Moments of the abort: before the call, and during it. */
const momentsMs = [undefined, 0, 1, 3, 10, 30] as const;

/** Aborts every method before and during the call. After each check the suite looks for open resources. */
export const abortChecks: readonly Check[] = Object.entries(calls).map(([method, call]) =>
  check("abort", `${method} returns when it is aborted, with the signal's reason or its result`, async (rig) => {
    const ref = await rig.run();
    for (const moment of momentsMs) {
      const controller = new AbortController();
      const reason = new Error(`aborted after ${moment ?? "no"} ms`);
      if (moment === undefined) controller.abort(reason);
      const work = call(rig, ref, controller.signal);
      if (work === undefined) return;
      const settled = work.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (moment !== undefined) await rig.clock.sleep(moment);
      controller.abort(reason);
      const error = await rig.within(`${method}, ${reason.message},`, settled);
      const isAbort = error instanceof Error && error.name === "AbortError";
      assert.ok(!isAbort || carries(error, reason), `${method} throws ${String(error)}; expected the signal's own reason`);
    }
    // The aborted calls must not have harmed the running pod.
    assert.equal((await rig.status(ref)).phase, "Running");
  }),
);

/** Whether the reason is the error or one of its causes. */
function carries(error: unknown, reason: unknown): boolean {
  for (let current = error, depth = 0; current !== undefined && depth < 10; depth++) {
    if (current === reason) return true;
    current = current instanceof Error ? current.cause : undefined;
  }
  return false;
}
