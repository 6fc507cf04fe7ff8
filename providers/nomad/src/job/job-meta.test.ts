import { expect, test } from "vitest";
import { owner, planOf, podWith } from "../test-support/pods.ts";
import { attemptMeta, firstAttempt, readJobMeta } from "./job-meta.ts";

const { job, shape } = planOf(podWith({ initContainers: [{ name: "first", image: "busybox" }] }));

function withShape(change: (shape: Record<string, unknown>) => unknown): ReturnType<typeof readJobMeta> {
  const written = JSON.parse(job.Meta["vk.shape"] ?? "") as Record<string, unknown>;
  return readJobMeta({ ID: job.ID, Meta: { ...job.Meta, "vk.shape": JSON.stringify(change(written)) } }, owner);
}

test("what was written is read, and carries its version", () => {
  expect(readJobMeta(job, owner)).toEqual({ kind: "pod", shape, attempt: firstAttempt });
  expect(JSON.parse(job.Meta["vk.shape"] ?? "")).toMatchObject({ version: 1 });
});

test("what a later release of the same version adds is left out", () => {
  expect(withShape((written) => ({ ...written, later: true }))).toEqual({ kind: "pod", shape, attempt: firstAttempt });
});

test("a job is the pod's only on the node whose pod it is, and only under its own id", () => {
  const [other, copy] = [readJobMeta(job, { ...owner, nodeName: "n2" }), readJobMeta({ ...job, ID: "vk-copy" }, owner)];

  expect([other.kind, copy.kind]).toEqual(["foreign", "foreign"]);
  expect(copy).toMatchObject({ why: `its meta is that of pod shop/web, whose job is ${job.ID}` });
});

test("a job without a pod's meta is foreign without a word", () => {
  for (const Meta of [undefined, null, {}, { team: "a" }])
    expect(readJobMeta({ ID: job.ID, Meta }, owner)).toEqual({ kind: "foreign", why: undefined });
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
  const later = (meta: Readonly<Record<string, string>>): unknown => readJobMeta({ ID: job.ID, Meta: { ...job.Meta, ...meta } }, owner);

  expect(later(attemptMeta(attempt))).toEqual({ kind: "pod", shape, attempt });
  expect(later({ "vk.attempt": JSON.stringify({ version: 2 }) })).toMatchObject({
    kind: "unreadable",
    why: expect.stringMatching(/^its meta vk\.attempt is of version 2/),
  });
});

test("a shape that is no JSON is named", () => {
  expect(readJobMeta({ ID: job.ID, Meta: { ...job.Meta, "vk.shape": "{" } }, owner)).toEqual({
    kind: "unreadable",
    why: "its meta vk.shape is no JSON; somebody has changed it",
  });
});
