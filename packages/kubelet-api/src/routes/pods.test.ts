import type { ProviderPod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { Answer } from "../server/answer.ts";
import { fakeNode, fakePod, fakeRequest } from "../test-support/fake-node.ts";
import { listPods, listRunningPods } from "./pods.ts";

function bodyOf(answer: Answer): unknown {
  if ("taken" in answer || typeof answer.body === "string" || !(Symbol.iterator in answer.body)) throw new Error("no list");
  return JSON.parse([...answer.body].join(""));
}

const owner = { clusterId: "c", nodeName: "n1" };
const status = (name: string, state: object): object => ({ name, image: `${name}:1`, imageID: "", ready: true, restartCount: 0, state });

test("the pods are those bound to the node, with their status", async () => {
  const list = (pods: ReturnType<typeof fakePod>[]): object => ({ kind: "PodList", apiVersion: "v1", metadata: {}, items: pods });

  expect(bodyOf(await listPods(fakeRequest({ node: fakeNode({ pods: [fakePod(), fakePod()] }) })))).toEqual(list([fakePod(), fakePod()]));
  expect(bodyOf(await listPods(fakeRequest({ node: fakeNode() })))).toEqual(list([]));
});

test("running pods are those with a running container, and list only running containers", async () => {
  const ref = (name: string): ProviderPod["ref"] => ({ namespace: "default", name, uid: name });
  const pods = [
    { ref: ref("ended"), owner, status: { containerStatuses: [status("a", { terminated: { exitCode: 0 } })] } },
    { ref: ref("mixed"), owner, status: { containerStatuses: [status("a", { running: {} }), status("b", { waiting: {} })] } },
  ] as ProviderPod[];
  const node = fakeNode({ getPods: async () => ({ pods, complete: true }) });

  const answer = await listRunningPods(fakeRequest({ node }));

  expect(bodyOf(answer)).toMatchObject({
    items: [{ metadata: ref("mixed"), spec: { containers: [{ name: "a", image: "a:1", resources: {} }] } }],
  });
  expect(answer).not.toHaveProperty("headers.warning");
});

test("a list that may be incomplete has a warning", async () => {
  const node = fakeNode({ getPods: async () => ({ pods: [], complete: false }) });

  expect(await listRunningPods(fakeRequest({ node }))).toMatchObject({
    headers: { warning: '299 - "the back end could not list all its pods"' },
  });
});

test("if several nodes share the port, the path must name one", () => {
  expect(() => listPods(fakeRequest({ path: "/pods" }))).toThrow("ask for /nodes/NAME/pods");
});

test("running init and ephemeral containers are listed after the others", async () => {
  const running = (name: string): object => status(name, { running: {} });
  const pod = {
    ref: { namespace: "default", name: "web", uid: "u1" },
    owner,
    status: {
      initContainerStatuses: [running("init"), status("done", { terminated: { exitCode: 0 } })],
      containerStatuses: [running("main"), { ...running("unknown"), state: undefined }],
      ephemeralContainerStatuses: [running("debugger")],
    },
  } as ProviderPod;
  const node = fakeNode({ getPods: async () => ({ pods: [pod], complete: true }) });

  const answer = await listRunningPods(fakeRequest({ node }));

  expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
  expect(bodyOf(answer)).toEqual({
    kind: "PodList",
    apiVersion: "v1",
    metadata: {},
    items: [
      {
        metadata: { name: "web", namespace: "default", uid: "u1" },
        spec: {
          containers: ["main", "init", "debugger"].map((name) => ({ name, image: `${name}:1`, resources: {} })),
        },
        status: {},
      },
    ],
  });
});
