import assert from "node:assert/strict";
import { systemRandom } from "@virtual-kubelet/clock";
import type { PodRef } from "@virtual-kubelet/core";
import { check, type Check } from "../check.ts";
import type { Feature } from "../features.ts";
import type { ConformanceOptions } from "../options.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { capture } from "./capture.ts";

/** Output of a command in the pod's container. */
async function outputOf(rig: ProviderRig, ref: PodRef, command: readonly string[], container?: string): Promise<string> {
  const io = capture();
  const exitCode = await rig.exec(ref, command, io, container);
  assert.equal(exitCode, 0, `${command.join(" ")} ended with ${exitCode}: ${io.err()}`);
  return io.out();
}

/** The contents of a container are inspected by commands in it. */
function looksInside(_options: ConformanceOptions, has: (feature: Feature) => boolean): string | undefined {
  return has("exec") ? undefined : "without exec nobody can look into a container";
}

/** Environment, files and order of containers. */
export const containerChecks: readonly Check[] = [
  check(
    "environment",
    "a container has the variables of its spec: plain, from secrets and config maps, and fields of the pod",
    async (rig) => {
      const env = [
        { name: "PLAIN", value: "two  words & $signs" },
        { name: "EMPTY", value: "" },
        { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
        { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "confidential", key: "password" } } },
        { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ];
      const ref = await rig.run({ containers: [{ env }] });
      const lines = (await outputOf(rig, ref, ["env"])).split("\n");
      for (const line of ["PLAIN=two  words & $signs", "EMPTY=", "COLOUR=blue", `PASSWORD=${rig.canary}`, `POD=${ref.name}`])
        assert.ok(lines.includes(line), `the container's environment lacks ${line.replace(rig.canary, "the secret")}`);
    },
    looksInside,
  ),
  check(
    "files",
    "a container has the files of its config maps and secrets where they are mounted",
    async (rig) => {
      // Where containers are processes of the machine, they share its /tmp with those of other runs.
      const folder = `/tmp/suite-${systemRandom.uuid()}`;
      const [settings, confidential] = [`${folder}-settings`, `${folder}-confidential`];
      const ref = await rig.run({
        containers: [
          {
            volumeMounts: [
              { name: "settings", mountPath: settings },
              { name: "confidential", mountPath: confidential },
            ],
          },
        ],
        volumes: [
          { name: "settings", configMap: { name: "settings" } },
          { name: "confidential", secret: { secretName: "confidential" } },
        ],
      });
      assert.equal(await outputOf(rig, ref, ["cat", `${settings}/colour`, `${settings}/shape`]), "blueround");
      assert.equal(await outputOf(rig, ref, ["cat", `${confidential}/password`]), rig.canary);
    },
    looksInside,
  ),
  check("init-containers", "init containers run one after another, and end before the others start", async (rig) => {
    const ref = await rig.run({
      initContainers: [
        { name: "first", program: { kind: "exit", exitCode: 0, afterSeconds: 2 } },
        { name: "second", program: { kind: "exit", exitCode: 0, afterSeconds: 0 } },
      ],
    });
    const { initContainerStatuses = [], containerStatuses } = await rig.status(ref);
    const ends = initContainerStatuses.map(({ name, state }) => [name, state?.terminated?.exitCode]);
    assert.deepEqual(
      new Map(ends as [string, unknown][]),
      new Map([
        ["first", 0],
        ["second", 0],
      ]),
    );
    const [first, second] = ["first", "second"].map(
      (name) => initContainerStatuses.find((status) => status.name === name)?.state?.terminated,
    );
    const [end, begin] = [first?.finishedAt, second?.startedAt];
    // Times may be whole seconds.
    if (begin !== undefined)
      assert.ok(
        Date.parse(begin) >= Date.parse(String(end)) - 1000,
        `the second init container began at ${begin}, and the first ended at ${end}`,
      );
    const finished = Math.max(...initContainerStatuses.map(({ state }) => Date.parse(String(state?.terminated?.finishedAt))));
    const started = Date.parse(String(containerStatuses?.[0]?.state?.running?.startedAt));
    // Times may be whole seconds.
    assert.ok(started >= finished - 1000, "the container started before its init containers had ended");
  }),
  check("init-containers", "a pod whose init container fails is Failed, and its containers never run", async (rig) => {
    const ref = await rig.create({ initContainers: [{ name: "failing", program: { kind: "exit", exitCode: 4, afterSeconds: 0 } }] });
    const status = await rig.untilStatus(ref, "to fail", ({ phase }) => assert.equal(phase, "Failed"));
    assert.equal(status.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 4);
    assert.equal(status.containerStatuses?.[0]?.state?.running, undefined);
  }),
  check("sidecar-containers", "a sidecar runs beside the containers, and ends with the last of them", async (rig) => {
    const ref = await rig.create({
      initContainers: [{ name: "sidecar", restartPolicy: "Always" }],
      containers: [{ program: { kind: "exit", exitCode: 0, afterSeconds: 5 } }],
    });
    await rig.untilStatus(ref, "to have a sidecar", ({ initContainerStatuses }) => assert.ok(initContainerStatuses?.[0]?.state?.running));
    const { phase } = await rig.untilEnded(ref);
    assert.equal(phase, "Succeeded");
    await rig.untilStatus(
      ref,
      "to end its sidecar",
      ({ initContainerStatuses }) => assert.ok(initContainerStatuses?.[0]?.state?.terminated),
      30_000 + rig.timeouts.endMs,
    );
  }),
  check("multiple-containers", "the containers of a pod run at the same time", async (rig) => {
    const ref = await rig.run({ containers: [{ name: "a" }, { name: "b" }, { name: "c" }] });
    const { phase, containerStatuses = [] } = await rig.status(ref);
    assert.equal(phase, "Running");
    const running = containerStatuses.filter(({ state }) => state?.running).map(({ name }) => name);
    assert.deepEqual(new Set(running), new Set(["a", "b", "c"]));
  }),
  check(
    "multiple-containers",
    "the phase follows all containers when one ends while others run",
    async (rig) => {
      const ref = await rig.create({
        containers: [{ name: "a" }, { name: "b", program: { kind: "exit", exitCode: 0, afterSeconds: 1 } }, { name: "c" }],
      });
      const status = await rig.untilStatus(ref, "to have one container ended and two running", ({ containerStatuses = [] }) => {
        const states = containerStatuses
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map(({ state }) => (state?.running ? "runs" : state?.terminated ? "ended" : "waits"));
        assert.deepEqual(states, ["runs", "ended", "runs"]);
      });
      assert.equal(status.phase, "Running");
    },
    ({ lacksInSeveral }) => lacksInSeveral?.ends,
  ),
  check("restarts", "a container that fails is restarted, and counted, under Always and OnFailure", async (rig) => {
    for (const restartPolicy of ["Always", "OnFailure"] as const) {
      const ref = await rig.create({ restartPolicy, containers: [{ program: { kind: "exit", exitCode: 1, afterSeconds: 1 } }] });
      const { phase, containerStatuses } = await rig.untilStatus(ref, "to be started again", (status) =>
        assert.ok((status.containerStatuses?.[0]?.restartCount ?? 0) >= 1, "restartCount is 0"),
      );
      assert.notEqual(phase, "Failed");
      assert.equal(containerStatuses?.[0]?.lastState?.terminated?.exitCode, 1, "lastState must say how it ended before");
    }
  }),
  check("restarts", "a container that exits with 0 is not restarted under OnFailure", async (rig) => {
    const ref = await rig.create({ restartPolicy: "OnFailure", containers: [{ program: { kind: "exit", exitCode: 0, afterSeconds: 0 } }] });
    const { phase, containerStatuses } = await rig.untilEnded(ref);
    assert.deepEqual([phase, containerStatuses?.[0]?.restartCount], ["Succeeded", 0]);
  }),
];
