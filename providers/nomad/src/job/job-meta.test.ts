import { expect, test } from "vitest";
import { namespaceOf, owner, planOf, podWith } from "../test-support/pods.ts";
import { attemptMeta, firstAttempt, readJobMeta } from "./job-meta.ts";

const { job: made, shape } = planOf(podWith({ initContainers: [{ name: "first", image: "busybox" }] }));
const job = { ...made, Namespace: "default" };

function withShape(change: (shape: Record<string, unknown>) => unknown): ReturnType<typeof readJobMeta> {
  const written = JSON.parse(job.Meta["vk.shape"] ?? "") as Record<string, unknown>;
  return readJobMeta({ ...job, Meta: { ...job.Meta, "vk.shape": JSON.stringify(change(written)) } }, owner, namespaceOf);
}

test("what was written is read, and carries its version", () => {
  expect(readJobMeta(job, owner, namespaceOf)).toEqual({ kind: "pod", shape, attempt: firstAttempt });
  expect(JSON.parse(job.Meta["vk.shape"] ?? "")).toMatchObject({ version: 1 });
});

test("what a later release of the same version adds is left out", () => {
  expect(withShape((written) => ({ ...written, later: true }))).toEqual({ kind: "pod", shape, attempt: firstAttempt });
});

test("a job is the pod's only on the node whose pod it is, and only under its own id", () => {
  const [other, copy] = [
    readJobMeta(job, { ...owner, nodeName: "n2" }, namespaceOf),
    readJobMeta({ ...job, ID: "vk-copy" }, owner, namespaceOf),
  ];

  expect([other.kind, copy.kind]).toEqual(["foreign", "foreign"]);
  expect(copy).toMatchObject({ why: `its meta is that of pod shop/web, whose job is ${job.ID}` });
});

test("a job under the pod's own id in another namespace is not the pod's", () => {
  expect(readJobMeta({ ...job, Namespace: "other" }, owner, namespaceOf)).toEqual({
    kind: "foreign",
    why: "it is in namespace other of Nomad, and pods of shop run in default",
  });
});

test("a job without a pod's meta is foreign without a word", () => {
  for (const Meta of [undefined, null, {}, { team: "a" }])
    expect(readJobMeta({ ...job, Meta }, owner, namespaceOf)).toEqual({ kind: "foreign", why: undefined });
});

test.each<[string, (written: Record<string, unknown>) => unknown, string]>([
  [
    "a later version is named",
    (written) => ({ ...written, version: 2 }),
    "its meta vk.shape is of version 2, and this release reads version 1; run the release that wrote it",
  ],
  [
    "no version is named",
    ({ version: _, ...rest }) => rest,
    "its meta vk.shape is of version unknown, and this release reads version 1; run the release that wrote it",
  ],
  [
    "a field that somebody has changed is named",
    (written) => ({ ...written, containers: [{ name: "main", image: "nginx", role: "other" }] }),
    'its meta vk.shape is not as the provider writes it: containers.0.role: Invalid option: expected one of "init"|"sidecar"|"main"; somebody has changed it',
  ],
])("%s", (_name, change, why) => {
  expect(withShape(change)).toEqual({ kind: "unreadable", why });
});

test("a later start is told by an entry of its own, with a version", () => {
  const attempt = { failures: 2, after: 31, restarts: { main: 4 } };
  const later = (meta: Readonly<Record<string, string>>): unknown =>
    readJobMeta({ ...job, Meta: { ...job.Meta, ...meta } }, owner, namespaceOf);

  expect(later(attemptMeta(attempt))).toEqual({ kind: "pod", shape, attempt });
  expect(later({ "vk.attempt": JSON.stringify({ version: 2 }) })).toMatchObject({
    kind: "unreadable",
    why: expect.stringMatching(/^its meta vk\.attempt is of version 2/),
  });
});

test("a shape that is no JSON is named", () => {
  expect(readJobMeta({ ...job, Meta: { ...job.Meta, "vk.shape": "{" } }, owner, namespaceOf)).toEqual({
    kind: "unreadable",
    why: "its meta vk.shape is not JSON; somebody has changed it",
  });
});
