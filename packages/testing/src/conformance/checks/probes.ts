import { systemRandom } from "@virtual-kubelet/clock";
import assert from "node:assert/strict";
import type { PodRef, ProviderPodStatus } from "@virtual-kubelet/core";
import { check, type Check } from "../check.ts";
import type { Feature } from "../features.ts";
import type { ConformanceOptions } from "../options.ts";
import type { PlannedPod } from "../planned-pod.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { capture } from "./capture.ts";

/** Interval of probes, and maximum duration of a probe on a slow back end. */
const often = { periodSeconds: 1, timeoutSeconds: 5 };
/** Time for which a probe that delays other probes is observed. */
const heldMs = 4_000;

/** Probes test for files, which commands create and remove. */
function needsExec(_options: ConformanceOptions, has: (feature: Feature) => boolean): string | undefined {
  return has("exec-exit-code") ? undefined : "without exec nobody can change what a probe finds";
}

function needsStartupProbes({ lacksPart }: ConformanceOptions): string | undefined {
  return lacksPart?.["startup-probes"];
}

/** Path of a file that probes test for; unique, because a provider's containers may be processes that share a file system. */
function newFile(): string {
  return `/tmp/suite-${systemRandom.uuid()}`;
}

function asks(path: string, isThere: boolean = true): typeof often & { readonly exec: { readonly command: string[] } } {
  return { ...often, exec: { command: ["test", ...(isThere ? [] : ["!"]), "-e", path] } };
}

async function put(rig: ProviderRig, ref: PodRef, path: string): Promise<void> {
  assert.equal(await rig.exec(ref, ["touch", path], capture()), 0);
}

/** Removes a file; tries again while the container is between two runs and cannot be reached. */
async function remove(rig: ProviderRig, ref: PodRef, path: string): Promise<void> {
  await rig.eventually(async () => assert.equal(await rig.exec(ref, ["rm", "-f", path], capture()), 0), {
    timeoutMs: rig.timeouts.startMs,
    describe: `remove ${path} in pod ${ref.name}`,
  });
}

/** Fails unless the container runs with these values of `ready` and `started`. */
function assertStanding(
  { containerStatuses = [] }: ProviderPodStatus,
  wanted: { readonly started: boolean; readonly ready: boolean },
  index: number = 0,
): void {
  const { name, state, started, ready, restartCount } = containerStatuses[index] ?? {};
  assert.deepEqual(
    { running: state?.running !== undefined, started, ready, restartCount },
    { running: true, ...wanted, restartCount: 0 },
    `container ${name} must run, started ${wanted.started}, ready ${wanted.ready}, restartCount 0, and is told as ` +
      `${Object.keys(state ?? {}).join()}, started ${started}, ready ${ready}, restartCount ${restartCount}`,
  );
}

const [notReady, isReady, notStarted] = [
  { started: true, ready: false },
  { started: true, ready: true },
  { started: false, ready: false },
] as const;

/** Containers of a pod in which commands can run; the first has the probe. */
function probedContainer(rig: ProviderRig, livenessProbe: object): NonNullable<PlannedPod["containers"]> {
  const { provider, lacksInSeveral, lacksPart } = rig.options;
  const lacking = lacksInSeveral?.probes ?? lacksPart?.["single-restarts"];
  const hasSeveral = provider.capabilities.multipleContainers === true && lacking === undefined;
  return hasSeveral ? [{ livenessProbe }, { name: "sibling" }] : [{ livenessProbe }];
}

/** Startup, readiness and liveness probes. */
export const probeChecks: readonly Check[] = [
  check(
    "probes",
    "a container is ready when its readiness probe has passed, and no longer when it fails",
    async (rig) => {
      const file = newFile();
      const ref = await rig.run({ containers: [{ readinessProbe: { ...asks(file), failureThreshold: 1 } }] });
      assertStanding(await rig.status(ref), notReady);
      await put(rig, ref, file);
      await rig.untilStatus(ref, "to be ready", (status) => assertStanding(status, isReady));
      await remove(rig, ref, file);
      await rig.untilStatus(ref, "to be ready no longer", (status) => assertStanding(status, notReady));
    },
    needsExec,
  ),
  check(
    "probes",
    "until the startup probe has passed, a container is neither started nor ready, and no other probe runs",
    async (rig) => {
      const file = newFile();
      const startupProbe = { ...asks(file), failureThreshold: 1_000 };
      const livenessProbe = { ...asks(file), failureThreshold: 1 };
      // Otherwise the probe would pass at once.
      const readinessProbe = asks(newFile(), false);
      const ref = await rig.run({ containers: [{ startupProbe, livenessProbe, readinessProbe }] });
      await rig.clock.sleep(heldMs, rig.signal);
      assertStanding(await rig.status(ref), notStarted);
      await put(rig, ref, file);
      await rig.untilStatus(ref, "to be started", (status) => assertStanding(status, isReady));
      await remove(rig, ref, file);
    },
    (options, has) => needsExec(options, has) ?? needsStartupProbes(options) ?? options.lacksPart?.["probe-commands"],
  ),
  check(
    "probes",
    "a container whose liveness probe fails is restarted and counted, and no other container of its pod is",
    async (rig) => {
      const file = newFile();
      // The delay leaves time to restore the file before the probe ends the container again.
      const livenessProbe = { ...asks(file, false), failureThreshold: 1, initialDelaySeconds: 3 };
      const containers = probedContainer(rig, livenessProbe);
      const ref = await rig.run({ restartPolicy: "Always", containers });
      await rig.clock.sleep(heldMs, rig.signal);
      const before = await rig.status(ref);
      for (const index of containers.keys()) assertStanding(before, isReady, index);
      await put(rig, ref, file);
      const { containerStatuses } = await rig.untilStatus(
        ref,
        "to be started again",
        (status) => assert.ok((status.containerStatuses?.[0]?.restartCount ?? 0) >= 1, "restartCount is 0"),
        rig.timeouts.startMs + rig.timeouts.endMs,
      );
      assert.ok(containerStatuses?.[0]?.lastState?.terminated, "lastState must say that it has ended");
      await remove(rig, ref, file);
      const after = await rig.untilStatus(ref, "to run again", (status) => assert.equal(status.containerStatuses?.[0]?.ready, true));
      for (const index of [...containers.keys()].slice(1)) {
        assertStanding(after, isReady, index);
        assert.deepEqual(after.containerStatuses?.[index]?.state, before.containerStatuses?.[index]?.state);
      }
    },
    needsExec,
  ),
  check("probes", "a probe fails only after failureThreshold failures in a row", async (rig) => {
    const livenessProbe = { ...asks(newFile()), failureThreshold: 1_000 };
    const ref = await rig.run({ containers: [{ livenessProbe }] });
    await rig.clock.sleep(heldMs, rig.signal);
    assertStanding(await rig.status(ref), isReady);
  }),
  check(
    "probes",
    "a failed liveness or startup probe ends a container under Never, which is not restarted",
    async (rig) => {
      for (const kind of ["livenessProbe", "startupProbe"] as const) {
        const ref = await rig.create({ containers: [{ [kind]: { ...asks(newFile()), failureThreshold: 1 } }] });
        const { containerStatuses } = await rig.untilEnded(ref);
        assert.equal(
          containerStatuses?.[0]?.restartCount,
          0,
          `its ${kind} has failed, it never restarts, and it is counted as started again`,
        );
      }
    },
    needsStartupProbes,
  ),
  check("probes", "a probe that exceeds its timeout fails", async (rig) => {
    const livenessProbe = { periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 1, exec: { command: ["sleep", "600"] } };
    const ref = await rig.create({ containers: [{ livenessProbe }] });
    await rig.untilEnded(ref);
  }),
];
