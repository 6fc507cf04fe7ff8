import type { Container } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { RuntimeContainer } from "../runtime/container-runtime.ts";
import { containerLabels, labelNames, originLabels } from "../runtime/labels.ts";
import { podFromLabels } from "./pod-from-labels.ts";

const ref = { namespace: "shop", name: "web", uid: "u1" };
const owner = { clusterId: "c", nodeName: "n" };

function held(name: string, attempt: number, role: string, container: Partial<Container> = {}): RuntimeContainer {
  const labels = {
    ...containerLabels(ref, owner, { container: name, attempt, specHash: "h" }),
    ...originLabels(role, { name, image: `${name}:${attempt}`, ...container }),
  };
  return { id: `${name}-${attempt}`, sandboxId: "s", labels, image: "", imageId: "", state: { kind: "created" } };
}

const podOf = (...containers: readonly RuntimeContainer[]): ReturnType<typeof podFromLabels> =>
  podFromLabels(ref, { sandboxes: [], containers });

test("a pod of which only a sandbox is left has its name and no containers, and is never started again", () => {
  expect(podOf()).toEqual({
    metadata: { namespace: "shop", name: "web", uid: "u1" },
    spec: { restartPolicy: "Never", containers: [] },
  });
});

test("containers are in their original lists, and sidecars keep running", () => {
  const { spec } = podOf(held("init", 0, "init"), held("proxy", 0, "sidecar"), held("app", 0, "main"), held("debug", 0, "ephemeral"));

  expect(spec).toEqual({
    restartPolicy: "Never",
    initContainers: [
      { name: "init", image: "init:0" },
      { name: "proxy", image: "proxy:0", restartPolicy: "Always" },
    ],
    containers: [{ name: "app", image: "app:0" }],
    ephemeralContainers: [{ name: "debug", image: "debug:0" }],
  });
});

test("a pod without init and ephemeral containers has no such lists", () => {
  expect(Object.keys(podOf(held("app", 0, "main")).spec ?? {})).toEqual(["restartPolicy", "containers"]);
});

test("the newest attempt determines a container's fields, wherever it is in the list", () => {
  const [second, tenth, third] = [held("app", 2, "main"), held("app", 10, "main"), held("app", 3, "main")];

  expect(podOf(second, tenth, third).spec?.containers).toEqual([{ name: "app", image: "app:10" }]);
});

test("of two with the same attempt the first one counts", () => {
  const again = { ...held("app", 1, "main"), labels: { ...held("app", 1, "main").labels, [labelNames.image]: "other" } };

  expect(podOf(held("app", 1, "main"), again).spec?.containers).toEqual([{ name: "app", image: "app:1" }]);
});

test("a container's resources, and the way to stop it, come from its labels", () => {
  const preStop = { exec: { command: ["bye"] } };
  const resources = { limits: { cpu: "1" } };
  const ports = [{ name: "web", containerPort: 80 }];

  expect(podOf(held("app", 0, "main", { lifecycle: { preStop, stopSignal: "SIGINT" }, resources, ports })).spec?.containers).toEqual([
    { name: "app", image: "app:0", resources, lifecycle: { preStop, stopSignal: "SIGINT" }, ports },
  ]);
});

test("a container without a role is a main one, and objects of others are left out", () => {
  const { [labelNames.role]: _, ...labels } = held("old", 0, "main").labels;
  const stranger = { ...held("x", 0, "main"), labels: { [labelNames.container]: "x" } };
  const nameless = { ...held("y", 0, "main"), labels: { [labelNames.attempt]: "0" } };

  expect(podOf({ ...held("old", 0, "main"), labels }, stranger, nameless).spec?.containers).toEqual([{ name: "old", image: "old:0" }]);
});
