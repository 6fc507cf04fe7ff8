import { test as base, type TestAPI } from "vitest";
import { InteropRig } from "./rig.ts";

/** Fixtures of a test of streams. */
export interface StreamFixtures {
  readonly rig: InteropRig;
}

const pods = new Map<boolean, Promise<string>>();

/** A test with an API server that all tests of the file share. */
export const test: TestAPI<StreamFixtures> = base.extend<StreamFixtures>({
  rig: [
    // oxlint-disable-next-line eslint/no-empty-pattern -- vitest reads from the pattern what a fixture needs
    async ({}, use) => {
      await using rig = await InteropRig.open("streams");
      await use(rig);
      pods.clear();
    },
    { scope: "file" },
  ],
});

/** A running pod on a node that declares WebSockets or does not; all tests of the file share it. @returns its name */
export function runningPod(rig: InteropRig, declared: boolean): Promise<string> {
  const pod = pods.get(declared) ?? rig.startNode({ declared }).then((node) => node.run({ command: ["sleep", "3600"] }));
  pods.set(declared, pod);
  return pod;
}
