import assert from "node:assert/strict";
import { systemRandom } from "@virtual-kubelet/kube-client";
import type { PodRef, ProviderPodStatus } from "@virtual-kubelet/core";
import { check, type Check } from "../check.ts";
import type { Feature } from "../features.ts";
import type { ConformanceOptions } from "../options.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { capture } from "./capture.ts";

/** How often probes are made, and how long a slow back end may take for one. */
const often = { periodSeconds: 1, timeoutSeconds: 5 };
/** A probe that holds others back is watched that long. */
const heldMs = 3_000;

/** Probes ask for files, which commands make and remove. */
function needsExec(_options: ConformanceOptions, has: (feature: Feature) => boolean): string | undefined {
  return has("exec-exit-code") ? undefined : "without exec nobody can change what a probe finds";
}

/** Path of a file that probes ask for. A provider's containers may be processes that share a machine. */
function newFile(): string {
  return `/tmp/suite-${systemRandom.uuid()}`;
}

function asks(path: string, isThere: boolean = true): typeof often & { readonly exec: { readonly command: string[] } } {
  return { ...often, exec: { command: ["test", ...(isThere ? [] : ["!"]), "-e", path] } };
}

async function put(rig: ProviderRig, ref: PodRef, path: string): Promise<void> {
  assert.equal(await rig.exec(ref, ["touch", path], capture()), 0);
}

/** The container may be between two runs, where nothing of it can be reached. */
async function remove(rig: ProviderRig, ref: PodRef, path: string): Promise<void> {
  await rig.eventually(async () => assert.equal(await rig.exec(ref, ["rm", "-f", path], capture()), 0), {
    timeoutMs: rig.timeouts.startMs,
    describe: `remove ${path} in pod ${ref.name}`,
  });
}

const standing = ({ containerStatuses }: ProviderPodStatus): readonly unknown[] => {
  const [status] = containerStatuses ?? [];
  return [status?.started, status?.ready, status?.restartCount];
};

/** Startup, readiness and liveness probes. */
export const probeChecks: readonly Check[] = [
  check(
    "probes",
    "a container is ready when its readiness probe has passed, and no longer when it fails",
    async (rig) => {
      const file = newFile();
      const ref = await rig.run({ containers: [{ readinessProbe: { ...asks(file), failureThreshold: 1 } }] });
      assert.deepEqual(standing(await rig.status(ref)), [true, false, 0]);
      await put(rig, ref, file);
      await rig.untilStatus(ref, "to be ready", (status) => assert.deepEqual(standing(status), [true, true, 0]));
      await remove(rig, ref, file);
      await rig.untilStatus(ref, "to be ready no longer", (status) => assert.deepEqual(standing(status), [true, false, 0]));
    },
    needsExec,
  ),
  check(
    "probes",
    "until the startup probe has passed, a container is neither started nor ready, and no other probe is made",
    async (rig) => {
      const file = newFile();
      const startupProbe = { ...asks(file), failureThreshold: 1_000 };
      const ref = await rig.run({ containers: [{ startupProbe, livenessProbe: { ...asks(file), failureThreshold: 1 } }] });
      await rig.clock.sleep(heldMs, rig.signal);
      assert.deepEqual(standing(await rig.status(ref)), [false, false, 0]);
      await put(rig, ref, file);
      await rig.untilStatus(ref, "to be started", (status) => assert.deepEqual(standing(status), [true, true, 0]));
      await remove(rig, ref, file);
    },
    needsExec,
  ),
  check(
    "probes",
    "a container whose liveness probe fails is started again, and counted",
    async (rig) => {
      const file = newFile();
      const livenessProbe = { ...asks(file, false), failureThreshold: 1 };
      const ref = await rig.run({ restartPolicy: "Always", containers: [{ livenessProbe }] });
      await rig.clock.sleep(heldMs, rig.signal);
      assert.deepEqual(standing(await rig.status(ref)), [true, true, 0]);
      await put(rig, ref, file);
      const { containerStatuses } = await rig.untilStatus(
        ref,
        "to be started again",
        (status) => assert.ok((status.containerStatuses?.[0]?.restartCount ?? 0) >= 1, "restartCount is 0"),
        rig.timeouts.startMs + rig.timeouts.endMs,
      );
      assert.ok(containerStatuses?.[0]?.lastState?.terminated, "lastState must say that it has ended");
      await remove(rig, ref, file);
      await rig.untilStatus(ref, "to run again", (status) => assert.equal(status.containerStatuses?.[0]?.ready, true));
    },
    needsExec,
  ),
  check("probes", "a container that never restarts is ended by its liveness probe, and not started again", async (rig) => {
    const livenessProbe = { ...asks(newFile()), failureThreshold: 1 };
    const ref = await rig.create({ containers: [{ livenessProbe }] });
    const { containerStatuses } = await rig.untilEnded(ref);
    assert.equal(containerStatuses?.[0]?.restartCount, 0);
  }),
];
