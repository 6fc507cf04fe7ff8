import assert from "node:assert/strict";
import { podRef, type ProviderPodStatus } from "@virtual-kubelet/core";
import { codeOf, isInvalidInput, isNotFound } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import type { ConformanceOptions } from "../options.ts";
import { shellPrograms } from "../programs.ts";

/** The codes of the containers that have ended. */
function exitCodes({ containerStatuses = [] }: ProviderPodStatus): unknown[] {
  return containerStatuses.map(({ state }) => state?.terminated?.exitCode);
}

/** How the end of a pod is reported. */
function endOf(status: ProviderPodStatus): string {
  return `${status.phase} with exit code ${exitCodes(status).join(", ")}`;
}

/** Deletions give containers the grace that they are called with. */
function needsGrace({ lacksPart }: ConformanceOptions): string | undefined {
  return lacksPart?.["grace-periods"];
}

/** Pods run, end, and are deleted. */
export const lifecycleChecks: readonly Check[] = [
  check("lifecycle", "a pod runs, is ready, and is in the inventory", async (rig) => {
    const ref = await rig.run();
    const { containerStatuses } = await rig.untilStatus(ref, "to be ready", (status) =>
      assert.equal(status.containerStatuses?.[0]?.ready, true),
    );
    assert.ok(containerStatuses?.[0]?.state?.running?.startedAt, "a running container says since when it runs");
    const { uids } = await rig.inventory();
    assert.ok(uids.includes(ref.uid), "getPods does not list a pod that runs");
  }),
  check("lifecycle", "a pod whose command exits with 0 is Succeeded", async (rig) => {
    const ref = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 0, afterSeconds: 1 } }] });
    const status = await rig.untilEnded(ref);
    assert.deepEqual([status.phase, exitCodes(status)], ["Succeeded", [0]], `it ended with 0, and is told as ${endOf(status)}`);
  }),
  check("lifecycle", "a pod whose command fails is Failed, with its exit code", async (rig) => {
    const ref = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 7, afterSeconds: 0 } }] });
    const status = await rig.untilEnded(ref);
    assert.deepEqual([status.phase, exitCodes(status)], ["Failed", [7]], `it ended with 7, and is told as ${endOf(status)}`);
  }),
  check(
    "lifecycle",
    "a container runs its command followed by its args",
    async (rig) => {
      const pod = rig.plan({ containers: [{ program: { kind: "exit", exitCode: 7, afterSeconds: 0 } }] });
      const [container] = pod.spec?.containers ?? [];
      const [program = "", ...args] = container?.command ?? [];
      Object.assign(container ?? {}, { command: [program], args });
      const status = await rig.untilEnded(await rig.create(pod));
      assert.deepEqual(exitCodes(status), [7], `command ["${program}"] with its args ends with 7, and is told as ${endOf(status)}`);
    },
    ({ programs = shellPrograms() }) => {
      const { command = [] } = programs({ kind: "exit", exitCode: 7, afterSeconds: 0 }, "main").container;
      return command.length > 1 ? undefined : "the suite's containers have no command of several words";
    },
  ),
  check("lifecycle", "a deleted pod ends within its grace period and is gone", async (rig) => {
    const ref = await rig.run();
    await rig.delete(ref, 30);
    await rig.untilGone(ref);
    const { uids } = await rig.inventory();
    assert.ok(!uids.includes(ref.uid), "getPods lists a pod that is gone");
  }),
  check(
    "lifecycle",
    "a container that ignores the stop signal is killed when its grace period ends, and not earlier",
    async (rig) => {
      const ref = await rig.runStubborn();
      const startedMs = rig.clock.monotonic();
      await rig.delete(ref, 2);
      await rig.clock.sleep(1000);
      const early = rig.told(ref).at(-1);
      if (early && rig.clock.monotonic() - startedMs < 1800)
        assert.ok(
          "status" in early && !exitCodes(early.status).every((code) => code !== undefined),
          "it was given 2 s of grace, and its end was told within the first",
        );
      await rig.untilGone(ref, 2000 + rig.timeouts.endMs);
      const tookMs = rig.clock.monotonic() - startedMs;
      assert.ok(tookMs >= 1500, `it was given 2 s of grace, and was gone after ${Math.round(tookMs)} ms`);
      const codes = rig.told(ref).flatMap((update) => ("status" in update ? exitCodes(update.status) : []));
      for (const code of codes) if (code !== undefined) assert.equal(code, 137, "the exit code of a killed container is 128 + 9");
    },
    needsGrace,
  ),
  check(
    "lifecycle",
    "a delete without grace ends a pod at once",
    async (rig) => {
      const ref = await rig.runStubborn();
      await rig.delete(ref, 0);
      await rig.untilGone(ref);
    },
    needsGrace,
  ),
  check(
    "lifecycle",
    "a second delete with a shorter grace period shortens the remaining time",
    async (rig) => {
      const ref = await rig.runStubborn();
      await rig.delete(ref, 3600);
      await rig.delete(ref, 1);
      await rig.untilGone(ref, 1000 + rig.timeouts.endMs);
    },
    needsGrace,
  ),
  check("lifecycle", "a pod that is deleted after its end is gone", async (rig) => {
    const ref = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 0, afterSeconds: 0 } }] });
    await rig.untilEnded(ref);
    await rig.delete(ref, 30);
    await rig.untilGone(ref);
  }),
  check("lifecycle", "a call for a pod that does not exist fails with NotFound", async (rig) => {
    const ref = { namespace: "conformance", name: "never-made", uid: "00000000-0000-4000-8000-000000000000" };
    for (const method of ["getPod", "getPodStatus"] as const)
      await assert.rejects(rig.provider[method](ref, rig.signal), (error) => isNotFound(error), `${method} must throw NotFoundError`);
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, rig.signal).then(
      () => assert.fail("deletePod must throw NotFoundError for a pod that is not there, and says that it has deleted it"),
      (error: unknown) => assert.ok(isNotFound(error), `deletePod must throw NotFoundError, and threw ${codeOf(error) ?? String(error)}`),
    );
  }),
  check(
    "lifecycle",
    "a deleted pod leaves nothing at the back end",
    async (rig) => {
      const ended = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 0, afterSeconds: 0 } }] });
      const running = await rig.run();
      await rig.untilEnded(ended);
      for (const ref of [ended, running]) await rig.delete(ref, 5);
      for (const ref of [ended, running]) await rig.untilGone(ref);
      await rig.eventually(
        async () => {
          const left = (await rig.options.backend?.leftovers?.()) ?? [];
          assert.equal(left.length, 0, `the pods are gone, and the back end still holds ${left.join(", ")}`);
        },
        { timeoutMs: rig.timeouts.endMs, describe: "the back end to be empty" },
      );
    },
    ({ backend }) => (backend?.leftovers ? undefined : "no hook leftovers is given"),
  ),
  check(
    "lifecycle",
    "a pod with endsWhenGone has left nothing behind when its end is reported",
    async (rig) => {
      const ref = await rig.runStubborn();
      const { endsWhenGone } = await rig.status(ref);
      await rig.delete(ref, 2);
      await rig.untilGone(ref, 2000 + rig.timeouts.endMs);
      if (!endsWhenGone) return;
      const left = (await rig.options.backend?.leftovers?.()) ?? [];
      assert.equal(left.length, 0, `its status has endsWhenGone, it is gone, and the back end still holds ${left.join(", ")}`);
    },
    ({ backend }) => (backend?.leftovers ? undefined : "no hook leftovers is given"),
  ),
  check("lifecycle", "the back end answers a ping", async (rig) => {
    await rig.within("ping", Promise.resolve(rig.provider.ping?.(rig.signal)));
  }),
  check("environment", "a pod whose secret is missing is not created, and the error names the secret", async (rig) => {
    for (const source of ["secretKeyRef", "configMapKeyRef"] as const) {
      const env = [{ name: "MISSING", valueFrom: { [source]: { name: "not-there-0", key: "key_0" } } }];
      const pod = rig.plan({ containers: [{ env }] });
      const refused = await rig.create(pod).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refused !== undefined) {
        assert.ok(isInvalidInput(refused), `createPod must let the error of resolved.environment through (${source})`);
        const { uids } = await rig.inventory();
        assert.ok(!uids.includes(pod.metadata?.uid ?? ""), "a pod that could not be made is in the inventory");
        continue;
      }
      // A kubelet accepts the pod and reports why the container waits.
      await rig.untilStatus(podRef(pod), "to wait for what is missing", ({ phase, containerStatuses }) => {
        const { reason, message } = containerStatuses?.[0]?.state?.waiting ?? {};
        assert.deepEqual([phase, reason], ["Pending", "CreateContainerConfigError"]);
        assert.match(message ?? "", /not-there-0/);
      });
    }
  }),
  check("environment", "a pod whose optional secret and config map are missing runs", async (rig) => {
    const env = [
      { name: "A", valueFrom: { secretKeyRef: { name: "not-there-0", key: "key_0", optional: true } } },
      { name: "B", valueFrom: { configMapKeyRef: { name: "not-there-0", key: "key_0", optional: true } } },
    ];
    await rig.run({ containers: [{ env }] });
  }),
  check("update", "a pod whose labels and annotations change runs on unchanged", async (rig) => {
    const ref = await rig.run();
    const before = await rig.status(ref);
    await rig.update(ref, (pod) => Object.assign(pod.metadata ?? {}, { labels: { suite: "changed" }, generation: 2 }));
    const after = await rig.status(ref);
    assert.deepEqual(after.containerStatuses?.[0]?.state?.running, before.containerStatuses?.[0]?.state?.running);
    assert.equal(after.containerStatuses?.[0]?.restartCount, before.containerStatuses?.[0]?.restartCount);
  }),
  check("networks", "a running pod has an address, the first of its addresses", async (rig) => {
    const ref = await rig.run();
    await rig.untilStatus(ref, "to have an address", ({ podIP, podIPs }) => {
      assert.ok(podIP, "podIP is not set");
      assert.equal(podIPs?.[0]?.ip ?? podIP, podIP);
    });
  }),
  check("node", "the node's capacity consists of quantities, including cpu, memory and pods", async (rig) => {
    const description = await rig.provider.configureNode?.(rig.signal);
    const { capacity = {}, allocatable = capacity } = description ?? {};
    for (const resource of ["cpu", "memory", "pods"])
      for (const amounts of [capacity, allocatable])
        assert.match(
          amounts[resource] ?? "",
          /^\d+(\.\d+)?(m|k|[MGTPE]|[KMGTPE]i|e\d+)?$/,
          `${resource} is ${JSON.stringify(amounts[resource])}`,
        );
  }),
];
