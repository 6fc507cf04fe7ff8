import fc from "fast-check";
import { expect, test } from "vitest";
import { labelNames } from "../runtime/labels.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

const failing = ["createSandbox", "createContainer", "startContainer", "stopContainer", "stopSandbox", "removeSandbox"];
const asking = ["inspectContainer", "inspectSandbox", "inspectImage", "list"];

type Trouble =
  | { readonly kind: "fail"; readonly method: string; readonly times: number }
  | { readonly kind: "endContainer" | "removeContainer" | "endSandbox" | "removeSandbox"; readonly pick: number }
  | { readonly kind: "loseEvents" | "kill" }
  | { readonly kind: "update"; readonly image: string }
  | { readonly kind: "pass"; readonly ms: number };

const pick = fc.nat(3);
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  fc.record({ kind: fc.constant("fail" as const), method: fc.constantFrom(...failing, ...asking), times: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constantFrom("endContainer" as const, "removeContainer" as const), pick }),
  fc.record({ kind: fc.constantFrom("endSandbox" as const, "removeSandbox" as const), pick }),
  fc.record({ kind: fc.constantFrom("loseEvents" as const, "kill" as const) }),
  fc.record({ kind: fc.constant("update" as const), image: fc.constantFrom("a:1", "b:1") }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1, 900, 11_000, 45_000) }),
);

const podOf = (image: string): ReturnType<typeof podWith> =>
  podWith({
    initContainers: [{ name: "side", image: "app:1", restartPolicy: "Always" }],
    containers: [
      { name: "web", image },
      { name: "log", image: "app:1" },
    ],
  });

async function cause(rig: NodeRig, happened: Trouble): Promise<void> {
  const { runtime } = rig;
  const nth = <T>(items: Iterable<T>, index: number): T | undefined => [...items][index];
  switch (happened.kind) {
    case "fail":
      return runtime.failNext(happened.method, happened.times);
    case "endContainer":
    case "removeContainer": {
      const held = nth(runtime.containers.values(), happened.pick);
      if (held?.state.kind === "running") runtime.end(held.id, 1);
      if (held && happened.kind === "removeContainer") runtime.containers.delete(held.id);
      return;
    }
    case "endSandbox":
    case "removeSandbox": {
      const id = nth(runtime.sandboxes.keys(), happened.pick);
      if (id === undefined) return;
      runtime.endSandbox(id);
      if (happened.kind === "removeSandbox") runtime.sandboxes.delete(id);
      return;
    }
    case "loseEvents":
      return runtime.loseEvents();
    case "kill":
      rig.program.mortal.kill();
      rig.start();
      return;
    case "update":
      return rig.update(podOf(happened.image)).catch(() => {});
    case "pass":
      return rig.clock.advance(happened.ms);
    default:
      return happened satisfies never;
  }
}

/** Names of the running containers, with one entry for each instance. */
function runningNames(rig: NodeRig): readonly string[] {
  const running = [...rig.runtime.containers.values()].filter(({ state }) => state.kind === "running");
  return running.map(({ labels }) => labels[labelNames.container] ?? "").toSorted();
}

test("whatever happens to a pod, no container runs twice at once, it runs again when left alone, and it ends completely", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(trouble, { maxLength: 25 }), async (troubles) => {
      const rig = new NodeRig();
      rig.start();
      await rig.create(podOf("a:1"));
      for (const happened of troubles) {
        await cause(rig, happened);
        await rig.clock.advance(0);
        const names = runningNames(rig);
        expect(new Set(names).size, `running: ${names.join()}`).toBe(names.length);
      }

      rig.runtime.failures.clear();
      await rig.reconcile();
      await rig.clock.advance(700_000);
      expect(runningNames(rig)).toEqual(["log", "side", "web"]);
      expect([...rig.runtime.sandboxes.values()].filter(({ isReady }) => isReady)).toHaveLength(1);
      expect(rig.status("u1")).toMatchObject({ phase: "Running", containerStatuses: [{ ready: true }, { ready: true }] });

      rig.markDeleted("u1", 5_000);
      await rig.reconcile();
      await rig.clock.advance(30_000);
      expect([rig.runtime.sandboxes.size, rig.runtime.containers.size, rig.pods.size]).toEqual([0, 0, 0]);
      await rig.provider[Symbol.asyncDispose]();
      expect(rig.clock.pending).toBe(0);
    }),
    { numRuns: 60 },
  );
}, 300_000);
