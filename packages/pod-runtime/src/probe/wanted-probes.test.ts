import type { Container, PodSpec } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import { wantedProbes } from "./wanted-probes.ts";

const exec = { command: ["true"] };
const probes = { startupProbe: { exec }, livenessProbe: { exec, periodSeconds: 2 }, readinessProbe: { exec, periodSeconds: 3 } };
const app: Container = { name: "app", image: "app:1" };

function rigOf(container: Partial<Container>, more: Partial<PodSpec> = {}): PodRig {
  const rig = new PodRig(podWith({ containers: [{ ...app, ...container }], ...more }));
  rig.answerAll();
  return rig;
}

const kindsOf = (rig: PodRig): readonly string[] => wantedProbes(rig.state).map(({ container, kind }) => `${container} ${kind}`);
const passed = (rig: PodRig, probe: "startup" | "liveness" | "readiness", isSuccess = true): void =>
  rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe, isSuccess });

test("the startup probe is the only one until it has succeeded, and then the others run", () => {
  const rig = rigOf(probes);
  expect(kindsOf(rig)).toEqual(["app startup"]);

  passed(rig, "startup");

  expect(kindsOf(rig)).toEqual(["app liveness", "app readiness"]);
});

test("each probe has the instance, its start time, and whether it is ready", () => {
  const rig = rigOf({ livenessProbe: probes.livenessProbe, readinessProbe: probes.readinessProbe });
  const common = { container: "app", id: rig.idOf("app"), startedAtMs: rig.now.wallMs };
  expect(wantedProbes(rig.state)).toEqual([
    { ...common, kind: "liveness", spec: probes.livenessProbe, isReady: false },
    { ...common, kind: "readiness", spec: probes.readinessProbe, isReady: false },
  ]);

  passed(rig, "readiness");

  expect(wantedProbes(rig.state).map(({ isReady }) => isReady)).toEqual([true, true]);
});

test("a container without probes needs none", () => {
  expect(kindsOf(rigOf({}))).toEqual([]);
});

test("a container that does not run yet needs no probes", () => {
  const rig = new PodRig(podWith({ containers: [{ ...app, ...probes }] }));

  expect(kindsOf(rig)).toEqual([]);
});

test("a container with a running postStart hook needs no probes", () => {
  const rig = new PodRig(podWith({ containers: [{ ...app, ...probes, lifecycle: { postStart: { exec } } }] }));
  for (const kind of ["createSandbox", "ensureImage", "startContainer"] as const) rig.answer(rig.take(kind));

  expect(kindsOf(rig)).toEqual([]);
});

test("a container that is being stopped needs only its readiness probe", () => {
  const rig = rigOf({ livenessProbe: { exec, failureThreshold: 1 }, readinessProbe: { exec } });

  passed(rig, "liveness", false);

  expect(kindsOf(rig)).toEqual(["app readiness"]);
});

test("an ending pod needs no liveness and no startup probes", () => {
  const lifecycle = { preStop: { exec } };
  const started = rigOf({ livenessProbe: { exec }, readinessProbe: { exec }, lifecycle });
  const starting = rigOf({ ...probes, lifecycle });

  started.send({ kind: "deleted", graceMs: 30_000 });
  starting.send({ kind: "deleted", graceMs: 30_000 });

  expect([kindsOf(started), kindsOf(starting)]).toEqual([["app readiness"], []]);
});

test("sidecars have probes; init and ephemeral containers have none", () => {
  const probed = { image: "app:1", readinessProbe: { exec } };
  const rig = rigOf(
    {},
    {
      initContainers: [
        { name: "proxy", ...probed, restartPolicy: "Always" },
        { name: "init", ...probed },
      ],
      ephemeralContainers: [{ name: "debug", ...probed }],
    },
  );

  expect(kindsOf(rig)).toEqual(["proxy readiness"]);
});
