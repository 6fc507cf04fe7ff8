import assert from "node:assert/strict";
import { codeOf, isNotFound } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import type { BackendHooks, ConformanceOptions } from "../options.ts";

const hooked =
  (hook: keyof BackendHooks) =>
  ({ backend }: ConformanceOptions): string | undefined =>
    backend?.[hook] ? undefined : `no hook ${hook} is given`;

/** The list of pods, with a healthy and with a broken back end. */
export const inventoryChecks: readonly Check[] = [
  check("inventory", "all pods are listed, and the list says that it is complete", async (rig) => {
    const refs = await Promise.all(Array.from({ length: 5 }, () => rig.run()));
    const { uids, complete } = await rig.inventory();
    assert.equal(complete, true);
    const missing = refs.filter(({ uid }) => !uids.includes(uid));
    assert.equal(missing.length, 0, `the list lacks ${missing.length} of ${refs.length} pods, and says that it is complete`);
    assert.equal(new Set(uids).size, uids.length, "a pod is listed twice");
  }),
  check(
    "inventory",
    "an incomplete list says so",
    async (rig) => {
      await Promise.all([rig.run(), rig.run()]);
      await using _broken = await rig.options.backend?.breakLists?.();
      const list = await rig.provider.getPods(rig.signal).catch(() => undefined);
      if (list) assert.equal(list.complete, false, "getPods must throw or say complete: false, or the core takes what is missing for gone");
    },
    hooked("breakLists"),
  ),
  check(
    "inventory",
    "no pod is reported gone while the back end is unavailable, and all are found afterwards",
    async (rig) => {
      const ref = await rig.run();
      {
        await using _broken = await rig.options.backend?.breakBackend?.();
        const list = await rig.provider.getPods(rig.signal).catch(() => undefined);
        if (list) assert.equal(list.complete, false, "getPods must throw or say complete: false");
        for (const method of ["getPod", "getPodStatus"] as const)
          await rig.provider[method](ref, rig.signal).then(
            () => undefined,
            (error: unknown) => assert.ok(!isNotFound(error), `${method} answers NotFound though the back end was not reached`),
          );
        await rig.provider.deletePod({ ...ref, uid: "00000000-0000-4000-8000-000000000002" }, { gracePeriodSeconds: 0 }, rig.signal).then(
          () => assert.fail("deletePod says that it is done though the back end was not reached"),
          (error: unknown) => assert.ok(!isNotFound(error), `deletePod answers ${codeOf(error)} though the back end was not reached`),
        );
        if (rig.provider.ping) await assert.rejects(Promise.resolve(rig.provider.ping(rig.signal)), () => true, "ping must throw");
      }
      await rig.eventually(() => rig.within("ping", Promise.resolve(rig.provider.ping?.(rig.signal))), { timeoutMs: rig.timeouts.startMs });
      assert.equal((await rig.status(ref)).phase, "Running");
      assert.ok(!rig.told(ref).some((update) => "gone" in update), "the pod was called gone while the back end was away");
    },
    hooked("breakBackend"),
  ),
  check(
    "inventory",
    "a pod that the back end lost is gone, and can be created again",
    async (rig) => {
      const pod = rig.plan();
      const ref = await rig.run(pod);
      await rig.options.backend?.losePod?.(ref);
      await rig.eventually(
        async () => {
          const found = await rig.provider.getPod(ref, rig.signal).catch((error: unknown) => assert.ok(isNotFound(error)));
          if (found)
            assert.ok(
              found.status.containerStatuses?.every(({ state }) => state?.terminated),
              "it is said to run",
            );
        },
        { timeoutMs: rig.timeouts.endMs, describe: "the loss to be seen" },
      );
      await rig.delete(ref, 0);
      await rig.untilGone(ref);
      await rig.run(pod);
    },
    hooked("losePod"),
  ),
];
