import { existsSync, readFileSync } from "node:fs";
import type { Container } from "@virtual-kubelet/core";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { container, forever, NomadRig } from "./nomad-rig.ts";

const { signal } = new AbortController();

let rig: NomadRig;
beforeEach(async () => void (rig = await NomadRig.open()));
afterEach(() => rig[Symbol.asyncDispose]());

const hook = (script: string): NonNullable<NonNullable<Container["lifecycle"]>["postStart"]> => ({
  exec: { command: ["sh", "-c", script] },
});
const told = (): readonly string[] => rig.events.map(({ reason, message, container: name }) => `${reason} ${name}: ${message}`);

test("a postStart hook runs once per start of its container, which is not ready before the hook has run", async () => {
  const lifecycle = { postStart: hook(`echo started >> ${rig.file("log")}; until [ -e ${rig.file("go")} ]; do sleep 0.05; done`) };
  const main = container(`until [ -e ${rig.file("end")} ]; do sleep 0.05; done; rm ${rig.file("end")}; exit 1`, { lifecycle });
  const ref = await rig.create(rig.pod({ restartPolicy: "Always", containers: [main] }));
  const lines = (): number => (existsSync(rig.file("log")) ? readFileSync(rig.file("log"), "utf8").split("\n").length - 1 : 0);
  await eventually(() => expect(lines()).toBe(1));
  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.state?.running).toBeDefined());
  expect((await rig.provider.getPodStatus(ref, signal)).containerStatuses?.[0]).toMatchObject({ ready: false, started: false });
  rig.write("go");
  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]).toMatchObject({ ready: true, started: true }));
  rig.write("end");

  await eventually(() => expect(lines()).toBe(2));
  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]).toMatchObject({ ready: true, restartCount: 1 }));
  await rig.stop();
  await rig.start();
  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]).toMatchObject({ ready: true }));
  expect(lines(), "a new program does not run it again").toBe(2);
});

test("a container whose postStart hook fails is killed and restarted according to its policy, with an event", async () => {
  const main = container(forever, { lifecycle: { postStart: hook("exit 7") } });
  const ref = await rig.create(rig.pod({ restartPolicy: "Always", containers: [main] }));

  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(137));
  expect(told()[0]).toBe("FailedPostStartHook main: PostStartHook failed: the command exited with 7");
});

test("a preStop hook runs before the container is told to stop", async () => {
  const log = rig.file("log");
  const main = container(`trap 'echo term >> ${log}; exit 0' TERM; while :; do sleep 0.05; done`, {
    lifecycle: { preStop: hook(`sleep 0.5; echo hook >> ${log}`) },
  });
  const ref = await rig.run(rig.pod({ terminationGracePeriodSeconds: 10, containers: [main] }));
  await rig.delete(ref, 10);
  await rig.untilGone(ref);

  expect(readFileSync(log, "utf8")).toBe("hook\nterm\n");
  expect(told()).toEqual([]);
});

test("a preStop hook is aborted at the end of the grace period, and a shorter grace period takes effect", async () => {
  const main = container(forever, { lifecycle: { preStop: { sleep: { seconds: 60 } } } });
  const ref = await rig.run(rig.pod({ terminationGracePeriodSeconds: 60, containers: [main] }));
  await rig.delete(ref, 60);
  await rig.delete(ref, 1);
  const startedMs = performance.now();
  await rig.untilGone(ref);

  // The hook and the first grace period last for a minute.
  expect(performance.now() - startedMs).toBeLessThan(30_000);
  expect(told()).toEqual(["FailedPreStopHook main: PreStopHook failed: the grace period is over"]);
});

test("a pod ends although the program was restarted while its preStop hook ran", async () => {
  const main = container(forever, {
    lifecycle: { preStop: hook(`echo hook >> ${rig.file("log")}; until [ -e ${rig.file("go")} ]; do sleep 0.05; done`) },
  });
  const ref = await rig.run(rig.pod({ terminationGracePeriodSeconds: 20, containers: [main] }));
  await rig.delete(ref, 20);
  await eventually(() => expect(existsSync(rig.file("log"))).toBe(true));
  await rig.stop();
  await rig.start();
  await rig.delete(ref, 20);
  rig.write("go");

  await rig.untilGone(ref);
});
