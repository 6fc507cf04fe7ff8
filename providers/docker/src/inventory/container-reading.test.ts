import { expect, test } from "vitest";
import { inspected, listed, type FakeContainer } from "../test-support/engine-containers.ts";
import { containerSpec, sandboxSpec } from "../test-support/specs.ts";
import { readContainer, readInspectedSandbox, readListedSandbox, readState } from "./container-reading.ts";

const { labels } = containerSpec();
const createdMs = Date.UTC(2026, 0, 1) + 123;
const startedAt = "2026-01-01T00:00:05.5Z";
const finishedAt = "2026-01-01T00:00:09Z";

test.for<[what: string, container: Partial<FakeContainer>, state: object]>([
  ["made", { status: "created" }, { kind: "created" }],
  ["running", { startedAt }, { kind: "running", startedAtMs: createdMs + 5377 }],
  ["paused, which is running", { status: "paused", startedAt }, { kind: "running", startedAtMs: createdMs + 5377 }],
  [
    "ended well",
    { status: "exited", startedAt, finishedAt },
    {
      kind: "exited",
      exitCode: 0,
      startedAtMs: createdMs + 5377,
      finishedAtMs: createdMs + 8877,
      isOutOfMemory: false,
      message: undefined,
    },
  ],
  [
    "ended, by the engine's times, before it started",
    { status: "exited", startedAt, finishedAt: "2026-01-01T00:00:04Z" },
    {
      kind: "exited",
      exitCode: 0,
      startedAtMs: createdMs + 5377,
      finishedAtMs: createdMs + 5377,
      isOutOfMemory: false,
      message: undefined,
    },
  ],
  [
    "killed for its memory",
    { status: "exited", startedAt, finishedAt, exitCode: 137, oomKilled: true },
    {
      kind: "exited",
      exitCode: 137,
      startedAtMs: createdMs + 5377,
      finishedAtMs: createdMs + 8877,
      isOutOfMemory: true,
      message: undefined,
    },
  ],
  [
    "ended well though a child was killed for its memory",
    { status: "exited", startedAt, finishedAt, oomKilled: true },
    {
      kind: "exited",
      exitCode: 0,
      startedAtMs: createdMs + 5377,
      finishedAtMs: createdMs + 8877,
      isOutOfMemory: false,
      message: undefined,
    },
  ],
  [
    "never begun, for its command is not there",
    { status: "created", exitCode: 127, error: "no such file" },
    { kind: "exited", exitCode: 127, finishedAtMs: createdMs, message: "no such file" },
  ],
  ...[
    "cannot join network of a non running container: abc",
    "cannot join network namespace of a non running container: container vk_POD is exited",
    "container abc is not running",
  ].map((error): [string, object, object] => [
    `not begun, for its sandbox had stopped: ${error}`,
    { status: "created", exitCode: 128, error },
    { kind: "created" },
  ]),
])("a container is %s", ([, container, state]) => {
  expect(readState(inspected({ id: "c", labels, ...container }))).toEqual(state);
});

test("a container goes by our labels, also where the engine has lost its image's name", () => {
  const held = {
    ...labels,
    "io.kubernetes.sandbox.id": "s1",
    "virtual-kubelet.io/image": "app:1",
    "virtual-kubelet.io/image-id": "app@sha256:1",
  };

  expect(readContainer(inspected({ id: "c", labels: held, user: "1000:1000" }))).toMatchObject({
    id: "c",
    sandboxId: "s1",
    image: "app:1",
    imageId: "app@sha256:1",
    user: { uid: 1000, gid: 1000, supplementalGroups: [1000, 3000] },
  });
  expect(readContainer(inspected({ id: "c", labels: held, user: "app" })).user).toBeUndefined();
});

test.for<[what: string, container: Partial<FakeContainer>, sandbox: object]>([
  ["with an address is ready", {}, { isReady: true, ips: ["172.17.0.2"] }],
  ["without one is not", { ip: "" }, { isReady: false, ips: [] }],
  ["that has stopped is not", { status: "exited" }, { isReady: false }],
  ["on the host's network is ready without", { networkMode: "host", ip: "" }, { isReady: true, ips: [] }],
])("a sandbox %s, listed or inspected", ([, container, sandbox]) => {
  const held = { id: "s", labels: sandboxSpec().labels, ...container };

  expect(readListedSandbox(listed(held), { family: 4, others: [] })).toMatchObject(sandbox);
  expect(readInspectedSandbox(inspected(held), { family: 4, others: [] })).toMatchObject(sandbox);
});

test("of two addresses that of the node's family is a sandbox's main one", () => {
  const held = { id: "s", labels: sandboxSpec().labels, ipv6: "fd00::2" };

  for (const [family, ips] of [
    [4, ["172.17.0.2", "fd00::2"]],
    [6, ["fd00::2", "172.17.0.2"]],
  ] as const) {
    expect(readListedSandbox(listed(held), { family, others: [] }).ips).toEqual(ips);
    expect(readInspectedSandbox(inspected(held), { family, others: [] }).ips).toEqual(ips);
  }
});
